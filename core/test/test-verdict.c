/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether a host gets less than was promised, and what bounds what it gets. */
#include "air-model.h"

#include <string.h>

#include <meshpace/law/verdict.h>

static struct mp_verdict verdict[HOSTS];
static const uint64_t nothing[2];

/* A host of which downloads take so much of the air, and want more or not. */
static void takes(uint32_t i, double alone_bytes_per_s, double used, bool more)
{
	struct mp_air_way *way = &host[i].way[MP_AIR_DOWN];

	host[i] = (struct mp_air_host){ .hops = 1 };
	verdict[i] = (struct mp_verdict){ 0 };
	*way = (struct mp_air_way){ .delivered_bytes = 1000, .flows = 1, .wanting_flows = 1, .present = true };
	way->age = way->whole = 1000;
	way->alone_bytes_per_s = (uint64_t)alone_bytes_per_s;
	way->rate_bytes_per_s = (uint64_t)(used * alone_bytes_per_s);
	way->used_q16 = (uint32_t)(used * MP_ONE_Q16);
	way->wants = more;
	air.present = i + 1;
	air.weights_q16 = (uint64_t)(i + 1) * MP_ONE_Q16;
}

/* A near one that has so much of the air, and a far one. */
static void near_and_far(double near, double far, bool more)
{
	air = (struct mp_air){ 0 };
	takes(0, one_hop, near, true);
	takes(1, one_hop / 4, far, more);
}

static void seconds(uint32_t count, uint32_t n)
{
	uint64_t level = mp_verdict_level(&air, host, n);
	uint32_t i;

	for (; count; count--)
		for (i = 0; i < n; i++)
			mp_verdict_step(&verdict[i], &air, &host[i], level, nothing);
}

static void who_is_short_for_three_seconds(void)
{
	near_and_far(0.8, 0.2, true);
	seconds(2, 2);
	CHECK(!verdict[1].underserved, "slow start is no shortage");
	seconds(1, 2);
	CHECK(verdict[1].underserved && !verdict[0].underserved, "%u", verdict[1].short_s);
	CHECK_EQUAL(verdict[1].bound, MP_BOUND_OTHERS);
	CHECK_NEAR(verdict[1].part_q16, MP_ONE_Q16 / 2, 0.002, 0);
	CHECK_NEAR(verdict[1].part_bytes_per_s[MP_AIR_DOWN], one_hop / 8, 0.002, 0);
	CHECK_NEAR(verdict[1].lacks_bytes_per_s, 0.3 * one_hop / 4, 0.01, 0);
	CHECK_EQUAL(verdict[0].bound, MP_BOUND_NOTHING);
	near_and_far(0.58, 0.42, true);
	seconds(9, 2);
	CHECK(!verdict[1].underserved && !verdict[1].lacks_bytes_per_s, "within a second's noise of its half");
}

static void who_does_not_ask_is_not_short(void)
{
	near_and_far(0.9, 0.05, false);
	seconds(9, 2);
	CHECK(!verdict[1].underserved, "it sends what it has");
	CHECK_EQUAL(verdict[1].bound, MP_BOUND_DEMAND);
	host[1].way[0].present = false;
	host[1].way[0].wanting_flows = 0;
	seconds(1, 2);
	CHECK_EQUAL(verdict[1].bound, MP_BOUND_ABSENT);
	CHECK_EQUAL(verdict[1].part_bytes_per_s[0], 0);
}

static void who_is_alone_is_not_short(void)
{
	air = (struct mp_air){ 0 };
	takes(0, one_hop, 0.1, true);
	seconds(9, 1);
	CHECK(!verdict[0].underserved, "there is nothing to compare with");
	CHECK_NEAR(verdict[0].part_bytes_per_s[0], one_hop, 0.002, 0);
	CHECK_EQUAL(verdict[0].bound, MP_BOUND_NOTHING);
	host[0].way[0].alone_bytes_per_s = 0;
	seconds(1, 1);
	CHECK_EQUAL(verdict[0].bound, MP_BOUND_UNKNOWN);
}

/* Losses show now and then that it wants more, and the verdict does not flicker; nor does it outlast them. */
static void a_demand_that_shows_now_and_then(void)
{
	uint32_t i;

	near_and_far(0.8, 0.2, true);
	seconds(3, 2);
	for (i = 0; i < 9; i++) {
		host[1].way[0].wants = i % 2;
		seconds(1, 2);
		CHECK(verdict[1].underserved, "second %u", i);
	}
	host[1].way[0].wants = false;
	seconds(MP_VERDICT_S, 2);
	CHECK(!verdict[1].underserved, "nothing shows any more");
	host[1].way[0].wants = true;
	seconds(MP_VERDICT_S, 2);
	CHECK(verdict[1].underserved, "again");
	host[1].way[0].used_q16 = MP_ONE_Q16 / 2;
	seconds(1, 2);
	CHECK(!verdict[1].underserved, "it has its part");
}

