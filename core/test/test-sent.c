/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * T1, T2 and Karn's rule: the ring against a list of all transmissions with numbers that do not
 * wrap. A sample that the ring gives is always right; it gives every one as long as the ring has
 * room, segments are sent again whole, and no idle time makes it forget.
 */
#include "check.h"
#include "reference.h"

#include <meshpace/endpoint/sent.h>

#define TRANSMISSIONS 300
#define MS 1000000ull
#define TICK_NS (1u << MP_TICK_SHIFT)

/* A sender, its segments, and both records of them. */
struct flow {
	struct mp_sent sent;
	struct ref_sent ref;
	uint64_t end[TRANSMISSIONS]; /* of new segments, in order */
	uint32_t n, acked;           /* segments sent, segments acknowledged */
	uint64_t now_ns;
	uint32_t first_seq;
	uint32_t samples;
};

static struct flow flow;

static uint32_t wrapped(uint64_t seq)
{
	return (uint32_t)(flow.first_seq + seq);
}

static uint64_t segment_start(uint32_t i)
{
	return i ? flow.end[i - 1] : 0;
}

static void begin(uint32_t first_seq, uint64_t now_ns)
{
	flow = (struct flow){ .now_ns = now_ns, .first_seq = first_seq };
}

static bool transmit(uint64_t seq, uint64_t end)
{
	ref_sent_record(&flow.ref, seq, end, flow.now_ns);
	return mp_sent_record(&flow.sent, wrapped(seq), (uint32_t)(end - seq), flow.now_ns);
}

static void send_new(uint32_t len)
{
	uint64_t seq = segment_start(flow.n);

	flow.end[flow.n++] = seq + len;
	CHECK(transmit(seq, seq + len), "new data taken for a retransmission");
}

static void check_sample(uint32_t ticks, uint64_t want_ns, bool must)
{
	if (ticks == 0) {
		CHECK(want_ns == 0 || !must, "lost a sample of %" PRIu64 " ns", want_ns);
		return;
	}
	flow.samples++;
	CHECK(want_ns || ticks == 1, "sample of %u ticks against Karn's rule", ticks);
	CHECK_NEAR(ticks * (double)TICK_NS, want_ns, 0, 2 * TICK_NS);
}

/* must: the ring has to give a sample when there is one. */
static void acknowledge(uint64_t ack, bool must)
{
	uint64_t want_ns = ref_sent_ack(&flow.ref, ack, flow.now_ns);

	check_sample(mp_sent_ack(&flow.sent, wrapped(ack), flow.now_ns), want_ns, must);
	while (flow.acked < flow.n && flow.end[flow.acked] <= ack)
		flow.acked++;
}

/* A retransmission: a whole segment still out, or for the wild sender any bytes sent before. */
static void retransmit(bool wild)
{
	uint32_t i = wild ? random_below(flow.n) : random_between(flow.acked, flow.n - 1);
	uint64_t seq = segment_start(i), end = flow.end[i];

	if (wild && random_one_in(2))
		seq += random_below((uint32_t)(end - seq));
	if (wild && random_one_in(2))
		end += random_below(5000);
	if (end > flow.end[flow.n - 1]) /* resegmented, with new data behind it */
		flow.end[flow.n++] = end;
	CHECK(!transmit(seq, end), "retransmission taken for new data");
}

/* An ACK that is in order, or overtaken, repeated, or for the wild sender of no segment's end. */
static void acknowledge_some(bool wild)
{
	uint32_t i = random_one_in(5) ? random_below(flow.n)
				      : random_between(flow.acked ? flow.acked - 1 : 0,
						       flow.n - 1 < flow.acked + 3 ? flow.n - 1
										   : flow.acked + 3);
	uint64_t ack = flow.end[i];

	if (wild && random_one_in(4))
		ack -= random_below((uint32_t)(ack - segment_start(i)));
	acknowledge(ack, !wild);
}

static void random_step(bool wild)
{
	uint32_t room = wild ? TRANSMISSIONS : MP_SENT_SLOTS;

	flow.now_ns += (uint64_t)random_log(1e3, 200e6);
	if (wild && random_one_in(100))
		flow.now_ns += 121 * MP_NS_PER_S;
	if (flow.n > (wild ? 0 : flow.acked) && random_one_in(10))
		retransmit(wild);
	else if (flow.n > 0 && random_one_in(wild ? 4 : 2))
		acknowledge_some(wild);
	else if (flow.n - flow.acked < room)
		send_new(random_one_in(20) ? 65535 : random_between(1, 1460));
}

/* Wrapped sequence numbers, wrapped ticks, lost, reordered and repeated ACKs, idle times. */
static void test_random(bool wild)
{
	uint32_t run, samples = 0;

	for (run = 0; run < 1500; run++) {
		begin(UINT32_MAX - random_below(200000),
		      random_one_in(2) ? (1ull << 38) - random_below(2000) * MS
				       : random_u64() >> random_between(1, 40));
		while (flow.n < TRANSMISSIONS - 1 && flow.ref.n < 600)
			random_step(wild);
		samples += flow.samples;
	}
	CHECK(samples > run * (wild ? 10 : 20), "only %u samples in %u runs", samples, run);
}

