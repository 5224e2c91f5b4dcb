/* SPDX-License-Identifier: GPL-2.0-only */
/* Flows that take turns: what each gets, and how long one that takes little has to wait. */
#include "check.h"

#include <string.h>

#include <meshpace/endpoint/turn.h>

#define FLOWS 5u
#define LINE 64u

static const uint32_t size[FLOWS] = { 1500, 1500, 1500, 300, 60 };

static struct mp_turns turns;
static struct mp_turn turn[FLOWS];
static uint64_t tag[FLOWS][LINE]; /* of what each has in line, oldest first */
static uint32_t in_line[FLOWS];
static uint64_t sent[FLOWS];

static void begin(void)
{
	memset(&turns, 0, sizeof(turns));
	memset(turn, 0, sizeof(turn));
	memset(in_line, 0, sizeof(in_line));
	memset(sent, 0, sizeof(sent));
}

static void arrive(uint32_t flow)
{
	uint64_t its = mp_turn_tag(&turns, &turn[flow]);

	mp_turn_take(&turn[flow], its, size[flow]);
	tag[flow][in_line[flow]++] = its;
}

/* The lowest tag leaves; of equal ones any. Returns whose it was. */
static uint32_t leave(void)
{
	uint32_t first = random_below(FLOWS), next = FLOWS, i;

	for (i = 0; i < FLOWS; i++) {
		uint32_t flow = (first + i) % FLOWS;

		if (in_line[flow] && (next == FLOWS || tag[flow][0] < tag[next][0]))
			next = flow;
	}
	CHECK(next < FLOWS, "nobody is in line");
	CHECK(tag[next][0] >= turns.at, "%u goes back", next);
	mp_turns_pass(&turns, tag[next][0]);
	memmove(tag[next], tag[next] + 1, sizeof(tag[next][0]) * --in_line[next]);
	sent[next] += size[next];
	return next;
}

/* Whoever always has something in line, one packet or many, gets the same. */
static void test_who_wants_all_gets_the_same(void)
{
	uint32_t i, flow;

	begin();
	for (i = 0; i < 20000; i++) {
		for (flow = 0; flow < FLOWS; flow++)
			while (in_line[flow] < (flow == 1 ? 50u : 1u))
				arrive(flow);
		leave();
	}
	for (flow = 1; flow < FLOWS; flow++)
		CHECK(mp_distance(sent[flow], sent[0]) <= 3000, "%u: %llu of %llu", flow,
		      (unsigned long long)sent[flow], (unsigned long long)sent[0]);
}

/* Who takes less than that gets all of it, after a packet of each other flow at most. */
static void test_who_wants_little_waits_little(void)
{
	uint32_t i, flow, waited, most = 0;

	begin();
	for (i = 0; i < 2000; i++) {
		uint32_t others = 8 + random_below(20);

		arrive(4);
		for (waited = 0; in_line[4]; waited++) {
			for (flow = 0; flow < 4; flow++)
				while (in_line[flow] < 2)
					arrive(flow);
			leave();
		}
		most = waited > most ? waited : most;
		for (; others; others--) {
			for (flow = 0; flow < 4; flow++)
				while (in_line[flow] < 2)
					arrive(flow);
			leave();
		}
	}
	CHECK(most <= 5, "%u packets", most);
	CHECK_EQUAL(sent[4], 2000ull * size[4]);
}

/* Who was idle is owed nothing, and who was alone owes nothing. */
static void test_the_past_does_not_count(void)
{
	uint32_t i;

	begin();
	for (i = 0; i < 1000; i++) {
		arrive(0);
		leave();
	}
	memset(sent, 0, sizeof(sent));
	for (i = 0; i < 100; i++) {
		while (in_line[0] < 2)
			arrive(0);
		while (in_line[1] < 2)
			arrive(1);
		leave();
	}
	CHECK(mp_distance(sent[0], sent[1]) <= 3000, "%llu and %llu", (unsigned long long)sent[0],
	      (unsigned long long)sent[1]);
}

/* What leaves before a packet that comes is never more than is said. */
static void test_what_is_ahead(void)
{
	uint32_t i, flow;

	begin();
	for (i = 0; i < 2000; i++) {
		uint64_t bound, before = 0;

		for (flow = 0; flow < 3; flow++)
			while (in_line[flow] < 2)
				arrive(flow);
		for (flow = random_below(8) + 1; flow; flow--)
			arrive(3);
		bound = mp_turns_ahead(&turns, tag[3][in_line[3] - 1], 4);
		while (in_line[3]) {
			uint32_t left = leave();

			before += size[left];
			for (flow = 0; flow < 3; flow++)
				while (in_line[flow] < 2)
					arrive(flow);
		}
		/* A packet of each that has begun counts in full, and the last one itself. */
		CHECK(before <= bound + 4 * 1500 + size[3], "%llu of %llu", (unsigned long long)before,
		      (unsigned long long)bound);
	}
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	test_who_wants_all_gets_the_same();
	test_who_wants_little_waits_little();
	test_the_past_does_not_count();
	test_what_is_ahead();
	return check_end();
}
