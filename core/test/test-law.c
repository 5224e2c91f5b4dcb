/* SPDX-License-Identifier: GPL-2.0-only */
/* From the departures and ACKs of a flow to its interval, against eq. (1) to (5) in floating point. */
#include "check.h"
#include "reference.h"

#include <meshpace/law/law.h>
#include <meshpace/endpoint/sent.h>

#define RTT_SHORTEST_S 100e-6
#define RTT_LONGEST_S 60.0

static double worst; /* relative error of an interval */

static struct mp_path random_path(void)
{
	struct mp_path path = {
		.hops = random_between(1, 30),
		.kbps = random_one_in(20) ? 0 : (uint32_t)random_log(1000, 1000001),
		.data_bytes = random_between(60, 9000),
		.ack_bytes = random_between(40, 60),
	};
	return path;
}

static struct ref_path ref_path_of(const struct mp_path *path)
{
	struct ref_path ref = { path->hops, path->kbps * 1e3, path->data_bytes * 8.0,
				path->ack_bytes * 8.0 };
	return ref;
}

static struct ref_law ref_law_of(const struct mp_law *law)
{
	struct ref_law ref = { (int)law->window, 0.7, law->spread == MP_SPREAD_MEAN_ABSOLUTE,
			       law->one_hop_below_four, (double)law->delay_bound_ns / 1e9,
			       law->delay_bound_means };
	return ref;
}

/* Eq. (3), (4): a hop's delay and the four-hop delay to the nanosecond or so. */
static void test_path(void)
{
	int i;

	for (i = 0; i < 300000; i++) {
		struct mp_path path = random_path();
		struct ref_path ref = ref_path_of(&path);
		double rtt_s = random_log(RTT_SHORTEST_S, RTT_LONGEST_S);
		uint64_t rtt_ns = (uint64_t)(rtt_s * 1e9);

		if (random_one_in(10))
			path.ack_bytes = random_between(40, 9000); /* may cut the sum off at 0 */
		ref.s_ack = path.ack_bytes * 8.0;
		CHECK_NEAR(mp_hop_delay_ns(&path, rtt_ns), ref_hop_delay(&ref, rtt_s) * 1e9, 0, 2.5);
		CHECK_NEAR(mp_reuse_delay_ns(&path, rtt_ns), ref_reuse_delay(&ref, rtt_s) * 1e9, 0, 10);
	}
}

/* What a host started with is the next of 64, 128 and 255; the neighbour is one hop away. */
static void test_hops_of_ttl(void)
{
	CHECK_EQUAL(mp_hops_of_ttl(0), 0);
	CHECK_EQUAL(mp_hops_of_ttl(64), 1);
	CHECK_EQUAL(mp_hops_of_ttl(61), 4);
	CHECK_EQUAL(mp_hops_of_ttl(30), 35);
	CHECK_EQUAL(mp_hops_of_ttl(94), 35);
	CHECK_EQUAL(mp_hops_of_ttl(128), 1);
	CHECK_EQUAL(mp_hops_of_ttl(221), 35);
	CHECK_EQUAL(mp_hops_of_ttl(255), 1);
	/* Wider than any mesh: the host began with another TTL. */
	CHECK_EQUAL(mp_hops_of_ttl(1), 0);
	CHECK_EQUAL(mp_hops_of_ttl(29), 0);
	CHECK_EQUAL(mp_hops_of_ttl(65), 0);
	CHECK_EQUAL(mp_hops_of_ttl(93), 0);
	CHECK_EQUAL(mp_hops_of_ttl(129), 0);
	CHECK_EQUAL(mp_hops_of_ttl(220), 0);
}

