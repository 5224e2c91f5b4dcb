/* SPDX-License-Identifier: GPL-2.0-only */
/* What each host gets under `even` by shares of the air, on a model mesh: with n hosts 1/n of what it has alone. */
#include "air-model.h"

/* Nothing is known of anybody, and all begin at once; also where the law is asked four times too seldom. */
static void together(uint32_t asked_late)
{
	double mean[HOSTS];

	place_four();
	late = asked_late;
	run(4, 5, mean);
	run(4, 10, mean);
	check_parts(4, mean, 0.9);
}

/* The near host has been alone; who comes has its part at once, and nobody less than its own. */
static void who_comes(void)
{
	double mean[HOSTS];

	begin();
	place(0, 1, one_hop);
	place(1, 4, one_hop / 4.7);
	wants[0] = ALL;
	run(2, 20, mean);
	CHECK(mean[0] > 0.8 * one_hop, "alone %.0f", mean[0]);
	CHECK_NEAR(host[0].way[0].alone_bytes_per_s, one_hop, 0.15, 0);
	wants[1] = ALL;
	run(2, 3, mean);
	check_parts(2, mean, 0.7);
	run(2, 10, mean);
	check_parts(2, mean, 0.9);
}

/* Who stops, and who dies with data under way, leaves its part to the other. */
static void who_leaves(bool dies)
{
	double mean[HOSTS];

	place_near_and_far(ALL);
	run(2, 20, mean);
	dead[1] = dies;
	wants[1] = dies ? ALL : 0;
	run(2, dies ? 4 : 2, mean);
	run(2, 5, mean);
	CHECK(mean[0] > 0.9 * one_hop, "%.0f of %.0f, dies %d", mean[0], one_hop, dies);
}

/* Whose route was lost for a while, with data under way, has its part again within seconds. */
static void who_comes_back(void)
{
	double mean[HOSTS];
	uint64_t knew_bytes_per_s;

	place_near_and_far(ALL);
	run(2, 20, mean);
	knew_bytes_per_s = host[1].way[0].alone_bytes_per_s;
	dead[1] = true;
	run(2, 20, mean);
	dead[1] = false;
	CHECK_NEAR(host[1].way[0].alone_bytes_per_s, knew_bytes_per_s, 0.02, 0);
	run(2, 2, mean);
	run(2, 5, mean);
	check_parts(2, mean, 0.9);
}

/*
 * Who splits its ACKs takes one and a half times as much of the air for them as for its data: both together are its part,
 * and the other has its own. When it stops that, or its flow is forgotten, it has all of its part again.
 */
static void who_splits_acks(void)
{
	double mean[HOSTS], splits;
	uint32_t i;

	place_near_and_far(ALL);
	run(2, 20, mean);
	truth[1] /= 2.5;
	for (i = 0; i < 300; i++) {
		double before = (double)host[1].way[0].delivered_bytes;

		step(2, NULL);
		host[1].way[0].excess_bytes += (uint64_t)(1.5 * ((double)host[1].way[0].delivered_bytes - before));
	}
	splits = (double)host[1].way[0].cap_bytes_per_s;
	CHECK_NEAR(splits, truth[1] / 2, 0.15, 0);
	CHECK((double)host[0].way[0].rate_bytes_per_s > 0.9 * truth[0] / 2, "the other: %.0f", (double)host[0].way[0].rate_bytes_per_s);
	truth[1] *= 2.5;
	host[1].way[0].excess_bytes = 0;
	run(2, 5, mean);
	run(2, 10, mean);
	check_parts(2, mean, 0.9);
}

/* ACKs in excess by pulses, so that a host seems to get more than it has: nobody gains by it. */
static void who_splits_at_times(void)
{
	double mean[HOSTS] = { 0 };
	uint32_t i;

	place_near_and_far(ALL);
	run(2, 20, mean);
	mean[0] = mean[1] = 0;
	for (i = 0; i < 600; i++) {
		host[1].way[0].excess_bytes += i % 30 < 10 ? 1000000 : 0;
		step(2, mean);
	}
	CHECK(mean[1] / 60 < 1.05 * truth[1] / 2, "%.0f of %.0f alone", mean[1] / 60, truth[1]);
	CHECK(mean[0] / 60 > 0.9 * truth[0] / 2, "%.0f of %.0f alone", mean[0] / 60, truth[0]);
}

