/* SPDX-License-Identifier: GPL-2.0-only */
/* What waits on the path of an upload, by TCP's timestamps. */
#include "check.h"

#include <meshpace/endpoint/queueing.h>
#include <meshpace/endpoint/up.h>

#define MS (MP_NS_PER_S / 1000)
#define SEGMENT 1448u

/* An upload of which so many segments have come, and a clock. */
struct upload {
	struct mp_endpoint at;
	uint32_t sent;
};

static void sends(struct upload *upload, uint32_t segments, uint32_t echo, uint64_t now_ns)
{
	struct mp_segment segment = {
		.now_ns = now_ns,
		.seq = upload->sent * SEGMENT,
		.payload_bytes = segments * SEGMENT,
		.segments = segments,
		.segment_bytes = SEGMENT,
		.echo = echo,
		.flags = MP_TCP_ACK,
	};

	mp_endpoint_up_data(&upload->at, &segment, false);
	upload->sent += segments;
}

/* The wired end acknowledges all of so many segments; the acknowledgement leaves at departure_ns. */
static void is_acknowledged(struct upload *upload, uint32_t segments, uint32_t stamp, uint64_t now_ns,
			    uint64_t departure_ns)
{
	struct mp_segment segment = {
		.now_ns = now_ns,
		.ack = segments * SEGMENT,
		.stamp = stamp,
		.flags = MP_TCP_ACK,
	};

	if (mp_endpoint_ack(&upload->at, &segment))
		mp_endpoint_up_sample(&upload->at, &segment, departure_ns);
}

static void test_where_timestamps_are_read(void)
{
	const uint8_t usual[MP_ECHO_LOOK_BYTES] = { 1, 1, 8, 10, 0x80, 2, 3, 4, 5, 6, 7, 8 };
	const uint8_t first[MP_ECHO_LOOK_BYTES] = { 8, 10, 0, 0, 0, 9, 0xff, 0, 0, 1, 0, 0 };
	const uint8_t shorter[MP_ECHO_LOOK_BYTES] = { 1, 1, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8 };
	const uint8_t other[MP_ECHO_LOOK_BYTES] = { 1, 1, 5, 10, 1, 2, 3, 4, 5, 6, 7, 8 };
	uint32_t stamp = 77, echo = 78;

	CHECK(!mp_echo_read(shorter, &stamp, &echo) && !mp_echo_read(other, &stamp, &echo) && stamp == 77 && echo == 78,
	      "none, and nothing is changed");
	CHECK(mp_echo_read(usual, &stamp, &echo) && stamp == 0x80020304u && echo == 0x05060708u, "behind two NOPs");
	CHECK(mp_echo_read(first, &stamp, &echo) && stamp == 9 && echo == 0xff000001u, "first of all");
}

static void test_what_the_mesh_makes_wait(void)
{
	struct upload upload = { 0 };

	sends(&upload, 10, 0, 100 * MS);
	/* It waits here for its host's cap until 150 ms: that is no wait in the mesh. */
	is_acknowledged(&upload, 2, 1000, 110 * MS, 150 * MS);
	sends(&upload, 1, 999, 160 * MS); /* under way before it heard */
	CHECK_EQUAL(mp_queueing_heard_ns(&upload.at), 0);
	sends(&upload, 2, 1000, 170 * MS);
	CHECK_EQUAL(mp_queueing_heard_ns(&upload.at), 170 * MS);
	CHECK_EQUAL(mp_queueing_ns(&upload.at), 0);
	CHECK_EQUAL(upload.at.echo.base_ns, 20 * MS);
	is_acknowledged(&upload, 4, 1060, 180 * MS, 180 * MS);
	is_acknowledged(&upload, 6, 1070, 190 * MS, 190 * MS); /* one is timed at a time */
	sends(&upload, 2, 1000, 215 * MS);
	sends(&upload, 2, 1070, 216 * MS); /* which may have met the sender with a later one */
	CHECK_EQUAL(mp_queueing_ns(&upload.at), 15 * MS);
	is_acknowledged(&upload, 8, 1080, 300 * MS, 300 * MS);
	sends(&upload, 2, 1070, 598 * MS);
	sends(&upload, 2, 1080, 600 * MS);
	CHECK_EQUAL(mp_queueing_ns(&upload.at), 50 * MS); /* of twice the round trip before at most */
}

/* The wired end is near: an acknowledgement covers all that the gateway has seen, while the rest of the window waits. */
static void test_a_lone_upload_over_short_wires(void)
{
	struct upload upload = { 0 };
	uint32_t i;

	sends(&upload, 1, 0, 100 * MS);
	is_acknowledged(&upload, 1, 1, 101 * MS, 101 * MS);
	sends(&upload, 1, 1, 121 * MS);
	CHECK_EQUAL(upload.at.echo.base_ns, 20 * MS);
	CHECK_EQUAL(mp_queueing_ns(&upload.at), 0);
	/* A queue of 100 ms, of which a segment comes each 5 ms; each is acknowledged at once. */
	for (i = 0; i < 100; i++) {
		uint64_t now_ns = (200 + 5 * i) * MS;

		sends(&upload, 1, 200 + 5 * i - 120, now_ns);
		is_acknowledged(&upload, upload.sent, 200 + 5 * i, now_ns, now_ns);
	}
	/* When the segment before came, 5 ms sooner, the answer was still to come. */
	CHECK_EQUAL(mp_queueing_ns(&upload.at), 95 * MS);
}

