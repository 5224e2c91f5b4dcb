/* SPDX-License-Identifier: GPL-2.0-only */
/* Who keeps the air busy is silent when another's flow begins, for as long as that other's part of the air allows. */
#include "check.h"

#include <meshpace/endpoint/silence.h>

#define MS (MP_NS_PER_S / 1000)

static const uint64_t begin_ns = 1000 * MP_NS_PER_S;
static uint64_t hop_wait_ns;

static void flows_begin(void)
{
	CHECK(mp_flow_begins(0, begin_ns), "never seen");
	CHECK(!mp_flow_begins(begin_ns - 999 * MS, begin_ns), "it goes on");
	CHECK(mp_flow_begins(begin_ns - 1000 * MS, begin_ns), "it has been silent");
	CHECK(!mp_flow_begins(begin_ns + MS, begin_ns), "another processor was a moment ahead");
}

/* UDP, by what it is told from; a call, whose packets never stop, begins once. */
static void datagrams_begin(void)
{
	struct mp_begins host = { 0 };
	uint64_t now_ns;

	CHECK(mp_datagram_begins(&host, 3, begin_ns), "never seen");
	CHECK(!mp_datagram_begins(&host, 3, begin_ns + 20 * MS), "it goes on");
	CHECK(mp_datagram_begins(&host, 4, begin_ns + 20 * MS), "another");
	CHECK(mp_datagram_begins(&host, 3, begin_ns + 1100 * MS), "it has been silent");
	for (now_ns = begin_ns + 1120 * MS; now_ns < begin_ns + 60000 * MS; now_ns += 20 * MS)
		CHECK(!mp_datagram_begins(&host, 3, now_ns), "a call");
	/* The clock of milliseconds comes round. */
	mp_datagram_begins(&host, 5, MP_NS_PER_S * 4294967);
	CHECK(!mp_datagram_begins(&host, 5, MP_NS_PER_S * 4294967 + 500 * MS), "it goes on");
	CHECK(mp_datagram_begins(&host, 5, MP_NS_PER_S * 4294969), "it has been silent");
	CHECK(mp_datagram_begins(&host, 4000000000u, begin_ns), "any bucket");
}

/* A page beside one who is busy: twice what may wait over four hops, and then the rest of what is saved. */
static void one_page(void)
{
	struct mp_silence silence = { 0 };
	uint64_t whole_ns = 8 * hop_wait_ns, earned_ns = MP_NS_PER_S, now_ns;

	CHECK(!mp_silence_ask(&silence, 0, hop_wait_ns, begin_ns), "nothing is earned");
	CHECK_EQUAL(mp_silence_due_ns(&silence, true, begin_ns), begin_ns);
	CHECK(mp_silence_ask(&silence, earned_ns, hop_wait_ns, begin_ns), "a flow begins");
	CHECK_EQUAL(silence.until_ns, begin_ns + whole_ns);
	CHECK_EQUAL(mp_silence_due_ns(&silence, true, begin_ns), begin_ns + whole_ns);
	CHECK_EQUAL(mp_silence_due_ns(&silence, true, begin_ns + 2 * whole_ns), begin_ns + 2 * whole_ns);
	CHECK_EQUAL(mp_silence_due_ns(&silence, false, begin_ns), begin_ns);
	CHECK(!mp_silence_ask(&silence, earned_ns, hop_wait_ns, begin_ns), "at once another: it is silent anyway");
	CHECK(mp_silence_ask(&silence, earned_ns, hop_wait_ns, begin_ns + 100 * MS), "a connection more");
	CHECK_EQUAL(silence.until_ns, begin_ns + MP_CAP_WAIT_NS);
	earned_ns += MP_NS_PER_S;
	CHECK(!mp_silence_ask(&silence, earned_ns, hop_wait_ns, begin_ns + 150 * MS), "at a stretch no longer");
	CHECK_EQUAL(silence.until_ns, begin_ns + MP_CAP_WAIT_NS);
	now_ns = begin_ns + 2 * MP_CAP_WAIT_NS;
	CHECK(!mp_silence_ask(&silence, earned_ns, hop_wait_ns, now_ns - 1), "what waited leaves first");
	CHECK(mp_silence_ask(&silence, earned_ns, hop_wait_ns, now_ns), "after as long without");
	CHECK_EQUAL(silence.until_ns, now_ns + whole_ns);
	/* The law began anew: what it counts from is no debt. */
	CHECK_EQUAL(silence.saved_ns, MP_SILENCE_SAVED_NS - whole_ns);
	for (now_ns = begin_ns + 700 * MS; mp_silence_ask(&silence, 0, hop_wait_ns, now_ns); now_ns += 300 * MS)
		CHECK(now_ns < begin_ns + 2000 * MS, "what is saved is spent");
	CHECK(mp_silence_ask(&silence, 50 * MS, hop_wait_ns, now_ns), "and earned");
	CHECK_EQUAL(silence.until_ns, now_ns + 50 * MS);
}

