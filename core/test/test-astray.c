/* SPDX-License-Identifier: GPL-2.0-only */
/* Data that lies where its flow cannot be: forged, or behind much that went past unread. */
#include "packets.h"

#include <meshpace/endpoint/up.h>

/* Data comes as at a gateway: judged first where nobody answers. */
static enum mp_unanswered_verdict comes(struct mp_endpoint *down, uint32_t seq, uint64_t now_ns)
{
	struct mp_segment data = packet(seq, 1, BYTES, now_ns);
	enum mp_unanswered_verdict verdict = MP_UNANSWERED_PASSES;

	if (!mp_endpoint_down_passes(down, &data))
		verdict = mp_endpoint_down_judge(down, &data);
	if (verdict != MP_UNANSWERED_LOST)
		mp_endpoint_down_data(down, &data, now_ns, true, 0);
	return verdict;
}

/* Of a download that goes on for 300 segments from seq on, those that pass, and whose ACKs count. */
static uint32_t goes_on(struct mp_endpoint *down, uint32_t seq, uint64_t now_ns)
{
	struct mp_acked acked;
	uint32_t i, count = 0;

	for (i = 0; i < 300; i++, seq += BYTES) {
		if (comes(down, seq, now_ns + i * ms) == MP_UNANSWERED_LOST)
			continue;
		acknowledges(down, seq + BYTES, now_ns + i * ms, &acked);
		count += acked.counts;
	}
	return count;
}

/* Else no ACK fits, and the rest of a download gets a packet a second, after the daemon stood still for more than 1 GiB. */
static void test_what_went_past_unread(void)
{
	uint32_t unread, eighth = (1u << 29) + 1; /* of 4 GiB, where numbers come round */
	struct mp_acked acked;
	uint64_t delivered;

	for (unread = 1; unread < 8; unread++) {
		struct mp_endpoint down = { 0 };

		goes_on(&down, 0, 100 * ms);
		delivered = down.progress.acked_bytes;
		acknowledges(&down, unread * eighth, 10000 * ms, &acked);
		CHECK_EQUAL(down.progress.acked_bytes, delivered); /* of what was not seen */
		CHECK_EQUAL(goes_on(&down, 300 * BYTES + unread * eighth, 20000 * ms), 300);
		CHECK(down.progress.acked_bytes >= delivered + 300 * BYTES, "no news of what goes on");
		acknowledges(&down, 600 * BYTES + unread * eighth, 20400 * ms, &acked);
		CHECK(mp_endpoint_has(&down, 600 * BYTES + unread * eighth, 20400 * ms), "copies are made");
	}
}

/*
 * Who forges data of a flow, and does not know where it is, takes from it neither its samples nor its copies, whose host is
 * not held to less for ACKs that it owes; and the flow does not seem to have lost something. answered: it goes on meanwhile.
 */
static void is_forged(uint32_t at, bool answered)
{
	uint64_t now_ns = answered ? 500 * ms : 10000 * ms;
	struct mp_endpoint down = { 0 };
	uint32_t seq = 300 * BYTES, i;
	struct mp_acked acked;

	goes_on(&down, 0, 100 * ms);
	comes(&down, seq, now_ns);
	CHECK(comes(&down, seq + at, now_ns) == MP_UNANSWERED_ASTRAY, "0x%x: it counts", at);
	for (i = 0; i < 3; i++, seq += BYTES) {
		acknowledges(&down, seq + BYTES, now_ns + 20 * ms, &acked);
		CHECK(acked.rtt_ticks > 0, "0x%x: no sample", at);
		comes(&down, seq + BYTES, now_ns);
		CHECK(comes(&down, seq + at, now_ns) == MP_UNANSWERED_ASTRAY, "0x%x: it counts", at);
	}
	CHECK(mp_endpoint_has(&down, seq, now_ns + 20 * ms), "0x%x: no copies", at);
	CHECK_EQUAL(down.retransmits, 0);
	CHECK_EQUAL(down.packets, 308);
	CHECK(!(down.paused_ns & MP_PAUSED_BAR), "0x%x: it lost something", at);
}

