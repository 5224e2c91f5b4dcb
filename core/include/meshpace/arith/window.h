/* SPDX-License-Identifier: GPL-2.0-only */
/* The window of the last N RTT samples and how much they vary (GAP eq. 5). */
#ifndef MESHPACE_WINDOW_H
#define MESHPACE_WINDOW_H

#include "base.h"

#define MP_WINDOW_MAX 50u /* the papers' N */

struct mp_window {
	uint64_t sum;   /* of the samples held */
	uint16_t next;  /* where the next sample goes */
	uint16_t count; /* samples held, at most MP_WINDOW_MAX */
	uint32_t rtt_ticks[MP_WINDOW_MAX];
};

/* How spread is measured: the papers' standard deviation, or the mean absolute
 * deviation that the authors' own ns-2 agent for TCP-AP uses. */
enum mp_spread { MP_SPREAD_STANDARD, MP_SPREAD_MEAN_ABSOLUTE };

/* Adds a sample; when n (1..MP_WINDOW_MAX) are held, the oldest goes. */
MP_INLINE void mp_window_add(struct mp_window *window, uint32_t n, uint32_t rtt_ticks)
{
	uint32_t at = window->next < MP_WINDOW_MAX ? window->next : 0;

	n = n < 1 ? 1 : n > MP_WINDOW_MAX ? MP_WINDOW_MAX : n;
	if (at < window->count)
		window->sum -= window->rtt_ticks[at];
	window->sum += rtt_ticks;
	window->rtt_ticks[at] = rtt_ticks;
	window->next = (uint16_t)(at + 1 < n ? at + 1 : 0);
	if (window->count < n)
		window->count++;
}

/* A sample in ticks, cut to so many means of those held; as it is where none is held, and for 0 means. */
MP_INLINE uint32_t mp_window_cut(const struct mp_window *window, uint32_t means, uint32_t rtt_ticks)
{
	if (means && (uint64_t)rtt_ticks * window->count > means * window->sum)
		return (uint32_t)(means * window->sum / window->count);
	return rtt_ticks;
}

MP_INLINE void mp_window_clear(struct mp_window *window)
{
	window->sum = 0;
	window->next = 0;
	window->count = 0;
}

/*
 * Samples are scaled so that their sum has 26 bits. No deviation d_i (see below) then exceeds
 * n 2^26, and the sum of the squares of 50 of them, at most n (n - 1) 2^52, fits 64 bits.
 */
#define MP_WINDOW_BITS 26

struct mp_window_scale {
	uint32_t left, right; /* shifts, one of them 0 */
};

MP_INLINE struct mp_window_scale mp_window_scale(const struct mp_window *window)
{
	struct mp_window_scale scale = { 0, 0 };
	uint32_t bits = mp_bit_length(window->sum);

	if (bits > MP_WINDOW_BITS)
		scale.right = bits - MP_WINDOW_BITS;
	else
		scale.left = MP_WINDOW_BITS - bits;
	return scale;
}

/*
 * Coefficient of variation of the samples held (GAP eq. 5), dimensionless with
 * 16 fractional bits; 0 for fewer than two samples.
 *
 * With d_i = n x_i - sum(x), an integer, the standard deviation over the mean is
 * sqrt(sum(d_i^2) / (n - 1)) / sum(x), and the mean absolute deviation over the
 * mean is sum(|d_i|) / (n sum(x)): no division before the last step. Each d_i is
 * scaled as a whole, so that what is cut off is of no more than itself.
 */
MP_INLINE uint32_t mp_window_cov_q16(const struct mp_window *window, enum mp_spread spread)
{
	uint32_t n = window->count < MP_WINDOW_MAX ? window->count : MP_WINDOW_MAX;
	struct mp_window_scale scale = mp_window_scale(window);
	uint64_t sum = window->sum << scale.left >> scale.right;
	uint64_t squares = 0, absolutes = 0;
	uint32_t i;

	if (n < 2 || sum == 0)
		return 0;
	for (i = 0; i < MP_WINDOW_MAX && i < n; i++) {
		uint64_t d = mp_distance((uint64_t)n * window->rtt_ticks[i], window->sum);

		d = d << scale.left >> scale.right;
		squares += d * d;
		absolutes += d;
	}
	if (spread == MP_SPREAD_MEAN_ABSOLUTE)
		return (uint32_t)((absolutes << 16) / (n * sum));
	return (uint32_t)(((uint64_t)mp_isqrt(squares / (n - 1)) << 16) / sum);
}

/* Mean of the samples held, in ns; 0 when there is none. */
MP_INLINE uint64_t mp_window_mean_ns(const struct mp_window *window)
{
	return window->count ? (window->sum << MP_TICK_SHIFT) / window->count : 0;
}

#endif
