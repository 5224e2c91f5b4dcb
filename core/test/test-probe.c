/* SPDX-License-Identifier: GPL-2.0-only */
/* Asks and copies: when they are due, and that nothing makes more of them than their budget. */
#include "check.h"

#include <meshpace/endpoint/budget.h>
#include <meshpace/endpoint/probe.h>

#define S MP_NS_PER_S

/* A stall is looked at once a second, for so long: how often it is asked, and how long it waited for that. */
static uint32_t asks_of(struct mp_probe *probe, uint64_t began_ns, uint32_t seconds)
{
	uint32_t asks = 0, i;

	for (i = 1; i <= seconds; i++) {
		uint64_t now_ns = began_ns + i * S, waited_ns = now_ns - probe->latest_ns;

		if (!mp_probe_due(probe, 1000, i * S, 5000, now_ns))
			continue;
		/* Not later than an eighth of the stall and the look that follows. */
		if (asks > 0)
			CHECK(waited_ns <= i * S / MP_PROBE_SHARE + S, "after %u s", i);
		mp_probe_sent(probe, now_ns);
		asks++;
	}
	return asks;
}

static void test_a_stall_is_asked_ever_more_seldom(void)
{
	struct mp_probe probe = { 0 };
	uint64_t began_ns = 100 * S;
	uint32_t asks;

	CHECK_EQUAL(mp_probe_due(&probe, 1000, MP_PROBE_NS - 1, 5000, began_ns), false);
	probe = (struct mp_probe){ 0 };
	CHECK_EQUAL(asks_of(&probe, began_ns, 8), 8);
	probe = (struct mp_probe){ 0 };
	asks = asks_of(&probe, began_ns, 600);
	CHECK(asks >= 20 && asks <= 26, "%u in a minute, and none after", asks);
	CHECK_EQUAL(mp_probe_due(&probe, 1000, 600 * S, 5000, began_ns + 600 * S), false);
	/* Its sender's own attempts change nothing, an acknowledgement does. */
	CHECK_EQUAL(mp_probe_due(&probe, 1000, S, 5000, began_ns + 601 * S), false);
	CHECK_EQUAL(mp_probe_due(&probe, 2460, S, 5000, began_ns + 601 * S), true);
}

/* Else one packet from an address that does not exist would be answered by many. */
static void test_who_never_answered_is_not_asked(void)
{
	struct mp_probe probe = { 0 };
	uint32_t i;

	for (i = 1; i < 100; i++)
		CHECK_EQUAL(mp_probe_due(&probe, 1000, i * S, 0, i * S), false);
	CHECK_EQUAL(mp_wake_up_due(&probe, 1000, S, 0, false, 200 * S), false);
	CHECK_EQUAL(mp_probe_due(&probe, 1000, S, 1, 200 * S), true);
}

/* The sender of an upload is woken up alike, unless it has not sent much, and pushed: then it has said all. */
static void test_wake_ups(void)
{
	struct mp_probe probe = { 0 };
	uint64_t now_ns = 50 * S, little = MP_WAKE_UP_BYTES - 1;

	CHECK_EQUAL(mp_wake_up_due(&probe, 1000, S, little, true, now_ns), false);
	CHECK_EQUAL(mp_wake_up_due(&probe, 1000, S, little, false, now_ns), true);
	CHECK_EQUAL(mp_wake_up_due(&probe, 1000, S, MP_WAKE_UP_BYTES, true, now_ns), true);
	mp_probe_sent(&probe, now_ns);
	CHECK_EQUAL(mp_wake_up_due(&probe, 1000, S, MP_WAKE_UP_BYTES, true, now_ns), false);
}

/* Whatever is asked for, and when: in any span no more than the rate and a burst, and no less. */
static void test_asks_within_their_budget(void)
{
	enum { HOSTS = 5, ASKS = 4000 };
	static uint64_t at_ns[ASKS];
	static uint32_t of[ASKS];
	struct mp_budget host[HOSTS] = { 0 }, all = { 0 };
	uint64_t now_ns = random_extreme_u64() >> 8;
	uint32_t n = 0, i, j;

	while (n < ASKS) {
		uint32_t which = random_below(HOSTS);

		now_ns += random_one_in(50) ? (uint64_t)random_log(1e6, 1e10) : random_below(100000000);
		if (!mp_ask_spend(&host[which], &all, now_ns))
			continue;
		at_ns[n] = now_ns;
		of[n++] = which;
	}
	for (i = 0; i < ASKS; i++) {
		uint32_t of_host = 0;

		for (j = i; j < ASKS && at_ns[j] - at_ns[i] <= 20 * S; j++) {
			uint64_t span_ns = at_ns[j] - at_ns[i];

			of_host += of[j] == of[i];
			CHECK((j - i) * S <= (span_ns + S) * MP_ASKS_PER_S, "%u asks", j - i + 1);
			CHECK((of_host - 1) * S <= (span_ns + S) * MP_HOST_ASKS_PER_S, "%u asks of a host",
			      of_host);
		}
	}
}

static void test_a_host_leaves_others_theirs(void)
{
	struct mp_budget greedy = { 0 }, other = { 0 }, all = { 0 };
	uint32_t asks = 0;

	while (mp_ask_spend(&greedy, &all, 7 * S))
		asks++;
	CHECK_EQUAL(asks, MP_HOST_ASKS_PER_S);
	CHECK_EQUAL(mp_ask_spend(&other, &all, 7 * S), true);
	CHECK_EQUAL(mp_ask_spend(&greedy, &all, 8 * S), true);
}

/* In any run of data packets an eighth of them, and what was saved. */
static void test_copies_are_earned(void)
{
	enum { EVENTS = 20000 };
	struct mp_credit credit = { 0 };
	uint32_t data = 0, copies = 0, run, i;

	CHECK_EQUAL(mp_credit_spend(&credit), false);
	for (run = 0; run < 50; run++) {
		uint32_t data_before = data, copies_before = copies, ask_one_in = 1 + random_below(20);

		for (i = 0; i < EVENTS; i++) {
			if (random_one_in(ask_one_in)) {
				copies += mp_credit_spend(&credit);
			} else {
				mp_credit_earn(&credit);
				data++;
			}
		}
		CHECK(copies - copies_before <=
			      (data - data_before) / MP_DATA_PER_COPY + MP_COPIES_SAVED,
		      "%u copies", copies - copies_before);
	}
	CHECK(copies <= data / MP_DATA_PER_COPY, "%u copies", copies);
	for (i = 0; i < EVENTS; i++)
		mp_credit_earn(&credit);
	for (i = 0; mp_credit_spend(&credit);)
		i++;
	CHECK_EQUAL(i, MP_COPIES_SAVED);
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	test_a_stall_is_asked_ever_more_seldom();
	test_who_never_answered_is_not_asked();
	test_wake_ups();
	test_asks_within_their_budget();
	test_a_host_leaves_others_theirs();
	test_copies_are_earned();
	return check_end();
}