/* What does not fit goes unrecorded; what was recorded before it stays. */
static void test_full_ring(void)
{
	uint32_t i;

	begin(UINT32_MAX - 50000, 0);
	for (i = 0; i < MP_SENT_SLOTS + 10; i++) {
		flow.now_ns += MS;
		send_new(1000);
	}
	CHECK_EQUAL(flow.sent.count, MP_SENT_SLOTS);
	for (i = 0; i < MP_SENT_SLOTS; i++)
		acknowledge(flow.end[i], true);
	CHECK_EQUAL(flow.samples, MP_SENT_SLOTS);
	for (; i < flow.n; i++)
		acknowledge(flow.end[i], false);
	CHECK_EQUAL(flow.samples, MP_SENT_SLOTS);
}

/* A segment that the ring had no room for is sent again: what waits behind it gives no sample. */
static void test_hole_off_the_record(void)
{
	uint32_t i;

	begin(0, 0);
	for (i = 0; i <= MP_SENT_SLOTS; i++)
		send_new(1000);
	flow.now_ns += 50 * MS;
	acknowledge(flow.end[MP_SENT_SLOTS - 1], true);
	transmit(segment_start(MP_SENT_SLOTS), flow.end[MP_SENT_SLOTS]);
	flow.now_ns += MS;
	send_new(1000);
	flow.now_ns += 50 * MS;
	acknowledge(flow.end[MP_SENT_SLOTS + 1], true);
	flow.now_ns += MS;
	send_new(1000);
	flow.now_ns += 20 * MS;
	acknowledge(flow.end[MP_SENT_SLOTS + 2], true);
	CHECK_EQUAL(flow.samples, 2);
}

/* Half a segment is sent again: its ACK may be the answer to either copy. */
static void test_part_sent_again(void)
{
	begin(0, 0);
	send_new(1000);
	flow.now_ns += 30 * MS;
	transmit(0, 400);
	flow.now_ns += MS;
	acknowledge(1000, true);
	CHECK_EQUAL(flow.samples, 0);
}

/*
 * Who never acknowledges a segment's end is paced too: each segment is sampled by the first ACK behind
 * it. Two ACKs for a segment give one sample.
 */
static void test_off_the_ends(void)
{
	uint32_t i;

	begin(UINT32_MAX - 20000, 5 * MS);
	for (i = 0; i < 40; i++) {
		flow.now_ns += 10 * MS;
		send_new(1000);
		if (i < 4)
			continue;
		acknowledge(flow.end[i - 4] - 600, true);
		acknowledge(flow.end[i - 4] - 1, true);
	}
	CHECK_EQUAL(flow.samples, 35);
	CHECK_EQUAL(flow.sent.count, 5);
	/* Part of a segment that was sent again: which copy was it, and who waited for it? */
	transmit(flow.end[35], flow.end[36]);
	flow.now_ns += 10 * MS;
	acknowledge(flow.end[35] + 1, true);
	CHECK_EQUAL(flow.samples, 35);
}

/* A paced host records departures ahead of the clock: ACKs of earlier segments still count. */
static void test_departure_ahead(void)
{
	begin(0, 1000 * MS);
	send_new(1000);
	flow.now_ns += 500 * MS;
	send_new(1000);
	flow.now_ns -= 450 * MS;
	acknowledge(1000, true);
	CHECK_EQUAL(flow.samples, 1);
	/* An answer before the departure is none. */
	CHECK_EQUAL(mp_sent_ack(&flow.sent, wrapped(2000), flow.now_ns), 0);
}

/* Silence counts from the latest departure, also when one before it is recorded after it. */
static void test_departures_out_of_order(void)
{
	begin(0, 1000 * MS);
	send_new(1000);
	flow.now_ns += 4000 * MS;
	send_new(1000);
	flow.now_ns -= 3000 * MS;
	transmit(0, 1000);
	flow.now_ns += 1000 * MS;
	acknowledge(1000, true);
	flow.now_ns += 119500 * MS;
	CHECK(mp_sent_ack(&flow.sent, wrapped(2000), flow.now_ns) > 0, "forgotten too early");
}

/* T1 of 64 ns ticks wraps after 274 s: silence beyond 120 s forgets it. */
static void test_idle(void)
{
	begin(0, 5000 * MS);
	send_new(1000);
	send_new(1000);
	flow.now_ns += MP_SENT_STALE_NS;
	acknowledge(1000, true);
	flow.now_ns += 1;
	acknowledge(2000, true);
	CHECK_EQUAL(flow.samples, 1);
	send_new(1000);
	flow.now_ns += MS;
	acknowledge(3000, true);
	CHECK_EQUAL(flow.samples, 2);
}

static void test_empty_segment(void)
{
	begin(7, 0);
	CHECK_EQUAL(mp_sent_record(&flow.sent, 7, 0, 0), false);
	CHECK_EQUAL(flow.sent.started, false);
	CHECK_EQUAL(mp_sent_ack(&flow.sent, 7, MS), 0);
	/* Acknowledged within the clock's resolution: the shortest sample, not none. */
	send_new(1);
	CHECK_EQUAL(mp_sent_ack(&flow.sent, 8, 0), 1);
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	test_full_ring();
	test_hole_off_the_record();
	test_part_sent_again();
	test_off_the_ends();
	test_departure_ahead();
	test_departures_out_of_order();
	test_idle();
	test_empty_segment();
	test_random(false);
	test_random(true);
	return check_end();
}
