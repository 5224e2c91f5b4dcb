/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a gateway knows of a flow's demand (active.h) by what it has counted of it. Data that waits here to be paced is
 * not outstanding, since it has not gone on: that is told beside it, for its sender has more than it gets.
 */
#ifndef MESHPACE_DEMAND_H
#define MESHPACE_DEMAND_H

#include "../law/active.h"
#include "progress.h"

/*
 * A sender that has just lost something may have a window of one packet, and then lets all that it sent be acknowledged
 * before it goes on though it has more: for so long, as in air.h, no pause is taken for one.
 */
#define MP_DEMAND_LOSES_NS (3 * MP_NS_PER_S)

/*
 * When data of a download came last while nothing was outstanding, now that some comes; ahead of the clock: until then no
 * pause counts. nothing: nothing is outstanding; again: it was sent before. Without a branch, for each of which a verifier
 * would walk through all that follows.
 */
MP_INLINE uint64_t mp_demand_paused_ns(uint64_t paused_ns, bool nothing, bool again, uint64_t now_ns)
{
	paused_ns = mp_select_u64(nothing, mp_max_u64(paused_ns, now_ns), paused_ns);
	return mp_select_u64(again, now_ns + MP_DEMAND_LOSES_NS, paused_ns);
}

/*
 * upload: which way; waits: data of it waits here; seen_ns: of an upload when its latest data came, of a download
 * mp_demand_paused_ns (0: never). The caller adds again_packets, of a download
 * window_bytes and segment_bytes as well.
 */
MP_INLINE struct mp_demand mp_demand_of(const struct mp_progress *progress, uint32_t max_end,
					bool upload, bool waits, uint64_t seen_ns, uint64_t now_ns)
{
	struct mp_demand demand = {
		.outstanding_bytes = progress->seen ? max_end - progress->ack : 0,
		.window_bytes = 0,
		.segment_bytes = 0,
		.again_packets = 0,
		.paused = !upload && mp_flow_recent(seen_ns, now_ns),
		.waits = waits,
		.recent = upload && mp_flow_recent(seen_ns, now_ns),
	};

	return demand;
}

#endif
