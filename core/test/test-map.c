/* SPDX-License-Identifier: GPL-2.0-only */
/* From a path's radio, bit rates and RTT to the interval, against MAP's eq. (1) to (15). */
#include "check.h"
#include "reference-map.h"

#include <meshpace/law/law.h>
#include <meshpace/law/radio.h>

static double worst; /* relative error of an interval */

/* A chain and its radio, in both arithmetics. */
struct chain {
	struct mp_path path;
	struct ref_path ref_path;
	struct ref_link ref_link;
	int oid_hops;
};

/* The papers' radio: nodes of log-distance loss that sense to 550 m. */
static void set_range(struct chain *chain, double spacing_m, double p)
{
	struct ref_radio ref = { .p_tx = 24.5, .t_cs = -78.07, .p = p };
	struct mp_radio radio = mp_radio_default();
	struct mp_reach reach = { 0 };
	double margin;
	int h = (int)chain->path.hops, h_cs;

	ref.p_rx = ref.t_cs + 10 * p * log10(550 / spacing_m);
	radio.tx_power_dbm_q8 = (int16_t)lrint(ref.p_tx * 256);
	radio.signal_dbm_q8 = (int16_t)lrint(ref.p_rx * 256);
	radio.sense_dbm_q8 = (int16_t)lrint(ref.t_cs * 256);
	radio.exponent_q8 = (uint16_t)lrint(p * 256);
	h_cs = ref_h_cs(&ref, h, &margin);
	chain->path.link.h_cs = (uint16_t)mp_h_cs(&radio, &reach);
	/* Rounding may put a node at the very edge on either side of it: test-radio.c. */
	if (margin < 0.01)
		chain->path.link.h_cs = (uint16_t)h_cs;
	/* OID spans the path at most; past its end nothing is sent. */
	chain->oid_hops = h_cs + 1 < h ? h_cs + 1 : h;
}

static struct chain chain_of(uint32_t hops, double mbps, bool rts_cts)
{
	struct chain chain = {
		.path = { .hops = hops, .kbps = (uint32_t)(mbps * 1000), .data_bytes = 1500,
			  .ack_bytes = 40, .link = mp_link_80211b() },
		.ref_path = { hops, mbps * 1e6, 1500 * 8, 40 * 8 },
		.ref_link = { 1e6, 31, 20e-6, rts_cts },
	};

	chain.path.link.rts_cts = rts_cts;
	return chain;
}

/* Samples around base: what the law makes of them, at each. */
static void check_samples(const struct chain *chain, double base_s, double jitter)
{
	struct mp_law law = mp_law_map();
	struct mp_estimate estimate = { 0 };
	struct ref_map ref = { .samples = 0 };
	int i, n = jitter > 0 ? 60 : 3;
	double least_s = INFINITY;

	law.delay_bound_ns = 0;
	law.link_in_oid = random_one_in(2);
	law.link_learnt = random_one_in(2);
	for (i = 0; i < n; i++) {
		double rtt_s = base_s * (1 + jitter * random_unit());
		uint32_t ticks = (uint32_t)lrint(rtt_s / 64e-9);
		struct ref_layer layer;
		double got_s, want_s;

		CHECK_EQUAL(mp_estimate_add(&estimate, &law, &chain->path, ticks, 0, 0), true);
		least_s = fmin(least_s, rtt_s);
		layer = ref_layer_of(&chain->ref_path, &chain->ref_link, law.link_learnt ? least_s : 0);
		ref_map_add(&ref, rtt_s, ref_oid(&chain->ref_path, layer, chain->oid_hops, law.link_in_oid, rtt_s));
		got_s = (double)mp_interval_ns(&estimate, &law, 0) / 1e9;
		want_s = ref_map_interval(&ref);
		CHECK_NEAR(got_s, want_s, 0.005, 0);
		worst = fmax(worst, fabs(got_s / want_s - 1));
	}
}