static void test_what_is_forged(void)
{
	uint32_t bits;

	for (bits = 24; bits < 32; bits++) { /* a window of 500 may be 8 MB, by what is known */
		is_forged(1u << bits, true);
		is_forged(~((1u << bits) - 1), true);
		is_forged(1u << bits, false);
		is_forged(~((1u << bits) - 1), false);
	}
}

/* Whose scale is known has less room; what its receiver has said counts though it takes that back later. */
static void test_the_room(void)
{
	struct mp_endpoint down = { 0 };

	mp_endpoint_down_begins(&down, 0, 1 + 3);
	CHECK(!mp_endpoint_strays(&down, 1u << 31), "before the first data all may be");
	goes_on(&down, 0, 100 * ms);
	CHECK(!mp_endpoint_strays(&down, 300 * BYTES + 8 * 500 + 65535), "a window that is not scaled beside it");
	CHECK(mp_endpoint_strays(&down, 300 * BYTES + 8 * 500 + 65536), "nothing beyond");
	CHECK(!mp_endpoint_strays(&down, 300 * BYTES - 8 * 500 - 65535), "what its sender may not know yet");
	CHECK(mp_endpoint_strays(&down, 300 * BYTES - 8 * 500 - 65536), "nothing before");
}

/* Though the first that is seen be forged, and more than its own follows: its own is what its receiver has room for. */
static void test_who_begins_by_a_forgery(void)
{
	struct mp_endpoint down = { 0 };
	struct mp_acked acked;
	uint32_t i, count = 0;

	comes(&down, 1u << 31, 90 * ms);
	for (i = 0; i < 300; i++) {
		comes(&down, (uint32_t)random_u64() | 1u << 30, (100 + i) * ms);
		comes(&down, i * BYTES, (100 + i) * ms);
		comes(&down, (uint32_t)random_u64() | 1u << 30, (100 + i) * ms);
		acknowledges(&down, (i + 1) * BYTES, (100 + i) * ms, &acked);
		count += acked.counts;
	}
	CHECK_EQUAL(count, 299);
	CHECK_EQUAL(down.progress.ack, 300 * BYTES);
}

/* Of what its receiver has no more than the window of a flow that nobody answers passes, and a packet a second. */
static void test_what_is_sent_again_and_again(void)
{
	struct mp_endpoint down = { 0 };
	uint32_t i, passed = 0;

	goes_on(&down, 0, 100 * ms);
	for (i = 0; i < 1000; i++)
		passed += comes(&down, 299 * BYTES, (10000 + i) * ms) == MP_UNANSWERED_PASSES;
	CHECK(passed <= 65, "%u pass", passed);
	CHECK_EQUAL(goes_on(&down, 300 * BYTES, 20000 * ms), 300);
}

/* Nor does it begin anew what idles. */
static void test_what_is_forged_begins_nothing(void)
{
	struct mp_endpoint down = { 0 };
	struct mp_acked acked;
	uint32_t i;

	goes_on(&down, 0, 100 * ms);
	CHECK_EQUAL(goes_on(&down, 300 * BYTES, 410 * ms), 300);
	for (i = 0; i < 1000; i++) { /* after so many as one likes */
		comes(&down, (uint32_t)random_u64(), (10000 + i) * ms);
		CHECK(down.progress.acked_bytes == 600 * BYTES, "nothing is acknowledged");
	}
	CHECK_EQUAL(goes_on(&down, 600 * BYTES, 20000 * ms), 300);
	/* What is sent again of the latest window, or a keep-alive, is where it was. */
	comes(&down, 900 * BYTES - 1, 60000 * ms);
	CHECK_EQUAL(down.progress.ack, 900 * BYTES);
	acknowledges(&down, 900 * BYTES, 60010 * ms, &acked);
	CHECK(acked.counts, "it idled");
}