static void a_newcomer_has_no_part_yet(void)
{
	near_and_far(0.9, 0.01, true);
	host[1].way[0].age = MP_AIR_NEW - 1;
	seconds(5, 2);
	CHECK(!verdict[1].underserved, "its slow start is not over");
	host[1].way[0].wants = false;
	seconds(1, 2);
	CHECK_EQUAL(verdict[1].bound, MP_BOUND_BEGINS);
}

static void a_route_is_lost(void)
{
	near_and_far(0.9, 0.0, false);
	host[1].way[0].quiet = MP_AIR_STALLED;
	host[1].way[0].wanting_flows = 0; /* all that its window takes is under way */
	seconds(3, 2);
	CHECK(verdict[1].underserved, "data are under way");
	CHECK_EQUAL(verdict[1].bound, MP_BOUND_ROUTE);
	CHECK_EQUAL(verdict[1].silent_s, 1);
	host[1].way[0].present = false;
	host[1].way[0].quiet = 450;
	seconds(1, 2);
	CHECK(!verdict[1].underserved, "who is not there any more has no part");
	CHECK_EQUAL(verdict[1].bound, MP_BOUND_ROUTE);
	CHECK_EQUAL(verdict[1].silent_s, 45);
	/* Its uploads go on: the route is there. */
	near_and_far(0.9, 0.0, false);
	host[1].way[0].quiet = 30;
	host[1].way[1] = host[0].way[0];
	seconds(1, 2);
	CHECK(verdict[1].bound != MP_BOUND_ROUTE, "%u", verdict[1].bound);
	/* Nobody knows of who never got anything that it is there. */
	near_and_far(0.9, 0.0, false);
	host[1].way[0] = (struct mp_air_way){ .quiet = 50, .flows = 1, .wanting_flows = 1 };
	seconds(3, 2);
	CHECK_EQUAL(verdict[1].bound, MP_BOUND_ABSENT);
}

static void what_holds_it_here(void)
{
	near_and_far(0.6, 0.3, true);
	host[1].way[0].cap_bytes_per_s = (uint64_t)one_hop / 8;
	host[1].way[0].held_bytes_per_s = (uint64_t)(0.31 * one_hop / 4);
	seconds(3, 2);
	CHECK_EQUAL(verdict[1].bound, MP_BOUND_SHARE);
	CHECK(verdict[1].underserved, "that the law itself holds it is no excuse");
	host[1].way[0].held_bytes_per_s = (uint64_t)one_hop / 8;
	seconds(1, 2);
	CHECK_EQUAL(verdict[1].bound, MP_BOUND_MESH);
	host[1].way[0].held = true;
	seconds(1, 2);
	CHECK_EQUAL(verdict[1].bound, MP_BOUND_SHARE);
	near_and_far(0.6, 0.3, true);
	verdict[1].path_holds = true;
	seconds(1, 2);
	CHECK_EQUAL(verdict[1].bound, MP_BOUND_PATH);
}

static void above_what_it_would_be_held_to(void)
{
	const uint64_t held[2] = { (uint64_t)one_hop / 2, 0 };

	near_and_far(0.8, 0.2, true);
	mp_verdict_step(&verdict[0], &air, &host[0], mp_verdict_level(&air, host, 2), held);
	CHECK_NEAR(verdict[0].over_bytes_per_s, 0.3 * one_hop, 0.01, 0);
	host[0].way[0].rate_bytes_per_s = held[0] / 2;
	mp_verdict_step(&verdict[0], &air, &host[0], mp_verdict_level(&air, host, 2), held);
	CHECK_EQUAL(verdict[0].over_bytes_per_s, 0);
}

/* Who counts as three has three parts of four, under `rate` the same bytes have other parts of the air, and a least rate goes before both. */
static void what_the_operator_says(void)
{
	near_and_far(0.5, 0.5, true);
	host[1].weight_q16 = 3 * MP_ONE_Q16;
	seconds(1, 2);
	CHECK_NEAR(verdict[1].part_q16, 0.75 * MP_ONE_Q16, 0.002, 0);
	CHECK_NEAR(verdict[0].part_q16, 0.25 * MP_ONE_Q16, 0.002, 0);
	near_and_far(0.5, 0.5, true);
	air.fairness = MP_FAIRNESS_RATE;
	seconds(1, 2);
	CHECK_NEAR(verdict[0].part_bytes_per_s[0], verdict[1].part_bytes_per_s[0], 0.01, 0);
	CHECK_NEAR(verdict[1].part_q16, 0.8 * MP_ONE_Q16, 0.01, 0);
	/* Alone has all, of the fastest air at the least weight, too. */
	near_and_far(0.5, 0.5, true);
	air.fairness = MP_FAIRNESS_RATE;
	host[0].weight_q16 = MP_ONE_Q16 / 100;
	host[0].way[0].alone_bytes_per_s = 1250000000;
	CHECK_EQUAL(mp_verdict_takes_q16(&air, &host[0], mp_verdict_level(&air, host, 1)), MP_ONE_Q16);
	near_and_far(0.5, 0.5, true);
	air.least_q16 = MP_ONE_Q16;
	host[1].least_bytes_per_s = (uint64_t)(0.7 * one_hop / 4);
	seconds(1, 2);
	CHECK_NEAR(verdict[1].part_q16, 0.7 * MP_ONE_Q16, 0.01, 0);
	CHECK_NEAR(verdict[0].part_q16, 0.3 * MP_ONE_Q16, 0.01, 0);
}