/* Hops, spacing, exponents, bit rates, RTS/CTS, RTT: the whole grid. */
static void test_grid(void)
{
	static const double mbps[] = { 1, 2, 5.5, 6, 11, 12, 24, 54 };
	static const double rtt_ms[] = { 0.5, 1, 2, 5, 10, 20, 50, 100, 300, 1000, 5000 };
	uint32_t hops, b, r, i;

	for (hops = 1; hops <= 20; hops++)
		for (b = 0; b < 8; b++)
			for (r = 0; r < 11; r++)
				for (i = 0; i < 80; i++) {
					struct chain chain = chain_of(hops, mbps[b], i & 1);

					set_range(&chain, 50 + i / 4 * 10, 2 + i / 2 % 7 * 0.5);
					check_samples(&chain, rtt_ms[r] / 1e3, 0);
				}
}

/* Anywhere between the points of the grid, any packet, RTTs that vary. */
static void test_random(void)
{
	int run;

	for (run = 0; run < 6000; run++) {
		double mbps = random_between(1000, 54000) / 1e3;
		struct chain chain = chain_of(random_between(1, 20), mbps, random_one_in(2));

		chain.path.kbps = (uint32_t)lrint(mbps * 1000);
		chain.path.data_bytes = random_between(60, 2304);
		chain.path.ack_bytes = random_between(40, 80);
		chain.path.link.cw = (uint16_t)random_between(7, 1023);
		chain.path.link.slot_us = random_one_in(2) ? 9 : 20;
		chain.path.link.base_kbps = random_one_in(2) ? 1000 : 6000;
		chain.ref_path.s_data = chain.path.data_bytes * 8.0;
		chain.ref_path.s_ack = chain.path.ack_bytes * 8.0;
		chain.ref_link.cw = chain.path.link.cw;
		chain.ref_link.t_slot = chain.path.link.slot_us * 1e-6;
		chain.ref_link.b_base = chain.path.link.base_kbps * 1e3;
		set_range(&chain, 50 + 190 * random_unit(), random_between(512, 1280) / 256.0);
		check_samples(&chain, random_log(0.5e-3, 2.5), random_unit());
	}
}

/* Eq. (9), (10): both bounds, and the middle between them; RTS and CTS are 34 bytes more. */
static void test_link(void)
{
	struct mp_link link = mp_link_80211b(), none = { 0 };
	struct mp_link_bounds bounds = mp_link_bounds(&link, 1090909);
	int i;

	/* 14 bytes at 1 Mbit/s; and 3 times 1500 bytes at 11 Mbit/s and 31 slots of 20 us. */
	CHECK_EQUAL(bounds.least_ns, 112000);
	CHECK_EQUAL(bounds.most_ns, 112000 + 3 * (1090909 + 620000));
	CHECK_EQUAL(mp_link_delay_ns(&link, 1090909), 112000 + 3 * (1090909 + 620000) / 2);
	link.rts_cts = 1;
	CHECK_EQUAL(mp_link_bounds(&link, 0).least_ns, 48 * 8 * 1000);
	CHECK_EQUAL(mp_link_bounds(&none, 0).most_ns, 0);
	for (i = 0; i < 100000; i++) {
		double bits = random_between(40, 9000) * 8.0;
		double b = random_between(1000, 600000) * 1e3;
		struct ref_link ref = { random_between(1, 24) * 1e6, random_below(1024),
					random_between(1, 20) * 1e-6, random_one_in(2) };

		link.base_kbps = (uint32_t)(ref.b_base / 1000);
		link.cw = (uint16_t)ref.cw;
		link.slot_us = (uint8_t)lrint(ref.t_slot * 1e6);
		link.rts_cts = ref.rts_cts;
		bounds = mp_link_bounds(&link, mp_transmission_ns((uint32_t)(bits / 8),
								  (uint32_t)(b / 1000)));
		CHECK_NEAR(bounds.least_ns, ref_link_least(&ref) * 1e9, 0, 1.1);
		CHECK_NEAR(bounds.most_ns, ref_link_most(&ref, bits, b) * 1e9, 0, 5);
	}
}

