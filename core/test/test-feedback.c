/* SPDX-License-Identifier: GPL-2.0-only */
/* What a sender may have beside others: its bytes, and whose turn it is. */
#include "check.h"

#include <string.h>

#include <meshpace/endpoint/feedback.h>

static void test_bytes(void)
{
	static const uint8_t want[8] = { 254, 8, 'm', 's', 0, 0x01, 0x23, 0x45 };
	struct mp_feedback given = { .bytes_per_s = 0x012345 * 64 + 63 }, heard = { 0 };
	uint8_t option[8];
	uint32_t i, us;

	mp_feedback_write(option, &given);
	CHECK(memcmp(option, want, 8) == 0, "wrong bytes");
	CHECK(!mp_option_read(option, &us), "taken for RTT_wired");
	mp_option_write(option, 1);
	CHECK(!mp_feedback_read(option, &heard), "RTT_wired taken for it");
	for (i = 0; i < 32; i++) { /* any other kind, length or experiment is not ours */
		memcpy(option, want, 8);
		option[i / 8] ^= (uint8_t)(1u << i % 8);
		CHECK(!mp_feedback_read(option, &heard), "bit %u of byte %u ignored", i % 8, i / 8);
		CHECK(heard.bytes_per_s == 0, "bit %u of byte %u: changed", i % 8, i / 8);
	}
}

/* What is read is what was written, within 64 bytes/s: never more, and never no limit where there is one. */
static void test_any_value(void)
{
	uint32_t i;

	for (i = 0; i < 100000; i++) {
		struct mp_feedback given = { .bytes_per_s = random_extreme_u64() };
		struct mp_feedback heard = { 0 };
		uint64_t most_bytes_per_s = 0xffffffull * 64;
		uint8_t option[8];

		mp_feedback_write(option, &given);
		CHECK(mp_feedback_read(option, &heard), "not read back");
		CHECK_EQUAL(heard.bytes_per_s == 0, given.bytes_per_s == 0);
		if (given.bytes_per_s < 64)
			CHECK(heard.bytes_per_s <= 64, "%" PRIu64, heard.bytes_per_s);
		else if (given.bytes_per_s < most_bytes_per_s)
			CHECK(heard.bytes_per_s <= given.bytes_per_s && heard.bytes_per_s + 64 > given.bytes_per_s,
			      "%" PRIu64, heard.bytes_per_s);
		else
			CHECK_EQUAL(heard.bytes_per_s, most_bytes_per_s);
	}
}

/* RTT_wired is told by all ACKs of a flow that is alone, and by three in four of any other. */
static void test_turns(void)
{
	struct mp_feedback alone = { 0 }, capped = { .bytes_per_s = 1 };
	uint32_t i, turns = 0;

	for (i = 0; i < 400; i++) {
		CHECK(!mp_feedback_turn(&alone), "told that it is alone");
		turns += mp_feedback_turn(&capped);
	}
	CHECK_EQUAL(turns, 100);
}

/* Each of a host's flows is told as much, and never "no limit" where there is one. */
static void test_parts(void)
{
	CHECK_EQUAL(mp_feedback_part(90, 3), 30);
	CHECK_EQUAL(mp_feedback_part(90, 0), 90);
	CHECK_EQUAL(mp_feedback_part(90, 1000), 1);
	CHECK_EQUAL(mp_feedback_part(0, 3), 0);
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	test_bytes();
	test_any_value();
	test_turns();
	test_parts();
	return check_end();
}
