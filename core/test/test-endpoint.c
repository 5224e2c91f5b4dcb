/* SPDX-License-Identifier: GPL-2.0-only */
/* What packets do to a gateway's endpoint: samples, copies, answers. */
#include "packets.h"

#include <meshpace/endpoint/demand.h>
#include <meshpace/endpoint/excess.h>
#include <meshpace/endpoint/up.h>

/* Of T1 to T2, and the interval that follows; nothing of an ACK for what was never sent. */
static void test_a_sample(void)
{
	struct mp_law law = mp_law_gap();
	struct mp_endpoint down = { .path = { .hops = 4, .kbps = 11000 } };
	struct mp_segment pure = packet(1, 1000, 0, 30 * ms);
	struct mp_acked acked;

	sends(&down, 0, 10 * ms, false);
	CHECK_EQUAL(acknowledges(&down, 5000, 20 * ms, &acked), MP_ACK_FORWARD);
	CHECK(!acked.counts, "never sent");
	CHECK_EQUAL(acknowledges(&down, 1000, 30 * ms, &acked), MP_ACK_FORWARD);
	CHECK(acked.counts, "fits");
	CHECK_NEAR(acked.rtt_ticks << MP_TICK_SHIFT, 20 * ms, 0, 2 << MP_TICK_SHIFT);
	CHECK(mp_endpoint_down_learn(&down, &law, &pure, acked.rtt_ticks, false), "taken");
	CHECK(mp_interval_ns(&down.estimate, &law, 0) > 0, "paced from now on");
	CHECK_EQUAL(down.path.data_bytes, 1040);
	CHECK_EQUAL(down.path.ack_bytes, 40);
	CHECK(mp_endpoint_is_idle(&down), "nothing is under way");
}

/* A duplicate ACK is answered from the cache if that has had every segment since; the copy gives no sample. */
static void test_a_copy(void)
{
	struct mp_endpoint down = { 0 };
	struct mp_segment again = packet(1000, 1, BYTES, 50 * ms);
	struct mp_acked acked;
	uint32_t i;

	for (i = 0; i < 4; i++)
		sends(&down, i * BYTES, 10 * ms, true);
	acknowledges(&down, 1000, 30 * ms, &acked);
	CHECK_EQUAL(acknowledges(&down, 1000, 40 * ms, &acked), MP_ACK_WITHHOLD);
	CHECK_EQUAL(acked.again.to - acked.again.from, 1);
	mp_endpoint_down_again(&down, &again);
	CHECK_EQUAL(down.local_retransmits, 1);
	CHECK_EQUAL(acknowledges(&down, 4000, 70 * ms, &acked), MP_ACK_FORWARD);
	CHECK_EQUAL(acked.rtt_ticks, 0);
	CHECK_EQUAL(down.progress.acked_bytes, 4000);
}

/* ACKs beyond one a segment and copy are in excess, whatever they say; those with data are not counted. */
static void test_split_acks(void)
{
	struct mp_law law = mp_law_even();
	struct mp_endpoint down = { 0 };
	struct mp_segment with_data = packet(1, 2000, BYTES, 60 * ms), pure;
	struct mp_acked acked;
	uint32_t i;

	for (i = 0; i < 4; i++)
		sends(&down, i * BYTES, 10 * ms, true);
	for (i = 1; i <= 16; i++) {
		pure = packet(1, i * 125, 0, 30 * ms);
		mp_endpoint_down_ack(&down, &law, &pure, true, (struct mp_range){ i * 125, i * 125 }, false, &acked);
		mp_endpoint_down_ack(&down, &law, &with_data, false, (struct mp_range){ 2000, 2000 }, false, &acked);
	}
	CHECK_EQUAL(down.pure_acks, 16);
	CHECK_EQUAL(mp_excess_bytes(down.pure_acks, down.packets, 2), 10 * MP_EXCESS_ACK_BYTES);
	CHECK_EQUAL(mp_excess_bytes(down.pure_acks, 15, 2), 0);
}

/*
 * Who acknowledges what has not left yet gets no copies for as long as it does, and three seconds; a FIN, which takes a
 * number, may not have been seen.
 */
