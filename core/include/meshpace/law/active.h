/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who takes part in the mesh (law `even`), by evidence that nobody can give alone. A host, in one direction,
 * is active as long as both ends have shown progress lately: new data of it was acknowledged. Who has left,
 * died or fallen silent, who sends what nobody acknowledges, and who exists only as a source address, is
 * not: it has no part and holds nobody to a cap. With its first progress it is active at once.
 *
 * An active host wants more than it gets only while its sender has more to send and is not stopped by the
 * receiver's window: who is bound by the application, the server or the window would get no more if the
 * others got less. A sender that lets all that it sent be acknowledged before it goes on has no more, unless it has
 * just lost something; a pause shorter than a round trip does not show. (TCP's
 * push flag does not tell: Linux sets it on each super packet.) What bounds a sender inside itself, such as a
 * small buffer, and an upload's application show only in that it does not fill its part (air.h).
 */
#ifndef MESHPACE_ACTIVE_H
#define MESHPACE_ACTIVE_H

#include "../arith/base.h"

/* Data of an upload so lately seen means that there is more: what waits at its sender is not seen here. */
#define MP_ACTIVE_RECENT_NS MP_NS_PER_S

/* Low bit of when a flow paused: it did not, but until then no pause counts. */
#define MP_PAUSED_BAR 1ull

/* What is known of a flow when it is asked whether it wants more. */
struct mp_demand {
	uint32_t outstanding_bytes; /* that went on from here and are not acknowledged */
	uint32_t window_bytes;      /* that its receiver offers, scaled; 0: not known */
	uint32_t segment_bytes;     /* payload of its largest segment */
	uint64_t again_packets;     /* seen a second time so far, for the first was lost */
	bool paused;                /* a download of which data came lately when nothing was under way */
	bool waits;                 /* something of it waits here to be paced */
	bool recent;                /* an upload whose data came within MP_ACTIVE_RECENT_NS */
};

/* Whether something of a flow is on its way. */
MP_INLINE bool mp_flow_moves(const struct mp_demand *demand)
{
	return demand->outstanding_bytes || demand->waits || demand->recent;
}

/* Whether a flow would get more if the mesh carried more. */
MP_INLINE bool mp_flow_wants(const struct mp_demand *demand)
{
	bool closed = demand->window_bytes &&
		      (uint64_t)demand->outstanding_bytes + demand->segment_bytes > demand->window_bytes;

	return demand->waits || (mp_flow_moves(demand) && !demand->paused && !closed);
}

/* Something of a flow was seen lately: data of an upload, or a pause of a download. */
MP_INLINE bool mp_flow_recent(uint64_t seen_ns, uint64_t now_ns)
{
	return seen_ns && now_ns - seen_ns < MP_ACTIVE_RECENT_NS;
}

#endif