static void test_path_edges(void)
{
	struct mp_path path = { .hops = 0, .kbps = 0, .data_bytes = 1500, .ack_bytes = 40 };

	/* No hops known: one. No bit rate known: half the RTT. */
	CHECK_EQUAL(mp_hop_delay_ns(&path, 1000000), 500000);
	CHECK_EQUAL(mp_reuse_delay_ns(&path, 1000000), 500000);
	path.hops = 8;
	CHECK_EQUAL(mp_reuse_delay_ns(&path, 8000000), 2000000);
	/* GAP at 2 Mbit/s, 4 hops, 100 ms: 2 (100 ms / 4 + 1460 B / 2 Mbit/s) = 61.68 ms. */
	path.hops = 4;
	path.kbps = 2000;
	CHECK_EQUAL(mp_reuse_delay_ns(&path, 100000000), 61680000);
	CHECK_EQUAL(mp_transmission_ns(UINT32_MAX, 1000000), UINT32_MAX * 8ull);
}

/* How RTT samples come: constant, bimodal, outliers, a random walk, anything. */
static double next_rtt(uint32_t kind, double base, double previous)
{
	switch (kind) {
	case 0:
		return base;
	case 1:
		return random_one_in(2) ? base : fmin(base * 7, RTT_LONGEST_S);
	case 2:
		return random_one_in(40) ? RTT_LONGEST_S : base;
	case 3:
		return fmin(fmax(previous * (0.8 + 0.45 * random_unit()), RTT_SHORTEST_S),
			    RTT_LONGEST_S);
	default:
		return random_log(RTT_SHORTEST_S, RTT_LONGEST_S);
	}
}

/* A flow's law and state, in both arithmetics. */
struct pair {
	struct mp_law law;
	struct mp_path path;
	struct mp_sent sent;
	struct mp_estimate estimate;
	struct ref_law ref_law;
	struct ref_path ref_path;
	struct ref_estimate ref;
};

static struct pair random_pair(void)
{
	struct pair pair = { .law = random_one_in(2) ? mp_law_gap() : mp_law_ap() };

	if (random_one_in(2))
		pair.law.delay_bound_ns = 0;
	if (random_one_in(4))
		pair.law.window = random_between(1, 50);
	if (random_one_in(3))
		pair.law.delay_bound_means = random_between(1, 10);
	pair.path = random_path();
	pair.ref_law = ref_law_of(&pair.law);
	pair.ref_path = ref_path_of(&pair.path);
	return pair;
}

/* Whether rounding to ticks could decide if the delay bound discards the sample. */
static bool at_the_bound(const struct mp_law *law, double rtt_s)
{
	return law->delay_bound_ns && fabs(rtt_s * 1e9 - (double)law->delay_bound_ns) < 1000;
}

static void check_interval(const struct pair *pair)
{
	double want_ns = ref_interval(&pair->ref, &pair->ref_law) * 1e9;
	uint64_t floor_ns = random_one_in(2) ? 0 : (uint64_t)random_log(1e3, 1e12);
	double got_ns = (double)mp_interval_ns(&pair->estimate, &pair->law, 0);

	CHECK_EQUAL(pair->estimate.delay_ns.started, pair->ref.started);
	if (!pair->ref.started)
		want_ns = (double)pair->law.initial_interval_ns;
	CHECK_NEAR(got_ns, want_ns, 0.005, 0);
	CHECK_NEAR(mp_interval_ns(&pair->estimate, &pair->law, floor_ns),
		   fmax(want_ns, (double)floor_ns), 0.005, 0);
	if (want_ns > 0)
		worst = fmax(worst, fabs(got_ns / want_ns - 1));
}

/* Segments leave and are acknowledged one after the other; RTT_wired is subtracted when there is one. */
static void test_interval(bool wired)
{
	int run, i;

	for (run = 0; run < 2500; run++) {
		struct pair pair = random_pair();
		uint32_t kind = random_below(5), seq = (uint32_t)random_u64();
		uint64_t now_ns = random_u64() >> random_between(1, 30);
		double base = random_log(RTT_SHORTEST_S, RTT_LONGEST_S), rtt_s = base;

		for (i = 0; i < 100; i++) {
			uint32_t len = random_between(1, 9000);
			uint32_t wired_us = wired ? random_between(1, 300000) : 0;
			uint32_t ticks;

			rtt_s = next_rtt(kind, base, rtt_s);
			if (wired)
				rtt_s = fmax(rtt_s, 1e-3); /* the option's 1 us must be little */
			if (at_the_bound(&pair.law, rtt_s))
				continue;
			CHECK_EQUAL(mp_sent_record(&pair.sent, seq, len, now_ns), true);
			seq = (uint32_t)((uint64_t)seq + len);
			now_ns += (uint64_t)(rtt_s * 1e9) + wired_us * 1000ull;
			ticks = mp_sent_ack(&pair.sent, seq, now_ns);
			CHECK(ticks > 0, "no sample of an undisturbed segment");
			mp_estimate_add(&pair.estimate, &pair.law, &pair.path,
					mp_rtt_wireless_ticks(ticks, wired_us), 0, 0);
			ref_estimate_add(&pair.ref, &pair.ref_law, &pair.ref_path, rtt_s);
			check_interval(&pair);
			now_ns += random_below(50000000);
		}
	}
}

