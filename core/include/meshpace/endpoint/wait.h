/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long a flow's packets may wait to be paced (law `even`). A sender that fills its window keeps a
 * queue here for ever, which is delay for nothing; but one that halves its window needs something
 * to send from meanwhile. So CoDel (RFC 8289) is applied to the time that a packet will wait, which is
 * known when it comes: where all packets of a round trip would wait longer than the target, one is
 * lost or marked, then the next after two round trips / sqrt(n): the first passes until its sender
 * knows, the second until the queue shows it.
 */
#ifndef MESHPACE_WAIT_H
#define MESHPACE_WAIT_H

#include "../law/law.h"

#define MP_WAIT_PACKETS 8u       /* never less: who has fewer under way notices a loss only in time */
#define MP_WAIT_ROUND_NS 100000000ull /* the least round trip that CoDel reckons with */
#define MP_WAIT_LIMIT 4u         /* times the target: nothing waits longer */
/* A host that leaves frees half of the air at most: of two hosts the other may send twice as much, and needs the window for it. */
#define MP_WAIT_FREED 2u

struct mp_wait {
	uint64_t above_ns; /* since when, plus a round trip, all waited too long; 0: not */
	uint64_t next_ns;  /* when the next is to be lost */
	uint32_t count;    /* lost in a row; 0: none is being lost */
};

/*
 * The target, in ns: 1.25 D + 0.75 RTT_wired, of a flow whose round trips are D in the mesh (at
 * least what is wanted) and RTT_wired beyond (0: unknown), so that a window of the sender's cut to
 * 0.6 still fills both.
 */
MP_INLINE uint64_t mp_wait_target_ns(uint64_t mesh_ns, uint64_t wired_ns, uint64_t interval_ns)
{
	return mp_max_u64(mesh_ns + mesh_ns / 4 + wired_ns / 2 + wired_ns / 4,
			  MP_WAIT_PACKETS * interval_ns);
}

/* round_ns / sqrt(count). */
MP_INLINE uint64_t mp_wait_gap_ns(uint64_t round_ns, uint32_t count)
{
	return (round_ns << 8) / mp_isqrt((uint64_t)(count ? count : 1) << 16);
}

/* Whether a packet that waits too long is to be lost or marked, since all did so lately; round_ns: until its sender notices. */
MP_INLINE bool mp_wait_persists(struct mp_wait *wait, uint64_t round_ns, uint64_t now_ns)
{
	if (wait->above_ns == 0)
		wait->above_ns = now_ns + round_ns;
	if (now_ns < wait->above_ns)
		return false;
	if (wait->count == 0)
		wait->next_ns = now_ns;
	if (now_ns < wait->next_ns)
		return false;
	wait->count++;
	wait->next_ns = now_ns + mp_wait_gap_ns(2 * round_ns, wait->count);
	return true;
}

/*
 * Whether a packet that comes at now_ns and would wait wait_ns is to be lost, or marked; round_ns: a
 * round trip without that wait. Its sender notices after a round trip with it.
 */
MP_INLINE bool mp_wait_ends(struct mp_wait *wait, uint64_t wait_ns, uint64_t target_ns,
			    uint64_t round_ns, uint64_t now_ns)
{
	round_ns = mp_max_u64(round_ns + wait_ns, MP_WAIT_ROUND_NS);
	if (wait_ns < target_ns) {
		wait->above_ns = 0;
		wait->count = 0;
		return false;
	}
	return mp_wait_persists(wait, round_ns, now_ns) || wait_ns > MP_WAIT_LIMIT * target_ns;
}

/* What a flow's packets wait for, and how long its round trips are. */
struct mp_waits_for {
	uint64_t interval_ns; /* between its packets by the law; 0: unpaced */
	uint64_t turn_ns;     /* likewise by its host's cap, in turn with the host's other flows; 0: no cap */
	uint64_t mesh_ns;     /* D, or T + D* where that is more (mp_search.round_ns); 0: no sample yet */
	uint64_t wired_ns;    /* RTT_wired; 0: unknown */
};

/* The same of a flow as a gateway knows it, but for its turns. */
MP_INLINE struct mp_waits_for mp_waits_for_of(const struct mp_estimate *estimate,
					      uint64_t interval_ns, uint32_t rtt_wired_us)
{
	struct mp_waits_for flow = {
		.interval_ns = interval_ns,
		.turn_ns = 0,
		.mesh_ns = estimate->search.round_ns,
		.wired_ns = rtt_wired_us * MP_NS_PER_US,
	};

	return flow;
}

/* How far apart its packets leave, in ns; 0: they do not wait. */
MP_INLINE uint64_t mp_wait_interval_ns(const struct mp_waits_for *flow)
{
	return mp_max_u64(flow->interval_ns, flow->turn_ns);
}

/* How long a packet will wait that comes behind so many, in ns. */
MP_INLINE uint64_t mp_wait_behind_ns(const struct mp_waits_for *flow, uint32_t packets)
{
	return mp_min_u64(packets, 1u << 20) * mp_min_u64(mp_wait_interval_ns(flow), 1ull << 40);
}

/*
 * Whether a packet that comes at now_ns and would wait wait_ns is to be lost, or marked, by the law. In turn with
 * other flows a flow is not the one that keeps the path busy, so that a quarter of MP_WAIT_PACKETS do: behind
 * all of them the copy of a lost packet would come seconds later. Held to its host's cap it keeps the window that it
 * needs when others leave. Before the first sample nobody knows how long the path's round trips are, and nothing is
 * lost: the rest of a first window would be.
 */
MP_INLINE bool mp_wait_too_long(struct mp_wait *wait, const struct mp_law *law,
				const struct mp_waits_for *flow, uint64_t wait_ns, uint64_t now_ns)
{
	uint64_t least_ns = mp_max_u64(flow->interval_ns, flow->turn_ns / 4);
	uint64_t times = flow->turn_ns ? MP_WAIT_FREED : 1;
	uint64_t target_ns = mp_wait_target_ns(times * flow->mesh_ns, times * flow->wired_ns, least_ns);

	if (!law->hop_wait_ns || law->omit & MP_OMIT_WAITS || mp_wait_interval_ns(flow) == 0 ||
	    flow->mesh_ns == 0)
		return false;
	return mp_wait_ends(wait, wait_ns, target_ns, flow->mesh_ns + flow->wired_ns, now_ns);
}

/*
 * Whether a packet behind so many would wait too long by any law: longer than the farthest departure is ahead,
 * where that is more than a few packets. By then its sender has given it up for lost.
 */
MP_INLINE bool mp_wait_beyond(const struct mp_waits_for *flow, uint32_t packets)
{
	uint64_t few_ns = mp_wait_behind_ns(flow, MP_WAIT_PACKETS);

	return mp_wait_behind_ns(flow, packets) > mp_max_u64(MP_HORIZON_NS, few_ns);
}

#endif
