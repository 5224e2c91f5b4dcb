/* SPDX-License-Identifier: GPL-2.0-only */
/* Paths of links at rates of their own (GAP section 4.2), against sums in floating point. */
#include "check.h"
#include "reference-map.h"

#include <meshpace/law/law.h>
#include <meshpace/endpoint/linkrates.h>

#include <string.h>

static double worst; /* relative error of a delay */

static double sum_of_row(const uint32_t *kbps, int from, int n)
{
	double sum = 0;
	int i;

	for (i = from; i < from + n; i++)
		sum += kbps[i] ? 1 / (kbps[i] * 1e3) : 0;
	return sum;
}

/* The slowest n in a row; all where there are fewer. */
static double slowest(const uint32_t *kbps, int links, int n)
{
	double most = 0;
	int from, row = n < links ? n : links;

	for (from = 0; from + row <= links; from++)
		most = fmax(most, sum_of_row(kbps, from, row));
	return most;
}

/* Eq. (3), (4) with sums in the place of multiples of 1/b. */
static double ref_delay(const uint32_t *kbps, int links, int n, const struct mp_path *path,
			double rtt_s)
{
	double data = path->data_bytes * 8.0, ack = path->ack_bytes * 8.0;
	double t_q = (rtt_s - (data + ack) * sum_of_row(kbps, 0, links)) / (2 * links);

	return fmax(n * t_q + data * slowest(kbps, links, n), 0);
}

static uint32_t random_links(uint32_t *kbps)
{
	static const uint32_t dsss[] = { 1000, 2000, 5500, 11000 };
	uint32_t i, links = random_between(1, 30);
	bool any = random_one_in(3);

	for (i = 0; i < links; i++)
		kbps[i] = any ? (uint32_t)random_log(1000, 1000001) : dsss[random_below(4)];
	return links;
}

static void check_delay(double got_s, double want_s)
{
	CHECK_NEAR(got_s, want_s, 0.005, 20e-9);
	if (want_s > 1e-5)
		worst = fmax(worst, fabs(got_s / want_s - 1));
}

/* gap, and ap with its one-hop delay under four hops. */
static void test_four_hops(void)
{
	uint32_t run, kbps[30];

	for (run = 0; run < 300000; run++) {
		struct mp_law law = random_one_in(2) ? mp_law_gap() : mp_law_ap();
		struct mp_path path = { .data_bytes = random_between(600, 9000), .ack_bytes = 40 };
		int links = (int)random_links(kbps);
		int n = links < 4 ? (law.one_hop_below_four ? 1 : links) : 4;
		/* What the links alone take, at least. */
		double least_s = (path.data_bytes + 40) * 8 * sum_of_row(kbps, 0, links);
		double rtt_s = least_s * random_log(1, 1e3);

		mp_law_set_links(&law, &path, kbps, (uint32_t)links);
		CHECK_EQUAL(path.hops, links);
		check_delay((double)mp_law_delay_ns(&law, &path, 0, (uint64_t)(rtt_s * 1e9)) / 1e9,
			    ref_delay(kbps, links, n, &path, rtt_s));
	}
}

/* map: t_q without the link layer's delay, never below 0, and H_cs + 1 hops. */
static void test_carrier_sense(void)
{
	uint32_t run, kbps[30];

	for (run = 0; run < 100000; run++) {
		struct mp_law law = mp_law_map();
		struct mp_path path = { .data_bytes = 1500, .ack_bytes = 40,
					.link = mp_link_80211b() };
		struct ref_link link = { 1e6, 31, 20e-6, false };
		int links = (int)random_links(kbps), n;
		double mean = sum_of_row(kbps, 0, links) / links, t_q, rtt_s = random_log(1e-3, 5);
		struct ref_path ref = { links, 1 / mean, 1500 * 8, 40 * 8 };

		path.link.h_cs = (uint16_t)random_between(1, 12);
		law.past_end = random_one_in(4);
		n = path.link.h_cs + 1;
		if (n > links + law.past_end)
			n = links + law.past_end;
		mp_law_set_links(&law, &path, kbps, (uint32_t)links);
		t_q = fmax(ref_map_queueing(&ref, ref_layer_of(&ref, &link, 0), rtt_s), 0);
		check_delay((double)mp_law_delay_ns(&law, &path, 0, (uint64_t)(rtt_s * 1e9)) / 1e9,
			    n * t_q + 1500 * 8 * slowest(kbps, links, n) +
				    (n > links ? 1500 * 8 * mean : 0));
	}
}

