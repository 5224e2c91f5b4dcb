/* SPDX-License-Identifier: GPL-2.0-only */
/* Fixed-point arithmetic and units that every part of the law uses. */
#ifndef MESHPACE_BASE_H
#define MESHPACE_BASE_H

#include <stdbool.h>
#include <stdint.h>

/* BPF has no calls to speak of, so everything is inlined everywhere. */
#define MP_INLINE static inline __attribute__((always_inline, unused))

/* 1.0 with 16 fractional bits. */
#define MP_ONE_Q16 65536u

#define MP_NS_PER_US 1000ull
#define MP_NS_PER_S 1000000000ull

/*
 * RTT samples and T1 are kept in ticks of 64 ns: 32 bits then hold 274 s at a
 * resolution of 0.06% of the shortest RTT that we expect (100 us).
 */
#define MP_TICK_SHIFT 6

/* A constant from a decimal, for tables of parameters only: folded by the compiler. */
#define MP_Q16(x) ((uint32_t)((x) * 65536.0 + 0.5))

MP_INLINE uint64_t mp_min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

MP_INLINE uint64_t mp_max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* |a - b| for a and b below 2^63, without a branch, of which a verifier explores both ways. */
MP_INLINE uint64_t mp_distance(uint64_t a, uint64_t b)
{
	uint64_t d = a - b;
	uint64_t sign = 0 - (d >> 63); /* all ones when a < b */

	return (d ^ sign) - sign;
}

/* which ? a : b, for which of 0 or 1, without a branch: the compiler cannot see what mask is. */
MP_INLINE uint64_t mp_select_u64(uint32_t which, uint64_t a, uint64_t b)
{
	uint64_t mask = 0 - (uint64_t)(which & 1);

	__asm__ volatile("" : "+r"(mask));
	return (a & mask) | (b & ~mask);
}

/*
 * Bits needed to write v: 0 for 0, 64 for 2^63 and above. Sets every bit below the highest and
 * counts them: clang's __builtin_clzll does not compile for BPF, and branches cost a verifier.
 */
MP_INLINE uint32_t mp_bit_length(uint64_t v)
{
	v |= v >> 1;
	v |= v >> 2;
	v |= v >> 4;
	v |= v >> 8;
	v |= v >> 16;
	v |= v >> 32;
	v -= v >> 1 & 0x5555555555555555u;
	v = (v & 0x3333333333333333u) + (v >> 2 & 0x3333333333333333u);
	v = (v + (v >> 4)) & 0x0f0f0f0f0f0f0f0fu;
	return (uint32_t)(v * 0x0101010101010101u >> 56);
}

/*
 * Integer square root, rounded down. Newton's iteration from a power of two
 * above the root falls monotonically to it; six steps reach full precision
 * from a start at most a factor sqrt(2)..2 too high, without the
 * compare-and-branch per bit that makes a BPF verifier explore every path.
 */
MP_INLINE uint32_t mp_isqrt(uint64_t v)
{
	uint64_t root = 1ull << ((mp_bit_length(v) + 1) / 2);
	int step;

	if (v == 0)
		return 0;
	for (step = 0; step < 6; step++)
		root = mp_min_u64(root, (root + v / root) >> 1);
	return (uint32_t)mp_min_u64(root, 0xffffffffu);
}

#endif