/* The papers' parameters (table 1), and where the authors' agent for TCP-AP differs. */
static void test_parameters(void)
{
	struct mp_law gap = mp_law_gap(), ap = mp_law_ap();

	CHECK_EQUAL(gap.window, 50);
	CHECK_EQUAL(gap.spread, MP_SPREAD_STANDARD);
	CHECK_EQUAL(gap.one_hop_below_four, false);
	CHECK_EQUAL(gap.delay_bound_ns, MP_NS_PER_S / 2);
	CHECK_EQUAL(ap.window, 50);
	CHECK_EQUAL(ap.spread, MP_SPREAD_MEAN_ABSOLUTE);
	CHECK_EQUAL(ap.one_hop_below_four, true);
	CHECK_EQUAL(ap.delay_bound_ns, MP_NS_PER_S / 2);
}

/* One sample of 300 ms among many of 7 ms, and a path that has become longer for good, cut to four means. */
static void test_bound_of_means(void)
{
	struct mp_law gap = mp_law_gap(), cut = mp_law_gap();
	struct mp_path path = { .hops = 4, .kbps = 11000, .data_bytes = 1500, .ack_bytes = 40 };
	struct mp_estimate as_it_is = { 0 }, bound = { 0 };
	uint32_t ticks = mp_ticks_of_us(7000), i;

	cut.delay_bound_means = 4;
	for (i = 0; i < 50; i++) {
		uint32_t sample_ticks = i == 25 ? mp_ticks_of_us(300000) : ticks;

		mp_estimate_add(&as_it_is, &gap, &path, sample_ticks, 0, 0);
		CHECK(mp_estimate_add(&bound, &cut, &path, sample_ticks, 0, 0), "a cut sample counts");
	}
	CHECK_NEAR(1 + 2 * as_it_is.cov_q16 / 65536.0, 7.4, 0.02, 0);
	CHECK_NEAR(1 + 2 * bound.cov_q16 / 65536.0, 1.8, 0.02, 0);
	/* Ten times as long: the mean follows within the window, and then all is of the new path. */
	for (i = 0; i < 50; i++)
		mp_estimate_add(&bound, &cut, &path, 10 * ticks, 0, 0);
	CHECK_NEAR(mp_window_mean_ns(&bound.window), 70e6, 0.15, 0);
	for (i = 0; i < 50; i++)
		mp_estimate_add(&bound, &cut, &path, 10 * ticks, 0, 0);
	CHECK_NEAR(mp_window_mean_ns(&bound.window), 70e6, 0.001, 0);
}

