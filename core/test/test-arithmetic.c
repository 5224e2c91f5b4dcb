/* SPDX-License-Identifier: GPL-2.0-only */
/* Roots, bit lengths, sequence numbers and averages: exact against their definitions. */
#include "check.h"

#include <meshpace/arith/ewma.h>
#include <meshpace/arith/seq.h>

static void check_root(uint64_t v)
{
	uint64_t root = mp_isqrt(v);

	CHECK(root * root <= v, "isqrt(%" PRIu64 ") = %" PRIu64 ", too high", v, root);
	CHECK(root == UINT32_MAX || (root + 1) * (root + 1) > v,
	      "isqrt(%" PRIu64 ") = %" PRIu64 ", too low", v, root);
}

static void test_root(void)
{
	uint32_t i;

	for (i = 0; i < 100000; i++)
		check_root(i);
	for (i = 1; i < 64; i++) {
		check_root(1ull << i);
		check_root((1ull << i) - 1);
		check_root((1ull << i) + 1);
	}
	check_root(UINT64_MAX);
	for (i = 0; i < 1000000; i++) {
		uint64_t root = random_u64() >> (32 + random_below(32));

		check_root(root * root);
		check_root(root ? root * root - 1 : 0);
		check_root(random_extreme_u64());
	}
}

static void test_bit_length(void)
{
	uint32_t bits;

	CHECK_EQUAL(mp_bit_length(0), 0);
	for (bits = 1; bits <= 64; bits++) {
		CHECK_EQUAL(mp_bit_length(1ull << (bits - 1)), bits);
		CHECK_EQUAL(mp_bit_length(UINT64_MAX >> (64 - bits)), bits);
	}
}

/* Numbers less than 2^31 apart compare as if they did not wrap. */
static void test_sequence(void)
{
	uint32_t i;

	for (i = 0; i < 1000000; i++) {
		uint32_t a = (uint32_t)random_u64();
		uint32_t ahead = random_one_in(4) ? random_below(2) : random_below(0x80000000u);
		uint32_t b = (uint32_t)((uint64_t)a + ahead);

		CHECK_EQUAL(mp_seq_before(a, b), ahead > 0);
		CHECK_EQUAL(mp_seq_up_to(a, b), true);
		CHECK_EQUAL(mp_seq_before(b, a), false);
		CHECK_EQUAL(mp_seq_up_to(b, a), ahead == 0);
	}
}

/* Eq. (2): each step within the rounding of one, for all weights and up to the stated limit. */
static void test_average(void)
{
	uint32_t i;

	for (i = 0; i < 100000; i++) {
		uint32_t alpha_q16 = random_between(0, MP_ONE_Q16);
		double alpha = alpha_q16 / 65536.0;
		struct mp_ewma ewma = { 0, false };
		double value = 0;
		int step;

		for (step = 0; step < 10; step++) {
			uint64_t sample = random_extreme_u64() >> 17;

			value = step ? alpha * (double)ewma.value + (1 - alpha) * (double)sample
				     : (double)sample;
			mp_ewma_add(&ewma, alpha_q16, sample);
			CHECK_NEAR(ewma.value, value, 1e-15, 0.5001);
		}
	}
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	test_root();
	test_bit_length();
	test_sequence();
	test_average();
	return check_end();
}