static void test_who_pauses_is_not_taken_for_who_waits(void)
{
	struct upload upload = { 0 };

	sends(&upload, 4, 0, 100 * MS);
	is_acknowledged(&upload, 4, 1000, 120 * MS, 120 * MS);
	sends(&upload, 4, 1000, 500 * MS);
	is_acknowledged(&upload, 6, 1410, 520 * MS, 520 * MS);
	sends(&upload, 4, 1410, 3000 * MS); /* so late is no round trip at all */
	CHECK_EQUAL(upload.at.echo.base_ns, 380 * MS);
	is_acknowledged(&upload, 8, 3900, 3010 * MS, 3010 * MS);
	sends(&upload, 4, 3900, 3030 * MS);
	CHECK_EQUAL(upload.at.echo.base_ns, 20 * MS);
	CHECK_EQUAL(mp_queueing_heard_ns(&upload.at), 0);
	is_acknowledged(&upload, 10, 4000, 3040 * MS, 3040 * MS);
	sends(&upload, 4, 4000, 3500 * MS);
	CHECK_EQUAL(mp_queueing_ns(&upload.at), 0);
}

static void test_an_acknowledgement_that_was_lost(void)
{
	struct upload upload = { 0 };

	sends(&upload, 20, 0, 100 * MS);
	is_acknowledged(&upload, 2, 1000, 120 * MS, 120 * MS);
	is_acknowledged(&upload, 4, 1500, 620 * MS, 620 * MS);
	CHECK_EQUAL(upload.at.echo.asked, 1000);
	is_acknowledged(&upload, 6, 2500, 1620 * MS, 1620 * MS);
	CHECK_EQUAL(upload.at.echo.asked, 2500);
}

static void test_clocks_that_stand_and_wrap(void)
{
	struct upload upload = { 0 };

	/* A clock of 100 ms a tick: of the same tick only the first is timed, for it is what is answered. */
	sends(&upload, 20, 0, 100 * MS);
	is_acknowledged(&upload, 2, 0xffffffffu, 120 * MS, 120 * MS);
	sends(&upload, 2, 0xffffffffu, 150 * MS);
	is_acknowledged(&upload, 4, 0xffffffffu, 190 * MS, 190 * MS);
	CHECK_EQUAL(upload.at.echo.asked_ns, 0);
	is_acknowledged(&upload, 6, 1, 220 * MS, 220 * MS);
	sends(&upload, 2, 0xffffffffu, 255 * MS);
	CHECK_EQUAL(upload.at.echo.asked_ns, 220 * MS);
	sends(&upload, 2, 1, 270 * MS);
	CHECK_EQUAL(mp_queueing_ns(&upload.at), 5 * MS);
}

static void test_a_sender_that_lies(void)
{
	struct upload upload = { 0 };

	/* Of a time that has not come yet nothing is timed, and what it answers early is a short path, not a long one. */
	sends(&upload, 20, 0x12345678u, 100 * MS);
	CHECK_EQUAL(mp_queueing_heard_ns(&upload.at), 0);
	is_acknowledged(&upload, 2, 1000, 120 * MS, 120 * MS);
	sends(&upload, 2, 2000, 120 * MS);
	CHECK_EQUAL(mp_queueing_heard_ns(&upload.at), 0);
	sends(&upload, 2, 2000, 121 * MS);
	CHECK_EQUAL(mp_queueing_ns(&upload.at), 0);
	/* Without timestamps nothing is known. */
	is_acknowledged(&upload, 4, 0, 300 * MS, 300 * MS);
	CHECK_EQUAL(upload.at.echo.asked_ns, 0);
}

/* Else the path seems to be as short as the gap between two packets, for as long as the upload lasts. */
static void test_an_old_acknowledgement_that_is_forged(void)
{
	struct upload upload = { 0 };

	sends(&upload, 20, 0, 100 * MS);
	is_acknowledged(&upload, 2, 1000, 120 * MS, 120 * MS);
	sends(&upload, 2, 1000, 140 * MS);
	CHECK_EQUAL(upload.at.echo.base_ns, 20 * MS);
	is_acknowledged(&upload, 1, 500, 141 * MS, 141 * MS);
	sends(&upload, 2, 1000, 142 * MS);
	CHECK_EQUAL(upload.at.echo.base_ns, 20 * MS);
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	test_where_timestamps_are_read();
	test_what_the_mesh_makes_wait();
	test_a_lone_upload_over_short_wires();
	test_who_pauses_is_not_taken_for_who_waits();
	test_an_acknowledgement_that_was_lost();
	test_clocks_that_stand_and_wrap();
	test_a_sender_that_lies();
	test_an_old_acknowledgement_that_is_forged();
	return check_end();
}
