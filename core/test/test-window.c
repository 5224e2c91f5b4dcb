/* SPDX-License-Identifier: GPL-2.0-only */
/* The window of samples: what it holds, its mean, and both spreads against eq. (5). */
#include "check.h"
#include "reference.h"

#include <meshpace/arith/window.h>

#define TICK_S 64e-9
#define TICKS_SHORTEST 1563.0     /* 100 us */
#define TICKS_LONGEST 937500000.0 /* 60 s */

/* Samples as they come: constant, bimodal, a rare outlier, any in a range, all ranges mixed. */
static uint32_t sample_of_kind(uint32_t kind, double base)
{
	switch (kind) {
	case 0:
		return (uint32_t)base;
	case 1:
		return (uint32_t)fmin(random_one_in(2) ? base : base * 10, TICKS_LONGEST);
	case 2:
		return (uint32_t)(random_one_in(50) ? TICKS_LONGEST : base);
	case 3:
		return (uint32_t)(base + (TICKS_LONGEST - base) * random_unit());
	case 4:
		return (uint32_t)(base * (1 + 0.001 * random_unit()));
	case 5:
		return (uint32_t)(random_u64() >> (32 + random_below(32)));
	default:
		return (uint32_t)random_log(TICKS_SHORTEST, TICKS_LONGEST);
	}
}

/* The stretch 1 + 2 CoV is what the law uses: it agrees within 0.01%. */
static void check_window(const struct mp_window *window, const double *last, int n)
{
	double mean = ref_mean(last, n);
	double cov = mean > 0 ? ref_cov(last, n) : 0;
	double mean_absolute = mean > 0 ? ref_mean_absolute_cov(last, n) : 0;

	CHECK_NEAR(mp_window_mean_ns(window), mean * TICK_S * 1e9, 1e-12, 1);
	CHECK_NEAR(1 + 2 * mp_window_cov_q16(window, MP_SPREAD_STANDARD) / 65536.0, 1 + 2 * cov,
		   1e-4, 0);
	CHECK_NEAR(1 + 2 * mp_window_cov_q16(window, MP_SPREAD_MEAN_ABSOLUTE) / 65536.0,
		   1 + 2 * mean_absolute, 1e-4, 0);
}

static void test_random_windows(void)
{
	int run, i, j;

	for (run = 0; run < 6000; run++) {
		int n = (int)random_between(1, MP_WINDOW_MAX);
		uint32_t kind = random_below(7);
		double base = random_log(TICKS_SHORTEST, TICKS_LONGEST);
		struct mp_window window = { 0 };
		double last[2 * MP_WINDOW_MAX + 5];

		for (i = 0; i < 2 * n + 5; i++) {
			uint32_t ticks = sample_of_kind(kind, base);

			last[i] = ticks;
			mp_window_add(&window, (uint32_t)n, ticks);
			j = i + 1 < n ? i + 1 : n;
			CHECK_EQUAL(window.count, j);
			check_window(&window, last + i + 1 - j, j);
		}
	}
}

static void test_edges(void)
{
	struct mp_window window = { 0 };
	uint32_t i;

	CHECK_EQUAL(mp_window_mean_ns(&window), 0);
	CHECK_EQUAL(mp_window_cov_q16(&window, MP_SPREAD_STANDARD), 0);
	mp_window_add(&window, 50, 12345);
	CHECK_EQUAL(mp_window_cov_q16(&window, MP_SPREAD_STANDARD), 0); /* n - 1 = 0 */
	for (i = 0; i < 100; i++)
		mp_window_add(&window, 50, UINT32_MAX);
	CHECK_EQUAL(mp_window_cov_q16(&window, MP_SPREAD_STANDARD), 0);
	for (i = 0; i < 49; i++)
		mp_window_add(&window, 50, 0);
	/* One of 50 above 0: CoV is sqrt(50), the largest there is. */
	CHECK_NEAR(mp_window_cov_q16(&window, MP_SPREAD_STANDARD) / 65536.0, sqrt(50), 1e-4, 0);
	mp_window_add(&window, 50, 0);
	CHECK_EQUAL(mp_window_cov_q16(&window, MP_SPREAD_STANDARD), 0); /* mean 0 */
	/* n out of range is brought into it. */
	for (i = 0; i < 1000; i++) {
		mp_window_add(&window, random_one_in(2) ? 0 : UINT32_MAX, 7);
		CHECK(window.count <= MP_WINDOW_MAX && window.next < MP_WINDOW_MAX, "%u", i);
	}
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	test_random_windows();
	test_edges();
	return check_end();
}
