/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What waits on the path of a host (airtime.h), each way: the mean of what its flows have shown lately, downloads by the round
 * trips of their search, uploads by echoes (echo.h).
 */
#ifndef MESHPACE_QUEUEING_H
#define MESHPACE_QUEUEING_H

#include "../law/air.h"
#include "../law/search.h"
#include "endpoint.h"

/* A sample so lately tells of now. Who sends at all has one in a second, or in the time-out that ends a stall (RFC 6298). */
#define MP_QUEUEING_RECENT_NS MP_NS_PER_S

/* Of a host's flows, one way, that were heard lately. */
struct mp_queueing {
	uint64_t sum_ns;
	uint32_t flows;
};

/* What waited on a flow's path in its latest round, in ns: an upload has echoes, a download samples. */
MP_INLINE uint64_t mp_queueing_ns(const struct mp_endpoint *endpoint)
{
	const struct mp_search *search = &endpoint->estimate.search;

	if (endpoint->echo.heard_ns)
		return mp_echo_waits_ns(&endpoint->echo);
	return search->mean_ns - mp_min_u64(search->base_ns, search->mean_ns);
}

/*
 * When a download's samples were heard, if they make rounds: one of MP_SEARCH_LEAST, none of which comes after a silence, is
 * over by so many round trips. Of a flow so sparse that none ends D tells what waited once, and not what does now; 0.
 */
MP_INLINE uint64_t mp_queueing_down_heard_ns(const struct mp_search *search)
{
	uint64_t longest_ns = MP_SEARCH_LEAST * MP_SEARCH_SILENCE * search->round_ns;

	return search->mean_at_ns && search->heard_ns <= search->mean_at_ns + longest_ns ? search->heard_ns : 0;
}

/* When that was heard; 0: never. */
MP_INLINE uint64_t mp_queueing_heard_ns(const struct mp_endpoint *endpoint)
{
	return mp_max_u64(endpoint->echo.heard_ns, mp_queueing_down_heard_ns(&endpoint->estimate.search));
}

/* A flow of which heard_ns is the latest sample; 0: none. It may have come a moment after now_ns, while a table was read. */
MP_INLINE void mp_queueing_add(struct mp_queueing *queueing, uint64_t waits_ns, uint64_t heard_ns, uint64_t now_ns)
{
	if (!heard_ns || mp_max_u64(now_ns, heard_ns) - heard_ns >= MP_QUEUEING_RECENT_NS)
		return;
	queueing->sum_ns += mp_min_u64(waits_ns, 1ull << 40);
	queueing->flows++;
}

/* W of a host's way, before a step. */
MP_INLINE void mp_queueing_tell(const struct mp_queueing *queueing, struct mp_air_way *way)
{
	way->heard = queueing->flows > 0;
	way->waits_ns = queueing->flows ? queueing->sum_ns / queueing->flows : 0;
}

#endif
