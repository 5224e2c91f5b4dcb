/* SPDX-License-Identifier: GPL-2.0-only */
/* What is known of a class of HTB: what waits, how far apart it leaves, and whether anything leaves at all. */
#include "check.h"

#include <meshpace/endpoint/hold.h>

#define MS 1000000ull
#define SLOT 1522u

static const struct mp_hold_others nothing;

/* Each packet takes its interval, whatever its length, within what a byte per second is of it. */
static void test_rates(void)
{
	uint64_t interval_ns;

	for (interval_ns = MS / 100; interval_ns <= 4000 * MS; interval_ns = interval_ns * 5 / 4) {
		uint64_t bytes_per_s = mp_hold_bytes_per_s(interval_ns, SLOT);
		double slot_ns = SLOT * 1e9 / (double)bytes_per_s;

		CHECK(slot_ns >= (double)interval_ns && slot_ns < interval_ns * (1 + 1.0 / 300),
		      "%" PRIu64 " ns: %f", interval_ns, slot_ns);
	}
	CHECK_EQUAL(mp_hold_bytes_per_s(0, SLOT), MP_HOLD_FREE_BYTES_PER_S);
	CHECK_EQUAL(mp_hold_bytes_per_s(1, SLOT), MP_HOLD_FREE_BYTES_PER_S);
	CHECK_EQUAL(mp_hold_bytes_per_s(~0ull >> 1, SLOT), 1);
	/* 1514 bytes carry 1448. */
	CHECK_EQUAL(mp_hold_host_bytes_per_s(1448000), 1514000);
	CHECK_EQUAL(mp_hold_host_bytes_per_s(0), MP_HOLD_FREE_BYTES_PER_S);
	CHECK(mp_hold_host_bytes_per_s(~0ull) <= MP_HOLD_FREE_BYTES_PER_S, "%d", 0);
	CHECK_EQUAL(mp_hold_saved_ns(10 * MS), MS);
	CHECK_EQUAL(mp_hold_saved_ns(0), MP_HOLD_LATE_NS);
}

/* Less than half a percent is not told, so that spacing stays within one. */
static void test_news(void)
{
	struct mp_hold_told told = { 10 * MS, 100 * MS }, free = { 0, 100 * MS };
	uint64_t now_ns = 101 * MS;

	CHECK(!mp_hold_is_news(told, 10 * MS, now_ns), "%d", 0);
	CHECK(!mp_hold_is_news(told, 10 * MS + MS / 20, now_ns), "%d", 0);
	CHECK(mp_hold_is_news(told, 10 * MS + MS / 20 + 1, now_ns), "%d", 0);
	CHECK(mp_hold_is_news(told, 10 * MS - MS / 20 - 1, now_ns), "%d", 0);
	/* Not again at once, but where packets are held that were not, or no more. */
	CHECK(!mp_hold_is_news(told, MS, now_ns - 1), "%d", 0);
	CHECK(mp_hold_is_news(told, 0, 100 * MS) && mp_hold_is_news(free, 1, 100 * MS), "%d", 0);
	CHECK(!mp_hold_is_news(free, 0, now_ns), "%d", 0);
}

/* Ten packets come at once and leave 2 ms apart: what waits, and what the next will wait, is known. */
static void test_what_waits(void)
{
	struct mp_hold hold = { 0 };
	uint32_t i, stood[10];

	for (i = 0; i < 10; i++)
		stood[i] = mp_hold_comes(&hold, 1, 2 * MS, 100 * MS);
	CHECK_EQUAL(stood[9], 10);
	for (i = 0; i < 5; i++)
		mp_hold_leaves(&hold, 1, stood[i], 2 * MS, 100 * MS, 100 * MS + (i + 1) * 2 * MS);
	CHECK_EQUAL(mp_hold_waiting(&hold), 5);
	CHECK_EQUAL(hold.unit_ns, 2 * MS);
	/* One that leaves at once tells nothing of those that wait. */
	for (i = 5; i < 10; i++)
		mp_hold_leaves(&hold, 1, 1, 2 * MS, 100 * MS, 130 * MS);
	CHECK_EQUAL(hold.unit_ns, 0);
	/* What somebody else sent after it does not make fewer than none wait. */
	mp_hold_leaves(&hold, 3, 1, 2 * MS, 100 * MS, 130 * MS);
	CHECK_EQUAL(mp_hold_waiting(&hold), 0);
}