/* By hand: 4 hops, 11 Mbit/s, 40 ms, H_cs 3. */
static void test_by_hand(void)
{
	struct chain chain = chain_of(4, 11, false);
	struct mp_path *path = &chain.path;
	/* 10 ms - 1120 us - (112 + 1.5 (1090.909 + 620) + 112 + 1.5 (29.09 + 620)) us, halved. */
	double t_q_us = (10000 - 1120 - 224 - 1.5 * (1120 + 1240)) / 2;

	path->link.h_cs = 3;
	CHECK_NEAR(mp_queueing_delay_ns(path, mp_link_layer_of(path, 0), 40000000), t_q_us * 1000, 0, 3);
	CHECK_NEAR(mp_oid_ns(path, 4, mp_link_layer_of(path, 0), false, 40000000), 4 * (t_q_us + 12000 / 11.0) * 1000, 0, 15);
	/* An idle path: the link layer's estimate is all there is, and no queue. */
	CHECK_EQUAL(mp_queueing_delay_ns(path, mp_link_layer_of(path, 0), 12000000), 0);
	CHECK_EQUAL(mp_oid_ns(path, 4, mp_link_layer_of(path, 0), false, 12000000), 4 * 1090909);
	/* RTS and CTS take their time from the queue's: 34 bytes, twice, halved. */
	path->link.rts_cts = 1;
	CHECK_NEAR(mp_queueing_delay_ns(path, mp_link_layer_of(path, 0), 40000000), (t_q_us - 272) * 1000, 0, 3);
}

static void test_oid_hops(void)
{
	struct mp_path path = { .hops = 8, .link = { .h_cs = 3 } };

	CHECK_EQUAL(mp_oid_hops(&path, 1, false), 4);
	path.link.h_cs = 1;
	CHECK_EQUAL(mp_oid_hops(&path, 1, false), 2);
	CHECK_EQUAL(mp_oid_hops(&path, 2, false), 3); /* x >= 2, as the text has it */
	path.link.h_cs = 7;
	CHECK_EQUAL(mp_oid_hops(&path, 1, false), 8);
	/* The last node is the hidden terminal, or none is: h hops, or by the letter one more. */
	path.link.h_cs = 8;
	CHECK_EQUAL(mp_oid_hops(&path, 1, false), 8);
	CHECK_EQUAL(mp_oid_hops(&path, 1, true), 9);
	path.link.h_cs = MP_REACH_HOPS + 1;
	CHECK_EQUAL(mp_oid_hops(&path, 1, false), 8);
	CHECK_EQUAL(mp_oid_hops(&path, 1, true), 9);
	path.link.h_cs = 0; /* unknown: GAP's four hops */
	CHECK_EQUAL(mp_oid_hops(&path, 1, false), 4);
	path.hops = 0; /* unknown: one */
	CHECK_EQUAL(mp_oid_hops(&path, 1, false), 1);
	path.hops = UINT32_MAX;
	path.link.h_cs = UINT16_MAX;
	CHECK_EQUAL(mp_oid_hops(&path, 1, true), 65536);
}

/* Where nothing is known of the radios MAP is GAP, less one and a half transmissions. */
static void test_nothing_known(void)
{
	struct mp_law gap = mp_law_gap(), map = mp_law_map();
	int i;

	for (i = 0; i < 100000; i++) {
		struct mp_path path = { .hops = random_below(12), .data_bytes = 1500,
					.ack_bytes = 40 };
		uint64_t rtt_ns = (uint64_t)random_log(1e8, 5e9);
		double gap_ns, hops = fmax(fmin(path.hops, 4), 1);

		CHECK_EQUAL(mp_law_delay_ns(&map, &path, 0, rtt_ns),
			    mp_law_delay_ns(&gap, &path, 0, rtt_ns));
		path.kbps = random_between(11000, 54000);
		gap_ns = (double)mp_law_delay_ns(&gap, &path, 0, rtt_ns);
		CHECK_NEAR(mp_law_delay_ns(&map, &path, 0, rtt_ns),
			   gap_ns - hops * 0.75 * 1540 * 8e6 / path.kbps, 0, 30);
	}
}

/* Both options reach the delay: 3 hops of 1 ms there and back, H_cs 3 or 1. */
static void test_options(void)
{
	struct mp_law law = mp_law_map();
	struct mp_path path = { .hops = 3, .link = { .h_cs = 3 } };

	CHECK_EQUAL(mp_law_delay_ns(&law, &path, 0, 6000000), 3000000);
	law.past_end = true;
	CHECK_EQUAL(mp_law_delay_ns(&law, &path, 0, 6000000), 4000000);
	path.link.h_cs = 1;
	CHECK_EQUAL(mp_law_delay_ns(&law, &path, 0, 6000000), 2000000);
	law.least_h_cs = 2;
	CHECK_EQUAL(mp_law_delay_ns(&law, &path, 0, 6000000), 3000000);
}

