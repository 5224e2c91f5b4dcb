/* SPDX-License-Identifier: GPL-2.0-only */
/* What each host gets under `even`, on model meshes: who costs the air how much, who wants how much. */
#include "check.h"

#include <string.h>

#include <meshpace/law/share.h>

#define MOST 16
#define PROBE_BPS 1500

static struct mp_shares shares;
static struct mp_share share[MOST];
static uint64_t now_ns;

/* A mesh of n hosts: host i takes want[i] bytes/s if it may, each byte costs cost[i] of the air. */
static double want[MOST], cost[MOST], got[MOST];
static double noise;
static bool content[MOST]; /* bound by its own application, server or window */
static bool hungry; /* whoever gets all it can use wants more all the same */

static void begin(void)
{
	memset(&shares, 0, sizeof(shares));
	memset(share, 0, sizeof(share));
	memset(got, 0, sizeof(got));
	memset(want, 0, sizeof(want));
	memset(content, 0, sizeof(content));
	now_ns = 1000 * MP_NS_PER_S;
	noise = 0;
	hungry = false;
}

/* Two whose bytes cost the air the same, and who want more whatever they get. */
static void begin_two(double first, double other)
{
	begin();
	hungry = true;
	cost[0] = cost[1] = 1;
	want[0] = first;
	want[1] = other;
}

/*
 * The first takes what it wants of the air, the next of what is left, and so on; but whose path is there gets
 * a packet a second through, by which it was asked (probe.h).
 */
static void second(uint32_t n, double air)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		double bps = fmin(want[i], fmax(air / cost[i], PROBE_BPS));

		if (share[i].cap_bps)
			bps = fmin(bps, (double)share[i].cap_bps);
		air = fmax(air - bps * cost[i], 0);
		bps *= 1 + noise * (2 * random_unit() - 1);
		got[i] = bps;
		share[i].delivered_bytes += (uint64_t)bps;
		share[i].flows = hungry || bps < 0.98 * want[i];
		share[i].wanting_flows = content[i] ? 0 : share[i].flows;
	}
	now_ns += MP_SHARE_STEP_NS;
	mp_shares_step(&shares, share, n, now_ns);
}

/* Means of what each gets over so many seconds. */
static void run(uint32_t n, double air, uint32_t seconds, double *mean)
{
	uint32_t s, i;

	for (i = 0; i < n; i++)
		mean[i] = 0;
	for (s = 0; s < seconds; s++) {
		second(n, air);
		for (i = 0; i < n; i++)
			mean[i] += got[i] / seconds;
	}
}

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
 * A host alone is never capped, and who is slow for other reasons costs the fast next to nothing over
 * five minutes: two attempts, both vain.
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
		CHECK_EQUAL(share[0].cap_bps, 0);
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
	CHECK(shares.pause, "no vain attempt");
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
	for (i = 0; i < 60 && shares.attempt < 9; i++)
		second(2, 3.1e6);
	CHECK(i < 60, "given up after %u s", i);
	want[1] = 1e9;
	run(2, 3.1e6, 60, mean);
	CHECK(mean[1] > 0.86 * mean[0], "%.0f beside %.0f", mean[1], mean[0]);
}

/*
 * A window of two packets opens by a quarter in eight round trips, and not before there is air: what the
 * slow gain when the attempt is over ends the pause, for it was not vain.
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
	CHECK(i < 60, "no vain attempt");
	for (i = 0; i < 60; i++) {
		want[1] *= 1.08;
		second(2, 26e6);
	}
	run(2, 26e6, 20, mean);
	CHECK(mean[1] > 0.6 * (mean[0] + mean[1]) / 2, "far %.0f of %.0f", mean[1], mean[0]);
}

/*
 * Two near users and two far ones: the first attempt is for three of them, and the one beside the fast gains
 * first, so that it is for two when it goes on. These are compared with what they had themselves: with what
 * three had no gain of theirs would be one, and the far would starve until the pause is over.
 */
static void test_who_is_slow_changes(void)
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
	CHECK(shares.attempt && share[2].slow && !share[1].slow, "no attempt for the far");
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
 * The fast takes less for a moment, and the slow is no longer slow lately. What it lacks in the long
 * run it lacks still: the cap stays, and rises when that is made up for.
 */
static void test_a_good_moment_is_no_end(void)
{
	double mean[2];
	uint64_t cap_bps;
	uint32_t i;

	begin_two(1e9, 1e9);
	run(2, 1e6, 20, mean);
	want[0] = 0.5e6;
	run(2, 1e6, 4, mean);
	cap_bps = share[0].cap_bps;
	CHECK(cap_bps > 0.5e6 && shares.attempt == 0, "an attempt, the cap %.0f", (double)cap_bps);
	for (i = 0; i < 8; i++) {
		second(2, 1e6);
		CHECK_EQUAL(share[0].cap_bps, cap_bps);
	}
	run(2, 1e6, 120, mean);
	CHECK_EQUAL(share[0].cap_bps, 0);
}

