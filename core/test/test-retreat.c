/* SPDX-License-Identifier: GPL-2.0-only */
/* Pacing ends where it harms, and else as seldom as is promised; who leaves, stops or lies ends nobody else's. */
#include "check.h"

#include <meshpace/endpoint/retreat.h>

#define HOSTS 9u
#define RUNS 20000u

static const uint64_t begin_ns = 1000 * MP_NS_PER_S;

/* So many windows worse at once, out of a fresh state; whether there is a verdict. */
static bool worse_after(uint32_t pairs)
{
	struct mp_retreat host = { 0 };
	uint32_t i;

	for (i = 0; i < pairs; i++)
		mp_retreat_compare(&host, 1000, 499, true);
	CHECK_EQUAL(host.pairs, pairs);
	CHECK_EQUAL(host.worse, pairs);
	return mp_retreat_is_worse(&host);
}

static void least(void)
{
	CHECK(!worse_after(0), "nothing is known");
	CHECK(!worse_after(MP_RETREAT_LEAST_PAIRS - 1), "too few");
	CHECK(worse_after(MP_RETREAT_LEAST_PAIRS), "all are worse");
	CHECK(!mp_retreat_tells(MP_RETREAT_LEAST_PAIRS - 1, 1000), "too little before");
	CHECK(!mp_retreat_tells(1000, MP_RETREAT_LEAST_PAIRS - 1), "too little now");
	CHECK(mp_retreat_tells(MP_RETREAT_LEAST_PAIRS, MP_RETREAT_LEAST_PAIRS), "enough");
}

/* What is half as much and more, or was not held here, speaks for nothing. */
static void what_counts(void)
{
	struct mp_retreat host = { 0 };
	uint32_t i;

	for (i = 0; i < MP_RETREAT_PAIRS; i++)
		mp_retreat_compare(&host, 1000, i % 2 ? 500 : 900, true);
	CHECK_EQUAL(host.worse, 0);
	host = (struct mp_retreat){ 0 };
	for (i = 0; i < MP_RETREAT_PAIRS; i++)
		mp_retreat_compare(&host, 1000, 0, false);
	CHECK_EQUAL(host.worse, 0);
	CHECK(!mp_retreat_is_worse(&host), "nothing was held");
	mp_retreat_compare(&host, 1000, 0, true);
	CHECK_EQUAL(host.pairs, MP_RETREAT_PAIRS);
	/* Nothing before is no measure. */
	host = (struct mp_retreat){ 0 };
	mp_retreat_compare(&host, 0, 0, true);
	CHECK_EQUAL(host.worse, 0);
}

/* The promise, at its bound: "worse" as often as not. And found with what probability where three of four are worse. */
static void how_often(void)
{
	uint32_t alarms = 0, found = 0, run, i;

	for (run = 0; run < RUNS; run++) {
		struct mp_retreat fair = { 0 }, harmed = { 0 };

		for (i = 0; i < MP_RETREAT_PAIRS; i++) {
			mp_retreat_compare(&fair, 1000, random_below(2) ? 0 : 1000, true);
			mp_retreat_compare(&harmed, 1000, random_below(4) ? 0 : 1000, true);
		}
		alarms += mp_retreat_is_worse(&fair);
		found += mp_retreat_is_worse(&harmed);
	}
	/* Four standard deviations of a count of rare events. */
	CHECK(alarms <= RUNS / MP_RETREAT_ODDS + 4 * sqrt(RUNS / MP_RETREAT_ODDS), "%u false of %u", alarms, RUNS);
	CHECK(alarms > 0, "a test that never errs tells nothing");
	CHECK(found > RUNS * 9 / 10, "%u of %u found", found, RUNS);
}

/* Windows that vary as TCP's over a mesh do (a factor of three either way), before and now alike. */
static void windows_that_vary(void)
{
	uint32_t alarms = 0, run, i;

	for (run = 0; run < RUNS; run++) {
		struct mp_retreat host = { 0 };

		for (i = 0; i < MP_RETREAT_PAIRS; i++)
			mp_retreat_compare(&host, (uint64_t)random_log(1e5, 9e5), (uint64_t)random_log(1e5, 9e5), true);
		alarms += mp_retreat_is_worse(&host);
	}
	CHECK(alarms <= RUNS / (10 * MP_RETREAT_ODDS), "%u false of %u", alarms, RUNS);
}

