/* SPDX-License-Identifier: GPL-2.0-only */
/* What each host gets under `even`, on model meshes: trials, tests and caps. */
#include "share-model.h"

/* One hop starves four; the cap ends where both get the same, whatever that costs the air. */
static void test_near_and_far(void)
{
	double mean[2];

	begin();
	noise = 0.1;
	want[0] = want[1] = 1e9;
	cost[0] = 1;
	cost[1] = 4;
	run(2, 3e6, 60, mean);
	run(2, 3e6, 120, mean);
	CHECK(mean[1] > 0.6 * (mean[0] + mean[1]) / 2, "far %.0f of %.0f", mean[1], mean[0]);
	CHECK(mean[0] + 4 * mean[1] > 0.9 * 3e6, "air unused: %.0f, %.0f", mean[0], mean[1]);
}

/*
 * A host alone is never capped, and who is underserved for other reasons costs the fast next to nothing over
 * five minutes: two trials, both failed.
 */
static void test_harms_nobody(void)
{
	double mean[2];
	uint32_t i;

	begin();
	want[0] = 1e9;
	cost[0] = cost[1] = 1;
	for (i = 0; i < 100; i++) {
		second(1, 3e6);
		CHECK_EQUAL(share[0].cap_bytes_per_s, 0);
	}
	begin();
	noise = 0.05;
	want[0] = 2e6;
	want[1] = 0.3e6;
	hungry = true;
	run(2, 3e6, 300, mean);
	CHECK(mean[0] > 0.97 * 2e6, "%.0f of 2000000", mean[0]);
}

/*
 * Two that take turns, six seconds at more and six at less, owe each other nothing: neither is lowered, but
 * in the first minute, which begins with the first turn.
 */
static void test_turns_are_no_debt(void)
{
	double first = 0, sum = 0;
	uint32_t s;

	begin_two(0, 0);
	for (s = 0; s < 300; s++) {
		want[s / 6 % 2] = 1.4e6;
		want[1 - s / 6 % 2] = 0.6e6;
		second(2, 9e6);
		*(s < 60 ? &first : &sum) += got[0] + got[1];
	}
	CHECK(first > 0.94 * 60 * 2e6, "%.3f of the first minute", first / 60 / 2e6);
	CHECK(sum > 0.999 * 240 * 2e6, "%.4f of the others", sum / 240 / 2e6);
}

/* Who has lost its route gains by nobody's cap: the fast is not lowered again and again. */
static void test_a_stall_is_nobodys_fault(void)
{
	double mean[2];
	uint32_t i;

	begin_two(2e6, 0.3e6);
	for (i = 0; i < 60 && !shares.pause; i++)
		second(2, 3e6);
	CHECK(shares.pause, "no failed trial");
	want[1] = 1;
	run(2, 3e6, 60, mean);
	CHECK(mean[0] > 0.95 * 2e6, "%.0f of 2000000", mean[0]);
}

/* Who has half of the mean may need ten seconds for its window to open: what it gains then is seen. */
static void test_who_lacks_much_may_be_late(void)
{
	double mean[2];
	uint32_t i;

	begin_two(2.2e6, 0.85e6);
	for (i = 0; i < 60 && shares.trial < 9; i++)
		second(2, 3.1e6);
	CHECK(i < 60, "given up after %u s", i);
	want[1] = 1e9;
	run(2, 3.1e6, 60, mean);
	CHECK(mean[1] > 0.86 * mean[0], "%.0f beside %.0f", mean[1], mean[0]);
}

/*
 * A window of two packets opens by a quarter in eight round trips, and not before there is air: what the
 * underserved gain when the trial is over ends the pause, for it did not fail.
 */
static void test_a_pause_ends_with_growth(void)
{
	double mean[2];
	uint32_t i;

	begin();
	hungry = true;
	cost[0] = 1;
	cost[1] = 4;
	want[0] = 20e6;
	want[1] = 0.13e6;
	for (i = 0; i < 60 && !shares.pause; i++)
		second(2, 26e6);
	CHECK(i < 60, "no failed trial");
	for (i = 0; i < 60; i++) {
		want[1] *= 1.08;
		second(2, 26e6);
	}
	run(2, 26e6, 20, mean);
	CHECK(mean[1] > 0.6 * (mean[0] + mean[1]) / 2, "far %.0f of %.0f", mean[1], mean[0]);
}

