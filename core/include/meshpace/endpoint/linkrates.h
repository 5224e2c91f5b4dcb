/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bit rates of a path's links, gathered hop by hop in a TCP option of some of the flow's own pure
 * ACKs (GAP section 4.2), in the shared experimental kind with an experiment id (RFC 6994):
 *
 *   byte  0     1     2      3      4     5 .. 19
 *         254   20    0x6d   0x6c   n     rates of the first n links, one byte each
 *
 * Who sends the ACK into the mesh writes the option empty; every node that sends it over a wireless
 * link adds that link's rate, in units of 500 kbit/s as IEEE 802.11 has them, 255: that or faster, 0:
 * unknown. n counts on beyond the last rate that has room, so that a longer path is known for one.
 */
#ifndef MESHPACE_LINKRATES_H
#define MESHPACE_LINKRATES_H

#include "option.h"

#define MP_LINK_RATES_BYTES 20u
#define MP_LINK_RATES_EXID 0x6d6cu /* "ml" */
#define MP_LINK_RATES_FIRST 5u     /* byte of the first rate */
#define MP_LINK_RATES_MAX (MP_LINK_RATES_BYTES - MP_LINK_RATES_FIRST)
#define MP_LINK_RATES_UNIT_KBPS 500u

/* An option without links. */
MP_INLINE void mp_link_rates_write(uint8_t option[MP_LINK_RATES_BYTES])
{
	uint32_t i;

	option[0] = MP_OPTION_KIND;
	option[1] = MP_LINK_RATES_BYTES;
	option[2] = MP_LINK_RATES_EXID >> 8;
	option[3] = MP_LINK_RATES_EXID & 0xff;
	for (i = 4; i < MP_LINK_RATES_BYTES; i++)
		option[i] = 0;
}

/* Whether these 20 bytes are the option. */
MP_INLINE bool mp_link_rates_is(const uint8_t option[MP_LINK_RATES_BYTES])
{
	return option[0] == MP_OPTION_KIND && option[1] == MP_LINK_RATES_BYTES &&
	       option[2] == MP_LINK_RATES_EXID >> 8 && option[3] == (MP_LINK_RATES_EXID & 0xff);
}

/* Adds a link's rate, rounded to the unit and at least one of them; 0: unknown. */
MP_INLINE void mp_link_rates_add(uint8_t option[MP_LINK_RATES_BYTES], uint32_t kbps)
{
	uint64_t units = ((uint64_t)kbps + MP_LINK_RATES_UNIT_KBPS / 2) / MP_LINK_RATES_UNIT_KBPS;
	uint32_t n = option[4];

	if (kbps)
		units = mp_min_u64(mp_max_u64(units, 1), 255);
	if (n < MP_LINK_RATES_MAX)
		option[MP_LINK_RATES_FIRST + n] = (uint8_t)units;
	option[4] = (uint8_t)mp_min_u64(n + 1, 255);
}

/* Reads the rates into kbps. Returns how many; 0 when there are none, or more than have room. */
MP_INLINE uint32_t mp_link_rates_read(const uint8_t option[MP_LINK_RATES_BYTES], uint32_t kbps[MP_LINK_RATES_MAX])
{
	uint32_t n = option[4], i;

	if (n > MP_LINK_RATES_MAX)
		return 0;
	for (i = 0; i < n; i++)
		kbps[i] = option[MP_LINK_RATES_FIRST + i] * MP_LINK_RATES_UNIT_KBPS;
	return n;
}

/*
 * Where the option begins among a header's len (at most 40) option bytes; len when it is not there,
 * or the list is malformed before it. Not for BPF, as mp_option_find.
 */
MP_INLINE uint32_t mp_link_rates_find(const uint8_t *options, uint32_t len)
{
	uint32_t at = 0;

	while (at + MP_LINK_RATES_BYTES <= len && options[at] != MP_TCPOPT_END) {
		if (options[at] == MP_TCPOPT_NOP) {
			at++;
			continue;
		}
		if (mp_link_rates_is(&options[at]))
			return at;
		if (options[at + 1] < 2)
			return len;
		at += options[at + 1];
	}
	return len;
}

#endif
