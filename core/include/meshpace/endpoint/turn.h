/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whose turn it is, of the flows that share a host's cap (airtime.h): start-time fair queueing (Goyal, Vin
 * and Cheng, SIGCOMM 1996). A packet's tag, in bytes, is where its flow's previous one ended, or where the
 * host is, if that is further: who was idle is owed nothing. The lowest tag leaves first. So flows of which
 * something always waits get the same, whatever their packets' size, and one that takes less than that
 * waits for a packet of each other flow at most: a call is not the victim of its own host's download.
 */
#ifndef MESHPACE_TURN_H
#define MESHPACE_TURN_H

#include "../arith/base.h"

/* Of a host. */
struct mp_turns {
	uint64_t at; /* tag of the packet that left last */
};

/* Of a flow. */
struct mp_turn {
	uint64_t end; /* where its latest packet ends */
};

/* The tag of a flow's next packet. */
MP_INLINE uint64_t mp_turn_tag(const struct mp_turns *turns, const struct mp_turn *turn)
{
	return mp_max_u64(turns->at, turn->end);
}

/* A packet of so many bytes has this tag: the flow's next one comes behind it. */
MP_INLINE void mp_turn_take(struct mp_turn *turn, uint64_t tag, uint32_t bytes)
{
	turn->end = tag + bytes;
}

/* The packet with this tag leaves. */
MP_INLINE void mp_turns_pass(struct mp_turns *turns, uint64_t tag)
{
	turns->at = mp_max_u64(turns->at, tag);
}

/* Bytes that leave before a packet with this tag at the most, of so many flows that have something to send. */
MP_INLINE uint64_t mp_turns_ahead(const struct mp_turns *turns, uint64_t tag, uint32_t flows)
{
	return (mp_max_u64(tag, turns->at) - turns->at) * flows;
}

#endif