/* However often flows begin: it is silent for as long as was earned and saved, and never for long. */
static void flood(double earns)
{
	struct mp_silence silence = { 0 };
	uint64_t now_ns, silent_ns = 0, stretch_ns = 0, most_ns = 0, step_ns = MS / 2, seconds = 60, silent_for_ns;

	for (now_ns = begin_ns; now_ns < begin_ns + seconds * MP_NS_PER_S; now_ns += step_ns) {
		mp_silence_ask(&silence, MP_SILENCE_SAVED_NS + (uint64_t)(earns * (double)(now_ns - begin_ns)), hop_wait_ns,
			       now_ns);
		silent_for_ns = mp_min_u64(mp_silence_due_ns(&silence, true, now_ns) - now_ns, step_ns);
		silent_ns += silent_for_ns;
		stretch_ns = silent_for_ns < step_ns ? 0 : stretch_ns + step_ns;
		most_ns = mp_max_u64(most_ns, stretch_ns);
	}
	CHECK((double)silent_ns <= earns * (double)(seconds * MP_NS_PER_S) + (double)MP_SILENCE_SAVED_NS,
	      "%.2f earned: silent for %.1f s", earns, (double)silent_ns / 1e9);
	CHECK((double)silent_ns >= 0.9 * earns * (double)(seconds * MP_NS_PER_S), "%.2f earned: silent for %.1f s", earns,
	      (double)silent_ns / 1e9);
	CHECK(most_ns <= MP_CAP_WAIT_NS + step_ns, "%.0f ms at a stretch", (double)most_ns / 1e6);
}

/* Flows that begin each 100 ms, with half a second saved, are one stretch and then another, and not one of all. */
static void pages_one_after_another(void)
{
	struct mp_silence silence = { 0 };
	uint64_t i, now_ns, left = 0;

	for (i = 0; i < 10; i++) {
		now_ns = begin_ns + i * 100 * MS;
		mp_silence_ask(&silence, MP_SILENCE_SAVED_NS, hop_wait_ns, now_ns);
		left += silence.until_ns <= now_ns;
	}
	CHECK_EQUAL(left, 5); /* at 200, 300, 600, 700 and, since all is spent, 900 ms */
	CHECK_EQUAL(silence.saved_ns, 0);
}

/* Whatever is earned, whatever clocks say. */
static void anything(void)
{
	struct mp_silence silence = { 0 };
	uint32_t i;

	for (i = 0; i < 100000; i++) {
		uint64_t now_ns = begin_ns + (random_u64() >> (20 + (random_u64() & 31)));
		uint64_t before_ns = silence.until_ns;

		mp_silence_ask(&silence, random_u64() >> (random_u64() & 63), hop_wait_ns, now_ns);
		CHECK(silence.until_ns >= before_ns, "it is not taken back");
		CHECK(silence.until_ns <= mp_max_u64(before_ns, now_ns + 8 * hop_wait_ns), "nor longer than asked for");
		CHECK(silence.saved_ns <= MP_SILENCE_SAVED_NS, "%llu saved", (unsigned long long)silence.saved_ns);
	}
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	hop_wait_ns = mp_law_even().hop_wait_ns;
	flows_begin();
	datagrams_begin();
	one_page();
	flood(0.01);
	flood(0.1);
	flood(0.4);
	pages_one_after_another();
	anything();
	return check_end();
}
