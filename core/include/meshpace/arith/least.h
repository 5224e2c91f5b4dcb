/* SPDX-License-Identifier: GPL-2.0-only */
/* The least round trip of a path, which may be another one later. */
#ifndef MESHPACE_LEAST_H
#define MESHPACE_LEAST_H

#include "base.h"

/* A path is as it was for so long; then it has to be learnt again, as what hosts get alone (airtime.h). */
#define MP_LEAST_NS (240 * MP_NS_PER_S)

/*
 * The least of two windows, lest what was true once be true for ever, whether samples come or not. latest: that of the later
 * one, which began at since_ns; 0: none.
 */
MP_INLINE void mp_least_window(uint64_t *least_ns, uint64_t *latest_ns, uint64_t *since_ns, uint64_t now_ns)
{
	uint64_t elapsed_ns = mp_max_u64(now_ns, *since_ns) - *since_ns;

	if (elapsed_ns <= MP_LEAST_NS)
		return;
	*least_ns = elapsed_ns <= 2 * MP_LEAST_NS ? *latest_ns : 0;
	*latest_ns = 0;
	*since_ns = now_ns;
}

/* One sample more. */
MP_INLINE void mp_least_add(uint64_t *least_ns, uint64_t *latest_ns, uint64_t *since_ns, uint64_t rtt_ns, uint64_t now_ns)
{
	mp_least_window(least_ns, latest_ns, since_ns, now_ns);
	*latest_ns = *latest_ns ? mp_min_u64(*latest_ns, rtt_ns) : rtt_ns;
	*least_ns = *least_ns ? mp_min_u64(*least_ns, rtt_ns) : rtt_ns;
}

#endif