/* Who answers late, so that the air seems used up: where no more than half of all do, the others keep their parts. */
static void who_lies_of_waits(uint32_t liars)
{
	double mean[HOSTS];
	uint32_t i;

	place_four();
	for (i = 4 - liars; i < 4; i++)
		lies[i] = true;
	run(4, 10, mean);
	run(4, 20, mean);
	check_parts(4 - liars, mean, 0.8 * (4 - liars) / 4);
}

/*
 * What waits is of others' making (neighbours who fill the same relays, a crowd of liars): yielding changes nothing of it,
 * and all keep half of their parts, less a tenth by the damping, however long that lasts; after it they have all soon.
 */
static void others_make_wait(void)
{
	double mean[HOSTS];
	uint32_t i;

	place_four();
	run(4, 20, mean);
	for (i = 0; i < 4; i++)
		lies[i] = true;
	run(4, 100, mean);
	run(4, 100, mean);
	check_parts(4, mean, 0.4);
	for (i = 0; i < 4; i++)
		lies[i] = false;
	run(4, 10, mean);
	run(4, 10, mean);
	check_parts(4, mean, 0.9);
}

/* The same with two who use next to nothing, for whom some of that half is kept: the error is a third, and stays. */
static void others_make_wait_a_little(void)
{
	double mean[HOSTS];

	begin();
	place(0, 1, one_hop);
	wants[0] = ALL;
	place(1, 1, one_hop);
	place(2, 1, one_hop);
	wants[1] = wants[2] = 0.005 * one_hop;
	run(3, 20, mean);
	lies[1] = lies[2] = true;
	run(3, 100, mean);
	run(3, 100, mean);
	CHECK(mean[0] > 0.35 * one_hop, "%.0f of %.0f", mean[0], one_hop);
}

/*
 * What is known is wrong by 2: of all, which L absorbs at once; or of one beside one who is known well, of which the
 * filter, that keeps no covariances, mends all but a sixth.
 */
static void wrong(double first, double second, uint32_t first_unsure_q16, double least)
{
	double mean[HOSTS];

	place_near_and_far(ALL);
	host[0].way[0].alone_bytes_per_s = (uint64_t)(first * one_hop);
	host[1].way[0].alone_bytes_per_s = (uint64_t)(second * one_hop / 4);
	host[0].way[0].unsure_q16 = first_unsure_q16;
	host[1].way[0].unsure_q16 = MP_ALONE_UNKNOWN_Q16;
	run(2, 10, mean);
	run(2, 20, mean);
	check_parts(2, mean, least);
}

/* A host that is crowded out where nothing is seen waiting (hidden terminals): the other gets no more than its part. */
static void crowded_out(void)
{
	double mean[HOSTS], near_bytes_per_s = 0;
	uint32_t i, k;

	place_near_and_far(ALL);
	run(2, 20, mean);
	for (i = 0; i < 200; i++) {
		now_ns += MP_AIR_STEP_NS;
		for (k = 0; k < 2; k++) {
			struct mp_air_way *way = &host[k].way[MP_AIR_DOWN];

			way->delivered_bytes += way->cap_bytes_per_s / (k ? 2 : 1) / MP_AIR_STEPS_PER_S;
			way->waits_ns = 0;
			way->held = true;
		}
		mp_airtime_step(&air, host, 2, HOP_WAIT_NS, now_ns);
		near_bytes_per_s = (double)host[0].way[MP_AIR_DOWN].cap_bytes_per_s;
	}
	CHECK(near_bytes_per_s < 1.1 * one_hop / 2, "who crowds out is held to %.0f of %.0f", near_bytes_per_s, one_hop);
}

/* Equal rates, whatever the hops. */
static void equal_rates(void)
{
	double mean[HOSTS], each = one_hop / (1 + 2 + 3 + 4);
	uint32_t i;

	place_four();
	air.fairness = MP_FAIRNESS_RATE;
	run(4, 10, mean);
	run(4, 20, mean);
	for (i = 0; i < 4; i++)
		CHECK_NEAR(mean[i], each, 0.12, 0);
}

