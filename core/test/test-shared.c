/* SPDX-License-Identifier: GPL-2.0-only */
/* What a sender is told of others: its bytes, and whose turn it is. */
#include "check.h"

#include <string.h>

#include <meshpace/endpoint/shared.h>

static void test_bytes(void)
{
	static const uint8_t want[8] = { 254, 8, 'm', 's', 3, 0x01, 0x23, 0x45 };
	struct mp_shared told = { .sharers = 3, .bps = 0x012345 * 64 + 63 }, heard = { 0 };
	uint8_t option[8];
	uint32_t i, us;

	mp_shared_write(option, &told);
	CHECK(memcmp(option, want, 8) == 0, "wrong bytes");
	CHECK(!mp_option_read(option, &us), "taken for RTT_wired");
	mp_option_write(option, 1);
	CHECK(!mp_shared_read(option, &heard), "RTT_wired taken for it");
	for (i = 0; i < 32; i++) { /* any other kind, length or experiment is not ours */
		memcpy(option, want, 8);
		option[i / 8] ^= (uint8_t)(1u << i % 8);
		CHECK(!mp_shared_read(option, &heard), "bit %u of byte %u ignored", i % 8, i / 8);
		CHECK(heard.sharers == 0 && heard.bps == 0, "bit %u of byte %u: changed", i % 8, i / 8);
	}
}

/* What is read is what was written, within 64 bytes/s: never more, and never no limit where there is one. */
static void test_any_value(void)
{
	uint32_t i;

	for (i = 0; i < 100000; i++) {
		struct mp_shared told = { .sharers = (uint32_t)random_extreme_u64(),
					  .bps = random_extreme_u64() };
		struct mp_shared heard = { 0 };
		uint64_t most_bps = 0xffffffull * 64;
		uint8_t option[8];

		mp_shared_write(option, &told);
		CHECK(mp_shared_read(option, &heard), "not read back");
		CHECK_EQUAL(heard.sharers, told.sharers < 255 ? told.sharers : 255);
		CHECK_EQUAL(heard.bps == 0, told.bps == 0);
		if (told.bps < 64)
			CHECK(heard.bps <= 64, "%" PRIu64, heard.bps);
		else if (told.bps < most_bps)
			CHECK(heard.bps <= told.bps && heard.bps + 64 > told.bps, "%" PRIu64, heard.bps);
		else
			CHECK_EQUAL(heard.bps, most_bps);
	}
}

/* RTT_wired is told by all ACKs of a flow that is alone, and by three in four of any other. */
static void test_turns(void)
{
	struct mp_shared alone = { .sharers = 1 }, capped = { .sharers = 1, .bps = 1 };
	struct mp_shared shares = { .sharers = 2 };
	uint32_t i, turns = 0, capped_turns = 0;

	for (i = 0; i < 400; i++) {
		CHECK(!mp_shared_turn(&alone), "told that it is alone");
		turns += mp_shared_turn(&shares);
		capped_turns += mp_shared_turn(&capped);
	}
	CHECK_EQUAL(turns, 100);
	CHECK_EQUAL(capped_turns, 100);
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	test_bytes();
	test_any_value();
	test_turns();
	return check_end();
}
