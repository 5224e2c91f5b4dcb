/* SPDX-License-Identifier: GPL-2.0-only */
/* How long what a sender has heard from the gateway holds, and what is left of it in its estimate. */
#include "check.h"

#include <meshpace/endpoint/signalled.h>

static const uint64_t SECOND = 1000000000ull;

static void hear_feedback(struct mp_signalled *heard, uint64_t bytes_per_s, uint64_t now_ns)
{
	struct mp_feedback given = { .bytes_per_s = bytes_per_s };
	uint8_t option[8];

	mp_feedback_write(option, &given);
	CHECK(mp_signalled_hear_feedback(heard, option, now_ns), "not heard");
}

static void hear_wired(struct mp_signalled *heard, struct mp_estimate *estimate, uint32_t us,
		       uint64_t now_ns)
{
	uint8_t option[8];

	mp_option_write(option, us);
	CHECK(mp_signalled_hear_wired(heard, estimate, option, now_ns), "not heard");
}

/* A limit ends three seconds after it was heard last, whether RTT_wired is heard on, or never was. */
static void test_a_limit_expires(bool wired)
{
	struct mp_signalled heard = { 0 };
	struct mp_estimate estimate = { 0 };
	uint64_t now_ns = 7 * SECOND;

	hear_feedback(&heard, 64000, now_ns);
	for (; now_ns <= 10 * SECOND; now_ns += SECOND / 2) {
		if (wired)
			hear_wired(&heard, &estimate, 20000, now_ns);
		mp_signalled_expire(&heard, &estimate, now_ns);
		CHECK_EQUAL(mp_signalled_interval_ns(&heard, 1500), 1500 * SECOND / 64000);
	}
	CHECK(estimate.search.shared, "its own search yields to others who have more");
	mp_signalled_expire(&heard, &estimate, 10 * SECOND + 1);
	CHECK(!estimate.search.shared, "nothing bounds it any more");
	CHECK_EQUAL(mp_signalled_interval_ns(&heard, 1500), 0);
	CHECK_EQUAL(heard.rtt_wired_us, wired ? 20000 : 0);
}

/* One that is heard again holds on; "nothing" is heard at once. */
static void test_a_limit_is_renewed_and_lifted(void)
{
	struct mp_signalled heard = { 0 };
	struct mp_estimate estimate = { 0 };
	uint64_t now_ns;

	for (now_ns = SECOND; now_ns < 60 * SECOND; now_ns += 3 * SECOND) {
		hear_feedback(&heard, 64000, now_ns);
		mp_signalled_expire(&heard, &estimate, now_ns + 3 * SECOND);
		CHECK_EQUAL(mp_signalled_interval_ns(&heard, 1500), 1500 * SECOND / 64000);
	}
	hear_feedback(&heard, 0, now_ns);
	mp_signalled_expire(&heard, &estimate, now_ns);
	CHECK_EQUAL(mp_signalled_interval_ns(&heard, 1500), 0);
}

/* However low it is, nobody waits longer than a second for having heard it. */
static void test_the_lowest_limit(void)
{
	struct mp_signalled heard = { 0 };

	hear_feedback(&heard, 1, SECOND);
	CHECK_EQUAL(mp_signalled_interval_ns(&heard, 1500), SECOND);
	hear_feedback(&heard, 1500, SECOND);
	CHECK_EQUAL(mp_signalled_interval_ns(&heard, 1500), SECOND); /* written as 1472 */
	hear_feedback(&heard, 1536, SECOND);
	CHECK_EQUAL(mp_signalled_interval_ns(&heard, 1500), 1500 * SECOND / 1536);
}

/* Whole round trips and wireless ones are never in one estimate; RTT and RTT_wired are of one ACK. */
static void test_rtt_wired(void)
{
	struct mp_signalled heard = { 0 };
	struct mp_estimate estimate = { 0 };
	const uint32_t whole = mp_ticks_of_us(100000), wireless = whole - mp_ticks_of_us(80000);

	mp_signalled_expire(&heard, &estimate, 1);
	CHECK_EQUAL(mp_signalled_sample_ticks(&heard, whole, 1000), whole);
	mp_window_add(&estimate.window, 50, whole);
	estimate.search.interval_ns = 5;
	hear_wired(&heard, &estimate, 80000, SECOND);
	CHECK_EQUAL(mp_window_mean_ns(&estimate.window), 0);
	CHECK_EQUAL(estimate.search.interval_ns, 0);
	mp_signalled_expire(&heard, &estimate, SECOND);
	CHECK_EQUAL(estimate.search.late_ns, 80000000);
	CHECK_EQUAL(mp_signalled_sample_ticks(&heard, whole, 2000), wireless);
	CHECK_EQUAL(mp_signalled_sample_ticks(&heard, whole, 3000), 0); /* this ACK did not tell */
	mp_window_add(&estimate.window, 50, wireless);
	hear_wired(&heard, &estimate, 80000, 2 * SECOND);
	CHECK(mp_window_mean_ns(&estimate.window) > 0, "forgotten, though known all the time");
	heard.fresh = false;
	mp_signalled_expire(&heard, &estimate, 5 * SECOND);
	CHECK_EQUAL(mp_signalled_sample_ticks(&heard, whole, 4000), 0);
	mp_signalled_expire(&heard, &estimate, 5 * SECOND + 1);
	CHECK_EQUAL(mp_window_mean_ns(&estimate.window), 0);
	CHECK_EQUAL(estimate.search.late_ns, 0);
	CHECK_EQUAL(mp_signalled_sample_ticks(&heard, whole, 5000), whole);
}

/* TCP measures the round trip of what is acknowledged by SACK alone; it counts here no more than at the gateway. */
static void test_sack_alone(void)
{
	struct mp_signalled heard = { 0 };
	struct mp_estimate estimate = { 0 };

	CHECK_EQUAL(mp_signalled_sample_ticks(&heard, 700, UINT32_MAX - 99), 700);
	CHECK_EQUAL(mp_signalled_sample_ticks(&heard, 700, UINT32_MAX - 99), 0);
	CHECK_EQUAL(mp_signalled_sample_ticks(&heard, 700, 1), 700); /* they wrap */
	CHECK_EQUAL(mp_signalled_sample_ticks(&heard, 0, 1000), 0);
	/* What the gateway told by an ACK without a sample is of that ACK, not of the next. */
	hear_wired(&heard, &estimate, 10, SECOND);
	CHECK_EQUAL(mp_signalled_sample_ticks(&heard, 0, 2000), 0);
	CHECK_EQUAL(mp_signalled_sample_ticks(&heard, 700, 3000), 0);
	hear_wired(&heard, &estimate, 10, SECOND);
	CHECK_EQUAL(mp_signalled_sample_ticks(&heard, 700, 4000), 700 - mp_ticks_of_us(10));
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	test_a_limit_expires(false);
	test_a_limit_expires(true);
	test_a_limit_is_renewed_and_lifted();
	test_the_lowest_limit();
	test_rtt_wired();
	test_sack_alone();
	return check_end();
}