/* A tenth less than the mean is not worth an attempt, which costs windows: nobody is capped for it. */
static void test_nearly_even_is_left_alone(void)
{
	uint32_t i;

	begin_two(0.55e6, 0.45e6);
	for (i = 0; i < 200; i++) {
		second(2, 2e6);
		CHECK_EQUAL(share[0].cap_bps, 0);
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
 * slow what the next attempt returns. That a test costs them a fifth is asked less and less often.
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
 * a vain attempt was for no more so after it: a test finds that it loses nothing by the other, whom the caps
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
		CHECK(share[0].cap_bps > 0, "never capped");
		want[0] = 1e6;
		want[1] = parts[i] * (double)share[0].cap_bps;
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
		share[i].cap_bps = share[i].rate_bps = 300000;
		share[i].usual_bps = 200000;
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
	CHECK(share[0].cap_bps > 0, "never capped");
	want[1] = 0;
	run(2, 3e6, 40, mean);
	CHECK_EQUAL(share[0].cap_bps, 0);
}

/* Nothing of a host moves for so many seconds; its data stays under way. */
static void stall(uint32_t n, uint32_t host, double air, uint32_t seconds)
{
	double wanted = want[host], mean[MOST];

	want[host] = 0;
	run(n, air, seconds, mean);
	want[host] = wanted;
}

/* A host has caps by whom it contends with: near, 4 times as cheap, and far. */
static void contend(void)
{
	double mean[2];

	begin();
	hungry = true;
	want[0] = want[1] = 1e9;
	cost[0] = 1;
	cost[1] = 4;
	run(2, 3e6, 60, mean);
	CHECK(share[0].cap_bps > 0 && share[0].cap_bps < 1000000, "cap %.0f", (double)share[0].cap_bps);
}

/* Who dies in mid-download, all its data under way for ever, holds nobody: after 4 s nobody has a cap. */
static void test_who_dies_holds_nobody(void)
{
	uint32_t s;

	contend();
	want[1] = 0;
	for (s = 0; s < 300; s++) {
		second(2, 3e6);
		if (s >= MP_ACTIVE_STEPS + 1)
			CHECK_EQUAL(share[0].cap_bps, 0);
	}
	CHECK(got[0] > 2.99e6, "%.0f of 3000000", got[0]);
}

/* Its path comes back after 20 s: what was in force is so at once; after two minutes it is a newcomer. */
static void test_who_comes_back_finds_what_it_had(void)
{
	uint64_t cap_bps;

	contend();
	cap_bps = share[0].cap_bps;
	stall(2, 1, 3e6, 20);
	CHECK_EQUAL(share[0].cap_bps, 0);
	second(2, 3e6);
	share[1].delivered_bytes += 1500; /* the near host has all the air: a probe's worth */
	second(2, 3e6);
	CHECK(fabs((double)share[0].cap_bps - (double)cap_bps) < 0.2 * (double)cap_bps, "%.0f, before %.0f",
	      (double)share[0].cap_bps, (double)cap_bps);
	stall(2, 1, 3e6, 120);
	share[1].delivered_bytes += 1500;
	second(2, 3e6);
	CHECK_EQUAL(share[0].cap_bps, 0);
}

/* Addresses that send and are never answered: no mean, no trial, no cap, whoever else is there. */
static void test_ghosts_hold_nobody(void)
{
	uint32_t s, i;

	begin();
	hungry = true;
	want[0] = 1e6;
	cost[0] = 1;
	for (s = 0; s < 200; s++) {
		second(MOST, 3e6);
		CHECK_EQUAL(share[0].cap_bps, 0);
		CHECK_EQUAL(shares.attempt, 0);
		for (i = 1; i < MOST; i++)
			CHECK_EQUAL(share[i].active, 0);
	}
}

/* Who is bound by its own application begins no trial, however little it gets. */
static void test_who_wants_no_more_begins_nothing(void)
{
	double mean[2];
	uint32_t s;

	begin();
	want[0] = 1e9;
	want[1] = 0.05e6;
	cost[0] = cost[1] = 1;
	content[1] = true;
	for (s = 0; s < 300; s++) {
		second(2, 3e6);
		CHECK_EQUAL(share[0].cap_bps, 0);
	}
	run(2, 3e6, 20, mean);
	CHECK(mean[0] > 2.9e6, "%.0f", mean[0]);
}

/* Of four hosts, two near that are capped and two far, one far leaves: within 10 s all the air is used again. */
static void test_who_leaves_frees_its_part(void)
{
	double mean[4], air;
	uint32_t i;

	begin();
	hungry = true;
	for (i = 0; i < 4; i++) {
		want[i] = 1e9;
		cost[i] = i < 2 ? 1 : 8;
	}
	want[2] = want[3] = 0.3e6; /* the far can use no more, and one of them wants no more */
	content[2] = true;
	run(4, 6e6, 120, mean);
	CHECK(share[0].cap_bps > 0, "never capped");
	want[3] = 0;
	run(4, 6e6, 10, mean);
	run(4, 6e6, 5, mean);
	air = mean[0] + mean[1] + 8 * mean[2];
	CHECK(air > 0.9 * 6e6, "%.0f of 6000000", air);
}

/* A flow wants more unless its sender has no more or the receiver's window is closed. */
static void test_which_flows_want(void)
{
	struct mp_demand bulk = { .outstanding_bytes = 30000, .window_bytes = 65535, .segment_bytes = 1448 };
	struct mp_demand paused = bulk, closed = bulk, held = bulk, idle = { .window_bytes = 65535 };
	struct mp_demand upload = { .recent = true };

	paused.paused = true;
	closed.outstanding_bytes = 64200;
	held.paused = held.waits = true;
	CHECK(mp_flow_wants(&bulk), "bulk");
	CHECK(!mp_flow_wants(&paused), "its application is the limit");
	CHECK(!mp_flow_wants(&closed), "its window is the limit");
	CHECK(mp_flow_wants(&held), "its last data waits here");
	CHECK(!mp_flow_wants(&idle) && !mp_flow_moves(&idle), "idle");
	CHECK(mp_flow_wants(&upload), "an upload a moment ago");
	CHECK(mp_flow_recent(5 * MP_NS_PER_S, 6 * MP_NS_PER_S - 1), "just now");
	CHECK(!mp_flow_recent(5 * MP_NS_PER_S, 6 * MP_NS_PER_S), "a second ago");
}

/*
 * Hosts are counted once one of them has got nothing for two seconds, for twenty, and for two minutes if it then gets
 * something again, for then it has not left; a trickle is not counted, nor who has wanted nothing for twenty seconds.
 */
static void test_who_shares_a_lossy_mesh(void)
{
	double mean[3];

	begin_two(0.5e6, 0.5e6);
	cost[2] = 1;
	want[2] = 0.02e6;
	run(3, 3e6, 30, mean);
	CHECK_EQUAL(shares.sharers, 0);
	stall(3, 1, 3e6, 1);
	run(3, 3e6, 10, mean);
	CHECK_EQUAL(shares.sharers, 0);
	stall(3, 1, 3e6, 5);
	CHECK_EQUAL(shares.sharers, 2);
	run(3, 3e6, 110, mean);
	CHECK_EQUAL(shares.sharers, 2);
	run(3, 3e6, 20, mean);
	CHECK_EQUAL(shares.sharers, 0);
	stall(3, 1, 3e6, 5);
	run(3, 3e6, 5, mean);
	hungry = false;
	want[0] = 1e9;
	want[1] = want[2] = 0;
	run(3, 3e6, 25, mean);
	CHECK_EQUAL(shares.sharers, 1);
}

/* Each flow of a host is told its part of the host's cap. */
static void test_what_flows_are_told(void)
{
	struct mp_shares three = { .sharers = 3 };
	struct mp_share two = { .cap_bps = 1000, .flows = 2 }, none = { .flows = 0, .cap_bps = 700 };

	CHECK_EQUAL(mp_share_told(&three, &two).bps, 500);
	CHECK_EQUAL(mp_share_told(&three, &two).sharers, 3);
	CHECK_EQUAL(mp_share_told(&three, &none).bps, 700);
	two.flows = 2000;
	CHECK(mp_share_told(&three, &two).bps > 0, "so many that none has a limit");
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
			CHECK(share[k].cap_bps == 0 || share[k].cap_bps >= MP_SHARE_LEAST_BPS,
			      "%" PRIu64, share[k].cap_bps);
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
	test_who_is_slow_changes();
	test_little_wants();
	test_a_good_moment_is_no_end();
	test_little_for_all_is_even();
	test_nearly_even_is_left_alone();
	test_an_eighth_is_owed();
	test_contention_stays_even();
	test_what_is_over_holds_nobody();
	test_caps_end();
	test_who_dies_holds_nobody();
	test_who_comes_back_finds_what_it_had();
	test_ghosts_hold_nobody();
	test_who_wants_no_more_begins_nothing();
	test_who_leaves_frees_its_part();
	test_which_flows_want();
	test_who_shares_a_lossy_mesh();
	test_what_flows_are_told();
	test_anything();
	return check_end();
}