/* Who counts for three gets three times as much of the air, or of bytes, and where it is bound the others have the rest. */
static void weights(enum mp_fairness fairness)
{
	double mean[HOSTS], each;
	uint32_t i;

	place_four();
	air.fairness = fairness;
	host[2].weight_q16 = 3u << 16;
	run(4, 10, mean);
	run(4, 20, mean);
	for (i = 0; i < 4; i++) {
		each = fairness == MP_FAIRNESS_AIR ? truth[i] / 6 : one_hop / (1 + 2 + 3 * 3 + 4);
		CHECK_NEAR(mean[i], i == 2 ? 3 * each : each, 0.12, 0);
	}
	wants[2] = 0.1 * truth[2];
	run(4, 5, mean);
	run(4, 10, mean);
	CHECK_NEAR(mean[2], wants[2], 0.05, 0);
	CHECK(mean[0] > 1.3 * (fairness == MP_FAIRNESS_AIR ? truth[0] / 6 : one_hop / 16), "%.0f of %.0f", mean[0], one_hop);
}

/*
 * The far one of four is to have at least half of what it has alone: it has, while it wants that, and the others share the rest.
 * What is promised beyond half of the air is cut, so that a promise takes nobody's part away.
 */
static void least(void)
{
	double mean[HOSTS];
	uint32_t i;

	place_four();
	host[3].least_bytes_per_s = (uint64_t)(truth[3] / 2);
	run(4, 10, mean);
	run(4, 20, mean);
	CHECK_NEAR(mean[3], truth[3] / 2, 0.1, 0);
	for (i = 0; i < 3; i++)
		CHECK_NEAR(mean[i], truth[i] / 6, 0.15, 0);
	host[3].least_bytes_per_s = (uint64_t)(100 * truth[3]);
	run(4, 5, mean);
	run(4, 20, mean);
	CHECK_NEAR(mean[3], truth[3] / 2, 0.15, 0);
	for (i = 0; i < 3; i++)
		CHECK_NEAR(mean[i], truth[i] / 6, 0.15, 0);
	wants[3] = 0.05 * truth[3];
	run(4, 5, mean);
	run(4, 10, mean);
	for (i = 0; i < 3; i++)
		CHECK(mean[i] > 0.85 * 0.95 * truth[i] / 3, "host %u: %.0f of %.0f", i, mean[i], truth[i]);
}

/* What all are to have at least, and cannot all have, they have alike in bytes, as far as half of the air goes. */
static void least_of_all(void)
{
	double mean[HOSTS];
	uint32_t i;

	place_four();
	for (i = 0; i < 4; i++)
		host[i].least_bytes_per_s = (uint64_t)one_hop;
	run(4, 10, mean);
	run(4, 20, mean);
	/* Sum of g is 1 + 2 + 3 + 4; half of the air gives each a twentieth of one_hop: more than 1/n only far away. */
	CHECK(mean[3] > 0.9 * truth[3] / 4 && mean[0] > 0.15 * truth[0], "%.0f, %.0f", mean[0], mean[3]);
	CHECK(air.least_q16 < MP_Q16(0.06), "f %u", air.least_q16);
}

/* Branches that do not hear each other carry twice as much: it is found. */
static void spatial_reuse(void)
{
	double mean[HOSTS];

	begin();
	place(0, 2, one_hop / 2);
	place(1, 2, one_hop / 2);
	wants[0] = wants[1] = ALL;
	carries = 1.6;
	run(2, 30, mean);
	run(2, 20, mean);
	check_parts(2, mean, 1.4);
}

/* A host with a download and an upload is one host: it does not get two parts. */
static void both_directions(void)
{
	double mean[HOSTS], other = 0;
	uint32_t i;

	begin();
	place(0, 1, one_hop);
	place(1, 1, one_hop);
	wants[0] = wants[1] = ALL;
	run(2, 10, mean);
	for (i = 0; i < 200; i++) {
		struct mp_air_way *up = &host[0].way[MP_AIR_UP];

		up->flows = up->wanting_flows = 1;
		up->delivered_bytes += up->cap_bytes_per_s ? up->cap_bytes_per_s / MP_AIR_STEPS_PER_S : 10000;
		/* What the upload takes is missing to the downloads. */
		carries = 1 - (double)up->cap_bytes_per_s / one_hop;
		step(2, NULL);
		if (i >= 100)
			other += (double)host[1].way[0].rate_bytes_per_s / 100;
	}
	CHECK(other > 0.85 * one_hop / 2, "beside both directions of another: %.0f of %.0f", other, one_hop);
}

/* Uploads tell nothing of what waits: one beside a download has its part though L was too great. */
static void beside_an_upload(void)
{
	double mean[HOSTS];

	place_near_and_far(ALL);
	direction[1] = MP_AIR_UP;
	run(2, 10, mean);
	air.air_q16 = MP_AIRTIME_MOST_Q16;
	run(2, 10, mean);
	check_parts(2, mean, 0.8);
}

