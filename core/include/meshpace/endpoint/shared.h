/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a flow has to know of the others (law `even`): how many hosts share a mesh that loses routes
 * (search.h), and what its own host's cap (share.h) leaves to it. The gateway knows both, and tells a
 * sender in the mesh by an ACK now and then, in place of RTT_wired (option.h):
 *
 *   byte  0     1     2      3      4         5 .. 7
 *         254   8     0x6d   0x73   sharers   rate, units of 64 bytes/s, big endian; 0: no limit
 *
 * A sender that keeps to its rate loses nothing for it; one that does not is told by losses (police.h). How
 * long it holds at the sender: signalled.h.
 */
#ifndef MESHPACE_SHARED_H
#define MESHPACE_SHARED_H

#include "../law/hosts.h"
#include "option.h"

#define MP_SHARED_EXID 0x6d73u /* "ms" */
#define MP_SHARED_UNIT_BPS 64u
#define MP_SHARED_MOST 0xffffffu /* units: 1 GB/s */
#define MP_SHARED_TURNS 4u  /* of so many ACKs that tell something one tells this */

struct mp_shared {
	uint64_t bps;     /* bytes/s that the flow may have; 0: no limit */
	uint32_t sharers; /* hosts, each way counted, that share a mesh which loses routes; 0, 1: none do */
	uint32_t acks;    /* at the gateway: that told something */
};

MP_INLINE void mp_shared_write(uint8_t option[MP_OPTION_BYTES], const struct mp_shared *shared)
{
	uint64_t units = mp_min_u64(shared->bps / MP_SHARED_UNIT_BPS, MP_SHARED_MOST);

	units = shared->bps ? mp_max_u64(units, 1) : 0;
	option[0] = MP_OPTION_KIND;
	option[1] = MP_OPTION_BYTES;
	option[2] = MP_SHARED_EXID >> 8;
	option[3] = MP_SHARED_EXID & 0xff;
	option[4] = (uint8_t)mp_min_u64(shared->sharers, 255);
	option[5] = (uint8_t)(units >> 16);
	option[6] = (uint8_t)(units >> 8);
	option[7] = (uint8_t)units;
}

/* A sender reads the 8 bytes of one option; false, and nothing changed, when it is some other option. */
MP_INLINE bool mp_shared_read(const uint8_t option[MP_OPTION_BYTES], struct mp_shared *shared)
{
	if (option[0] != MP_OPTION_KIND || option[1] != MP_OPTION_BYTES ||
	    option[2] != MP_SHARED_EXID >> 8 || option[3] != (MP_SHARED_EXID & 0xff))
		return false;
	shared->sharers = option[4];
	shared->bps = ((uint64_t)option[5] << 16 | (uint64_t)option[6] << 8 | option[7]) *
		      MP_SHARED_UNIT_BPS;
	return true;
}

/* The gateway tells something by an ACK: whether it is the turn of this, of which there is something. */
MP_INLINE bool mp_shared_turn(struct mp_shared *shared)
{
	return (shared->sharers > 1 || shared->bps) && shared->acks++ % MP_SHARED_TURNS == 0;
}

/* The interval of packets of so many bytes that the rate leaves, in ns; 0: any. */
MP_INLINE uint64_t mp_shared_interval_ns(const struct mp_shared *shared, uint32_t bytes)
{
	return shared->bps ? bytes * MP_NS_PER_S / shared->bps : 0;
}

/* What each flow of an entry is to know of the others: its part of the cap, and how many they are. */
MP_INLINE struct mp_shared mp_share_told(const struct mp_shares *shares, const struct mp_share *share)
{
	uint64_t part_bps = share->cap_bps / mp_max_u64(share->flows, 1);
	struct mp_shared told = {
		.bps = share->cap_bps ? mp_max_u64(part_bps, 1) : 0, /* 0 would be no limit */
		.sharers = shares->sharers,
		.acks = 0,
	};

	return told;
}

#endif
