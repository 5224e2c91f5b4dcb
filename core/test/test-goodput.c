/* SPDX-License-Identifier: GPL-2.0-only */
/* Goodput control: what the papers say must happen, and step by step against the reference. */
#include "check.h"
#include "reference.h"

#include <string.h>

#include <meshpace/law/goodput.h>

#define STEP_S 5
#define MANY 10000

static struct mp_goodput_law law;
static struct mp_goodput control;
static struct mp_goodput_flow flows[MANY];
static uint64_t now_ns;

static void begin(uint32_t n)
{
	uint32_t i;

	law = mp_goodput_law_gap();
	memset(&control, 0, sizeof(control));
	memset(flows, 0, sizeof(flows));
	now_ns = 1000 * MP_NS_PER_S;
	for (i = 0; i < n; i++) {
		flows[i].segment_bytes = 1460;
		flows[i].paced_here = true;
	}
	mp_goodput_reset(&control, flows, n, now_ns);
}

/* A step in which flow i delivers at bytes_per_s[i] bytes/s; returns how many are throttled. */
static uint32_t step(uint32_t n, const double *bytes_per_s)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		flows[i].delivered_bytes += (uint64_t)(bytes_per_s[i] * STEP_S);
	now_ns += law.step_ns;
	return mp_goodput_step(&control, &law, flows, n, now_ns);
}

static double floor_bytes_per_s(const struct mp_goodput_flow *flow)
{
	return flow->floor_ns ? flow->segment_bytes * 1e9 / (double)flow->floor_ns : 1e12;
}

/* One bottleneck of 100 kB/s of which flow 0 takes all it may: throttled, the two become equal. */
static void test_contending(void)
{
	double bytes_per_s[2] = { 80e3, 20e3 };
	int i;

	begin(2);
	for (i = 0; i < 20; i++) {
		CHECK_EQUAL(step(2, bytes_per_s) > 0, true);
		bytes_per_s[0] = fmin(80e3, floor_bytes_per_s(&flows[0]));
		bytes_per_s[1] = 100e3 - bytes_per_s[0];
		CHECK_NEAR(bytes_per_s[0], 50e3, 0.12, 0);
	}
	CHECK_EQUAL(flows[1].floor_ns, 0);
}

/* Flow 1 is slow for a reason of its own: the throttle is lifted at the next step. */
static void test_not_contending(void)
{
	double bytes_per_s[2] = { 80e3, 20e3 };

	begin(2);
	CHECK_EQUAL(step(2, bytes_per_s), 1);
	CHECK_NEAR(floor_bytes_per_s(&flows[0]), 50e3 + 1.1 * 1.6 * 1460, 0.001, 0);
	bytes_per_s[0] = 50e3;
	CHECK_EQUAL(step(2, bytes_per_s), 0);
	CHECK_EQUAL(flows[0].floor_ns, 0);
}

/* While it lasts, a throttle loosens by 1.1 G / Gavg packets/s a step. */
static void test_aging(void)
{
	double bytes_per_s[2] = { 80e3, 20e3 }, rate;
	int i;

	begin(2);
	CHECK_EQUAL(step(2, bytes_per_s), 1);
	for (i = 0; i < 10; i++) {
		bytes_per_s[0] = bytes_per_s[1] = 50e3;
		rate = 1e9 / (double)flows[0].floor_ns;
		CHECK_EQUAL(step(2, bytes_per_s), 1);
		CHECK_NEAR(1e9 / (double)flows[0].floor_ns, rate + 1.1, 0.0005, 0);
	}
}

static void test_reset(void)
{
	double bytes_per_s[2] = { 80e3, 20e3 };

	begin(2);
	CHECK_EQUAL(step(2, bytes_per_s), 1);
	flows[0].delivered_bytes += 1000000;
	now_ns += MP_NS_PER_S;
	mp_goodput_reset(&control, flows, 2, now_ns);
	CHECK_EQUAL(flows[0].floor_ns, 0);
	CHECK_EQUAL(control.throttling, false);
	/* What was delivered before the reset is not goodput of the next step. */
	bytes_per_s[0] = bytes_per_s[1] = 30e3;
	CHECK_EQUAL(step(2, bytes_per_s), 0);
	CHECK_EQUAL(flows[0].goodput_bytes_per_s, 30000);
}

/* Throttled flows of a network that falls idle are let go, and a dead network divides by nothing. */
static void test_idle(void)
{
	double bytes_per_s[2] = { 80e3, 20e3 }, idle[2] = { 0, 0 };

	begin(2);
	CHECK_EQUAL(step(2, idle), 0);
	CHECK_EQUAL(step(2, bytes_per_s), 1);
	CHECK_EQUAL(step(2, idle), 0);
	CHECK_EQUAL(flows[0].floor_ns, 0);
	CHECK_EQUAL(control.throttling, false);
	CHECK_EQUAL(step(0, idle), 0);
}

