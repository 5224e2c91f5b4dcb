/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * RTT_wired as a TCP option of an ACK (GAP section 4.2), in the shared
 * experimental kind with an experiment id (RFC 6994):
 *
 *   byte  0     1     2      3      4 .. 7
 *         254   8     0x6d   0x70   RTT_wired, microseconds, big endian
 *
 * The papers' 16-bit milliseconds are too coarse for the coefficient of variation.
 */
#ifndef MESHPACE_OPTION_H
#define MESHPACE_OPTION_H

#include "../arith/base.h"

#define MP_OPTION_KIND 254u
#define MP_OPTION_BYTES 8u
#define MP_OPTION_EXID 0x6d70u /* "mp" */

#define MP_TCP_OPTIONS_MAX 40u
#define MP_TCPOPT_END 0u
#define MP_TCPOPT_NOP 1u

/*
 * A sender that wants it asks with the first four bytes alone, length 4; they end its header:
 *
 *   byte  0     1     2      3
 *         254   4     0x6d   0x70
 */
#define MP_ASK_BYTES 4u

MP_INLINE void mp_ask_write(uint8_t option[MP_ASK_BYTES])
{
	option[0] = MP_OPTION_KIND;
	option[1] = MP_ASK_BYTES;
	option[2] = MP_OPTION_EXID >> 8;
	option[3] = MP_OPTION_EXID & 0xff;
}

MP_INLINE bool mp_ask_read(const uint8_t option[MP_ASK_BYTES])
{
	return option[0] == MP_OPTION_KIND && option[1] == MP_ASK_BYTES &&
	       option[2] == MP_OPTION_EXID >> 8 && option[3] == (MP_OPTION_EXID & 0xff);
}

MP_INLINE void mp_option_write(uint8_t option[MP_OPTION_BYTES], uint32_t rtt_wired_us)
{
	option[0] = MP_OPTION_KIND;
	option[1] = MP_OPTION_BYTES;
	option[2] = MP_OPTION_EXID >> 8;
	option[3] = MP_OPTION_EXID & 0xff;
	option[4] = (uint8_t)(rtt_wired_us >> 24);
	option[5] = (uint8_t)(rtt_wired_us >> 16);
	option[6] = (uint8_t)(rtt_wired_us >> 8);
	option[7] = (uint8_t)rtt_wired_us;
}

/* Reads the 8 bytes of one option; false when it is some other option. */
MP_INLINE bool mp_option_read(const uint8_t option[MP_OPTION_BYTES], uint32_t *rtt_wired_us)
{
	if (option[0] != MP_OPTION_KIND || option[1] != MP_OPTION_BYTES ||
	    option[2] != MP_OPTION_EXID >> 8 || option[3] != (MP_OPTION_EXID & 0xff))
		return false;
	*rtt_wired_us = (uint32_t)option[4] << 24 | (uint32_t)option[5] << 16 |
			(uint32_t)option[6] << 8 | option[7];
	return true;
}

/*
 * Finds the option among a header's len (at most 40) option bytes; false when it is
 * not there or the list is malformed before it. Not for BPF, whose verifier follows too
 * many ways through such a list: there bpf_load_hdr_opt finds and mp_option_read reads it.
 */
MP_INLINE bool mp_option_find(const uint8_t *options, uint32_t len, uint32_t *rtt_wired_us)
{
	uint32_t at = 0;
	uint32_t i;

	for (i = 0; i < MP_TCP_OPTIONS_MAX; i++) {
		if (at >= len || at >= MP_TCP_OPTIONS_MAX || options[at] == MP_TCPOPT_END)
			return false;
		if (options[at] == MP_TCPOPT_NOP) {
			at++;
			continue;
		}
		if (at + 1 >= len || at + 1 >= MP_TCP_OPTIONS_MAX || options[at + 1] < 2)
			return false;
		if (at + MP_OPTION_BYTES <= len && at + MP_OPTION_BYTES <= MP_TCP_OPTIONS_MAX &&
		    mp_option_read(&options[at], rtt_wired_us))
			return true;
		at += options[at + 1];
	}
	return false;
}

#endif
