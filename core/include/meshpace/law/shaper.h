/* SPDX-License-Identifier: GPL-2.0-only */
/* A constant rate: token bucket of k packets (shaping paper, sections 4, 4.3). */
#ifndef MESHPACE_SHAPER_H
#define MESHPACE_SHAPER_H

#include "pace.h"

/* Rates above are taken for this one, so that no product overflows: 1.1 Tbit/s. */
#define MP_SHAPER_MAX_BPS (1ull << 40)

/*
 * Time in which a packet's token is made, in ns, at a rate in bit/s of packets with so many bytes
 * (below 2^31), rounded; 0, unpaced, for rate 0.
 */
MP_INLINE uint64_t mp_shaper_interval_ns(uint32_t bytes, uint64_t rate_bps)
{
	uint64_t bps = mp_min_u64(rate_bps, MP_SHAPER_MAX_BPS);

	return bps ? ((uint64_t)bytes * 8 * MP_NS_PER_S + bps / 2) / bps : 0;
}

/*
 * A packet needs a token; one is made each interval, the bucket holds so many (0 counts as 1) and is
 * full at first. Kept as the pacer's latest departure, had every packet left as its token was made:
 * the packet after it may leave bucket - 1 intervals before its own token would be.
 */
MP_INLINE uint64_t mp_bucket_departure_ns(const struct mp_pacer *pacer, uint64_t now_ns,
					  uint64_t interval_ns, uint32_t bucket)
{
	uint64_t early_ns = bucket > 1 ? (bucket - 1) * mp_min_u64(interval_ns, MP_HORIZON_NS) : 0;
	uint64_t due_ns = pacer->started ? pacer->last_ns + interval_ns : now_ns;

	due_ns = mp_max_u64(due_ns, early_ns) - early_ns;
	return mp_min_u64(mp_max_u64(due_ns, now_ns), now_ns + MP_HORIZON_NS);
}

/* The packet leaves at departure_ns, and takes a token along. */
MP_INLINE void mp_bucket_departed(struct mp_pacer *pacer, uint64_t departure_ns,
				  uint64_t interval_ns)
{
	uint64_t made_ns = pacer->started ? pacer->last_ns + interval_ns : departure_ns;

	mp_departed(pacer, mp_max_u64(departure_ns, made_ns));
}

#endif