static void test_ahead(void)
{
	struct mp_endpoint down = { 0 };
	struct mp_acked acked;
	uint64_t then_ns = 32 * ms + MP_UNANSWERED_NS;
	uint32_t i;

	acknowledges(&down, 77, 5 * ms, &acked);
	CHECK_EQUAL(down.ahead_ns, 0); /* none of its data was seen: nothing is known */
	for (i = 0; i < 4; i++)
		sends(&down, i * BYTES, 10 * ms, true);
	acknowledges(&down, 1000, 30 * ms, &acked);
	acknowledges(&down, 4001, 31 * ms, &acked);
	CHECK(mp_endpoint_has(&down, 4000, 32 * ms), "as of anybody");
	acknowledges(&down, 0x60000000, 32 * ms, &acked);
	CHECK(!acked.counts && mp_endpoint_has(&down, 4000, 32 * ms), "somebody else, who knows the ports, has guessed");
	acknowledges(&down, 4002, 32 * ms, &acked);
	CHECK(!acked.counts, "it does not fit");
	CHECK(!mp_endpoint_has(&down, 4000, 32 * ms), "it may lack nothing");
	CHECK_EQUAL(acknowledges(&down, 1000, 33 * ms, &acked), MP_ACK_FORWARD);
	CHECK_EQUAL(acked.again.from, acked.again.to);
	CHECK(!mp_endpoint_has(&down, 4000, then_ns - 1) && mp_endpoint_has(&down, 4000, then_ns), "and then again");
	acknowledges(&down, ~MP_TCP_WINDOW_MAX + 2, then_ns, &acked);
	CHECK(!acked.counts && mp_endpoint_has(&down, 4000, then_ns), "an old one is not ahead");
}

/* Several are missing, and its receiver says that it has more than was sent. */
static void test_holes(void)
{
	struct mp_endpoint down = { 0 };
	struct mp_law even = mp_law_even(), gap = mp_law_gap();
	struct mp_range top = { 3500, 3800 };
	struct mp_segment pure;
	struct mp_acked acked;
	uint32_t i;

	for (i = 0; i < 4; i++)
		sends(&down, i * BYTES, 10 * ms, true);
	CHECK_EQUAL(tells(&down, 1000, (struct mp_range){ 3000, 90000 }, 40 * ms, &acked), MP_ACK_FORWARD);
	CHECK_EQUAL(acked.again.from, acked.again.to);
	CHECK_EQUAL(tells(&down, 1000, (struct mp_range){ 3000, 4000 }, 41 * ms, &acked), MP_ACK_WITHHOLD);
	CHECK(acked.again.from == 1000 && acked.again.to == 3000, "up to what it has");
	CHECK_EQUAL(acknowledges(&down, 4000, 42 * ms, &acked), MP_ACK_FORWARD);
	pure = packet(1, 3000, 0, 43 * ms);
	CHECK(mp_endpoint_heeds(&down, &even, &pure, top).to == 3800, "even goes by SACK");
	CHECK(mp_endpoint_heeds(&down, &gap, &pure, top).to == 3000, "the papers' law does not");
	even.omit = MP_OMIT_SACK;
	CHECK(mp_endpoint_heeds(&down, &even, &pure, top).to == 3000, "left out");
	sends(&down, 4000, 50 * ms, false);
	sends(&down, 5000, 50 * ms, true);
	CHECK_EQUAL(tells(&down, 4000, (struct mp_range){ 5000, 6000 }, 60 * ms, &acked), MP_ACK_FORWARD);
	CHECK_EQUAL(acked.again.from, acked.again.to);
}

/* What the cache never saw it does not have: a segment without a copy, or what was lost before it came here. */
static void test_what_the_cache_has(void)
{
	struct mp_endpoint down = { 0 };
	struct mp_acked acked;

	sends(&down, 0, ms, true);
	sends(&down, 1000, ms, false);
	CHECK(!mp_endpoint_has(&down, 1000, 60 * ms), "no copy");
	sends(&down, 2000, 2 * ms, true);
	CHECK(mp_endpoint_has(&down, 2000, 60 * ms) && !mp_endpoint_has(&down, 1000, 60 * ms), "from here on");
	sends(&down, 9000, 3 * ms, true);
	CHECK(mp_endpoint_has(&down, 9000, 60 * ms) && !mp_endpoint_has(&down, 3000, 60 * ms), "behind a gap");
	acknowledges(&down, 1000, 5 * ms, &acked);
	CHECK_EQUAL(acknowledges(&down, 1000, 6 * ms, &acked), MP_ACK_FORWARD);
}

