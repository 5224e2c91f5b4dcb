/* SPDX-License-Identifier: GPL-2.0-only */
/* What is learnt of who gets how much alone, when hosts differ, move, lose, and want little. */
#define HOSTS 64u
#include "air-model.h"

/* The mesh serves hosts in turn, as queues by flow do, instead of in proportion to what they send. */
static double owes_s[HOSTS]; /* of air, that waits for each */
#define QUEUE_S 0.1          /* of air, that may wait for each; what is beyond is lost */

/* What each has of air_s where nobody gets more than another who wants as much. */
static void serve_in_turn(uint32_t n, double air_s, const double *wants_s, double *has_s)
{
	uint32_t i, left;

	for (i = 0; i < n; i++)
		has_s[i] = 0;
	for (left = n; left > 0 && air_s > 1e-9;) {
		double each_s = air_s / left;

		for (i = left = 0; i < n; i++) {
			double more_s = fmin(each_s, wants_s[i] - has_s[i]);

			has_s[i] += more_s;
			air_s -= more_s;
			left += has_s[i] < wants_s[i] - 1e-12;
		}
	}
}

static void step_in_turn(uint32_t n, double *sum)
{
	double tau_s = (double)MP_AIR_STEP_NS / 1e9, offered_s[HOSTS], has_s[HOSTS];
	uint32_t i;

	now_ns += MP_AIR_STEP_NS;
	for (i = 0; i < n; i++)
		offered_s[i] = owes_s[i] + sends(i) / truth[i] * tau_s;
	serve_in_turn(n, uniform(1 - noise, 1 + noise) * tau_s, offered_s, has_s);
	for (i = 0; i < n; i++) {
		struct mp_air_way *way = &host[i].way[MP_AIR_DOWN];
		double part = fmax(has_s[i] / tau_s, 1e-6), waits_for_s = (offered_s[i] - has_s[i]) / part;

		owes_s[i] = fmin(waits_for_s, QUEUE_S) * part;
		way->again_packets += waits_for_s > QUEUE_S;
		way->delivered_bytes += (uint64_t)(has_s[i] * truth[i]);
		way->flows = way->wanting_flows = wants[i] > 0;
		way->held = way->heard = wants[i] > 0;
		way->waits_ns = (uint64_t)(fmin(waits_for_s, QUEUE_S) * 1e9);
		sum[i] += has_s[i] * truth[i];
	}
	mp_airtime_step(&air, host, n, HOP_WAIT_NS, now_ns);
}

static void run_in_turn(uint32_t n, double seconds, double *mean)
{
	uint32_t steps = (uint32_t)lround(seconds * 1e9 / (double)MP_AIR_STEP_NS), i;

	for (i = 0; i < n; i++)
		mean[i] = 0;
	for (; steps > 0; steps--)
		step_in_turn(n, mean);
	for (i = 0; i < n; i++)
		mean[i] /= seconds;
}

/* Who is slow comes to who is fast, and is guessed to be as fast: what it does not get is not the other's fault. */
static void who_comes_is_slow(double fast_bytes_per_s, double slow_bytes_per_s)
{
	double mean[HOSTS];
	uint32_t i;

	begin();
	for (i = 0; i < HOSTS; i++)
		owes_s[i] = 0;
	place(0, 1, fast_bytes_per_s);
	place(1, 1, slow_bytes_per_s);
	wants[0] = ALL;
	run_in_turn(2, 30, mean);
	wants[1] = ALL;
	run_in_turn(2, 5, mean);
	run_in_turn(2, 15, mean);
	CHECK(mean[0] > 0.6 * truth[0] / 2, "%.0f of %.0f after 5 s", mean[0], truth[0] / 2);
	run_in_turn(2, 180, mean);
	CHECK(mean[0] > 0.8 * truth[0] / 2, "%.0f of %.0f in the end", mean[0], truth[0] / 2);
	CHECK(mean[1] > 0.8 * truth[1] / 2, "the slow one %.0f of %.0f", mean[1], truth[1] / 2);
}

/* Another has so little that it never fills its part, and loses a packet each two seconds, while others make wait. */
static void one_loses_while_others_make_wait(uint32_t bulk, double little_bytes_per_s)
{
	double mean[HOSTS], sum[HOSTS] = { 0 };
	uint32_t i, n = bulk + 1, steps;

	begin();
	for (i = 0; i < n; i++) {
		place(i, 1, one_hop);
		wants[i] = i < bulk ? ALL : little_bytes_per_s;
	}
	run(n, 20, mean);
	for (i = 0; i < n; i++)
		lies[i] = true;
	for (steps = 0; steps < 1000; steps++) {
		host[bulk].way[MP_AIR_DOWN].again_packets += steps % 20 == 0;
		step(n, steps < 500 ? NULL : sum);
	}
	CHECK(sum[0] / 50 > 0.35 * truth[0] / n, "%u beside %.0f: %.0f of %.0f", bulk, little_bytes_per_s, sum[0] / 50,
	      truth[0] / n);
	for (i = 0; i < n; i++)
		lies[i] = false;
	run(n, 20, mean);
	run(n, 10, mean);
	CHECK(mean[0] > 0.85 * truth[0] / n, "after it %.0f of %.0f", mean[0], truth[0] / n);
}

