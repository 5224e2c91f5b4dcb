/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * T1: when each segment left, until an ACK at T2 matches it and gives an RTT
 * sample (GAP section 4.2 and figure 7).
 *
 * New segments enter a ring in sequence order, ACKs take them out from its old
 * end. When the ring is full a segment goes unrecorded: fewer samples, never a
 * wrong one. An ACK answers the newest segment that it covers wholly: one that
 * ends within the next segment gives a sample that is too long by that segment's
 * wait. Without that a receiver who never acknowledges a segment's end would
 * have no samples, and so be unpaced. Karn's rule: an ACK that covers a retransmitted
 * segment, or a part of one, gives no sample, neither for that segment (which copy is acknowledged?) nor for a later
 * one that only waited behind the hole. So the mark of a retransmission goes on
 * every segment that it touches and on the first that ends where it ends or beyond,
 * whose ACK covers it; when there is none the flow is barred until such an ACK.
 */
#ifndef MESHPACE_SENT_H
#define MESHPACE_SENT_H

#include "../arith/seq.h"

#define MP_SENT_SLOTS 128u /* a power of two, at least the papers' window of 64 */

/* After this silence T1 in 32-bit ticks could wrap: what is older is forgotten. */
#define MP_SENT_STALE_NS (120 * MP_NS_PER_S)

struct mp_sent_slot {
	uint32_t end;     /* sequence number after the segment's last byte */
	uint32_t t1_tick; /* departure; low bit set: sent more than once */
};

struct mp_sent {
	uint64_t last_ns;    /* latest departure recorded */
	uint32_t max_end;    /* highest sequence number sent so far */
	uint16_t oldest;     /* ring index of the oldest segment, modulo 2^16 */
	uint16_t count;      /* segments in the ring */
	uint32_t barred_end; /* no sample before and from the first ACK of all up to here */
	bool barred;
	bool started;
	struct mp_sent_slot slot[MP_SENT_SLOTS];
};

#define MP_SENT_AGAIN 1u

/* Departures may be ahead of the clock: paced packets are recorded before they leave. */
MP_INLINE bool mp_sent_stale(const struct mp_sent *sent, uint64_t now_ns)
{
	return now_ns > sent->last_ns && now_ns - sent->last_ns > MP_SENT_STALE_NS;
}

/* Data up to end was sent again, or may have been, and the ring does not tell. */
MP_INLINE void mp_sent_bar(struct mp_sent *sent, uint32_t end)
{
	if (!sent->barred || mp_seq_before(sent->barred_end, end))
		sent->barred_end = end;
	sent->barred = true;
}

MP_INLINE void mp_sent_forget(struct mp_sent *sent)
{
	if (sent->count > 0)
		mp_sent_bar(sent, sent->max_end);
	sent->oldest = (uint16_t)((sent->oldest + sent->count) % MP_SENT_SLOTS);
	sent->count = 0;
}

/* Marks what a retransmission of [seq, end) covers, so that Karn's rule bars it. */
MP_INLINE void mp_sent_mark_again(struct mp_sent *sent, uint32_t seq, uint32_t end)
{
	uint32_t i;

	for (i = 0; i < MP_SENT_SLOTS; i++) {
		struct mp_sent_slot *slot;

		if (i >= sent->count)
			break;
		slot = &sent->slot[(sent->oldest + i) % MP_SENT_SLOTS];
		if (mp_seq_before(seq, slot->end))
			slot->t1_tick |= MP_SENT_AGAIN;
		if (mp_seq_up_to(end, slot->end))
			return;
	}
	mp_sent_bar(sent, end);
}

/*
 * A segment [seq, seq + len) leaves at now_ns. Returns true when it is new data,
 * false when (part of) it has been sent before. len = 0 is ignored.
 */
MP_INLINE bool mp_sent_record(struct mp_sent *sent, uint32_t seq, uint32_t len, uint64_t now_ns)
{
	uint32_t end = seq + len;
	struct mp_sent_slot *slot;

	if (len == 0)
		return false;
	if (mp_sent_stale(sent, now_ns))
		mp_sent_forget(sent);
	sent->last_ns = mp_max_u64(sent->last_ns, now_ns);
	if (sent->started && mp_seq_before(seq, sent->max_end)) {
		mp_sent_mark_again(sent, seq, end);
		if (mp_seq_before(sent->max_end, end))
			sent->max_end = end;
		return false;
	}
	sent->started = true;
	sent->max_end = end;
	if (sent->count >= MP_SENT_SLOTS)
		return true;
	slot = &sent->slot[(sent->oldest + sent->count) % MP_SENT_SLOTS];
	slot->end = end;
	slot->t1_tick = (uint32_t)(now_ns >> MP_TICK_SHIFT) & ~MP_SENT_AGAIN;
	sent->count++;
	return true;
}

/* Part of the oldest segment is acknowledged, whose first byte follows before: it was sent again. */
MP_INLINE bool mp_sent_part_again(const struct mp_sent *sent, uint32_t before, uint32_t ack)
{
	const struct mp_sent_slot *slot = &sent->slot[sent->oldest % MP_SENT_SLOTS];

	return sent->count > 0 && before != ack && (slot->t1_tick & MP_SENT_AGAIN);
}

/*
 * An ACK for everything before ack arrives at now_ns (T2). Returns the RTT of
 * the newest segment that it is the first to cover, in ticks and at least 1, or 0
 * when there is no valid sample: no such segment on record, or Karn's rule.
 */
MP_INLINE uint32_t mp_sent_ack(struct mp_sent *sent, uint32_t ack, uint64_t now_ns)
{
	uint32_t now_tick = (uint32_t)(now_ns >> MP_TICK_SHIFT);
	uint32_t rtt_ticks = 0, end = ack;
	bool again;
	uint32_t i;

	if (mp_sent_stale(sent, now_ns))
		mp_sent_forget(sent);
	again = sent->barred;
	if (mp_seq_up_to(sent->barred_end, ack))
		sent->barred = false;
	for (i = 0; i < MP_SENT_SLOTS; i++) {
		const struct mp_sent_slot *slot = &sent->slot[sent->oldest % MP_SENT_SLOTS];

		if (sent->count == 0 || !mp_seq_up_to(slot->end, ack))
			break;
		again = again || (slot->t1_tick & MP_SENT_AGAIN);
		/* Ticks wrap as sequence numbers do; what has not left yet cannot be answered. */
		rtt_ticks = mp_seq_up_to(slot->t1_tick, now_tick)
				    ? (uint32_t)mp_max_u64(now_tick - slot->t1_tick, 1)
				    : 0;
		end = slot->end;
		sent->oldest = (uint16_t)((sent->oldest + 1) % MP_SENT_SLOTS);
		sent->count--;
	}
	return again || mp_sent_part_again(sent, end, ack) ? 0 : rtt_ticks;
}

#endif