/*
 * Two near users and two far ones: the first trial is for three of them, and the one beside the fast gains
 * first, so that it is for two when it goes on. These are compared with what they had themselves: with what
 * three had no gain of theirs would be one, and the far would starve until the pause is over.
 */
static void test_who_is_underserved_changes(void)
{
	uint32_t s;

	begin();
	hungry = true;
	cost[0] = cost[1] = cost[2] = cost[3] = 1;
	for (s = 0; s < 20; s++) {
		want[0] = s < 6 ? 1.8e6 : 1.8e6 - (s - 6) * 0.08e6;
		want[1] = s < 6 ? 0.45e6 : mp_min_u64(450000 + (s - 6) * 90000, 700000);
		want[2] = s < 9 ? 0.12e6 : 0.12e6 + (s - 9) * 0.03e6;
		want[3] = 0.08e6;
		second(4, 9e6);
		CHECK_EQUAL(shares.pause, 0);
	}
	CHECK(shares.trial && share[2].underserved && !share[1].underserved, "no trial for the far");
}

/* Who wants little gets it, and what it leaves is the others'. */
static void test_little_wants(void)
{
	double mean[3];

	begin();
	want[0] = want[2] = 1e9;
	want[1] = 0.1e6;
	cost[0] = cost[1] = cost[2] = 1;
	run(3, 3e6, 60, mean);
	run(3, 3e6, 120, mean);
	CHECK_NEAR(mean[1], 0.1e6, 0.02, 0);
	CHECK(mean[2] > 0.6 * mean[0], "%.0f beside %.0f", mean[2], mean[0]);
	CHECK(mean[0] + mean[2] > 0.9 * 2.9e6, "unused: %.0f, %.0f", mean[0], mean[2]);
}

/*
 * The fast takes less for a moment, and the underserved is no longer underserved lately. What it lacks in the long
 * run it lacks still: the cap stays, and rises when that is made up for.
 */
static void test_a_good_moment_is_no_end(void)
{
	double mean[2];
	uint64_t cap_bytes_per_s;
	uint32_t i;

	begin_two(1e9, 1e9);
	run(2, 1e6, 20, mean);
	want[0] = 0.5e6;
	run(2, 1e6, 4, mean);
	cap_bytes_per_s = share[0].cap_bytes_per_s;
	CHECK(cap_bytes_per_s > 0.5e6 && shares.trial == 0, "a trial, the cap %.0f", (double)cap_bytes_per_s);
	for (i = 0; i < 8; i++) {
		second(2, 1e6);
		CHECK_EQUAL(share[0].cap_bytes_per_s, cap_bytes_per_s);
	}
	run(2, 1e6, 120, mean);
	CHECK_EQUAL(share[0].cap_bytes_per_s, 0);
}

/* A tenth less than the mean is not worth a trial, which costs windows: nobody is capped for it. */
static void test_nearly_even_is_left_alone(void)
{
	uint32_t i;

	begin_two(0.55e6, 0.45e6);
	for (i = 0; i < 200; i++) {
		second(2, 2e6);
		CHECK_EQUAL(share[0].cap_bytes_per_s, 0);
	}
}

/* More than a tenth is, whoever's reasons those of the fast are. */
static void test_an_eighth_is_owed(void)
{
	double mean[2];

	begin_two(0.56e6, 1e9);
	run(2, 1e6, 60, mean);
	run(2, 1e6, 60, mean);
	CHECK(mean[1] > 0.88 * mean[0], "%.0f beside %.0f", mean[1], mean[0]);
}

/*
 * Two that contend stay nearly even, also while the air changes all the time: caps that rise take from the
 * underserved what the next trial returns. That a test costs them a fifth is asked less and less often.
 */
