/* SPDX-License-Identifier: GPL-2.0-only */
/* What nobody answers: a flow gets a window, then a packet a second; hosts and strangers little of the air. */
#include "check.h"

#include <string.h>

#include <meshpace/endpoint/unanswered.h>

#define SEGMENT 1460u
#define MS 1000000ull
#define BYTES_PER_S 10000u /* of a queue: active hosts got 640 kB/s */

static const uint64_t begin_ns = 1000 * MP_NS_PER_S;

/* Bytes that pass of a flow that sends so many segments a second, from a time on, and is never acknowledged. */
static uint64_t sent_unanswered(struct mp_unanswered *flow, uint64_t sent, uint32_t segments,
				uint32_t seconds)
{
	uint64_t first = sent;
	uint32_t i;

	for (i = 0; i < segments * seconds; i++) {
		uint64_t now_ns = begin_ns + i * MP_NS_PER_S / segments;

		if (mp_unanswered_judge(flow, sent, SEGMENT, sent != first, now_ns) !=
		    MP_UNANSWERED_LOST)
			sent += SEGMENT;
	}
	return sent - first;
}

/* Else a flow whose receiver is gone, or says nothing, takes all that its sender sends. */
static void flow_gets_a_window(void)
{
	struct mp_unanswered flow = {};
	uint64_t bytes = sent_unanswered(&flow, 0, 1000, 10);

	CHECK_EQUAL(bytes, MP_UNANSWERED_WINDOW / SEGMENT * SEGMENT + 10 * SEGMENT);
	CHECK(!mp_is_answered(&flow, begin_ns), "as it began");
}

/* Else the first window of a large transfer would be lost, or a path that is back not be found. */
static void flow_is_answered_by_its_first_ack(void)
{
	struct mp_unanswered flow = {};
	uint64_t sent = sent_unanswered(&flow, 0, 1000, 1), now_ns = begin_ns + MP_NS_PER_S;

	mp_unanswered_ends(&flow, sent, now_ns);
	CHECK(mp_is_answered(&flow, now_ns), "at once");
	CHECK(mp_is_answered(&flow, now_ns + MP_UNANSWERED_NS - 1), "for as long as an active one");
	CHECK(mp_is_answered(&flow, now_ns - MS), "by a clock of another processor");
	CHECK(!mp_is_answered(&flow, now_ns + MP_UNANSWERED_NS), "no longer");
	/* It may have had a window under way; one more passes. */
	CHECK_EQUAL(mp_unanswered_judge(&flow, sent, SEGMENT, true, now_ns + MP_UNANSWERED_NS),
		    MP_UNANSWERED_PASSES);
	now_ns += MP_UNANSWERED_NS;
	sent += MP_UNANSWERED_WINDOW;
	CHECK_EQUAL(mp_unanswered_judge(&flow, sent, SEGMENT, true, now_ns), MP_UNANSWERED_CHARGED);
	CHECK_EQUAL(mp_unanswered_judge(&flow, sent, SEGMENT, true, now_ns + 999 * MS),
		    MP_UNANSWERED_LOST);
	CHECK_EQUAL(mp_unanswered_judge(&flow, sent, SEGMENT, true, now_ns + 1000 * MS),
		    MP_UNANSWERED_CHARGED);
	mp_unanswered_ends(&flow, sent, now_ns + 1100 * MS);
	CHECK(mp_is_answered(&flow, now_ns + 1100 * MS), "the path is back");
}

/* Else what comes after a pause, of a connection on which all was acknowledged, would be lost. */
static void pause_is_no_silence(void)
{
	struct mp_unanswered flow = {};
	uint64_t now_ns = begin_ns + 3600 * MP_NS_PER_S;

	CHECK(!mp_may_hold(&flow, false, begin_ns), "no interval is known");
	mp_unanswered_ends(&flow, 1000, begin_ns);
	CHECK(mp_may_hold(&flow, true, begin_ns) && !mp_may_hold(&flow, true, now_ns), "silent");
	CHECK(mp_may_hold(&flow, false, now_ns), "what follows a pause is paced");
	CHECK_EQUAL(mp_unanswered_judge(&flow, 5000000, 64000, false, now_ns), MP_UNANSWERED_PASSES);
	CHECK(mp_is_answered(&flow, now_ns + 1), "from here on it waits for an answer");
	CHECK(!mp_is_answered(&flow, now_ns + MP_UNANSWERED_NS), "which does not come");
	CHECK_EQUAL(mp_unanswered_judge(&flow, 5064000, SEGMENT, true, now_ns + MP_UNANSWERED_NS),
		    MP_UNANSWERED_PASSES);
}

