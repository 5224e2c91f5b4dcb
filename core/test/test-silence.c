/* SPDX-License-Identifier: GPL-2.0-only */
/* Who keeps the air busy is silent when another's flow begins, for as long as that other's part of the air allows. */
#include "check.h"

#include <meshpace/endpoint/silence.h>

#define MS (MP_NS_PER_S / 1000)

static const uint64_t begin_ns = 1000 * MP_NS_PER_S;
static uint64_t hop_wait_ns;

/* What has been saved up in a quiet time. */
static struct mp_silence saved(void)
{
	struct mp_silence silence = { .at_ns = begin_ns - 10 * MP_NS_PER_S };

	mp_silence_earn(&silence, 1, 2, begin_ns);
	CHECK_EQUAL(silence.saved_ns, MP_CAP_WAIT_NS);
	return silence;
}

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
	struct mp_silence silence = saved();
	uint64_t whole_ns = 8 * hop_wait_ns;

	CHECK_EQUAL(mp_silence_due_ns(&silence, true, begin_ns), begin_ns);
	CHECK(mp_silence_ask(&silence, 1, 2, hop_wait_ns, begin_ns), "a flow begins");
	CHECK_EQUAL(silence.until_ns, begin_ns + whole_ns);
	CHECK_EQUAL(mp_silence_due_ns(&silence, true, begin_ns), begin_ns + whole_ns);
	CHECK_EQUAL(mp_silence_due_ns(&silence, true, begin_ns + 2 * whole_ns), begin_ns + 2 * whole_ns);
	CHECK_EQUAL(mp_silence_due_ns(&silence, false, begin_ns), begin_ns);
	CHECK(!mp_silence_ask(&silence, 1, 2, hop_wait_ns, begin_ns), "at once another: it is silent anyway");
	CHECK(mp_silence_ask(&silence, 1, 2, hop_wait_ns, begin_ns + 100 * MS), "a connection more");
	CHECK_EQUAL(silence.until_ns, begin_ns + MP_CAP_WAIT_NS);
	CHECK(!mp_silence_ask(&silence, 1, 2, hop_wait_ns, begin_ns + 150 * MS), "at a stretch no longer");
	CHECK_EQUAL(silence.until_ns, begin_ns + MP_CAP_WAIT_NS);
}

/* Nobody is busy: nothing is spent. */
static void nobody_to_be_silent(void)
{
	struct mp_silence silence = saved();

	CHECK(!mp_silence_ask(&silence, 0, 3, hop_wait_ns, begin_ns), "nobody is busy");
	CHECK_EQUAL(silence.saved_ns, MP_CAP_WAIT_NS);
	CHECK_EQUAL(silence.until_ns, 0);
}

/* However often flows begin, of n hosts the b who are busy have b/n of the time; and never is it silent for long. */
static void flood(uint32_t busy, uint32_t hosts)
{
	struct mp_silence silence = saved();
	uint64_t now_ns, silent_ns = 0, stretch_ns = 0, most_ns = 0, step_ns = MS / 2, seconds = 60, silent_for_ns;
	uint32_t all = hosts > busy ? hosts : busy + 1; /* who begins is not counted yet */
	double part = (double)(all - busy) / all;

	for (now_ns = begin_ns; now_ns < begin_ns + seconds * MP_NS_PER_S; now_ns += step_ns) {
		mp_silence_ask(&silence, busy, hosts, hop_wait_ns, now_ns);
		silent_for_ns = mp_min_u64(mp_silence_due_ns(&silence, true, now_ns) - now_ns, step_ns);
		silent_ns += silent_for_ns;
		stretch_ns = silent_for_ns < step_ns ? 0 : stretch_ns + step_ns;
		most_ns = mp_max_u64(most_ns, stretch_ns);
	}
	CHECK((double)silent_ns <= part * (double)(seconds * MP_NS_PER_S) + 2.0 * (double)MP_CAP_WAIT_NS,
	      "%u of %u: silent for %.1f s", busy, hosts, (double)silent_ns / 1e9);
	CHECK(most_ns <= MP_CAP_WAIT_NS + step_ns, "%.0f ms at a stretch", (double)most_ns / 1e6);
}

/* Whoever is counted how, whatever clocks say. */
static void anything(void)
{
	struct mp_silence silence = { 0 };
	uint32_t i;

	for (i = 0; i < 100000; i++) {
		uint64_t now_ns = begin_ns + (random_u64() >> (20 + (random_u64() & 31)));
		uint64_t before_ns = silence.until_ns;

		mp_silence_ask(&silence, (uint32_t)(random_u64() >> (40 + (random_u64() & 23))),
			       (uint32_t)(random_u64() >> (40 + (random_u64() & 23))), hop_wait_ns, now_ns);
		CHECK(silence.until_ns >= before_ns, "it is not taken back");
		CHECK(silence.until_ns <= mp_max_u64(before_ns, now_ns + 8 * hop_wait_ns), "nor longer than asked for");
		CHECK(silence.saved_ns <= MP_CAP_WAIT_NS, "%llu saved", (unsigned long long)silence.saved_ns);
	}
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	hop_wait_ns = mp_law_even().hop_wait_ns;
	flows_begin();
	datagrams_begin();
	one_page();
	nobody_to_be_silent();
	flood(1, 2);
	flood(1, 1);
	flood(7, 8);
	flood(1, 8);
	anything();
	return check_end();
}