/*
 * Both are known, and one moves, as its hops tell, whose rate goes with them. Where hosts are served in turn it shows who lacks;
 * in one queue for all both lack alike, and who has moved is only the likelier one.
 */
static void who_moves(uint32_t from_hops, uint32_t to_hops, bool in_turn)
{
	double mean[HOSTS];
	void (*passes)(uint32_t, double, double *) = in_turn ? run_in_turn : run;

	begin();
	owes_s[0] = owes_s[1] = 0;
	place(0, 1, one_hop);
	place(1, from_hops, one_hop / from_hops);
	wants[0] = wants[1] = ALL;
	passes(2, 40, mean);
	place(1, to_hops, one_hop / to_hops);
	passes(2, 5, mean);
	passes(2, 10, mean);
	check_parts(2, mean, in_turn ? 0.7 : 0.6);
}

/*
 * A route breaks for a moment, so that other hops are told, or none, and comes back: C is what it was, whether meanwhile nothing
 * arrives, the path is as it was, or the host is there for so long that C of the other path is learnt; the second time as well.
 */
static void who_flaps(uint32_t hops, uint32_t other_hops, bool breaks, double other_bytes_per_s)
{
	double mean[HOSTS], knew_bytes_per_s;
	uint32_t times;

	begin();
	place(0, 1, one_hop);
	place(1, hops, one_hop / hops);
	wants[0] = wants[1] = ALL;
	run(2, 40, mean);
	for (times = 0; times < 3; times++) {
		knew_bytes_per_s = (double)host[1].way[0].alone_bytes_per_s;
		place(1, other_hops, other_bytes_per_s);
		dead[1] = breaks;
		run(2, breaks ? 2 : 15, mean);
		place(1, hops, one_hop / hops);
		dead[1] = false;
		run(2, 0.2, mean);
		CHECK_NEAR(host[1].way[0].alone_bytes_per_s, knew_bytes_per_s, 0.1, 0);
		run(2, 15, mean);
	}
}

/* Nor is what is only guessed, of who uses next to nothing, another by it. */
static void who_is_guessed_flaps(uint32_t hops)
{
	double mean[HOSTS], knew_bytes_per_s;
	uint32_t times;

	begin();
	place(0, 1, 20e3);
	place(1, hops, 20e3 / hops);
	wants[0] = ALL;
	wants[1] = 1e3;
	run(2, 10, mean);
	knew_bytes_per_s = (double)host[1].way[0].alone_bytes_per_s;
	wants[0] = 0;
	for (times = 0; times < 1000; times++) {
		host[1].hops = times % 2 ? hops : hops % 4 + 1;
		step(2, NULL);
	}
	CHECK_NEAR(host[1].way[0].alone_bytes_per_s, knew_bytes_per_s, 0.001, 0);
}

/*
 * Four who want all; the last is four hops away and shows another number of hops in nine steps of ten, as who sets the TTL of its
 * packets can. What was learnt of it stays.
 */
static void who_shows_other_hops(uint32_t shown)
{
	double mean[HOSTS], sum[HOSTS] = { 0 };
	uint32_t i, k;

	begin();
	for (i = 0; i < 4; i++) {
		place(i, i < 3 ? 1 : 4, i < 3 ? one_hop : one_hop / 4);
		wants[i] = ALL;
	}
	run(4, 60, mean);
	for (k = 0; k < 1200; k++) {
		host[3].hops = k % 10 < 9 ? shown : 4;
		step(4, sum);
	}
	for (i = 0; i < 4; i++)
		CHECK(sum[i] / 120 > 0.8 * truth[i] / 4 && sum[i] / 120 < 1.25 * truth[i] / 4, "%u hops, %u: %.0f of %.0f", shown,
		      i, sum[i] / 120, truth[i] / 4);
}

