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
 * upload: which way; waits: data of it waits here; seen_ns: of an upload when its latest data came, of a download
 * paused_ns of its endpoint. The caller adds again_packets, of a download window_bytes and segment_bytes as well.
 */
MP_INLINE struct mp_demand mp_demand_of(const struct mp_progress *progress, uint32_t max_end,
					bool upload, bool waits, uint64_t seen_ns, uint64_t now_ns)
{
	struct mp_demand demand = {
		.outstanding_bytes = progress->seen ? max_end - progress->ack : 0,
		.window_bytes = 0,
		.segment_bytes = 0,
		.again_packets = 0,
		.paused = !upload && !(seen_ns & MP_PAUSED_BAR) && mp_flow_recent(seen_ns, now_ns),
		.waits = waits,
		.recent = upload && mp_flow_recent(seen_ns, now_ns),
	};

	return demand;
}

#endif