/* What left where nobody counted it is known to be gone as soon as something leaves that came after it. */
static void test_what_nobody_saw_leave(void)
{
	struct mp_hold hold = { .came = 0xfffffff8u, .left = 0xfffffff8u };
	uint32_t before;

	mp_hold_comes(&hold, 10, MS, MS);
	before = hold.came;
	mp_hold_comes(&hold, 1, MS, 2 * MS);
	mp_hold_comes(&hold, 1, MS, 2 * MS);
	mp_hold_has_left(&hold, before);
	mp_hold_leaves(&hold, 1, 11, MS, MS, 3 * MS);
	CHECK_EQUAL(mp_hold_waiting(&hold), 1);
	/* In order it changes nothing. */
	mp_hold_has_left(&hold, before + 1);
	CHECK_EQUAL(mp_hold_waiting(&hold), 1);
	/* Of a class of this number that was there before. */
	mp_hold_has_left(&hold, before + 3);
	mp_hold_has_left(&hold, before);
	CHECK_EQUAL(mp_hold_waiting(&hold), 1);
}

/* The counts come round; nothing else does. */
static void test_counts_come_round(void)
{
	struct mp_hold hold = { .came = 0xfffffffeu, .left = 0xfffffffeu };

	CHECK_EQUAL(mp_hold_comes(&hold, 1514, MS, MS), 1514);
	CHECK_EQUAL(mp_hold_comes(&hold, 1514, MS, MS), 3028);
	mp_hold_leaves(&hold, 1514, 1514, MS, MS, 2 * MS);
	CHECK_EQUAL(mp_hold_waiting(&hold), 1514);
}

/* Who took the ifb away makes a hole of 50 ms and two intervals, no longer; a slow class is no hole. */
static void test_a_class_that_lets_nothing_go(void)
{
	const struct mp_hold_others others = { .returned_ns = 1060 * MS };
	struct mp_hold_others silent = { .silent_ns = 1200 * MS };
	struct mp_hold hold = { 0 };
	uint64_t now_ns = 1000 * MS;

	mp_hold_comes(&hold, 1, 20 * MS, now_ns);
	mp_hold_comes(&hold, 1, 20 * MS, now_ns + 10 * MS);
	CHECK(!mp_hold_is_stuck(&hold, 20 * MS, nothing, now_ns + 89 * MS), "%d", 0);
	/* Others still leave. */
	CHECK(!mp_hold_is_stuck(&hold, 20 * MS, others, now_ns + 149 * MS), "%d", 0);
	/* All are silent, and 90 ms later have had their time. */
	CHECK(!mp_hold_is_stuck(&hold, 20 * MS, silent, now_ns + 289 * MS), "%d", 0);
	/* It waits for its host's cap. */
	CHECK_EQUAL(mp_hold_apart_ns(20 * MS, 14480), 100 * MS);
	CHECK(!mp_hold_is_stuck(&hold, mp_hold_apart_ns(20 * MS, 14480), nothing, now_ns + 249 * MS), "%d", 0);
	/* It was slower a moment ago, and finishes that. */
	mp_hold_tell(&hold, 100 * MS);
	CHECK(!mp_hold_is_stuck(&hold, MS, nothing, now_ns + 249 * MS), "%d", 0);
	CHECK(mp_hold_is_stuck(&hold, MS, nothing, now_ns + 250 * MS), "%d", 0);
	CHECK_EQUAL(mp_hold_waiting(&hold), 0);
	/* Shunned for a second, then tried again. */
	CHECK(mp_hold_is_stuck(&hold, MS, nothing, now_ns + 1249 * MS), "%d", 0);
	CHECK(!mp_hold_is_stuck(&hold, MS, nothing, now_ns + 1250 * MS), "%d", 0);
	mp_hold_comes(&hold, 1, MS, now_ns + 1250 * MS);
	CHECK(!mp_hold_is_stuck(&hold, MS, nothing, now_ns + 1301 * MS), "%d", 0);
	CHECK(mp_hold_is_stuck(&hold, MS, nothing, now_ns + 1302 * MS), "%d", 0);
}