/* A long good time at first hides no harm for ever. */
static void late_harm(void)
{
	uint32_t good, k;

	for (good = 1; good <= 100; good += 9) {
		struct mp_retreat host = { 0 };

		for (k = 0; k < good; k++)
			mp_retreat_compare(&host, 1000, 1000, true);
		for (k = 0; k < 27; k++)
			mp_retreat_compare(&host, 1000, 100, true);
		CHECK(mp_retreat_is_worse(&host), "after %u good windows", good);
	}
}

static void votes(void)
{
	CHECK(!mp_retreat_due(0, 0), "nobody is there");
	CHECK(mp_retreat_due(1, 1), "who is alone");
	CHECK(!mp_retreat_due(1, 2), "one of two");
	CHECK(!mp_retreat_due(HOSTS / 2, HOSTS), "fewer than half");
	CHECK(mp_retreat_due(HOSTS / 2 + 1, HOSTS), "more than half");
	CHECK(mp_retreat_due(UINT32_MAX, UINT32_MAX), "any number");
}

/* Once a second; returns the windows that were over, and the value of the last. */
static uint32_t looks(struct mp_retreat_window *window, uint32_t seconds, uint64_t bytes, uint32_t hosts, bool at_work,
		      uint64_t *value)
{
	static uint64_t now_ns;
	uint32_t over = 0, i;
	bool held = false;

	now_ns = mp_max_u64(now_ns, begin_ns);
	for (i = 0; i < seconds; i++) {
		struct mp_retreat_look look = { now_ns += MP_NS_PER_S, bytes, hosts, at_work, i % 3 == 2 };

		over += mp_retreat_look(window, &look, value, &held);
	}
	return over;
}

static void windows(void)
{
	struct mp_retreat_window window = { 0 };
	struct mp_retreat_look look;
	uint64_t value = 0;
	uint32_t over = 0, i;
	bool held = false;

	CHECK_EQUAL(looks(&window, 3, 1000, 1, true, &value), 0);
	CHECK_EQUAL(looks(&window, 1, 1000, 1, true, &value), 1);
	CHECK_EQUAL(value, 1000);
	CHECK_EQUAL(looks(&window, 30, 1000, 4, true, &value), 10);
	CHECK_EQUAL(value, 4000);
	/* Looks that come early: three of them make a window all the same. */
	window = (struct mp_retreat_window){ 0 };
	for (i = 0; i <= 30; i++) {
		look = (struct mp_retreat_look){ begin_ns + i * 995 * (MP_NS_PER_S / 1000), 995, 1, true, false };
		over += mp_retreat_look(&window, &look, &value, &held);
		CHECK(!over || value == 1000, "%u windows, %" PRIu64, over, value);
	}
	CHECK_EQUAL(over, 10);
	window = (struct mp_retreat_window){ 0 };
	/* Who is away has none, and a window with a gap in it is none. */
	CHECK_EQUAL(looks(&window, 60, 0, 4, false, &value), 0);
	CHECK_EQUAL(looks(&window, 3, 1000, 4, true, &value), 0);
	CHECK_EQUAL(looks(&window, 1, 1000, 4, false, &value), 0);
	CHECK_EQUAL(looks(&window, 3, 1000, 4, true, &value), 0);
	CHECK(mp_retreat_at_work(true, begin_ns, begin_ns + MP_RETREAT_WINDOW_NS - 1), "it has just got something");
	CHECK(!mp_retreat_at_work(true, begin_ns, begin_ns + MP_RETREAT_WINDOW_NS), "it has died");
	CHECK(!mp_retreat_at_work(false, begin_ns, begin_ns), "it wants nothing");
	CHECK(!mp_retreat_at_work(true, 0, begin_ns), "it has got nothing");
	/* Whatever is told, nothing overflows. */
	window = (struct mp_retreat_window){ .from_ns = 1, .bytes = 0, .peers = 0, .looks = 0, .held = false };
	look = (struct mp_retreat_look){ begin_ns, UINT64_MAX, UINT32_MAX, true, true };
	CHECK(mp_retreat_look(&window, &look, &value, &held), "it is over");
	CHECK(held, "something was held");
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	least();
	what_counts();
	how_often();
	windows_that_vary();
	late_harm();
	votes();
	windows();
	return check_end();
}