static void test_who_is_throttled(void)
{
	double bytes_per_s[2] = { 125e6, 0 }, close[2] = { 109e3, 91e3 };

	begin(1);
	CHECK_EQUAL(step(1, bytes_per_s), 0); /* alone */
	begin(2);
	CHECK_EQUAL(step(2, close), 0); /* 1.09 of the mean */
	begin(2);
	CHECK_EQUAL(step(2, bytes_per_s), 1); /* 1 Gbit/s beside a dead flow */
	begin(2);
	flows[0].paced_here = false; /* wireless-to-wired */
	CHECK_EQUAL(step(2, bytes_per_s), 0);
	begin(2);
	flows[0].segment_bytes = 0; /* no data packet seen yet */
	CHECK_EQUAL(step(2, bytes_per_s), 0);
	CHECK_EQUAL(control.throttling, false);
}

/* 10,000 flows, and counters that jump: the sanitizers see that nothing overflows. */
static void test_many(void)
{
	uint32_t run, i;

	begin(MANY);
	for (run = 0; run < 20; run++) {
		for (i = 0; i < MANY; i++) {
			uint64_t jump = run < 10 ? random_below(125000000) : random_extreme_u64();

			if (flows[i].delivered_bytes + (jump >> 6) >= flows[i].delivered_bytes)
				flows[i].delivered_bytes += jump >> 6;
			flows[i].segment_bytes = (uint32_t)random_extreme_u64();
		}
		now_ns += random_one_in(4) ? random_below(2) : law.step_ns;
		CHECK(mp_goodput_step(&control, &law, flows, MANY, now_ns) <= MANY, "count");
	}
}

static void check_flow(const struct mp_goodput_flow *flow, const struct ref_flow *ref)
{
	double rate = flow->floor_ns ? 1e9 / (double)flow->floor_ns : 0;

	CHECK_EQUAL(flow->floor_ns > 0, ref->rate > 0);
	CHECK_NEAR(rate, ref->rate, 0.002, 0.01);
}

/* Random flows step by step; a run ends where rounding could decide. */
static void test_random(void)
{
	uint32_t run, i, k, steps = 0, throttled = 0;

	for (run = 0; run < 20000; run++) {
		struct ref_control ref_control = { 0 };
		struct ref_flow ref[8] = { { 0 } };
		uint32_t n = random_between(1, 8);
		double bytes_per_s[8];

		begin(n);
		for (i = 0; i < n; i++) {
			flows[i].paced_here = ref[i].paced_here = !random_one_in(3);
			flows[i].segment_bytes = random_between(500, 1460);
			ref[i].segment = flows[i].segment_bytes;
		}
		for (k = 0; k < 12; k++) {
			uint32_t count, want;

			for (i = 0; i < n; i++) {
				bytes_per_s[i] = floor(random_log(1e4, 3e5));
				ref[i].delivered = bytes_per_s[i] * STEP_S;
			}
			count = step(n, bytes_per_s);
			want = (uint32_t)ref_goodput_step(&ref_control, ref, (int)n, STEP_S);
			if (ref_control.margin < 1e-3)
				break;
			CHECK_EQUAL(count, want);
			CHECK_EQUAL(control.throttling, ref_control.throttling);
			for (i = 0; i < n; i++)
				check_flow(&flows[i], &ref[i]);
			steps++;
			throttled += count > 0;
		}
	}
	CHECK(steps > 50000 && throttled > 20000, "only %u steps, %u throttled", steps, throttled);
}

/* A login and what is over take no part; a transfer whose route is broken does. */
static void test_who_takes_part(void)
{
	struct mp_goodput_bulk bulk = { 1, 268000, 1000, 5 * MP_NS_PER_S, false, false }, other;

	CHECK_EQUAL(mp_goodput_takes_part(&bulk, 14 * MP_NS_PER_S), true);
	CHECK_EQUAL(mp_goodput_takes_part(&bulk, 15 * MP_NS_PER_S), false);
	CHECK_EQUAL(mp_goodput_takes_part(&bulk, 0), true); /* paced ahead of the clock */
	other = bulk;
	other.outstanding = true;
	CHECK_EQUAL(mp_goodput_takes_part(&other, 99 * MP_NS_PER_S), true);
	other.finished = true;
	CHECK_EQUAL(mp_goodput_takes_part(&other, 6 * MP_NS_PER_S), false);
	other = bulk;
	other.packets = 1001;
	CHECK_EQUAL(mp_goodput_takes_part(&other, 6 * MP_NS_PER_S), false);
	other = bulk;
	other.acked_bytes = 0;
	CHECK_EQUAL(mp_goodput_takes_part(&other, 6 * MP_NS_PER_S), false);
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	test_contending();
	test_not_contending();
	test_aging();
	test_reset();
	test_who_is_throttled();
	test_random();
	test_idle();
	test_many();
	test_who_takes_part();
	return check_end();
}