/* Of random arrivals and departures: a class that works is never taken for one that does not. */
static void test_a_class_that_works_is_not_stuck(void)
{
	uint32_t round, i;

	for (round = 0; round < 200; round++) {
		struct mp_hold hold = { 0 };
		uint64_t interval_ns = MS / 2 + random_below(200 * MS), now_ns = MS, next_ns = 0;
		uint64_t came[64], stood[64];
		uint32_t first = 0, last = 0;

		for (i = 0; i < 500; i++) {
			now_ns += random_below(2 * interval_ns);
			for (; first != last && mp_max_u64(next_ns, came[first % 64]) <= now_ns; first++) {
				uint64_t at_ns = mp_max_u64(next_ns, came[first % 64]);

				mp_hold_leaves(&hold, 1, (uint32_t)stood[first % 64], interval_ns, came[first % 64], at_ns);
				next_ns = at_ns + interval_ns;
				/* From the next departure on. */
				interval_ns = MS / 2 + random_below(200 * MS);
				mp_hold_tell(&hold, interval_ns);
				mp_hold_tell(&hold, next_ns - at_ns);
			}
			CHECK(!mp_hold_is_stuck(&hold, interval_ns, nothing, now_ns), "round %u", round);
			if (last - first < 64) {
				stood[last % 64] = mp_hold_comes(&hold, 1, interval_ns, now_ns);
				mp_hold_tell(&hold, mp_max_u64(next_ns, now_ns) - now_ns);
				came[last++ % 64] = now_ns;
			}
		}
	}
}

/* Bytes of a flood that find a place at one moment. */
static uint32_t taken(struct mp_hold *hold)
{
	hold->left = hold->came;
	while (mp_hold_judge_datagram(hold, 100000, 1000, false, MS) == MP_HOLD_WAITS && mp_hold_waiting(hold) < 100000)
		mp_hold_comes(hold, 1000, 0, MS);
	return mp_hold_waiting(hold);
}

/* What is not TCP waits a fifth of a second at most, by the cap or by the turns that it had. */
static void test_room(void)
{
	struct mp_hold hold = { 0 };

	CHECK_EQUAL(taken(&hold), 21000);
	CHECK_EQUAL(mp_hold_judge_datagram(&hold, 100000, 1000, true, MS), MP_HOLD_LOSES);
	CHECK_EQUAL(mp_hold_has_room(&hold, 100000), true);
	/* In turn with one other flow: half. */
	hold.unit_ns = 20000;
	CHECK_EQUAL(taken(&hold), 11000);
	hold.unit_ns = UINT64_MAX;
	CHECK_EQUAL(mp_hold_has_room(&hold, 100000), false);
	CHECK_EQUAL(mp_hold_is_silence(10 * MS, 10 * MS), true);
	CHECK_EQUAL(mp_hold_is_silence(10 * MS - 1, 10 * MS), false);
}

/* By ECN where it can be, else by a loss, once all of a round trip waited too long; and nothing beyond all bounds. */
static void test_verdicts(void)
{
	struct mp_law law = mp_law_even();
	struct mp_waits_for flow = { .interval_ns = 10 * MS, .mesh_ns = 20 * MS, .wired_ns = 20 * MS };
	struct mp_hold hold = { 0 };
	uint32_t i;

	for (i = 0; i < 30; i++)
		mp_hold_comes(&hold, 1, 10 * MS, MS);
	CHECK_EQUAL(mp_hold_judge(&hold, &law, &flow, true, MS), MP_HOLD_WAITS);
	CHECK_EQUAL(mp_hold_judge(&hold, &law, &flow, true, 1000 * MS), MP_HOLD_MARKS);
	CHECK_EQUAL(mp_hold_judge(&hold, &law, &flow, false, 2000 * MS), MP_HOLD_LOSES);
	hold.came = hold.left + 402;
	CHECK_EQUAL(mp_hold_judge(&hold, &law, &flow, true, 2000 * MS), MP_HOLD_LOSES);
	hold.unit_ns = 30 * MS;
	CHECK_EQUAL(mp_hold_waits_for(&hold, flow, true, 10 * MS).turn_ns, 30 * MS);
	CHECK_EQUAL(mp_hold_waits_for(&hold, flow, false, 10 * MS).turn_ns, 0);
}

/*
 * Beside so many who always wait, one who sends a packet each time that he may go first gets as much as each of those: of a
 * line whose others have all of the rest, wherever the count stands.
 */
static void test_who_goes_first_gets_no_more(void)
{
	uint32_t who;

	for (who = 1; who <= MP_UDP_BUCKETS; who++) {
		struct mp_hold others = { .came = 0xffff0000, .left = 0xffff0000 };
		uint32_t ends = others.left, first = 0, sent = 0;

		while (sent < 1000 * who) {
			if (!mp_hold_has_turn(&others, ends)) {
				ends = mp_hold_turn_ends(&others, 300, who);
				first++;
			}
			mp_hold_comes(&others, 1500, 0, MS);
			mp_hold_leaves(&others, 1500, 0, 0, MS, MS);
			sent++;
		}
		CHECK(first >= 1000 && first * 300 <= 1000 * 1500, "%u beside %u", first, who);
	}
}

