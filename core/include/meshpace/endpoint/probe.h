/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A stalled path is asked (law `even`). When a route breaks, all of a flow's packets are lost, and its
 * sender tries again after a second, two, four, eight: long after the mesh has found another way, whoever
 * kept his has all. The gateway still has what is unacknowledged, and sends the first of it again; its
 * acknowledgement sets the sender going. Of an upload it has the latest ACK. It wakes the sender up: by
 * that ACK, and by telling that the host was unreachable, so that a time-out was the path's fault and is
 * not to be doubled (RFC 6069).
 *
 * Only who has answered before is asked: of a flow whose data was never acknowledged nothing is known but an
 * address that may be forged. And all are asked within a budget (budget.h).
 */
#ifndef MESHPACE_PROBE_H
#define MESHPACE_PROBE_H

#include "../arith/base.h"

/* The shortest time-out of RFC 6298 is 1 s; looked at once a second, which may come a little early. */
#define MP_PROBE_NS (MP_NS_PER_S * 3 / 4)
/*
 * Then again each time the stall is an eighth longer: a path that comes back is found in an eighth of the time
 * that it was gone, where the sender alone, which doubles, takes as long again. 8 asks in the first 8 s, 25
 * in a minute.
 */
#define MP_PROBE_SHARE 8u
/* By now the sender itself tries once a minute (RFC 6298, 2.5), and whoever left has long left. */
#define MP_PROBE_END_NS (60 * MP_NS_PER_S)
#define MP_WAKE_UP_BYTES 65536u /* of an upload; most that are silent after less, and a push, have said all */

struct mp_probe {
	uint64_t began_ns;  /* the stall; 0: none yet */
	uint64_t latest_ns; /* the latest ask, at first as began_ns */
	uint32_t ack;       /* up to which everything was acknowledged then */
};

/*
 * Whether a flow that has something unacknowledged, the first of it at ack, and of which nothing has been
 * sent for silent_ns, is to be probed with it. acked_bytes: of the flow, ever.
 */
MP_INLINE bool mp_probe_due(struct mp_probe *probe, uint32_t ack, uint64_t silent_ns,
			    uint64_t acked_bytes, uint64_t now_ns)
{
	uint64_t gap_ns;

	if (acked_bytes == 0)
		return false;
	if (probe->began_ns == 0 || ack != probe->ack) {
		probe->ack = ack;
		probe->began_ns = now_ns - mp_min_u64(silent_ns, now_ns);
		probe->latest_ns = probe->began_ns;
	}
	gap_ns = mp_max_u64((probe->latest_ns - probe->began_ns) / MP_PROBE_SHARE, MP_PROBE_NS);
	return silent_ns >= MP_PROBE_NS && now_ns - probe->latest_ns >= gap_ns &&
	       now_ns - probe->began_ns < MP_PROBE_END_NS;
}

/* It was probed, or woken up. Who is due and is not, for lack of budget, is due still. */
MP_INLINE void mp_probe_sent(struct mp_probe *probe, uint64_t now_ns)
{
	probe->latest_ns = now_ns;
}

/*
 * Whether the sender of an upload, of which so many bytes are acknowledged, up to ack, is to be woken up.
 * pushed: its latest data came with TCP's push flag, by which a sender says that it has no more at the time.
 * Whether it has by now it alone knows; if not, a wake-up says nothing to it.
 */
MP_INLINE bool mp_wake_up_due(struct mp_probe *probe, uint32_t ack, uint64_t silent_ns,
			     uint64_t acked_bytes, bool pushed, uint64_t now_ns)
{
	return (!pushed || acked_bytes >= MP_WAKE_UP_BYTES) &&
	       mp_probe_due(probe, ack, silent_ns, acked_bytes, now_ns);
}

#endif
