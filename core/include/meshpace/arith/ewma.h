/* SPDX-License-Identifier: GPL-2.0-only */
/* Exponentially weighted moving average (GAP eq. 2). */
#ifndef MESHPACE_EWMA_H
#define MESHPACE_EWMA_H

#include "base.h"

struct mp_ewma {
	uint64_t value; /* any unit, below 2^47 */
	bool started;   /* the first sample is taken as it is */
};

/* value = alpha * value + (1 - alpha) * sample, alpha with 16 fractional bits, at most 1. */
MP_INLINE void mp_ewma_add(struct mp_ewma *ewma, uint32_t alpha_q16, uint64_t sample)
{
	if (ewma->started)
		sample = (alpha_q16 * ewma->value + (MP_ONE_Q16 - alpha_q16) * sample +
			  MP_ONE_Q16 / 2) >> 16;
	ewma->value = sample;
	ewma->started = true;
}

#endif
