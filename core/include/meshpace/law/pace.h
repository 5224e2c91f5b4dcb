/* SPDX-License-Identifier: GPL-2.0-only */
/* When the next packet of a flow leaves (GAP section 4.3: rate-based dequeueing). */
#ifndef MESHPACE_PACE_H
#define MESHPACE_PACE_H

#include "../arith/base.h"

struct mp_pacer {
	uint64_t last_ns; /* departure of the latest packet */
	bool started;
};

/*
 * A departure further ahead than this is cut off: sch_fq silently drops what is
 * stamped beyond its horizon (10 s), and a flow must outlive a bad estimate.
 */
#define MP_HORIZON_NS (4 * MP_NS_PER_S)

/* Earliest departure at now_ns of the packet after the latest; never before now. */
MP_INLINE uint64_t mp_departure_ns(const struct mp_pacer *pacer, uint64_t now_ns,
				   uint64_t interval_ns)
{
	uint64_t due_ns = pacer->started ? pacer->last_ns + interval_ns : now_ns;

	return mp_min_u64(mp_max_u64(due_ns, now_ns), now_ns + MP_HORIZON_NS);
}

/* When a packet that waits for no interval leaves: not before those that do. */
MP_INLINE uint64_t mp_follow_ns(const struct mp_pacer *pacer, uint64_t ready_ns)
{
	return mp_max_u64(pacer->last_ns, ready_ns);
}

/* The packet leaves at departure_ns. */
MP_INLINE void mp_departed(struct mp_pacer *pacer, uint64_t departure_ns)
{
	pacer->last_ns = departure_ns;
	pacer->started = true;
}

/*
 * When a packet is due that has been ready since ready_ns. However long it has waited, the interval counts from
 * the latest departure.
 */
MP_INLINE uint64_t mp_due_ns(const struct mp_pacer *pacer, uint64_t ready_ns, uint64_t interval_ns)
{
	return mp_departure_ns(pacer, mp_max_u64(ready_ns, pacer->last_ns), interval_ns);
}

/*
 * What counts as the departure of a packet that was due at due_ns and leaves at now_ns: when it was due, for a
 * device that took none, or a host that woke up late, must not lower the rate. But no more than late_ns are
 * made up for, or what follows a pause would be a burst.
 */
MP_INLINE uint64_t mp_late_departure_ns(uint64_t due_ns, uint64_t now_ns, uint64_t late_ns)
{
	return mp_min_u64(mp_max_u64(due_ns + late_ns, now_ns) - late_ns, now_ns);
}

/* Segments in one super packet leave together: the last of them was due so much later. */
MP_INLINE void mp_departed_together(struct mp_pacer *pacer, uint64_t departure_ns,
				    uint64_t interval_ns, uint32_t segments)
{
	uint64_t rest_ns = segments > 1 ? (segments - 1) * mp_min_u64(interval_ns, MP_HORIZON_NS) : 0;

	mp_departed(pacer, departure_ns + rest_ns);
}

#endif
