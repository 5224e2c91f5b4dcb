/* SPDX-License-Identifier: GPL-2.0-only */
/* Static pacing at the IP layer of a node (Yang, Seah, Yin, MobiHoc 2003). */
#ifndef MESHPACE_YANG_H
#define MESHPACE_YANG_H

#include "../arith/base.h"

/* A transmission that took longer is taken for one that took so long. */
#define MP_YANG_MAX_NS (4 * MP_NS_PER_S)

/* What a node has seen of its transmissions, whatever their flow. */
struct mp_yang {
	uint64_t least_ns;  /* transmission delay: from the packet's start at the link layer to its */
	uint64_t latest_ns; /* end there, acknowledged or given up */
	bool started;
};

/* A packet took so long. */
MP_INLINE void mp_yang_took(struct mp_yang *yang, uint64_t took_ns)
{
	took_ns = mp_min_u64(took_ns, MP_YANG_MAX_NS);
	yang->least_ns = yang->started ? mp_min_u64(yang->least_ns, took_ns) : took_ns;
	yang->latest_ns = took_ns;
	yang->started = true;
}

/*
 * Time from the start of the latest packet to that of the next, in ns: the least transmission delay,
 * the latest one, and a random part of another latest one, random_q16 in 0 .. 65535. 0 at first. The
 * sum is an assumption: see docs/understand/law.md.
 */
MP_INLINE uint64_t mp_yang_delay_ns(const struct mp_yang *yang, uint32_t random_q16)
{
	uint64_t random_ns = yang->latest_ns * (random_q16 & 0xffffu) >> 16;

	return yang->started ? yang->least_ns + yang->latest_ns + random_ns : 0;
}

#endif