/* Bytes that pass of packets to so many hosts, at 1000 of 1460 bytes a second; 0 hosts: to strangers. */
static uint64_t passed(struct mp_unanswered_queue *all, struct mp_unanswered_queue *host,
		       uint32_t hosts, uint64_t bytes_per_s, uint32_t seconds)
{
	uint64_t bytes = 0;
	uint32_t i;

	for (i = 0; i < 1000 * seconds; i++)
		if (mp_unanswered_fits(all, hosts ? &host[i % hosts] : NULL, false, bytes_per_s, SEGMENT,
				       begin_ns + i * MS))
			bytes += SEGMENT;
	return bytes;
}

/* Else addresses that do not exist take the air of those who are active, or one host that of new ones. */
static void queues_bound_hosts_and_strangers(void)
{
	uint64_t depth = mp_unanswered_depth_ns(BYTES_PER_S) * BYTES_PER_S / MP_NS_PER_S;
	struct mp_unanswered_queue all = {}, host[8] = {};

	CHECK_EQUAL(depth, 8 * 65535);
	CHECK_EQUAL(mp_unanswered_cost(3000, 2), 4500);
	CHECK_EQUAL(mp_unanswered_depth_ns(1000000), MP_UNANSWERED_DEPTH_NS);
	CHECK_NEAR(passed(&all, NULL, 0, BYTES_PER_S, 60), depth + 60 * BYTES_PER_S, 0, SEGMENT);
	memset(&all, 0, sizeof(all));
	CHECK_NEAR(passed(&all, host, 1, BYTES_PER_S, 60), depth / 2 + 60 * BYTES_PER_S, 0, SEGMENT);
	/* A newcomer's first windows beside a flood to one host. */
	CHECK(mp_unanswered_fits(&all, &host[1], false, BYTES_PER_S, 65536, begin_ns + 60 * MP_NS_PER_S), "all");
	memset(&all, 0, sizeof(all));
	memset(host, 0, sizeof(host));
	CHECK_NEAR(passed(&all, host, 8, BYTES_PER_S, 60), depth + 60 * BYTES_PER_S, 0, SEGMENT);
}

/*
 * Else small packets, 25 a second to two hosts that have left, keep the queue of all full, and no connection begins of a host
 * heard a moment ago. But that is for a window, and not for a flood that nobody there answers.
 */
static void newcomer_beside_two_ghosts(void)
{
	struct mp_unanswered_queue all = {}, ghost[2] = {}, host = {};
	const uint32_t small = mp_unanswered_cost(50, 1), full = mp_unanswered_cost(1500, 1);
	uint32_t i, begun = 0, flooded = 0;
	uint64_t now_ns = begin_ns;

	for (i = 0; i < 60 * 25; i++, now_ns += MP_NS_PER_S / 25)
		mp_unanswered_fits(&all, &ghost[i % 2], false, BYTES_PER_S, small, now_ns);
	CHECK(!mp_unanswered_fits(&all, &host, false, BYTES_PER_S, full, now_ns), "one who is silent waits its turn");
	for (i = 0; i < 10; i++)
		begun += mp_unanswered_fits(&all, &host, true, BYTES_PER_S, full, now_ns);
	CHECK_EQUAL(begun, 10); /* an initial window (RFC 6928) */
	mp_unanswered_take_back(&all, &host, BYTES_PER_S, 10 * full, now_ns);
	CHECK(!mp_unanswered_fits(&all, &ghost[0], false, BYTES_PER_S, full, now_ns), "its answer is no room for ghosts");
	for (i = 0; i < 60 * 1000; i++, now_ns += MS) {
		if (i % 40 == 0)
			mp_unanswered_fits(&all, &ghost[i / 40 % 2], false, BYTES_PER_S, small, now_ns);
		flooded += mp_unanswered_fits(&all, &host, true, BYTES_PER_S, full, now_ns) ? full : 0;
	}
	CHECK_NEAR(flooded, MP_UNANSWERED_WINDOW + 60 * BYTES_PER_S, 0, 2 * full);
}

