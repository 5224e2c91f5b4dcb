/* SPDX-License-Identifier: GPL-2.0-only */
/* A check that says what failed and with which seed, and a random generator to repeat it with. */
#ifndef MESHPACE_CHECK_H
#define MESHPACE_CHECK_H

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t check_seed = 1, check_state;
static uint64_t check_cases;

/* Stops the test when the condition does not hold; the rest is a message as for printf. */
#define CHECK(condition, ...)                                                                  \
	do {                                                                                   \
		check_cases++;                                                                 \
		if (!(condition)) {                                                            \
			fprintf(stderr, "%s:%d: %s (seed %" PRIu64 "): ", __FILE__, __LINE__,  \
				#condition, check_seed);                                       \
			fprintf(stderr, __VA_ARGS__);                                          \
			fputc('\n', stderr);                                                   \
			exit(1);                                                               \
		}                                                                              \
	} while (0)

/* Both sides as unsigned integers. */
#define CHECK_EQUAL(got, want)                                                                 \
	CHECK((uint64_t)(got) == (uint64_t)(want), "%" PRIu64 ", expected %" PRIu64,           \
	      (uint64_t)(got), (uint64_t)(want))

/* got within a fraction, or an amount, of want. */
#define CHECK_NEAR(got, want, fraction, amount)                                                \
	CHECK(fabs((double)(got) - (double)(want)) <=                                          \
		      (double)(fraction) * fabs((double)(want)) + (double)(amount),            \
	      "%.9g, expected %.9g", (double)(got), (double)(want))

/* The first argument of a test is the seed. */
static inline void check_begin(int argc, char **argv)
{
	if (argc > 1)
		check_seed = strtoull(argv[1], NULL, 0);
	check_state = check_seed;
}

static inline int check_end(void)
{
	printf("%" PRIu64 " checks, seed %" PRIu64 "\n", check_cases, check_seed);
	return 0;
}

/* SplitMix64 (Steele, Lea, Flood 2014): every seed is a good one. */
static inline uint64_t random_u64(void)
{
	uint64_t z = check_state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* 0 .. n - 1. */
static inline uint32_t random_below(uint32_t n)
{
	return (uint32_t)(random_u64() % n);
}

/* low .. high. */
static inline uint32_t random_between(uint32_t low, uint32_t high)
{
	return low + random_below(high - low + 1);
}

static inline bool random_one_in(uint32_t n)
{
	return random_below(n) == 0;
}

/* In [0, 1). */
static inline double random_unit(void)
{
	return (double)(random_u64() >> 11) * 0x1p-53;
}

/* In [low, high), every order of magnitude as likely as the next. */
static inline double random_log(double low, double high)
{
	return low * pow(high / low, random_unit());
}

/* A 64-bit number of any length, bits all random, all ones or a single one. */
static inline uint64_t random_extreme_u64(void)
{
	uint32_t bits = random_below(64);

	switch (random_below(4)) {
	case 0:
		return 1ull << bits;
	case 1:
		return (1ull << bits) - 1;
	case 2:
		return UINT64_MAX >> bits;
	default:
		return random_u64() >> bits;
	}
}

#endif