/* 3 hops at 12 Mbit/s, of which the least RTT leaves 0.98 ms a hop; then 3 ms more wait, half a millisecond each way. */
static void test_link_of_least_rtt(void)
{
	struct mp_law law = mp_law_map();
	struct mp_path path = { .hops = 3, .kbps = 12000, .data_bytes = 1500, .ack_bytes = 30,
				.link = { .base_kbps = 1000, .cw = 31, .slot_us = 20, .h_cs = 3 } };

	law.link_learnt = true;
	CHECK_EQUAL(mp_law_delay_ns(&law, &path, 6000000, 6000000), 3 * 1000000);
	CHECK_EQUAL(mp_law_delay_ns(&law, &path, 6000000, 9000000), 3 * (1000000 + 500000));
	law.link_in_oid = true;
	CHECK_EQUAL(mp_law_delay_ns(&law, &path, 6000000, 9000000), 3 * (1000000 + 500000 + 490000));
	/* Less than transmissions take: bit rate and size are wrong, and the link layer takes nothing. */
	CHECK_EQUAL(mp_law_delay_ns(&law, &path, 1, 6000000), 3 * (1000000 + 490000));
	/* As the bounds have it: 112 us of ACK, and one and a half retransmissions. */
	law.link_learnt = false;
	CHECK_EQUAL(mp_law_delay_ns(&law, &path, 6000000, 6000000), 3 * (1000000 + 112000 + 3 * (1000000 + 620000) / 2));
}

static void test_parameters(void)
{
	struct mp_law map = mp_law_map();

	CHECK_EQUAL(map.window, 50);
	CHECK_NEAR(map.alpha_q16 / 65536.0, 0.7, 0, 1e-5);
	CHECK_EQUAL(map.cov_weight, 2);
	CHECK_EQUAL(map.spread, MP_SPREAD_STANDARD);
	CHECK_EQUAL(map.delay_bound_ns, MP_NS_PER_S / 2);
	CHECK_EQUAL(map.initial_interval_ns, 0);
	CHECK_EQUAL(map.least_h_cs, 1);
	CHECK_EQUAL(map.past_end, false);
	CHECK_EQUAL(map.link_in_oid, false);
	CHECK_EQUAL(map.link_learnt, false);
}

/* A path without bit rates or radio, and all at its greatest: no interval that wraps. */
static void test_extremes(void)
{
	struct mp_law law = mp_law_map();
	struct mp_path path = { .hops = 1, .kbps = 1, .data_bytes = UINT32_MAX,
				.ack_bytes = UINT32_MAX,
				.link = { 1, UINT16_MAX, UINT8_MAX, 1, UINT16_MAX } };
	struct mp_estimate estimate = { 0 };
	uint64_t interval_ns;
	int i;

	law.delay_bound_ns = 0;
	for (i = 0; i < 100; i++)
		mp_estimate_add(&estimate, &law, &path, i % 50 ? 1 : UINT32_MAX, 0, 0);
	interval_ns = mp_interval_ns(&estimate, &law, 0);
	CHECK(interval_ns > MP_OID_MAX_NS, "wrapped to %" PRIu64, interval_ns);
	path.hops = UINT32_MAX;
	CHECK_EQUAL(mp_law_delay_ns(&law, &path, 0, UINT64_MAX), MP_OID_MAX_NS);
	path = (struct mp_path){ .hops = 0 };
	CHECK_EQUAL(mp_law_delay_ns(&law, &path, 0, 1000000), 500000);
	CHECK_EQUAL(mp_law_delay_ns(&law, &path, 0, 0), 0);
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	test_link();
	test_by_hand();
	test_oid_hops();
	test_nothing_known();
	test_options();
	test_link_of_least_rtt();
	test_parameters();
	test_extremes();
	test_grid();
	test_random();
	printf("worst error of an interval: %.3f%%\n", worst * 100);
	return check_end();
}