/* Else local repair ends after 2 GiB without a loss, for 2 GiB, since numbers come round. */
static void test_the_cache_has_all_of_a_long_download(void)
{
	struct mp_endpoint down = { 0 };
	struct mp_segment data = packet(0, 1, 64000, ms);
	struct mp_acked acked;

	for (; data.now_ns < 100000 * ms; data.now_ns += ms) {
		mp_endpoint_down_data(&down, &data, data.now_ns, true, 0);
		acknowledges(&down, data.seq, data.now_ns, &acked);
		CHECK(mp_endpoint_has(&down, data.seq, data.now_ns), "after %.1f GiB",
		      (double)down.progress.acked_bytes / (1 << 30));
		data.seq = (uint32_t)(data.seq + (uint64_t)data.payload_bytes);
	}
	CHECK(down.progress.acked_bytes > 5ull << 30, "beyond where numbers come round");
}

/* By the interval, behind what waits; where nothing holds it, at once. */
static void test_departures(void)
{
	struct mp_endpoint down = { .interval_ns = 10 * ms };
	struct mp_segment pure = packet(1, 1, 0, 100 * ms);

	CHECK_EQUAL(mp_endpoint_down_departure_ns(&down, true, true, 100 * ms, 100 * ms, 1), 100 * ms);
	CHECK_EQUAL(mp_endpoint_down_departure_ns(&down, true, true, 100 * ms, 100 * ms, 3), 110 * ms);
	CHECK_EQUAL(mp_endpoint_down_departure_ns(&down, true, true, 100 * ms, 100 * ms, 1), 140 * ms);
	CHECK_EQUAL(mp_endpoint_down_departure_ns(&down, false, true, 101 * ms, 101 * ms, 1), 140 * ms);
	CHECK_EQUAL(mp_endpoint_down_no_data_ns(&down, &pure, 100 * ms), 140 * ms);
	CHECK_EQUAL(mp_endpoint_down_departure_ns(&down, true, false, 100 * ms, 102 * ms, 1), 102 * ms);
}

/* Whether the law takes a download for one whose sender has no more. */
static bool pauses(const struct mp_endpoint *down, uint64_t now_ns)
{
	struct mp_demand demand = mp_demand_of(&down->progress, down->sent.max_end, false, false, down->paused_ns, now_ns);

	return demand.paused;
}

/*
 * A sender that sends only when all is acknowledged has no more; but not if it has just lost something, for its window may be
 * a packet: else who is crowded out, and loses nearly all that it sends, would count as content.
 */
static void test_pauses(void)
{
	struct mp_endpoint down = { 0 };
	struct mp_acked acked;
	uint32_t i;

	for (i = 0; i < 3; i++) {
		sends(&down, i * BYTES, (100 + 20 * i) * ms, false);
		acknowledges(&down, (i + 1) * BYTES, (110 + 20 * i) * ms, &acked);
	}
	CHECK(pauses(&down, 160 * ms), "it lets all be acknowledged");
	CHECK(!pauses(&down, 1200 * ms), "that was long ago");
	sends(&down, 3 * BYTES, 2000 * ms, false);
	sends(&down, 3 * BYTES, 3000 * ms, false); /* the first was lost */
	acknowledges(&down, 4 * BYTES, 3010 * ms, &acked);
	sends(&down, 4 * BYTES, 3020 * ms, false);
	CHECK(!pauses(&down, 3030 * ms), "it has a window of one packet");
	CHECK(!pauses(&down, 6500 * ms), "that this is over is no pause");
	acknowledges(&down, 5 * BYTES, 3040 * ms, &acked);
	sends(&down, 5 * BYTES, 6100 * ms, false);
	CHECK(pauses(&down, 6110 * ms), "nothing was lost for three seconds");
}