/* Both directions are one part: what uploads take downloads have not. */
static void both_ways_are_one_part(void)
{
	near_and_far(0.5, 0.25, true);
	host[1].way[1] = host[1].way[0];
	seconds(5, 2);
	CHECK(!verdict[1].underserved, "its half");
	CHECK_NEAR(verdict[1].part_bytes_per_s[0], one_hop / 16, 0.01, 0);
	CHECK_NEAR(verdict[1].part_bytes_per_s[1], one_hop / 16, 0.01, 0);
}

/* Where the law holds hosts, in the model of a mesh, nobody is found to lack anything; where one is starved, it is found. */
static void as_the_law_goes(void)
{
	double mean[HOSTS];
	uint32_t i, s, found = 0;

	place_four();
	memset(verdict, 0, sizeof(verdict));
	run(4, 30, mean);
	for (s = 0; s < 60; s++) {
		run(4, 1, mean);
		seconds(1, 4);
		for (i = 0; i < 4; i++)
			found += verdict[i].underserved;
	}
	CHECK_EQUAL(found, 0);
	for (i = 0; i < 4; i++)
		CHECK_EQUAL(verdict[i].bound, MP_BOUND_SHARE);
	dead[3] = true;
	run(4, 1.5, mean);
	seconds(1, 4);
	CHECK_EQUAL(verdict[3].bound, MP_BOUND_ROUTE);
}

/* Whatever is filled in, nothing overflows (the sanitizers look), and parts add up to no more than all. */
static void anything(void)
{
	uint32_t round, i, k;

	for (round = 0; round < 2000; round++) {
		uint64_t level, sum_q16 = 0, held[2] = { random_u64() >> 32, random_u64() >> 40 };

		begin();
		air.fairness = random_u64() % 2 ? MP_FAIRNESS_RATE : MP_FAIRNESS_AIR;
		air.present = (uint32_t)(random_u64() % 9);
		for (i = 0; i < HOSTS; i++) {
			host[i].weight_q16 = (uint32_t)(random_u64() >> (random_u64() % 33 + 31));
			for (k = 0; k < 2; k++) {
				struct mp_air_way *way = &host[i].way[k];

				way->present = random_u64() % 2;
				way->wants = random_u64() % 2;
				way->flows = (uint32_t)random_u64() % 3;
				way->wanting_flows = way->flows / 2;
				way->delivered_bytes = random_u64() % 3;
				way->quiet = (uint32_t)(random_u64() >> (random_u64() % 32 + 32));
				way->age = (uint32_t)(random_u64() >> (random_u64() % 32 + 32));
				way->alone_bytes_per_s = random_u64() >> (random_u64() % 32 + 32);
				way->rate_bytes_per_s = random_u64() >> (random_u64() % 32 + 32);
				way->used_q16 = (uint32_t)(random_u64() % (MP_AIR_ALL_Q16 + 1));
				way->cap_bytes_per_s = random_u64() % 2 ? random_u64() >> 33 : 0;
			}
		}
		level = mp_verdict_level(&air, host, HOSTS);
		for (i = 0; i < HOSTS; i++) {
			mp_verdict_step(&verdict[i], &air, &host[i], level, held);
			sum_q16 += verdict[i].part_q16;
			CHECK(verdict[i].short_s <= MP_VERDICT_S, "%u", verdict[i].short_s);
			CHECK(!verdict[i].underserved || air.present > 1, "alone");
		}
		CHECK(air.fairness == MP_FAIRNESS_RATE || sum_q16 < 1.01 * MP_ONE_Q16 + HOSTS, "%" PRIu64, sum_q16);
	}
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	who_is_short_for_three_seconds();
	who_does_not_ask_is_not_short();
	who_is_alone_is_not_short();
	a_demand_that_shows_now_and_then();
	a_newcomer_has_no_part_yet();
	a_route_is_lost();
	what_holds_it_here();
	above_what_it_would_be_held_to();
	what_the_operator_says();
	both_ways_are_one_part();
	as_the_law_goes();
	anything();
	return check_end();
}