/* One wants all, some want little, and many next to nothing: what is left is its own. */
static void beside_many_small_ones(uint32_t cameras, double camera, uint32_t sensors, double least)
{
	uint32_t i, n = 1 + cameras + sensors;
	double mean[HOSTS];

	begin();
	for (i = 0; i < n; i++) {
		place(i, 1, one_hop);
		wants[i] = i == 0 ? ALL : i <= cameras ? camera * one_hop : 300;
		direction[i] = i == 0 ? MP_AIR_DOWN : MP_AIR_UP;
	}
	run(n, 30, mean);
	run(n, 10, mean);
	CHECK(mean[0] > least * one_hop, "%u cameras of %.2f, %u sensors: %.2f", cameras, camera, sensors, mean[0] / one_hop);
	for (i = 1; i < n; i++)
		CHECK(mean[i] > 0.9 * wants[i], "host %u has %.0f of %.0f", i, mean[i], wants[i]);
}

/*
 * All but one are promised more than there is, and few of them want it: half of the air is shared all the same,
 * so that who is promised nothing has as much as they.
 */
static void beside_promises(uint32_t bulk, uint32_t small)
{
	uint32_t i, n = 1 + bulk + small;
	double mean[HOSTS], each;

	begin();
	for (i = 0; i < n; i++) {
		place(i, 1, one_hop);
		wants[i] = i <= bulk ? ALL : 0.3 / small * one_hop;
		host[i].least_bytes_per_s = i ? (uint64_t)(100 * one_hop) : 0;
	}
	run(n, 30, mean);
	run(n, 20, mean);
	/* Small ones want twice what they use, and the level leaves the rest to all who want all. */
	each = (1 - 2 * 0.3 - 0.125) / (1 + bulk) * one_hop;
	CHECK(mean[0] > 0.9 * each, "%u, %u: %.0f of %.0f", bulk, small, mean[0], each);
}

/*
 * Equal rates of many, by weights, of whatever C: by what they are held to all of the air that there is is theirs at each step,
 * and nobody's part is rounded away.
 */
static void many_at_equal_rates(uint32_t n, double alone_bytes_per_s, double weight)
{
	double each = alone_bytes_per_s / (n - 1 + weight);
	uint32_t i, steps;

	begin();
	air.fairness = MP_FAIRNESS_RATE;
	for (i = 0; i < n; i++) {
		place(i, 1, alone_bytes_per_s);
		wants[i] = ALL;
		host[i].weight_q16 = i ? MP_ONE_Q16 : (uint32_t)lround(weight * MP_ONE_Q16);
	}
	for (steps = 0; steps < 500; steps++) {
		double cap[HOSTS], sum = 0, parts = 0, has;

		step(n, NULL);
		for (i = 0; i < n; i++) {
			cap[i] = (double)host[i].way[0].cap_bytes_per_s;
			parts += cap[i] / (double)host[i].way[0].alone_bytes_per_s;
			sum += cap[i];
		}
		if (steps < 300)
			continue;
		has = mp_airtime_by_q16(air.air_q16, air.error_q16, MP_AIRTIME_DAMPING_Q16) / (double)MP_ONE_Q16;
		CHECK_NEAR(parts, has, 0.01, n / (double)MP_ONE_Q16);
		for (i = 0; i < n; i++)
			CHECK_NEAR(cap[i], (i ? 1 : weight) * sum * each / alone_bytes_per_s, 0.01, alone_bytes_per_s / MP_ONE_Q16);
	}
}

/*
 * After minutes of silence the path carries a part of what it did, and the law is asked late: by what is measured C falls, and
 * not below it. What is a second's rate of a path that varies by a tenth may be that much less.
 */
static void path_falls_as_steps_are_late(uint32_t asked_late, double by)
{
	double mean[HOSTS];
	uint32_t steps;

	begin();
	place(0, 1, one_hop);
	wants[0] = ALL;
	run(1, 30, mean);
	wants[0] = 0;
	run(1, 300, mean);
	wants[0] = ALL;
	truth[0] /= by;
	late = asked_late;
	for (steps = 0; steps < 600; steps++) {
		step(1, NULL);
		CHECK((double)host[0].way[0].alone_bytes_per_s > 0.85 * truth[0], "C %.0f of %.0f, each %u steps, step %u",
		      (double)host[0].way[0].alone_bytes_per_s, truth[0], asked_late, steps);
	}
	CHECK_NEAR(host[0].way[0].alone_bytes_per_s, truth[0], 0.15, 0);
}

/*
 * Who uses little of the air for long has the C that he had, for steps that are less than a unit of theirs go either way. What the
 * mesh carries hardly varies, so that no more than the air is ever carried.
 */
static void who_uses_little_for_an_hour(double alone_bytes_per_s, double part)
{
	double mean[HOSTS], knew_bytes_per_s;
	uint32_t i;

	begin();
	noise = 0.01;
	for (i = 0; i < 3; i++) {
		place(i, 1, alone_bytes_per_s);
		wants[i] = (i < 2 ? 1 : part) * alone_bytes_per_s;
	}
	run(3, 30, mean);
	knew_bytes_per_s = (double)host[2].way[0].alone_bytes_per_s;
	run(3, 3600, mean);
	CHECK_NEAR(host[2].way[0].alone_bytes_per_s, knew_bytes_per_s, 0.02, 0);
	CHECK(mean[2] > 0.95 * wants[2], "%.0f of %.0f", mean[2], wants[2]);
}