/* A flood that leaps gets no more than flows that begin: what passes of it is charged. */
static void test_who_leaps_is_charged(void)
{
	struct mp_endpoint down = { 0 };
	enum mp_unanswered_verdict verdict;
	uint32_t i;

	goes_on(&down, 0, 100 * ms);
	for (i = 1; i < 1000; i++) {
		verdict = comes(&down, (uint32_t)(i * (3ull << 29)) + (1u << 28), (10000 + i) * ms);
		CHECK(verdict != MP_UNANSWERED_PASSES, "free of charge");
	}
}

/* Of an upload that goes on for 300 segments from seq on, each acknowledged, the ACKs that count. */
static uint32_t uploads(struct mp_endpoint *up, uint32_t seq, uint64_t now_ns)
{
	struct mp_segment data, pure;
	uint32_t i, count = 0;

	for (i = 0; i < 300; i++, seq += BYTES, now_ns += ms) {
		data = packet(seq, 1, BYTES, now_ns);
		pure = packet(1, seq + BYTES, 0, now_ns);
		mp_endpoint_up_data(up, &data, false);
		count += mp_endpoint_ack(up, &pure);
	}
	return count;
}

/* Else an upload of which more than 1 GiB passed unread seems to have no progress for 3 GiB, and has no part in the air. */
static void test_an_upload_that_went_past_unread(void)
{
	uint32_t unread, eighth = (1u << 29) + 1;

	for (unread = 1; unread < 6; unread++) {
		struct mp_endpoint up = { 0 };
		struct mp_segment data = packet(300 * BYTES + unread * eighth, 1, BYTES, 20300 * ms);
		uint64_t delivered;

		CHECK_EQUAL(uploads(&up, 0, 100 * ms), 300);
		mp_endpoint_up_notifies(&up, &data);
		delivered = up.progress.acked_bytes;
		CHECK_EQUAL(uploads(&up, 300 * BYTES + unread * eighth, 20000 * ms), 299); /* the first tells where it is */
		CHECK(up.progress.acked_bytes >= delivered + 299 * BYTES, "no progress of what goes on");
		data.seq = up.sent.max_end;
		CHECK(mp_endpoint_up_notifies(&up, &data), "it can be told");
	}
}

/* Who sends of its own upload what is far ahead, and dies on the way, is held to its part of the air all the same. */
static void test_an_upload_that_leaps(void)
{
	struct mp_endpoint up = { 0 };
	struct mp_segment ahead = packet(1u << 31, 1, BYTES, 500 * ms), data = packet(600 * BYTES, 1, BYTES, 900 * ms);

	uploads(&up, 0, 100 * ms);
	CHECK(!mp_endpoint_up_notifies(&up, &ahead), "told by what never arrives");
	mp_endpoint_up_data(&up, &ahead, false);
	CHECK_EQUAL(uploads(&up, 300 * BYTES, 510 * ms), 300);
	CHECK(mp_endpoint_up_notifies(&up, &data), "not told");
}

/* A sender whose ACKs the mesh has lost for a while sends a window again of what is acknowledged here: nothing begins. */
static void test_an_upload_that_is_sent_again(void)
{
	struct mp_endpoint up = { 0 };

	uploads(&up, 0, 100 * ms);
	CHECK_EQUAL(uploads(&up, 100 * BYTES, 20000 * ms), 300);
	CHECK_EQUAL(up.progress.acked_bytes, 400 * BYTES);
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	test_what_went_past_unread();
	test_what_is_forged();
	test_the_room();
	test_who_begins_by_a_forgery();
	test_what_is_sent_again_and_again();
	test_what_is_forged_begins_nothing();
	test_who_leaps_is_charged();
	test_an_upload_that_went_past_unread();
	test_an_upload_that_leaps();
	test_an_upload_that_is_sent_again();
	return check_end();
}