/* C of all eight are a tenth of what they should be, as of hosts that began while their cards knew no bit rate: they rise. */
static void far_too_small(void)
{
	double mean[HOSTS];
	uint32_t i;

	begin();
	for (i = 0; i < HOSTS; i++) {
		place(i, i % 4 + 1, one_hop / (i % 4 + 1));
		wants[i] = ALL;
		host[i].way[0].alone_bytes_per_s = (uint64_t)(truth[i] / 10);
		host[i].way[0].unsure_q16 = MP_ALONE_UNKNOWN_Q16;
	}
	run(HOSTS, 15, mean);
	run(HOSTS, 10, mean);
	check_parts(HOSTS, mean, 0.9);
}

/* Nobody is held before it is known what the air carries, however many come at once, and whoever is the first of them. */
static void nobody_known(void)
{
	double mean[HOSTS];
	uint32_t i;

	place_four();
	wants[3] = 0;
	run(4, 1, mean);
	wants[3] = ALL;
	run(4, 1.9, mean);
	for (i = 0; i < 4; i++)
		CHECK(host[i].way[0].cap_bytes_per_s == 0, "host %u is held to %llu", i,
		      (unsigned long long)host[i].way[0].cap_bytes_per_s);
	CHECK(!air.shared, "their flows' own search bounds them meanwhile");
	run(4, 2, mean);
	CHECK(air.shared, "then their shares do");
	run(4, 10, mean);
	check_parts(4, mean, 0.9);
}

/* Whatever is told, everybody may send something, and nothing wraps. */
static void anything(void)
{
	static struct mp_air_host many[1000];
	uint32_t round, i;

	begin();
	for (round = 0; round < 300; round++) {
		uint32_t n = (uint32_t)(random_u64() % 1000);

		air.fairness = random_u64() & 1;
		now_ns += random_u64() >> (30 + (random_u64() & 31));
		for (i = 0; i < 2 * n; i++) {
			struct mp_air_way *way = &many[i / 2].way[i % 2];

			many[i / 2].hops = (uint32_t)(random_u64() >> (32 + (random_u64() & 31)));
			many[i / 2].weight_q16 = (uint32_t)(random_u64() >> (32 + (random_u64() & 31)));
			many[i / 2].least_bytes_per_s = random_u64() >> (random_u64() & 63);
			way->delivered_bytes += random_u64() >> (20 + (random_u64() & 43));
			way->flows = random_u64() & 3;
			way->wanting_flows = random_u64() & 1;
			way->heard = random_u64() & 1;
			way->excess_bytes = random_u64() >> (random_u64() & 63);
			way->waits_ns = random_u64() >> (24 + (random_u64() & 31));
			way->held = random_u64() & 1;
		}
		mp_airtime_step(&air, many, n, HOP_WAIT_NS, now_ns);
		CHECK(air.air_q16 >= MP_AIRTIME_LEAST_Q16 && air.air_q16 <= MP_AIRTIME_MOST_Q16, "L %u", air.air_q16);
		for (i = 0; i < 2 * n; i++) {
			const struct mp_air_way *way = &many[i / 2].way[i % 2];

			CHECK(!way->cap_bytes_per_s || way->cap_bytes_per_s >= MP_AIR_LEAST_BYTES_PER_S, "held to nothing");
			CHECK(way->unsure_q16 <= MP_ALONE_UNKNOWN_Q16, "P %u", way->unsure_q16);
		}
	}
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	together(0);
	together(4);
	who_comes();
	who_leaves(false);
	who_leaves(true);
	who_comes_back();
	who_splits_acks();
	who_splits_at_times();
	who_lies_of_waits(1);
	who_lies_of_waits(2);
	others_make_wait();
	others_make_wait_a_little();
	wrong(2, 2, MP_ALONE_UNKNOWN_Q16, 0.9);
	wrong(0.5, 0.5, MP_ALONE_UNKNOWN_Q16, 0.9);
	wrong(1, 2, 600, 0.8);
	wrong(1, 0.5, 600, 0.8);
	crowded_out();
	equal_rates();
	weights(MP_FAIRNESS_AIR);
	weights(MP_FAIRNESS_RATE);
	least();
	least_of_all();
	spatial_reuse();
	both_directions();
	beside_an_upload();
	far_too_small();
	nobody_known();
	anything();
	return check_end();
}