static void test_contention_stays_even(void)
{
	double mean[2], sum[2] = { 0, 0 };
	uint32_t s, tests = 0;

	begin_two(1e9, 1e9);
	run(2, 1e6, 60, mean);
	for (s = 0; s < 1000; s++) {
		second(2, 1e6);
		tests += shares.test == 1;
		sum[0] += got[0];
		sum[1] += got[1];
	}
	CHECK(sum[1] > 0.89 * sum[0], "%.0f beside %.0f", sum[1], sum[0]);
	CHECK(tests > 1 && tests < 5, "%u tests", tests);
	for (sum[0] = sum[1] = s = 0; s < 600; s++) {
		second(2, s / 2 % 2 ? 1e6 : 0.7e6);
		sum[0] += got[0];
		sum[1] += got[1];
	}
	CHECK(sum[1] > 0.87 * sum[0], "%.0f beside %.0f, changing", sum[1], sum[0]);
	hungry = false;
	want[1] = 0;
	run(2, 1e6, 40, mean);
	CHECK_EQUAL(shares.stands, MP_SHARE_PATIENCE);
}

/*
 * The contention is over, but who gets nine tenths for reasons of its own is neither poor nor even, and whom
 * a failed trial was for no more so after it: a test finds that it loses nothing by the other, whom the caps
 * of then would hold for ever.
 */
static void test_what_is_over_holds_nobody(void)
{
	const double parts[] = { 0.7, 0.9 };
	double mean[2];
	uint32_t i;

	for (i = 0; i < 2; i++) {
		begin_two(1e9, 1e9);
		run(2, 1e6, 60, mean);
		CHECK(share[0].cap_bytes_per_s > 0, "never capped");
		want[0] = 1e6;
		want[1] = parts[i] * (double)share[0].cap_bytes_per_s;
		run(2, 2e6, 300, mean);
		CHECK(mean[0] > 0.8 * 1e6, "%.1f: %.0f of 1000000", parts[i], mean[0]);
	}
}

/* All have had little for a while, and are capped by it; then there is more: the caps do not stay. */
static void test_little_for_all_is_even(void)
{
	double mean[2];
	uint32_t i;

	begin_two(1e9, 1e9);
	run(2, 1e6, 30, mean);
	for (i = 0; i < 2; i++) {
		share[i].cap_bytes_per_s = share[i].rate_bytes_per_s = 300000;
		share[i].usual_bytes_per_s = 200000;
	}
	run(2, 1e6, 15, mean);
	run(2, 1e6, 5, mean);
	CHECK(mean[0] + mean[1] > 0.9 * 1e6, "unused: %.0f, %.0f", mean[0], mean[1]);
}

/* When the others have gone, the caps go. */
static void test_caps_end(void)
{
	double mean[2];

	begin();
	want[0] = want[1] = 1e9;
	cost[0] = 1;
	cost[1] = 4;
	run(2, 3e6, 60, mean);
	CHECK(share[0].cap_bytes_per_s > 0, "never capped");
	want[1] = 0;
	run(2, 3e6, 40, mean);
	CHECK_EQUAL(share[0].cap_bytes_per_s, 0);
}

/* Whatever comes: nobody is capped below the least, nothing overflows. */
static void test_anything(void)
{
	uint32_t i, k;

	begin();
	for (i = 0; i < 20000; i++) {
		uint32_t n = (uint32_t)(random_u64() % (MOST + 1));

		for (k = 0; k < n; k++) {
			share[k].delivered_bytes += random_u64() >> (16 + (random_u64() & 31));
			share[k].flows = random_u64() & random_u64() & 3;
			share[k].wanting_flows = random_u64() & share[k].flows;
		}
		now_ns += random_u64() >> (24 + (random_u64() & 31));
		mp_shares_step(&shares, share, n, now_ns);
		for (k = 0; k < n; k++)
			CHECK(share[k].cap_bytes_per_s == 0 || share[k].cap_bytes_per_s >= MP_SHARE_LEAST_BYTES_PER_S,
			      "%" PRIu64, share[k].cap_bytes_per_s);
	}
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	test_near_and_far();
	test_harms_nobody();
	test_turns_are_no_debt();
	test_a_stall_is_nobodys_fault();
	test_who_lacks_much_may_be_late();
	test_a_pause_ends_with_growth();
	test_who_is_underserved_changes();
	test_little_wants();
	test_a_good_moment_is_no_end();
	test_little_for_all_is_even();
	test_nearly_even_is_left_alone();
	test_an_eighth_is_owed();
	test_contention_stays_even();
	test_what_is_over_holds_nobody();
	test_caps_end();
	test_anything();
	return check_end();
}
