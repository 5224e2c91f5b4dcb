/* SPDX-License-Identifier: GPL-2.0-only */
/* How long a flow's packets may wait, for its own rate and for its host's turns. */
#include "check.h"

#include <meshpace/endpoint/wait.h>

#define MS 1000000ull

/* Packets that wait less than the target are never lost; a standing wait loses more and more. */
static void test_waits(void)
{
	const uint64_t ms = 1000000, target_ns = mp_wait_target_ns(40 * ms, 40 * ms, ms);
	uint32_t lost = 0, early = 0;
	struct mp_wait wait = { 0 };
	uint64_t t;

	CHECK_EQUAL(target_ns, 80 * ms);
	CHECK_EQUAL(mp_wait_target_ns(ms, 0, 10 * ms), 80 * ms);
	for (t = 1; t < 5000; t++)
		CHECK_EQUAL(mp_wait_ends(&wait, target_ns - 1, target_ns, 80 * ms, t * ms), false);
	for (t = 5000; t < 15000; t++) {
		bool ends = mp_wait_ends(&wait, 100 * ms, target_ns, 80 * ms, t * ms);

		lost += ends;
		early += ends && t < 5180;
	}
	CHECK_EQUAL(early, 0);
	/* The n-th comes sqrt(n) times as fast: (10 s / 360 ms / 2)^2 = 193 and some. */
	CHECK(lost > 150 && lost < 250, "%u lost", lost);
	CHECK_EQUAL(mp_wait_ends(&wait, target_ns - 1, target_ns, 80 * ms, 15001 * ms), false);
	CHECK_EQUAL(mp_wait_ends(&wait, 100 * ms, target_ns, 80 * ms, 15002 * ms), false);
	CHECK_EQUAL(mp_wait_ends(&wait, 5 * target_ns, target_ns, 80 * ms, 15003 * ms), true);
}

/* Whether one of packets that come each millisecond for ten seconds, each behind so many, is lost. */
static bool loses(const struct mp_law *law, const struct mp_waits_for *flow, uint32_t packets)
{
	struct mp_wait wait = { 0 };
	bool lost = false;
	uint64_t t;

	for (t = 1; t < 10000; t++)
		lost = mp_wait_too_long(&wait, law, flow, mp_wait_behind_ns(flow, packets), t * MS) || lost;
	return lost;
}

/*
 * Two packets of a flow may always wait for turns, eight for its own rate; a path's round trips and a quarter
 * where that is more, under a cap twice as many. Only `even` loses any.
 */
static void test_what_flows_wait_for(void)
{
	struct mp_law even = mp_law_even(), gap = mp_law_gap();
	struct mp_waits_for paced = { .interval_ns = 100 * MS, .mesh_ns = MS };
	struct mp_waits_for turns = { .interval_ns = 10 * MS, .turn_ns = 400 * MS, .mesh_ns = MS };
	struct mp_waits_for far = { .interval_ns = 10 * MS, .mesh_ns = 400 * MS, .wired_ns = 100 * MS };
	struct mp_waits_for held = { .turn_ns = 10 * MS, .mesh_ns = 400 * MS, .wired_ns = 100 * MS };
	struct mp_waits_for free = { .mesh_ns = MS }, new = { .turn_ns = 10 * MS };

	CHECK_EQUAL(loses(&even, &paced, 7), false);
	CHECK_EQUAL(loses(&even, &paced, 8), true);
	CHECK_EQUAL(loses(&even, &turns, 1), false);
	CHECK_EQUAL(loses(&even, &turns, 2), true);
	CHECK_EQUAL(loses(&even, &far, 57), false);
	CHECK_EQUAL(loses(&even, &far, 58), true);
	CHECK_EQUAL(loses(&even, &held, 114), false);
	CHECK_EQUAL(loses(&even, &held, 115), true);
	CHECK_EQUAL(loses(&even, &free, 100000), false);
	CHECK_EQUAL(loses(&even, &new, 100), false);
	CHECK_EQUAL(loses(&gap, &paced, 100), false);
	even.omit = MP_OMIT_WAITS;
	CHECK_EQUAL(loses(&even, &paced, 100), false);
}

/* By any law nothing waits longer than the farthest departure is ahead, but a few packets may. */
static void test_bounds(void)
{
	struct mp_waits_for slow = { .turn_ns = 1000 * MS }, fast = { .interval_ns = MS }, wild;

	CHECK_EQUAL(mp_wait_beyond(&slow, MP_WAIT_PACKETS), false);
	CHECK_EQUAL(mp_wait_beyond(&slow, MP_WAIT_PACKETS + 1), true);
	CHECK_EQUAL(mp_wait_beyond(&fast, 4000), false);
	CHECK_EQUAL(mp_wait_beyond(&fast, 4001), true);
	wild = (struct mp_waits_for){ .interval_ns = UINT64_MAX, .turn_ns = UINT64_MAX };
	CHECK_EQUAL(mp_wait_beyond(&wild, UINT32_MAX), true);
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	test_waits();
	test_what_flows_wait_for();
	test_bounds();
	return check_end();
}
