/* SPDX-License-Identifier: GPL-2.0-only */
/* Decibels with 8 fractional bits, and the logarithms that make them. */
#ifndef MESHPACE_DECIBEL_H
#define MESHPACE_DECIBEL_H

#include "base.h"

/* A constant from a decimal, for tables of parameters only: folded by the compiler. */
#define MP_DB_Q8(x) ((int16_t)((x) * 256.0 + ((x) < 0 ? -0.5 : 0.5)))

/* 10 log10(2). */
#define MP_DB_OF_2_Q16 197283

/*
 * log2(v) with 16 fractional bits, cut off: too low by at most 1/65536; 0 for v = 0. Squaring a
 * number in [1, 2) doubles its logarithm, so whether the square reaches 2 is the next bit: no
 * table, and no branch, of which a verifier would explore both ways.
 */
MP_INLINE uint32_t mp_log2_q16(uint64_t v)
{
	uint64_t mantissa; /* in [1, 2), with 31 fractional bits */
	uint32_t log2, i;

	log2 = mp_bit_length(v | 1) - 1;
	mantissa = v << (63 - log2) >> 32;
	for (i = 0; i < 16; i++) {
		uint32_t bit;

		mantissa = mantissa * mantissa >> 31;
		bit = (uint32_t)(mantissa >> 32);
		mantissa >>= bit;
		log2 = log2 << 1 | bit;
	}
	return log2;
}

/*
 * 10 p log10(x) in dB, given log2(x) and the exponent p below 256; rounded, so within 1/512 dB of
 * what the logarithm makes, whose own error is up to p 0.00005 dB. x is a ratio and may be below 1.
 */
MP_INLINE int32_t mp_loss_db_q8(uint32_t exponent_q8, int32_t log2_q16)
{
	int64_t db_q40 = (int64_t)log2_q16 * (int64_t)exponent_q8 * MP_DB_OF_2_Q16;

	return (int32_t)((db_q40 + (1ll << 31)) >> 32);
}

/* Hundredths of a dB, as nl80211 counts, to the nearest 1/256; cut off at 127 dB either way. */
MP_INLINE int16_t mp_db_q8_of_centi(int32_t centi)
{
	int32_t most = 12700;
	int32_t bounded = centi > most ? most : centi < -most ? -most : centi;
	/* Shifted above 0, since BPF divides unsigned numbers only. */
	uint32_t up = ((uint32_t)(bounded + most) * 256 + 50) / 100;

	return (int16_t)((int32_t)up - 127 * 256);
}

#endif