/* Whether the retransmit cache is to have the next segment; it is sent. */
static bool is_copied(struct mp_endpoint *down, uint32_t seq, uint64_t now_ns)
{
	struct mp_segment data = packet(seq, 1, BYTES, now_ns);
	bool copied = mp_endpoint_down_copies(down, &data);

	mp_endpoint_down_data(down, &data, now_ns, copied, 0);
	return copied;
}

/* Else a flood that nobody answers takes the memory and the processor that others' copies need. */
static void test_copies(void)
{
	struct mp_endpoint down = { 0 };
	const uint32_t window = 65535 / BYTES;
	struct mp_acked acked;
	uint32_t i;

	for (i = 0; i < window; i++)
		CHECK(is_copied(&down, i * BYTES, 100 * ms), "of the first window each");
	CHECK(!is_copied(&down, window * BYTES, 100 * ms), "none beyond it");
	acknowledges(&down, window * BYTES, 120 * ms, &acked);
	for (i = 1; i < 2 * window; i++)
		CHECK(is_copied(&down, (window + i) * BYTES, 130 * ms), "somebody answers");
	CHECK(is_copied(&down, 3 * window * BYTES, 3100 * ms), "lately");
	CHECK(!is_copied(&down, (3 * window + 1) * BYTES, 3120 * ms), "no longer");
	acknowledges(&down, 2 * window * BYTES, 3200 * ms, &acked);
	CHECK(is_copied(&down, (3 * window + 2) * BYTES, 3210 * ms), "again");
}

/* RTT_wired of data and its ACK, once; who asked is remembered; one of four ACKs tells of others. */
static void test_an_upload(void)
{
	struct mp_endpoint up = { 0 };
	struct mp_segment data = packet(0, 1, BYTES, 10 * ms), pure = packet(1, 1000, 0, 30 * ms);
	uint32_t tells = 0, i;

	data.flags |= MP_TCP_PSH;
	mp_endpoint_up_data(&up, &data, true);
	data.seq = 1000;
	data.flags = MP_TCP_ACK;
	mp_endpoint_up_data(&up, &data, false);
	CHECK(up.asked && !up.pushed, "as its sender has said");
	CHECK_EQUAL(mp_endpoint_up_news(&up, 1000), 1000);
	CHECK(!mp_endpoint_up_fits(&up, 5000), "never sent");
	CHECK(mp_endpoint_ack(&up, &pure), "fits");
	CHECK_NEAR(mp_endpoint_up_sample(&up, &pure, 30 * ms), 20000, 0, 1);
	CHECK_EQUAL(mp_endpoint_up_sample(&up, &pure, 40 * ms), 0);
	CHECK_NEAR(up.rtt_wired_us, 20000, 0, 1);
	for (i = 0; i < 8; i++)
		tells += mp_endpoint_up_feedback(&up, 5000);
	CHECK_EQUAL(tells, 2);
}

/* Who sends too much can be told so again however much has come between, though numbers come round. */
static void test_is_told_after_gigabytes(void)
{
	struct mp_endpoint up = { 0 };
	struct mp_segment data = packet(0, 1, 64000, ms), pure = packet(1, 0, 0, ms);
	uint64_t gigabytes, until_bytes = 1;

	for (gigabytes = 1; gigabytes < 6; gigabytes++) {
		for (; up.progress.acked_bytes < until_bytes; data.now_ns = pure.now_ns += ms) {
			mp_endpoint_up_data(&up, &data, false);
			pure.ack = data.seq = up.sent.max_end;
			CHECK(mp_endpoint_ack(&up, &pure), "fits");
		}
		CHECK(mp_endpoint_up_notifies(&up, &data), "after %.1f GiB", (double)up.progress.acked_bytes / (1 << 30));
		CHECK(!mp_endpoint_up_notifies(&up, &data), "once");
		until_bytes = up.progress.acked_bytes + (gigabytes << 30);
	}
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	test_a_sample();
	test_a_copy();
	test_split_acks();
	test_ahead();
	test_holes();
	test_what_the_cache_has();
	test_the_cache_has_all_of_a_long_download();
	test_departures();
	test_pauses();
	test_copies();
	test_an_upload();
	test_is_told_after_gigabytes();
	return check_end();
}
