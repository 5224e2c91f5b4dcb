/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ACKs that no data asked for. A receiver owes one for each segment that arrives, at most (RFC 5681, section 4.2). Who
 * splits them, to seem to have got more (Savage et al., TCP Congestion Control with a Misbehaving Receiver, 1999, section
 * 2.1), takes more of the air for them than for its data; that is taken out of its host's part (law/airtime.h).
 */
#ifndef MESHPACE_EXCESS_H
#define MESHPACE_EXCESS_H

#include "../arith/base.h"

/*
 * What one takes at least, where frames are aggregated: 52 of IP and TCP with timestamps, 8 of LLC, 26 of the MAC's header,
 * 4 each of its check sum and of the delimiter, 2 of padding. In a frame of its own it takes ten times as much, but what a
 * card does the gateway does not see.
 */
#define MP_EXCESS_ACK_BYTES 96u

/* What a flow's ACKs have taken of the air so far beyond one each segment, a copy from the cache being one more. */
MP_INLINE uint64_t mp_excess_bytes(uint64_t pure_acks, uint64_t packets, uint64_t copies)
{
	uint64_t owed = packets + copies;

	return (mp_max_u64(pure_acks, owed) - owed) * MP_EXCESS_ACK_BYTES;
}

#endif
