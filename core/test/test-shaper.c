/* SPDX-License-Identifier: GPL-2.0-only */
/* The token bucket against one that is filled token by token; static pacing against its sum. */
#include "check.h"

#include <string.h>

#include <meshpace/law/law.h>
#include <meshpace/law/yang.h>

/* A bucket in floating point: tokens, and when they were counted. */
struct bucket {
	double tokens, size, interval_ns, at_ns;
};

static void fill(struct bucket *bucket, double now_ns)
{
	bucket->tokens = fmin(bucket->tokens + (now_ns - bucket->at_ns) / bucket->interval_ns,
			      bucket->size);
	bucket->at_ns = now_ns;
}

/* When the next token is there; takes it. */
static double take(struct bucket *bucket, double now_ns)
{
	fill(bucket, now_ns);
	if (bucket->tokens < 1)
		fill(bucket, now_ns + (1 - bucket->tokens) * bucket->interval_ns);
	bucket->tokens -= 1;
	return bucket->at_ns;
}

/* Packets in a queue: each leaves when its token is there, never before the one ahead of it. */
static void test_against_tokens(void)
{
	uint32_t run, i;

	for (run = 0; run < 20000; run++) {
		uint32_t size = random_between(1, 20);
		uint64_t interval_ns = (uint64_t)random_log(1e3, 1e8);
		uint64_t now_ns = MP_NS_PER_S, departure_ns;
		struct mp_pacer pacer = { 0, false };
		struct bucket bucket = { size, size, (double)interval_ns, 1e9 };

		for (i = 0; i < 60; i++) {
			double want_ns;

			if (random_one_in(5))
				now_ns += (uint64_t)random_log(1, 30.0 * (double)interval_ns);
			departure_ns = mp_bucket_departure_ns(&pacer, now_ns, interval_ns, size);
			want_ns = take(&bucket, (double)now_ns);
			CHECK_NEAR(departure_ns, want_ns, 0, 1.01 + want_ns * 1e-12);
			mp_bucket_departed(&pacer, departure_ns, interval_ns);
			now_ns = departure_ns;
		}
	}
}

/* A bucket of one is the pacer; of none too. */
static void test_bucket_of_one(void)
{
	uint32_t i;

	for (i = 0; i < 100000; i++) {
		struct mp_pacer pacer = { random_extreme_u64() >> 2, !random_one_in(8) };
		uint64_t now_ns = random_extreme_u64() >> 2, interval_ns = random_extreme_u64() >> 4;

		CHECK_EQUAL(mp_bucket_departure_ns(&pacer, now_ns, interval_ns, random_below(2)),
			    mp_departure_ns(&pacer, now_ns, interval_ns));
	}
}

/* k leave at once, the next an interval after the first; never more than k together. */
static void test_burst(void)
{
	struct mp_pacer pacer = { 0, false };
	uint64_t now_ns = 5 * MP_NS_PER_S, departure_ns = 0;
	uint32_t i;

	for (i = 0; i < 6; i++) {
		departure_ns = mp_bucket_departure_ns(&pacer, now_ns, 1000, 4);
		CHECK_EQUAL(departure_ns, now_ns + (i < 4 ? 0 : (i - 3) * 1000));
		mp_bucket_departed(&pacer, departure_ns, 1000);
	}
	/* After long silence the bucket is full, and no fuller. */
	now_ns += MP_NS_PER_S;
	for (i = 0; i < 6; i++) {
		departure_ns = mp_bucket_departure_ns(&pacer, now_ns, 1000, 4);
		CHECK_EQUAL(departure_ns, now_ns + (i < 4 ? 0 : (i - 3) * 1000));
		mp_bucket_departed(&pacer, departure_ns, 1000);
	}
}

static void test_interval(void)
{
	uint32_t i;

	CHECK_EQUAL(mp_shaper_interval_ns(1460, 0), 0);
	CHECK_EQUAL(mp_shaper_interval_ns(536, 536 * 8 * 32), 31250000); /* 32 packets/s */
	CHECK_EQUAL(mp_shaper_interval_ns(INT32_MAX, 1), INT32_MAX * 8ull * MP_NS_PER_S);
	for (i = 0; i < 100000; i++) {
		uint32_t bytes = random_between(1, 9000);
		uint64_t bps = (uint64_t)random_log(100, 1e11);

		CHECK_NEAR(mp_shaper_interval_ns(bytes, bps), bytes * 8e9 / (double)bps, 0, 0.51);
	}
}

/* The law `shaper`: whatever the samples, its interval. */
static void test_law(void)
{
	struct mp_law law = mp_law_shaper(12345678, 3);
	struct mp_path path = { .hops = 4, .kbps = 11000, .data_bytes = 1500, .ack_bytes = 40 };
	struct mp_estimate estimate = { 0 };
	uint32_t i;

	CHECK_EQUAL(law.bucket, 3);
	for (i = 0; i < 100; i++) {
		CHECK_EQUAL(mp_estimate_add(&estimate, &law, &path, random_between(1, 10000000), 0, 0), false);
		CHECK_EQUAL(mp_interval_ns(&estimate, &law, 0), 12345678);
	}
	CHECK_EQUAL(mp_law_gap().constant + mp_law_ap().constant + mp_law_map().constant, 0);
	CHECK_EQUAL(mp_law_gap().bucket, 1);
}