/* Else pages, whose connections are answered a round trip later, would fill the queues. */
static void what_is_answered_is_taken_back(void)
{
	struct mp_unanswered_queue all = {}, host = {};
	uint64_t now_ns = begin_ns;
	uint32_t i;

	for (i = 0; i < 10000; i++) {
		uint32_t bytes = 1 + (uint32_t)(random_u64() % 100000);

		now_ns += random_u64() % (10 * MS);
		CHECK(mp_unanswered_fits(&all, &host, true, BYTES_PER_S, bytes, now_ns), "it is empty again");
		mp_unanswered_take_back(&all, &host, BYTES_PER_S, bytes, now_ns + 10 * MS);
	}
	CHECK_EQUAL(host.empty_ns, now_ns + 10 * MS);
	CHECK_EQUAL(all.empty_ns, now_ns + 10 * MS);
	/* More than is in it, which has left meanwhile. */
	mp_unanswered_take_back(&all, &host, BYTES_PER_S, 1000000, now_ns + 20 * MS);
	CHECK_EQUAL(all.empty_ns, now_ns + 20 * MS);
}

/* Else a queue that was filled at a low rate would keep newcomers out for minutes at a high one. */
static void a_rate_that_rises_shortens_what_waits(void)
{
	struct mp_unanswered_queue all = {}, host = {};
	uint64_t low = MP_UNANSWERED_LEAST_BYTES_PER_S, depth_ns;

	passed(&all, NULL, 0, low, 2);
	CHECK(all.empty_ns > begin_ns + 340 * MP_NS_PER_S, "524 kB at 1500 bytes a second");
	depth_ns = mp_unanswered_depth_ns(BYTES_PER_S);
	CHECK(!mp_unanswered_fits(&all, NULL, false, BYTES_PER_S, SEGMENT, begin_ns + 2 * MP_NS_PER_S), "full");
	mp_unanswered_take_back(&all, &host, BYTES_PER_S, SEGMENT, begin_ns + 2 * MP_NS_PER_S);
	CHECK(all.empty_ns <= begin_ns + 2 * MP_NS_PER_S + depth_ns, "as full as one may be");
}

/* Else who begins would meet a mesh full of what nobody answers, or nobody who is alone could be sent anything. */
static void rate_is_a_part_of_what_active_hosts_got(void)
{
	struct mp_unanswered_rate rate = {};
	uint32_t second;

	CHECK_EQUAL(mp_unanswered_step(&rate, 0), 0);
	CHECK_EQUAL(mp_unanswered_step(&rate, 1000), MP_UNANSWERED_LEAST_BYTES_PER_S);
	CHECK_EQUAL(mp_unanswered_step(&rate, 640000), BYTES_PER_S);
	CHECK_EQUAL(mp_unanswered_step(&rate, 64), 630000 / 64);
	for (second = 0; second < 43; second++)
		mp_unanswered_step(&rate, 0);
	CHECK_NEAR(rate.lately_bytes_per_s, 320000, 0.01, 0);
	while (mp_unanswered_step(&rate, 0))
		second++;
	CHECK(second > 100 && second < 140, "%u", second);
	CHECK_EQUAL(mp_unanswered_step(&rate, 1), MP_UNANSWERED_LEAST_BYTES_PER_S);
}

/* Whatever the numbers, a queue is never longer than it may be. */
static void a_queue_is_never_too_long(void)
{
	struct mp_unanswered_queue all = {}, host = {};
	uint64_t now_ns = begin_ns;
	uint32_t i;

	for (i = 0; i < 100000; i++) {
		uint64_t bytes_per_s = MP_UNANSWERED_LEAST_BYTES_PER_S + (random_u64() >> (random_u64() % 64)) % 100000000;
		uint64_t depth_ns = mp_unanswered_depth_ns(bytes_per_s);
		uint32_t bytes = (uint32_t)(random_u64() % 70000);

		now_ns += random_u64() % MP_NS_PER_S;
		if (mp_unanswered_fits(&all, i & 1 ? &host : NULL, i & 1 & random_u64(), bytes_per_s, bytes, now_ns))
			CHECK(all.empty_ns <= now_ns + depth_ns, "longer than %" PRIu64, depth_ns);
		if (random_u64() & 1)
			mp_unanswered_take_back(&all, &host, bytes_per_s, bytes, now_ns);
	}
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	flow_gets_a_window();
	flow_is_answered_by_its_first_ack();
	pause_is_no_silence();
	queues_bound_hosts_and_strangers();
	newcomer_beside_two_ghosts();
	what_is_answered_is_taken_back();
	a_rate_that_rises_shortens_what_waits();
	rate_is_a_part_of_what_active_hosts_got();
	a_queue_is_never_too_long();
	return check_end();
}
