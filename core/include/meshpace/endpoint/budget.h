/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How much the gateway may send of its own accord, in packets: no input makes it send more.
 *
 * What asks a stalled path or its sender (probe.h) has a budget by time, a token bucket kept as the time at
 * which it is full again (the virtual scheduling algorithm of ITU-T I.371): in any span of t seconds at
 * most t times the rate and a burst. Copies that duplicate ACKs ask for are earned by the data that
 * they are copies of.
 */
#ifndef MESHPACE_BUDGET_H
#define MESHPACE_BUDGET_H

#include "../arith/base.h"

/*
 * Asks in a second, and as many at once, for they are looked for once a second. One is a full frame, which
 * with RTS, CTS and ACK takes 2.4 ms of a hop at 11 Mbit/s: eight are 2% of the air about the gateway.
 * A host may have half of them, so that it alone does not keep others from theirs.
 */
#define MP_ASKS_PER_S 8u
#define MP_HOST_ASKS_PER_S (MP_ASKS_PER_S / 2)

/*
 * A copy for so many data packets of a host. Where one packet in eight is lost, TCP's window is sqrt(3/2 * 8),
 * 3.5 segments (Mathis et al. 1997): three duplicates of an ACK (RFC 5681) do not come of that any more, so
 * nobody honest asks for more.
 */
#define MP_DATA_PER_COPY 8u
/* Saved for later at most: what one frame can lose, all that a block acknowledgement covers (IEEE 802.11-2020, 9.3.1.8). */
#define MP_COPIES_SAVED 64u

struct mp_budget {
	uint64_t full_ns; /* from then on nothing of it is spent */
};

/* Whether a packet more may be sent, of per_s (at least 1) a second and as many at once. */
MP_INLINE bool mp_budget_has(const struct mp_budget *budget, uint64_t now_ns, uint32_t per_s)
{
	uint64_t each_ns = MP_NS_PER_S / per_s;

	return mp_max_u64(budget->full_ns, now_ns) + each_ns <= now_ns + per_s * each_ns;
}

/* It is sent. */
MP_INLINE void mp_budget_spend(struct mp_budget *budget, uint64_t now_ns, uint32_t per_s)
{
	budget->full_ns = mp_max_u64(budget->full_ns, now_ns) + MP_NS_PER_S / per_s;
}

/* Whether a host is asked now, by its own budget and that of all; then both are less by one. */
MP_INLINE bool mp_ask_spend(struct mp_budget *host, struct mp_budget *all, uint64_t now_ns)
{
	if (!mp_budget_has(host, now_ns, MP_HOST_ASKS_PER_S) ||
	    !mp_budget_has(all, now_ns, MP_ASKS_PER_S))
		return false;
	mp_budget_spend(host, now_ns, MP_HOST_ASKS_PER_S);
	mp_budget_spend(all, now_ns, MP_ASKS_PER_S);
	return true;
}

/* Of a host's copies. */
struct mp_credit {
	uint32_t data_packets; /* sent, and not yet spent */
};

/* A data packet went to the host. */
MP_INLINE void mp_credit_earn(struct mp_credit *credit)
{
	if (credit->data_packets < MP_COPIES_SAVED * MP_DATA_PER_COPY)
		credit->data_packets++;
}

/* Whether a copy may be sent; then it is paid for. */
MP_INLINE bool mp_credit_spend(struct mp_credit *credit)
{
	if (credit->data_packets < MP_DATA_PER_COPY)
		return false;
	credit->data_packets -= MP_DATA_PER_COPY;
	return true;
}

#endif
