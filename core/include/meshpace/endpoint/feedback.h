/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a sender in the mesh is told (law `even`): what its host's cap (airtime.h) leaves to the flow. The gateway tells it by
 * an ACK now and then, in place of RTT_wired (option.h):
 *
 *   byte  0     1     2      3      4     5 .. 7
 *         254   8     0x6d   0x73   0     rate, units of 64 bytes/s, big endian; 0: no limit
 *
 * A sender that keeps to its rate loses nothing for it; one that does not is told by losses (police.h). How
 * long it holds at the sender: signalled.h.
 */
#ifndef MESHPACE_FEEDBACK_H
#define MESHPACE_FEEDBACK_H

#include "option.h"

#define MP_FEEDBACK_EXID 0x6d73u /* "ms" */
#define MP_FEEDBACK_UNIT_BYTES_PER_S 64u
#define MP_FEEDBACK_MOST 0xffffffu /* units: 1 GB/s */
#define MP_FEEDBACK_TURNS 4u       /* of so many ACKs that tell something one tells this */

struct mp_feedback {
	uint64_t bytes_per_s; /* that the flow may have; 0: no limit */
	uint32_t acks;        /* at the gateway: that told something */
};

MP_INLINE void mp_feedback_write(uint8_t option[MP_OPTION_BYTES], const struct mp_feedback *feedback)
{
	uint64_t units = mp_min_u64(feedback->bytes_per_s / MP_FEEDBACK_UNIT_BYTES_PER_S, MP_FEEDBACK_MOST);

	units = feedback->bytes_per_s ? mp_max_u64(units, 1) : 0;
	option[0] = MP_OPTION_KIND;
	option[1] = MP_OPTION_BYTES;
	option[2] = MP_FEEDBACK_EXID >> 8;
	option[3] = MP_FEEDBACK_EXID & 0xff;
	option[4] = 0;
	option[5] = (uint8_t)(units >> 16);
	option[6] = (uint8_t)(units >> 8);
	option[7] = (uint8_t)units;
}

/* A sender reads the 8 bytes of one option; false, and nothing changed, when it is some other option. */
MP_INLINE bool mp_feedback_read(const uint8_t option[MP_OPTION_BYTES], struct mp_feedback *feedback)
{
	if (option[0] != MP_OPTION_KIND || option[1] != MP_OPTION_BYTES ||
	    option[2] != MP_FEEDBACK_EXID >> 8 || option[3] != (MP_FEEDBACK_EXID & 0xff))
		return false;
	feedback->bytes_per_s = ((uint64_t)option[5] << 16 | (uint64_t)option[6] << 8 | option[7]) *
		      MP_FEEDBACK_UNIT_BYTES_PER_S;
	return true;
}

/* The gateway tells something by an ACK: whether it is the turn of this, of which there is something. */
MP_INLINE bool mp_feedback_turn(struct mp_feedback *feedback)
{
	return feedback->bytes_per_s && feedback->acks++ % MP_FEEDBACK_TURNS == 0;
}

/* The interval of packets of so many bytes that the rate leaves, in ns; 0: any. */
MP_INLINE uint64_t mp_feedback_interval_ns(const struct mp_feedback *feedback, uint32_t bytes)
{
	return feedback->bytes_per_s ? bytes * MP_NS_PER_S / feedback->bytes_per_s : 0;
}

/* What each of a host's flows is told, of one way: its part of the cap, bytes/s; 0: there is none. */
MP_INLINE uint64_t mp_feedback_part(uint64_t cap_bytes_per_s, uint32_t flows)
{
	uint64_t part_bytes_per_s = cap_bytes_per_s / mp_max_u64(flows, 1);

	return cap_bytes_per_s ? mp_max_u64(part_bytes_per_s, 1) : 0; /* 0 would be no limit */
}

#endif
