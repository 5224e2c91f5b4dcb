/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The SACK option of an ACK (RFC 2018): what its receiver has above the acknowledgement, and so what it lacks.
 * Blocks that tell of what is acknowledged (D-SACK, RFC 2883), or that end before they begin, count for nothing.
 */
#ifndef MESHPACE_SACK_H
#define MESHPACE_SACK_H

#include "../arith/seq.h"

#define MP_SACK_KIND 5u
#define MP_SACK_BLOCKS 4u
#define MP_SACK_BYTES_MAX (2u + 8u * MP_SACK_BLOCKS)

/* Sequence numbers from the first on, and before the second. */
struct mp_range {
	uint32_t from, to;
};

/* An ACK, and its option as it stands in the header. */
struct mp_sack {
	uint32_t ack;
	uint32_t bytes; /* 0: none */
	uint8_t option[MP_SACK_BYTES_MAX];
};

MP_INLINE uint32_t mp_sack_number(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* A block of an option that has it; empty when it counts for nothing. */
MP_INLINE struct mp_range mp_sack_block(const uint8_t *option, uint32_t block, uint32_t ack)
{
	struct mp_range has = { .from = mp_sack_number(option + 2 + 8 * block),
				.to = mp_sack_number(option + 6 + 8 * block) };

	if (!mp_seq_before(ack, has.from) || !mp_seq_before(has.from, has.to))
		has.from = has.to = ack;
	return has;
}

/* How many blocks an option of so many bytes has. */
MP_INLINE uint32_t mp_sack_blocks(uint32_t bytes)
{
	return bytes > 2 && bytes <= MP_SACK_BYTES_MAX ? (bytes - 2) / 8 : 0;
}

/* The highest block of an option of so many bytes; empty, when none is above the acknowledgement. */
MP_INLINE struct mp_range mp_sack_top(const uint8_t *option, uint32_t bytes, uint32_t ack)
{
	struct mp_range top = { .from = ack, .to = ack };
	uint32_t i;

	for (i = 0; i < MP_SACK_BLOCKS; i++) {
		struct mp_range has;

		if (i >= mp_sack_blocks(bytes))
			break;
		has = mp_sack_block(option, i, ack);
		if (mp_seq_before(top.to, has.to))
			top = has;
	}
	return top;
}

/* The first of what is missing in the range, as its receiver tells; empty: nothing is. */
MP_INLINE struct mp_range mp_sack_hole(const struct mp_sack *sack, struct mp_range in)
{
	uint32_t blocks = mp_sack_blocks(sack->bytes), i, j;
	struct mp_range hole = in;

	for (i = 0; i < blocks; i++)
		for (j = 0; j < blocks; j++) { /* in any order, each may lie behind another */
			struct mp_range has = mp_sack_block(sack->option, j, sack->ack);

			if (mp_seq_up_to(has.from, hole.from) && mp_seq_before(hole.from, has.to))
				hole.from = has.to;
		}
	for (j = 0; j < blocks; j++) {
		struct mp_range has = mp_sack_block(sack->option, j, sack->ack);

		if (mp_seq_before(hole.from, has.from) && mp_seq_before(has.from, hole.to))
			hole.to = has.from;
	}
	if (!mp_seq_before(hole.from, in.to))
		hole.from = hole.to = in.to;
	return hole;
}

#endif
