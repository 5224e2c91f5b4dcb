/* SPDX-License-Identifier: GPL-2.0-only */
/* The SACK option: which blocks count, and which holes they leave. */
#include "check.h"

#include <meshpace/endpoint/sack.h>

#include <string.h>

static uint32_t seq(uint64_t number)
{
	return (uint32_t)number;
}

/* Where a sequence number lies behind another. */
static uint32_t behind(uint32_t number, uint64_t base)
{
	return seq((1ull << 32) + number - base);
}

/* An option of blocks from first[i] to behind[i], relative to base. */
static struct mp_sack sack_of(uint64_t base, uint32_t ack, const uint32_t (*block)[2], uint32_t blocks)
{
	struct mp_sack sack = { .ack = seq(base + ack), .bytes = 2 + 8 * blocks };
	uint32_t i, edge;

	sack.option[0] = MP_SACK_KIND;
	sack.option[1] = (uint8_t)sack.bytes;
	for (i = 0; i < blocks; i++)
		for (edge = 0; edge < 2; edge++) {
			uint32_t number = seq(base + block[i][edge]);
			uint8_t *at = sack.option + 2 + 8 * i + 4 * edge;

			at[0] = (uint8_t)(number >> 24);
			at[1] = (uint8_t)(number >> 16);
			at[2] = (uint8_t)(number >> 8);
			at[3] = (uint8_t)number;
		}
	return sack;
}

static void test_table(void)
{
	static const struct {
		const char *what;
		uint32_t ack, blocks, block[4][2], top;
		struct mp_range in;
		uint32_t holes;
		struct mp_range hole[4];
	} row[] = {
		{ "no block", 100, 0, { { 0 } }, 100, { 100, 101 }, 1, { { 100, 101 } } },
		{ "one", 100, 1, { { 200, 300 } }, 300, { 100, 300 }, 1, { { 100, 200 } } },
		{ "the newest first", 100, 3, { { 500, 600 }, { 200, 300 }, { 700, 800 } }, 800, { 100, 800 }, 3,
		  { { 100, 200 }, { 300, 500 }, { 600, 700 } } },
		{ "side by side, in any order", 100, 4, { { 400, 500 }, { 300, 400 }, { 200, 300 }, { 600, 700 } },
		  700, { 100, 700 }, 2, { { 100, 200 }, { 500, 600 } } },
		{ "of a part of it", 100, 2, { { 200, 300 }, { 400, 500 } }, 500, { 350, 500 }, 1, { { 350, 400 } } },
		{ "from inside a block on", 100, 2, { { 200, 300 }, { 400, 500 } }, 500, { 250, 500 }, 1, { { 300, 400 } } },
		{ "a D-SACK counts for nothing", 100, 2, { { 50, 100 }, { 200, 300 } }, 300, { 100, 300 }, 1, { { 100, 200 } } },
		{ "nor does one at the acknowledgement", 100, 1, { { 100, 200 } }, 100, { 100, 101 }, 1, { { 100, 101 } } },
		{ "nor one that ends before it begins", 100, 1, { { 300, 200 } }, 100, { 100, 101 }, 1, { { 100, 101 } } },
		{ "nothing is missing", 100, 1, { { 101, 300 } }, 300, { 101, 300 }, 0, { { 0 } } },
	};
	uint32_t across, i, n;

	for (across = 0; across < 2; across++) { /* the second time across the wrap */
		uint64_t base = across ? UINT32_MAX - 350 : 0;

		for (i = 0; i < sizeof(row) / sizeof(*row); i++) {
			struct mp_sack sack = sack_of(base, row[i].ack, row[i].block, row[i].blocks);
			struct mp_range left = { seq(base + row[i].in.from), seq(base + row[i].in.to) }, hole;

			CHECK(mp_sack_top(sack.option, sack.bytes, sack.ack).to == seq(base + row[i].top), "%s: its top",
			      row[i].what);
			for (n = 0; hole = mp_sack_hole(&sack, left), hole.from != hole.to; n++) {
				CHECK(n < row[i].holes && hole.from == seq(base + row[i].hole[n].from) &&
					      hole.to == seq(base + row[i].hole[n].to),
				      "%s: hole %u", row[i].what, n);
				left.from = hole.to;
			}
			CHECK(n == row[i].holes, "%s: %u holes", row[i].what, n);
		}
	}
}

/* Against a map of bytes: random blocks, also such as count for nothing, and broken lengths. */
static void test_random(void)
{
	enum { SPAN = 200 };
	uint32_t run, holes = 0;

	for (run = 0; run < 20000; run++) {
		uint64_t base = UINT32_MAX - random_below(2 * SPAN);
		uint32_t blocks = random_below(5), block[4][2], i, at, top = 20;
		bool has[SPAN] = { false }, missing[SPAN] = { false };
		struct mp_sack sack;
		struct mp_range left, hole;

		for (i = 0; i < blocks; i++) {
			block[i][0] = random_below(SPAN - 50);
			block[i][1] = block[i][0] + random_below(50);
			for (at = block[i][0]; at < block[i][1] && block[i][0] > 20; at++)
				has[at] = true;
			if (block[i][0] > 20 && block[i][1] > block[i][0] && block[i][1] > top)
				top = block[i][1];
		}
		sack = sack_of(base, 20, block, blocks);
		CHECK_EQUAL(mp_sack_top(sack.option, sack.bytes, sack.ack).to, seq(base + top));
		left = (struct mp_range){ seq(base + 20), seq(base + top) };
		for (i = 0; hole = mp_sack_hole(&sack, left), hole.from != hole.to; i++) {
			CHECK(i < 5, "more holes than blocks leave");
			for (at = behind(hole.from, base); at < behind(hole.to, base); at++)
				missing[at] = true;
			left.from = hole.to;
			holes++;
		}
		for (at = 20; at < top; at++)
			CHECK(missing[at] != has[at], "byte %u of %u", at, top);
	}
	CHECK(holes > 10000, "only %u holes", holes);
	CHECK_EQUAL(mp_sack_blocks(0), 0);
	CHECK_EQUAL(mp_sack_blocks(2), 0);
	CHECK_EQUAL(mp_sack_blocks(9), 0);
	CHECK_EQUAL(mp_sack_blocks(35), 0);
	CHECK_EQUAL(mp_sack_blocks(UINT32_MAX), 0);
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	test_table();
	test_random();
	return check_end();
}