/* Links of one rate: bit for bit what that rate gives, under all laws. */
static void test_even(void)
{
	uint32_t run, i, kbps[36];

	for (run = 0; run < 100000; run++) {
		struct mp_law laws[] = { mp_law_gap(), mp_law_ap(), mp_law_map() };
		uint32_t rate = random_one_in(10) ? 0 : (uint32_t)random_log(100, 10000001);
		uint32_t links = random_between(1, MP_PATH_LINKS);
		uint64_t rtt_ns = (uint64_t)random_log(1e5, 6e10);

		for (i = 0; i < links; i++)
			kbps[i] = rate;
		for (i = 0; i < 3; i++) {
			struct mp_path one = { .data_bytes = 1500, .ack_bytes = 40,
					       .link = mp_link_80211b() }, each = one;

			mp_path_set_rate(&one, links, rate);
			mp_law_set_links(&laws[i], &each, kbps, links);
			CHECK_EQUAL(each.kbps, rate);
			CHECK_EQUAL(each.uneven_q16, 0);
			CHECK_EQUAL(mp_law_delay_ns(&laws[i], &each, 0, rtt_ns),
				    mp_law_delay_ns(&laws[i], &one, 0, rtt_ns));
		}
	}
}

/* The chain of the documentation: 11, 5.5 and 2 Mbit/s, there and back. */
static void test_example(void)
{
	uint32_t there[] = { 11000, 5500, 2000 }, back[] = { 2000, 5500, 11000 };
	struct mp_law law = mp_law_gap();
	struct mp_path path = { .data_bytes = 1500, .ack_bytes = 40 }, other = path;

	mp_law_set_links(&law, &path, there, 3);
	mp_law_set_links(&law, &other, back, 3);
	/* (RTT - 1540 * 8 * .7727 us) / 2 + 1500 * 8 * .7727 us */
	CHECK_NEAR(mp_law_delay_ns(&law, &path, 0, 60000000), 34511970, 0.001, 0);
	CHECK_EQUAL(mp_law_delay_ns(&law, &path, 0, 60000000),
		    mp_law_delay_ns(&law, &other, 0, 60000000));
	/* One rate again: what links told is forgotten. */
	mp_path_set_rate(&path, 3, 11000);
	CHECK_EQUAL(path.uneven_q16, 0);
	/* None, or more than there is room for, tell nothing. */
	mp_law_set_links(&law, &path, there, 0);
	mp_law_set_links(&law, &path, there, MP_PATH_LINKS + 1);
	CHECK_EQUAL(path.hops, 3);
	CHECK_EQUAL(path.kbps, 11000);
}

/* What each hop adds comes out in order, in units of 500 kbit/s; a path that is too long as none. */
static void test_option(void)
{
	uint8_t option[MP_LINK_RATES_BYTES];
	uint32_t links, i, rates[20], kbps[MP_LINK_RATES_MAX];

	for (links = 0; links <= 20; links++) {
		mp_link_rates_write(option);
		for (i = 0; i < links; i++) {
			rates[i] = random_one_in(9) ? 0 : (uint32_t)random_log(1, 1e6);
			mp_link_rates_add(option, rates[i]);
		}
		CHECK_EQUAL(mp_link_rates_is(option), true);
		CHECK_EQUAL(mp_link_rates_read(option, kbps), links <= MP_LINK_RATES_MAX ? links : 0);
		for (i = 0; i < links && links <= MP_LINK_RATES_MAX; i++) {
			double want = rates[i] ? fmin(fmax(round(rates[i] / 500.0), 1), 255) : 0;

			CHECK_EQUAL(kbps[i], want * 500);
		}
	}
	for (i = 0; i < 300; i++)
		mp_link_rates_add(option, UINT32_MAX);
	CHECK_EQUAL(option[4], 255);
}

/* It is found behind others, and nothing is read past the end of a list that lies. */
static void test_finding(void)
{
	uint8_t *options = malloc(MP_TCP_OPTIONS_MAX); /* so that the sanitizer sees the end */
	uint32_t run, i;

	memset(options, MP_TCPOPT_NOP, MP_TCP_OPTIONS_MAX);
	mp_option_write(&options[2], 1);
	mp_link_rates_write(&options[12]);
	CHECK_EQUAL(mp_link_rates_find(options, MP_TCP_OPTIONS_MAX), 12);
	CHECK_EQUAL(mp_link_rates_find(options, 31), 31);
	options[0] = MP_TCPOPT_END;
	CHECK_EQUAL(mp_link_rates_find(options, MP_TCP_OPTIONS_MAX), MP_TCP_OPTIONS_MAX);
	for (run = 0; run < 1000000; run++) {
		for (i = 0; i < MP_TCP_OPTIONS_MAX; i++)
			options[i] = (uint8_t)(random_one_in(3) ? random_u64() : random_below(4));
		i = mp_link_rates_find(options, MP_TCP_OPTIONS_MAX);
		CHECK(i == MP_TCP_OPTIONS_MAX || mp_link_rates_is(&options[i]), "not the option");
	}
	free(options);
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	test_four_hops();
	test_carrier_sense();
	test_even();
	test_example();
	test_option();
	test_finding();
	printf("worst error of a delay: %.3f%%\n", worst * 100);
	return check_end();
}