/* Under the law `shaper` packets leave by the bucket, under the others by the pacer. */
static void test_law_departures(void)
{
	struct mp_law shaper = mp_law_shaper(1000, 3), gap = mp_law_gap();
	struct mp_pacer bucket = { 0 }, pacer = { 0 };
	uint32_t i;

	for (i = 0; i < 6; i++) {
		uint64_t leaves_ns = mp_law_due_ns(&shaper, &bucket, 5000, 1000);
		uint64_t paced_ns = mp_law_due_ns(&gap, &pacer, 5000, 1000);

		CHECK_EQUAL(leaves_ns, i < 3 ? 5000 : 5000 + (i - 2) * 1000);
		CHECK_EQUAL(paced_ns, 5000 + i * 1000);
		mp_law_departed(&shaper, &bucket, leaves_ns, leaves_ns, 1000, 0, MP_DEVICE_SEEN);
		mp_law_departed(&gap, &pacer, paced_ns, paced_ns, 1000, 0, MP_DEVICE_SEEN);
	}
}

/*
 * Who is late is made up for: by the papers' laws for what the host's clock is late, and nothing for what was
 * not there; under `even`, where the device is seen, for what an aggregate keeps it busy, whatever the reason.
 */
static void test_late_departures(void)
{
	struct mp_law gap = mp_law_gap(), even = mp_law_even();
	const uint64_t ms = 1000000, s = MP_NS_PER_S, hop_ns = even.hop_wait_ns;
	struct mp_pacer pacer = { s, true };

	mp_law_departed(&gap, &pacer, s, s + 13 * ms, 10 * ms, 4 * ms, MP_DEVICE_SEEN);
	CHECK_EQUAL(pacer.last_ns, s + 10 * ms);
	mp_law_departed(&gap, &pacer, s, s + 40 * ms, 10 * ms, 4 * ms, MP_DEVICE_SEEN);
	CHECK_EQUAL(pacer.last_ns, s + 36 * ms);
	mp_law_departed(&gap, &pacer, s + 90 * ms, s + 90 * ms, 10 * ms, 4 * ms, MP_DEVICE_SEEN);
	CHECK_EQUAL(pacer.last_ns, s + 90 * ms);
	mp_law_departed(&gap, &pacer, s, s + 103 * ms, 10 * ms, 0, MP_DEVICE_SEEN);
	CHECK_EQUAL(pacer.last_ns, s + 103 * ms);
	mp_law_departed(&even, &pacer, s + 9 * s, s + 9 * s, 10 * ms, 4 * ms, MP_DEVICE_SEEN);
	CHECK_EQUAL(pacer.last_ns, s + 9 * s - hop_ns);
	mp_law_departed(&even, &pacer, s, s + 9 * s, 10 * ms, 0, MP_DEVICE_SEEN);
	CHECK_EQUAL(pacer.last_ns, s + 9 * s - hop_ns + 10 * ms);
	memset(&pacer, 0, sizeof(pacer));
	mp_law_departed(&even, &pacer, s, s, 10 * ms, 0, MP_DEVICE_SEEN);
	CHECK_EQUAL(pacer.last_ns, s);
	mp_law_departed(&even, &pacer, 10 * s, 10 * s, 10 * ms, 4 * ms, MP_DEVICE_UNSEEN);
	CHECK_EQUAL(pacer.last_ns, 10 * s);
	mp_law_departed(&even, &pacer, 10 * s, 10 * s + 12 * ms, 10 * ms, 4 * ms, MP_DEVICE_UNSEEN);
	CHECK_EQUAL(pacer.last_ns, 10 * s + 10 * ms);
	mp_law_departed(&even, &pacer, 10 * s, 11 * s, 10 * ms, 4 * ms, MP_DEVICE_UNSEEN);
	CHECK_EQUAL(pacer.last_ns, 11 * s - 4 * ms);
}

static void test_yang(void)
{
	struct mp_yang yang = { 0 };
	uint64_t least_ns = UINT64_MAX;
	uint32_t i;

	CHECK_EQUAL(mp_yang_delay_ns(&yang, 65535), 0);
	for (i = 0; i < 100000; i++) {
		uint64_t took_ns = (uint64_t)random_log(1e3, 3.9e9);
		uint32_t random_q16 = random_below(65536);

		least_ns = took_ns < least_ns ? took_ns : least_ns;
		mp_yang_took(&yang, took_ns);
		CHECK_NEAR(mp_yang_delay_ns(&yang, random_q16),
			   (double)least_ns + (double)took_ns * (1 + random_q16 / 65536.0), 0, 1);
	}
	mp_yang_took(&yang, UINT64_MAX);
	CHECK_EQUAL(yang.latest_ns, MP_YANG_MAX_NS);
	CHECK(mp_yang_delay_ns(&yang, UINT32_MAX) < 3 * MP_YANG_MAX_NS, "overflow");
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	test_against_tokens();
	test_bucket_of_one();
	test_burst();
	test_interval();
	test_law();
	test_law_departures();
	test_late_departures();
	test_yang();
	return check_end();
}
