/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What waits on the path to a host (airtime.h): the mean of what its downloads have measured lately. Of uploads the gateway
 * measures no round trip in the mesh.
 */
#ifndef MESHPACE_QUEUEING_H
#define MESHPACE_QUEUEING_H

#include "../law/air.h"
#include "../law/search.h"

/* A sample so lately tells of now. Who sends at all has one in a second, or in the time-out that ends a stall (RFC 6298). */
#define MP_QUEUEING_RECENT_NS MP_NS_PER_S

/* Of a host's downloads that were heard lately. */
struct mp_queueing {
	uint64_t sum_ns;
	uint32_t flows;
};

/* What waited on a download's path in its latest round, in ns. */
MP_INLINE uint64_t mp_queueing_ns(const struct mp_search *search)
{
	return search->mean_ns - mp_min_u64(search->base_ns, search->mean_ns);
}

/* A download of which heard_ns is the latest sample; 0: none. It may have come a moment after now_ns, while a table was read. */
MP_INLINE void mp_queueing_add(struct mp_queueing *queueing, uint64_t waits_ns, uint64_t heard_ns, uint64_t now_ns)
{
	if (!heard_ns || mp_max_u64(now_ns, heard_ns) - heard_ns >= MP_QUEUEING_RECENT_NS)
		return;
	queueing->sum_ns += mp_min_u64(waits_ns, 1ull << 40);
	queueing->flows++;
}

/* W of a host's downloads, before a step. */
MP_INLINE void mp_queueing_tell(const struct mp_queueing *queueing, struct mp_air_way *way)
{
	way->heard = queueing->flows > 0;
	way->waits_ns = queueing->flows ? queueing->sum_ns / queueing->flows : 0;
}

#endif