/*
 * Nor does what the mesh carries, which varies, have his C rise whenever it is more, and not fall when it is less: when he wants
 * all in the end, all have their parts.
 */
static void who_used_little_wants_all(uint32_t bulk, double part, double seconds)
{
	double mean[HOSTS];
	uint32_t i;

	begin();
	for (i = 0; i <= bulk; i++) {
		place(i, 1, one_hop);
		wants[i] = i < bulk ? ALL : part * one_hop;
	}
	run(bulk + 1, seconds, mean);
	CHECK(mean[bulk] > 0.95 * wants[bulk], "%.0f of %.0f", mean[bulk], wants[bulk]);
	wants[bulk] = ALL;
	run(bulk + 1, 3, mean);
	run(bulk + 1, 10, mean);
	check_parts(bulk + 1, mean, 0.8);
}

/* Who was silent comes back with a hole filled: what waited behind it for seconds arrives in one step, the first one or the next. */
static void who_comes_back_at_once(double seconds, bool by_a_packet)
{
	double mean[HOSTS];
	uint64_t known_bytes_per_s;

	place_near_and_far(ALL);
	run(2, 8, mean);
	known_bytes_per_s = host[1].way[MP_AIR_DOWN].alone_bytes_per_s;
	dead[1] = true;
	run(2, 4, mean);
	if (by_a_packet) {
		host[1].way[MP_AIR_DOWN].delivered_bytes += 1460;
		run(2, 0.1, mean);
	}
	dead[1] = false;
	host[1].way[MP_AIR_DOWN].delivered_bytes += (uint64_t)(seconds * truth[1]);
	run(2, 3, mean);
	CHECK(host[1].way[MP_AIR_DOWN].alone_bytes_per_s < 1.3 * (double)known_bytes_per_s, "%.0f after %.0f",
	      (double)host[1].way[MP_AIR_DOWN].alone_bytes_per_s, (double)known_bytes_per_s);
	run(2, 10, mean);
	check_parts(2, mean, 0.8);
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	who_comes_is_slow(12.5e6, 125e3);
	who_comes_is_slow(1.25e6, 125e3);
	who_comes_is_slow(125e6, 12.5e3);
	one_loses_while_others_make_wait(1, 2e3);
	one_loses_while_others_make_wait(3, 20e3);
	one_loses_while_others_make_wait(1, 200e3);
	who_moves(1, 4, false);
	who_moves(4, 1, false);
	who_moves(1, 4, true);
	who_moves(4, 1, true);
	who_flaps(4, 0, true, one_hop / 4);
	who_flaps(4, 0, false, one_hop / 4);
	who_flaps(4, 2, false, one_hop / 4);
	who_flaps(4, 1, false, one_hop);
	who_flaps(1, 4, false, one_hop / 4);
	who_shows_other_hops(1);
	who_shows_other_hops(2);
	who_is_guessed_flaps(2);
	who_is_guessed_flaps(3);
	beside_many_small_ones(1, 0.02, 20, 0.85);
	beside_many_small_ones(1, 0.02, 50, 0.85);
	beside_many_small_ones(10, 0.02, 30, 0.7);
	beside_many_small_ones(10, 0.01, 50, 0.75);
	beside_promises(1, 20);
	beside_promises(5, 40);
	many_at_equal_rates(64, 100e3, 1);
	many_at_equal_rates(4, 10e3, 3);
	many_at_equal_rates(64, 1e6, 100);
	many_at_equal_rates(4, 1.25e9, 0.01);
	path_falls_as_steps_are_late(0, 10);
	path_falls_as_steps_are_late(10, 10);
	path_falls_as_steps_are_late(30, 10);
	path_falls_as_steps_are_late(10, 100);
	who_uses_little_for_an_hour(one_hop, 0.001);
	who_uses_little_for_an_hour(one_hop, 0.0001);
	who_uses_little_for_an_hour(0.01 * one_hop, 0.01);
	who_used_little_wants_all(2, 0.001, 3600);
	who_used_little_wants_all(2, 0.01, 3600);
	who_used_little_wants_all(2, 0.1, 3600);
	who_used_little_wants_all(5, 0.01, 4 * 3600);
	who_used_little_wants_all(1, 0.01, 3600);
	who_used_little_wants_all(20, 0.001, 3600);
	who_comes_back_at_once(1, false);
	who_comes_back_at_once(4, false);
	who_comes_back_at_once(1, true);
	who_comes_back_at_once(4, true);
	return check_end();
}