/* Whoever had a turn so long ago that the count has come round meanwhile does not wait for it again. */
static void test_a_turn_is_forgotten(void)
{
	struct mp_hold others = { 0 };
	uint32_t ends = mp_hold_turn_ends(&others, 65535, MP_UDP_BUCKETS);
	uint64_t passed, in_turn = 0;

	CHECK_EQUAL(mp_hold_has_turn(&others, others.left), false);
	for (passed = 0; passed < 1ull << 32; passed += 4096) {
		others.left = (uint32_t)passed;
		in_turn += mp_hold_has_turn(&others, ends);
	}
	CHECK(in_turn * 4096 < 2ull * MP_HOLD_TURN_MOST, "%" PRIu64, in_turn);
}

/* A line of its own is where a flow belongs: with the new ones nothing of it stays for longer than a round trip. */
static void test_followers(void)
{
	struct mp_waits_for flow = { .interval_ns = 10 * MS, .mesh_ns = 20 * MS, .wired_ns = 20 * MS };
	struct mp_hold own = { 0 };

	CHECK_EQUAL(mp_hold_judge_follower(&own, &flow, 5 * MS, 10 * MS, false, MS), MP_HOLD_WAITS);
	CHECK_EQUAL(mp_hold_judge_follower(&own, &flow, 5 * MS, 10 * MS, false, 100 * MS), MP_HOLD_WAITS);
	CHECK_EQUAL(mp_hold_judge_follower(&own, &flow, 5 * MS, 10 * MS, true, 101 * MS), MP_HOLD_MARKS);
	CHECK_EQUAL(mp_hold_judge_follower(&own, &flow, 5 * MS, 10 * MS, false, 301 * MS), MP_HOLD_LOSES);
	CHECK_EQUAL(mp_hold_judge_follower(&own, &flow, 200 * MS, 10 * MS, true, 302 * MS), MP_HOLD_WAITS);
	CHECK_EQUAL(mp_hold_judge_follower(&own, &flow, 201 * MS, 10 * MS, true, 302 * MS), MP_HOLD_LOSES);
	CHECK_EQUAL(mp_hold_judge_follower(&own, &flow, 201 * MS, 30 * MS, true, 302 * MS), MP_HOLD_WAITS);
}

/* A class is kept for ten seconds after its last packet, and for as long as one can wait. */
static void test_idle(void)
{
	struct mp_hold hold = { 0 };

	mp_hold_comes(&hold, 1, 5000 * MS, MS);
	CHECK_EQUAL(mp_hold_is_idle(&hold, 20001 * MS), false);
	CHECK_EQUAL(mp_hold_is_idle(&hold, 20001 * MS + 1), true);
	mp_hold_leaves(&hold, 1, 1, MS, MS, 2 * MS);
	CHECK_EQUAL(mp_hold_is_idle(&hold, 10001 * MS), false);
	CHECK_EQUAL(mp_hold_is_idle(&hold, 10001 * MS + 1), true);
	CHECK_EQUAL(mp_hold_returned_ns(MS, 2 * MS), MS);
	CHECK_EQUAL(mp_hold_returned_ns(MS, 2 * MS + 1), 2 * MS + 1);
}

/* ACKs leave as the data that they acknowledge would; none waits longer than a time-out allows. */
static void test_acks(void)
{
	struct mp_hold hold = { 0 };
	uint32_t mean = 0, i;

	for (i = 0; i < 200; i++)
		mean = mp_hold_ack_bytes(mean, i % 2 ? 4000 : 2000);
	CHECK(mean > 2800 && mean < 3200, "%u", mean);
	CHECK_EQUAL(mp_hold_ack_interval_ns(&hold, 300000, 3000), 10 * MS);
	for (i = 0; i < 39; i++)
		mp_hold_comes(&hold, 1, 10 * MS, MS);
	CHECK_EQUAL(mp_hold_ack_interval_ns(&hold, 300000, 3000), 5 * MS);
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	test_rates();
	test_news();
	test_what_waits();
	test_what_nobody_saw_leave();
	test_counts_come_round();
	test_a_class_that_lets_nothing_go();
	test_a_class_that_works_is_not_stuck();
	test_room();
	test_verdicts();
	test_who_goes_first_gets_no_more();
	test_a_turn_is_forgotten();
	test_followers();
	test_idle();
	test_acks();
	return check_end();
}
