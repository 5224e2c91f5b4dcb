/* SPDX-License-Identifier: GPL-2.0-only */
/* The RTT_wired option: its bytes, and a reader that no list of options leads astray. */
#include "check.h"

#include <string.h>

#include <meshpace/endpoint/option.h>

static void test_bytes(void)
{
	static const uint8_t want[8] = { 254, 8, 'm', 'p', 0x01, 0x23, 0x45, 0x67 };
	uint8_t option[8];
	uint32_t rtt_wired_us = 0;
	int i;

	mp_option_write(option, 0x01234567);
	CHECK(memcmp(option, want, 8) == 0, "wrong bytes");
	for (i = 0; i < 100000; i++) {
		uint32_t us = (uint32_t)random_extreme_u64();

		mp_option_write(option, us);
		CHECK(mp_option_read(option, &rtt_wired_us), "not read back");
		CHECK_EQUAL(rtt_wired_us, us);
	}
	for (i = 0; i < 32; i++) { /* any other kind, length or experiment is not ours */
		memcpy(option, want, 8);
		option[i / 8] ^= (uint8_t)(1u << i % 8);
		CHECK(!mp_option_read(option, &rtt_wired_us), "bit %d of byte %d ignored", i % 8, i / 8);
	}
}

/* Whether, by RFC 9293, the list at options holds our option; written without mp_option_find. */
static bool listed(const uint8_t *options, uint32_t len, uint32_t *us)
{
	if (len == 0 || options[0] == 0)
		return false;
	if (options[0] == 1)
		return listed(options + 1, len - 1, us);
	if (len < 2 || options[1] < 2 || options[1] > len)
		return false;
	if (options[0] == 254 && options[1] == 8 && memcmp(options + 2, "mp", 2) == 0) {
		*us = (uint32_t)options[4] << 24 | (uint32_t)options[5] << 16 |
		      (uint32_t)options[6] << 8 | options[7];
		return true;
	}
	return listed(options + options[1], len - options[1], us);
}

/* Fills options with mostly well-formed ones. */
static void random_options(uint8_t *options, uint32_t len)
{
	uint32_t at = 0, i;

	for (i = 0; i < len; i++)
		options[i] = (uint8_t)random_u64();
	while (at < len) {
		uint32_t left = len - at;

		switch (random_below(5)) {
		case 0:
			options[at++] = MP_TCPOPT_NOP;
			break;
		case 1:
			if (left >= MP_OPTION_BYTES)
				mp_option_write(options + at, (uint32_t)random_u64());
			at += MP_OPTION_BYTES;
			break;
		case 2: /* our kind, of another experiment or length */
			options[at] = MP_OPTION_KIND;
			at += 3 + random_below(6);
			break;
		case 3:
			if (left >= 2)
				options[at + 1] = (uint8_t)random_between(2, 12);
			at += left >= 2 ? options[at + 1] : 1;
			break;
		default:
			at += random_between(1, 6);
		}
	}
}

/* Every length from 0 to 40 in a heap block of that length, so that the address sanitizer sees its end. */
/* The question is the option's beginning with a length of its own, and neither is taken for the other. */
static void test_question(void)
{
	uint8_t question[MP_OPTION_BYTES] = { 0 }, answer[MP_OPTION_BYTES];
	uint32_t us;

	mp_ask_write(question);
	CHECK(memcmp(question, "\xfe\x04mp", 4) == 0, "the question's bytes");
	CHECK(mp_ask_read(question), "the question");
	CHECK(!mp_option_read(question, &us), "a question for an answer");
	mp_option_write(answer, 0x6d70);
	CHECK(!mp_ask_read(answer), "an answer for a question");
}

static void test_lists(void)
{
	uint32_t run, len, found = 0;

	for (run = 0; run < 10000; run++) {
		for (len = 0; len <= MP_TCP_OPTIONS_MAX; len++) {
			uint8_t *options = malloc(len ? len : 1);
			uint32_t us = 0, want_us = 0;
			bool got, want;

			CHECK(options, "no memory");
			random_options(options, len);
			want = listed(options, len, &want_us);
			got = mp_option_find(options, len, &us);
			CHECK(got == want && us == want_us, "length %u", len);
			found += got;
			free(options);
		}
	}
	CHECK(found > run, "only %u lists held the option", found);
}

/* A length beyond a header's 40 bytes is not believed. */
static void test_too_long(void)
{
	uint8_t *options = malloc(MP_TCP_OPTIONS_MAX);
	uint32_t us;

	CHECK(options, "no memory");
	memset(options, MP_TCPOPT_NOP, MP_TCP_OPTIONS_MAX);
	CHECK(!mp_option_find(options, UINT32_MAX, &us), "found in padding");
	memset(options + 36, MP_OPTION_KIND, 4);
	CHECK(!mp_option_find(options, UINT32_MAX, &us), "found in padding");
	free(options);
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	test_bytes();
	test_question();
	test_lists();
	test_too_long();
	return check_end();
}