static void test_estimate_edges(void)
{
	struct mp_law gap = mp_law_gap(), ap = mp_law_ap();
	struct mp_path path = { .hops = 4, .kbps = 11000, .data_bytes = 1500, .ack_bytes = 40 };
	struct mp_estimate estimate = { 0 };
	uint32_t bound_ticks = (uint32_t)(MP_DELAY_BOUND_NS >> MP_TICK_SHIFT);

	CHECK_EQUAL(mp_interval_ns(&estimate, &gap, 0), 0);
	CHECK_EQUAL(mp_interval_ns(&estimate, &gap, 7), 7);
	CHECK_EQUAL(mp_interval_ns(&estimate, &ap, 0), 50000000);
	CHECK_EQUAL(mp_estimate_add(&estimate, &gap, &path, 0, 0, 0), false);
	CHECK_EQUAL(estimate.samples + estimate.discarded, 0);
	CHECK_EQUAL(mp_estimate_add(&estimate, &gap, &path, bound_ticks + 1, 0, 0), false);
	CHECK_EQUAL(estimate.discarded, 1);
	CHECK_EQUAL(mp_estimate_add(&estimate, &gap, &path, bound_ticks, 0, 0), true);
	CHECK_EQUAL(estimate.samples, 1);
	/* The longest RTT that 32 bits of ticks hold, with and without spread. */
	gap.delay_bound_ns = 0;
	CHECK_EQUAL(mp_estimate_add(&estimate, &gap, &path, UINT32_MAX, 0, 0), true);
	CHECK(mp_interval_ns(&estimate, &gap, 0) > 50 * MP_NS_PER_S, "overflow");
}

/* What was learnt of the whole RTT must not colour what is learnt of RTT_wireless. */
static void test_forgetting(void)
{
	struct mp_path path = { .hops = 4, .kbps = 11000, .data_bytes = 1500, .ack_bytes = 40 };
	struct mp_law law = mp_law_gap();
	struct mp_estimate fresh = { 0 }, used = { 0 };
	uint32_t i;

	for (i = 0; i < 60; i++)
		mp_estimate_add(&used, &law, &path, 1000000 + 100000 * (i % 7), 0, 0);
	mp_estimate_forget(&used);
	CHECK_EQUAL(mp_interval_ns(&used, &law, 0), law.initial_interval_ns);
	for (i = 0; i < 60; i++) {
		mp_estimate_add(&fresh, &law, &path, 200000 + 1000 * (i % 5), 0, 0);
		mp_estimate_add(&used, &law, &path, 200000 + 1000 * (i % 5), 0, 0);
		CHECK_EQUAL(mp_interval_ns(&used, &law, 0), mp_interval_ns(&fresh, &law, 0));
	}
}

/* RTT_wired: never above what it stands for, at most 1 us below, and subtracted to the tick. */
static void test_wired(void)
{
	int i;

	for (i = 0; i < 1000000; i++) {
		uint32_t ticks = (uint32_t)random_extreme_u64();
		uint32_t us = mp_rtt_wired_us(ticks), wired_us = (uint32_t)random_extreme_u64();
		double left = ticks - wired_us / 0.064;

		CHECK_NEAR(us, ticks * 0.064, 0, 1);
		CHECK_EQUAL(us == 0, ticks == 0);
		CHECK_NEAR(mp_rtt_wireless_ticks(ticks, wired_us), left > 0 ? left : 0, 0, 1.001);
	}
	CHECK_EQUAL(mp_rtt_wireless_ticks(0, 0), 0);
	CHECK_EQUAL(mp_rtt_wireless_ticks(1000, 64), 0);
	CHECK_EQUAL(mp_rtt_wireless_ticks(1001, 64), 1);
	CHECK_EQUAL(mp_rtt_wireless_ticks(UINT32_MAX, UINT32_MAX), 0);
}

static void test_rate(void)
{
	int i;

	CHECK_EQUAL(mp_rate_bytes_per_s(0, 1500), 0);
	CHECK_EQUAL(mp_rate_mpps(0), 0);
	CHECK_EQUAL(mp_rate_bytes_per_s(10000000, 1500), 150000);
	CHECK_EQUAL(mp_rate_mpps(10000000), 100000);
	for (i = 0; i < 100000; i++) {
		uint64_t interval_ns = random_extreme_u64() | 1;
		uint32_t bytes = (uint32_t)random_extreme_u64();

		CHECK_NEAR(mp_rate_bytes_per_s(interval_ns, bytes), bytes * 1e9 / (double)interval_ns,
			   1e-12, 1);
	}
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	test_path();
	test_path_edges();
	test_hops_of_ttl();
	test_interval(false);
	test_interval(true);
	test_parameters();
	test_bound_of_means();
	test_estimate_edges();
	test_forgetting();
	test_wired();
	test_rate();
	printf("worst error of an interval: %.3f%%\n", worst * 100);
	return check_end();
}
