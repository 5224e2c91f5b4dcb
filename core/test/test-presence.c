/* SPDX-License-Identifier: GPL-2.0-only */
/* Who comes, goes and wants under `even`, on model meshes, and what its flows are told. */
#include "share-model.h"

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
	CHECK(share[0].cap_bytes_per_s > 0 && share[0].cap_bytes_per_s < 1000000, "cap %.0f",
	      (double)share[0].cap_bytes_per_s);
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
			CHECK_EQUAL(share[0].cap_bytes_per_s, 0);
	}
	CHECK(got[0] > 2.99e6, "%.0f of 3000000", got[0]);
}

/* Its path comes back after 20 s: what was in force is so at once; after two minutes it is a newcomer. */
static void test_who_comes_back_finds_what_it_had(void)
{
	uint64_t cap_bytes_per_s;

	contend();
	cap_bytes_per_s = share[0].cap_bytes_per_s;
	stall(2, 1, 3e6, 20);
	CHECK_EQUAL(share[0].cap_bytes_per_s, 0);
	second(2, 3e6);
	share[1].delivered_bytes += 1500; /* the near host has all the air: a probe's worth */
	second(2, 3e6);
	CHECK(fabs((double)share[0].cap_bytes_per_s - (double)cap_bytes_per_s) < 0.2 * (double)cap_bytes_per_s,
	      "%.0f, before %.0f", (double)share[0].cap_bytes_per_s, (double)cap_bytes_per_s);
	stall(2, 1, 3e6, 120);
	share[1].delivered_bytes += 1500;
	second(2, 3e6);
	CHECK_EQUAL(share[0].cap_bytes_per_s, 0);
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
		CHECK_EQUAL(share[0].cap_bytes_per_s, 0);
		CHECK_EQUAL(shares.trial, 0);
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
		CHECK_EQUAL(share[0].cap_bytes_per_s, 0);
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
	CHECK(share[0].cap_bytes_per_s > 0, "never capped");
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
	CHECK_EQUAL(shares.active_hosts, 0);
	stall(3, 1, 3e6, 1);
	run(3, 3e6, 10, mean);
	CHECK_EQUAL(shares.active_hosts, 0);
	stall(3, 1, 3e6, 5);
	CHECK_EQUAL(shares.active_hosts, 2);
	run(3, 3e6, 110, mean);
	CHECK_EQUAL(shares.active_hosts, 2);
	run(3, 3e6, 20, mean);
	CHECK_EQUAL(shares.active_hosts, 0);
	stall(3, 1, 3e6, 5);
	run(3, 3e6, 5, mean);
	hungry = false;
	want[0] = 1e9;
	want[1] = want[2] = 0;
	run(3, 3e6, 25, mean);
	CHECK_EQUAL(shares.active_hosts, 1);
}

/* Each flow of a host is told its part of the host's cap. */
static void test_what_flows_are_told(void)
{
	struct mp_shares three = { .active_hosts = 3 };
	struct mp_host_share two = { .cap_bytes_per_s = 1000, .flows = 2 };
	struct mp_host_share none = { .flows = 0, .cap_bytes_per_s = 700 };

	CHECK_EQUAL(mp_feedback_of(&three, &two).bytes_per_s, 500);
	CHECK_EQUAL(mp_feedback_of(&three, &two).active_hosts, 3);
	CHECK_EQUAL(mp_feedback_of(&three, &none).bytes_per_s, 700);
	two.flows = 2000;
	CHECK(mp_feedback_of(&three, &two).bytes_per_s > 0, "so many that none has a limit");
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	test_who_dies_holds_nobody();
	test_who_comes_back_finds_what_it_had();
	test_ghosts_hold_nobody();
	test_who_wants_no_more_begins_nothing();
	test_who_leaves_frees_its_part();
	test_which_flows_want();
	test_who_shares_a_lossy_mesh();
	test_what_flows_are_told();
	return check_end();
}
