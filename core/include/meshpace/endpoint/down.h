/* SPDX-License-Identifier: GPL-2.0-only */
/* Data to the mesh, which is paced at the gateway, and its acknowledgements, by which the law learns (GAP figure 7). */
#ifndef MESHPACE_DOWN_H
#define MESHPACE_DOWN_H

#include "endpoint.h"

/* A download's first data: what its handshake has told. */
MP_INLINE void mp_endpoint_down_begins(struct mp_endpoint *endpoint, uint32_t rtt_wired_us,
				       uint32_t window_scale)
{
	endpoint->rtt_wired_us = rtt_wired_us;
	endpoint->window_scale = (uint8_t)window_scale;
}

/* Whether data passes without being judged: its flow counts as answered, and it is not astray. Without a branch. */
MP_INLINE bool mp_endpoint_down_passes(const struct mp_endpoint *endpoint, const struct mp_segment *segment)
{
	uint32_t answered = mp_endpoint_is_answered(endpoint, segment->now_ns);

	return answered & !mp_endpoint_strays(endpoint, segment->seq);
}

/*
 * What becomes of other data, before it counts as sent. Where all is acknowledged no more is sent again than what gets
 * through as the window of a flow that nobody answers. What is astray takes nothing of that from a flow that was ever
 * acknowledged, whose own would be lost then.
 */
MP_INLINE enum mp_unanswered_verdict mp_endpoint_down_judge(struct mp_endpoint *endpoint,
							    const struct mp_segment *segment)
{
	bool astray = !mp_endpoint_takes(endpoint, segment->seq);
	uint32_t sent_again = mp_seq_before(segment->seq, endpoint->progress.ack);
	enum mp_unanswered_verdict verdict;

	if (astray && endpoint->unanswered.since_ns)
		return MP_UNANSWERED_ASTRAY;
	verdict = mp_unanswered_judge(&endpoint->unanswered, endpoint->bytes, segment->payload_bytes,
				      sent_again | !mp_endpoint_is_idle(endpoint), segment->now_ns);
	return astray && verdict == MP_UNANSWERED_CHARGED ? MP_UNANSWERED_ASTRAY : verdict;
}

/*
 * Whether the retransmit cache is to have a copy of data, before it counts as sent: beyond the window of a flow that
 * nobody answers nobody will ask for it, nor for what is astray.
 */
MP_INLINE bool mp_endpoint_down_copies(const struct mp_endpoint *endpoint, const struct mp_segment *segment)
{
	if (mp_endpoint_strays(endpoint, segment->seq))
		return false;
	return mp_is_answered(&endpoint->unanswered, segment->now_ns) ||
	       mp_unanswered_in_window(&endpoint->unanswered, endpoint->bytes, segment->payload_bytes);
}

/*
 * When data leaves that is ready at ready_ns, said on arrival: where nothing holds it, at once. paced: the
 * law is on. When pacing ends a packet still waits for those before it, so that none overtakes.
 */
MP_INLINE uint64_t mp_endpoint_down_departure_ns(struct mp_endpoint *endpoint, bool paced, bool holds,
						 uint64_t ready_ns, uint64_t now_ns, uint32_t segments)
{
	uint64_t interval_ns = paced ? endpoint->interval_ns : 0;
	uint64_t departure_ns = now_ns;

	if (holds)
		departure_ns = mp_departure_ns(&endpoint->pacer, ready_ns, interval_ns);
	mp_departed_together(&endpoint->pacer, departure_ns, interval_ns, segments);
	return departure_ns;
}

/*
 * Whether data that comes has waited, or would wait, too long, for its host's turns of turn_ns and for the flow,
 * until it leaves as mp_endpoint_down_departure_ns will say.
 */
MP_INLINE bool mp_endpoint_down_waits_too_long(struct mp_endpoint *endpoint, const struct mp_law *law,
					       uint64_t turn_ns, uint64_t ready_ns, uint64_t now_ns)
{
	struct mp_waits_for waits_for = mp_waits_for_of(&endpoint->estimate, endpoint->interval_ns,
							endpoint->rtt_wired_us);
	uint64_t leaves_ns = mp_departure_ns(&endpoint->pacer, ready_ns, endpoint->interval_ns);

	waits_for.turn_ns = turn_ns;
	return mp_wait_too_long(&endpoint->wait, law, &waits_for, leaves_ns - now_ns, now_ns);
}

/*
 * From here on the retransmit cache has every segment: without a copy, from the next one on; behind a gap, from
 * this one on, since what was lost on the way here the cache never saw.
 */
MP_INLINE void mp_endpoint_note_stored(struct mp_endpoint *endpoint, const struct mp_segment *segment,
				       bool stored, bool gap)
{
	if (stored && endpoint->storing && !gap)
		return;
	endpoint->stored_from = segment->seq + (stored ? 0 : segment->payload_bytes);
	endpoint->storing = stored;
}

/*
 * What is acknowledged nobody asks for any more. Else, without a loss, what the cache has would begin 2 GiB back, from
 * where numbers seem to lie ahead. Without a branch, as mp_endpoint_paused_ns.
 */
MP_INLINE void mp_endpoint_note_acked(struct mp_endpoint *endpoint)
{
	bool older = mp_seq_before(endpoint->stored_from, endpoint->progress.ack);

	endpoint->stored_from = (uint32_t)mp_select_u64(older, endpoint->progress.ack, endpoint->stored_from);
}

/*
 * A sender that has just lost something may have a window of one packet, and then lets all that it sent be acknowledged
 * before it goes on though it has more: for so long, as in air.h, no pause is taken for one.
 */
#define MP_LOSES_NS (3 * MP_NS_PER_S)

/*
 * When data of a download came last while nothing was outstanding, now that some comes; with MP_PAUSED_BAR set in it until
 * when no pause counts. nothing: nothing is outstanding; again: it was sent before. Without a branch, for each of which a
 * verifier would walk through all that follows.
 */
MP_INLINE uint64_t mp_endpoint_paused_ns(uint64_t paused_ns, bool nothing, bool again, uint64_t now_ns)
{
	bool pauses = nothing & (paused_ns <= now_ns);

	paused_ns = mp_select_u64(pauses, now_ns & ~MP_PAUSED_BAR, paused_ns);
	return mp_select_u64(again, (now_ns + MP_LOSES_NS) | MP_PAUSED_BAR, paused_ns);
}

/*
 * Data is astray, and counts for nothing but that its receiver owes an ACK for it (excess.h), which an honest one sends
 * (RFC 9293, section 3.10.7.4).
 */
MP_INLINE void mp_endpoint_astray(struct mp_endpoint *endpoint, const struct mp_segment *segment)
{
	endpoint->packets += segment->segments;
}

/*
 * Data passes and leaves at departure_ns; stored: the retransmit cache has a copy; charged: bytes that wait for it in
 * the queues of what nobody answers.
 */
MP_INLINE void mp_endpoint_down_data(struct mp_endpoint *endpoint, const struct mp_segment *segment,
				     uint64_t departure_ns, bool stored, uint32_t charged)
{
	uint64_t under_way = endpoint->progress.ack ^ endpoint->sent.max_end;
	bool gap = mp_seq_before(endpoint->sent.max_end, segment->seq);
	bool is_new;

	if (mp_endpoint_strays(endpoint, segment->seq)) {
		mp_endpoint_astray(endpoint, segment);
		return;
	}
	is_new = mp_endpoint_data(endpoint, segment, departure_ns);
	endpoint->unanswered.charged += charged;
	endpoint->paused_ns = mp_endpoint_paused_ns(endpoint->paused_ns, !under_way, !is_new, segment->now_ns);
	if (is_new)
		mp_endpoint_note_stored(endpoint, segment, stored, gap);
	endpoint->path.data_bytes = (uint32_t)mp_max_u64(
		endpoint->path.data_bytes,
		segment->ip_bytes - segment->payload_bytes + segment->segment_bytes);
}

/* A segment from the retransmit cache leaves at once, and its ACK gives no sample (Karn). */
MP_INLINE void mp_endpoint_down_again(struct mp_endpoint *endpoint, const struct mp_segment *segment)
{
	mp_departed(&endpoint->pacer, mp_follow_ns(&endpoint->pacer, segment->now_ns));
	mp_sent_record(&endpoint->sent, segment->seq, segment->payload_bytes, segment->now_ns);
	mp_dupack_sent(&endpoint->dupack, segment->seq + segment->payload_bytes);
	endpoint->local_retransmits++;
}

/*
 * What carries no data passes, but must not overtake data that waits: returns when it leaves that would leave at
 * departure_ns.
 */
MP_INLINE uint64_t mp_endpoint_down_no_data_ns(struct mp_endpoint *endpoint,
					       const struct mp_segment *segment, uint64_t departure_ns)
{
	if (segment->flags & MP_TCP_FIN)
		mp_endpoint_fin(endpoint, segment->seq);
	return endpoint->pacer.started ? mp_follow_ns(&endpoint->pacer, departure_ns) : departure_ns;
}

/* What an ACK from the mesh tells. */
struct mp_acked {
	uint32_t rtt_ticks; /* the sample that it gives; 0: none */
	uint32_t charged;   /* bytes that need not wait any more in the queues of what nobody answers */
	struct mp_range again; /* what is missing in it is to be sent again from the retransmit cache */
	bool counts;        /* else it does not fit, and nothing has changed */
};

/* Whether the retransmit cache has what an ACK asks for, as far as copies were made, and its receiver is to have them. */
MP_INLINE bool mp_endpoint_has(const struct mp_endpoint *endpoint, uint32_t ack, uint64_t now_ns)
{
	return endpoint->storing && endpoint->ahead_ns <= now_ns && mp_seq_up_to(endpoint->stored_from, ack);
}

/* The highest block of an ACK's SACK, as far as the law heeds it: the papers' looks at duplicates alone. */
MP_INLINE struct mp_range mp_endpoint_heeds(const struct mp_endpoint *endpoint, const struct mp_law *law,
					    const struct mp_segment *segment, struct mp_range top)
{
	bool sent = mp_seq_up_to(top.to, endpoint->sent.max_end); /* what was not sent is not there */

	if (!law->hop_wait_ns || law->omit & MP_OMIT_SACK || !sent)
		top.from = top.to = segment->ack;
	return top;
}

/*
 * An ACK from the mesh; bare: it carries nothing else; top: of its SACK (sack.h); stored: the segment that it asks for
 * can be sent again from here. Returns what becomes of it, and fills in acked, all zero, of which the sample is
 * mp_endpoint_down_learn's.
 */
MP_INLINE enum mp_ack_verdict mp_endpoint_down_ack(struct mp_endpoint *endpoint, const struct mp_law *law,
						   const struct mp_segment *segment, bool bare, struct mp_range top,
						   bool stored, struct mp_acked *acked)
{
	struct mp_asks asks = { segment->ack, top, 0, segment->now_ns, 0 };

	endpoint->pure_acks += mp_segment_is_pure_ack(segment);
	if (!mp_endpoint_ack(endpoint, segment))
		return MP_ACK_FORWARD;
	mp_endpoint_note_acked(endpoint);
	asks.top = mp_endpoint_heeds(endpoint, law, segment, top);
	acked->counts = true;
	acked->rtt_ticks = mp_sent_ack(&endpoint->sent, segment->ack, segment->now_ns);
	acked->charged = endpoint->unanswered.charged;
	endpoint->unanswered.charged = 0;
	asks.duplicate = mp_dupack_count(&endpoint->dupack, segment->ack, bare, segment->window,
					 endpoint->sent.max_end);
	if (asks.duplicate || mp_asks_by_sack(&asks))
		asks.rtt_ns = mp_window_mean_ns(&endpoint->estimate.window);
	return mp_dupack_verdict(&endpoint->dupack, &asks, stored, &acked->again);
}

/*
 * An ACK from the mesh did not count. Who acknowledges what has not left yet says nothing of what it lacks: copies for it
 * would take air beyond its host's part. It does so in each round trip, to seem near; the longest is that of a sender that
 * waits for its time-outs. Who is honest does so where data went past unread, until the next is read: such as while
 * somebody had removed the filter. A number astray is nobody's who has the connection: who only knows its ports has guessed it.
 */
MP_INLINE void mp_endpoint_down_unfit(struct mp_endpoint *endpoint, uint32_t ack, uint64_t now_ns)
{
	if (mp_progress_is_ahead(&endpoint->progress, endpoint->sent.max_end, ack) && !mp_endpoint_strays(endpoint, ack))
		endpoint->ahead_ns = now_ns + MP_UNANSWERED_NS;
}

/*
 * The sample, if any, of an ACK that counts, over a path that is up to date but for its ACKs; shared: hosts are
 * held to their shares of the air (airtime.h). Returns whether it was taken.
 */
MP_INLINE bool mp_endpoint_down_learn(struct mp_endpoint *endpoint, const struct mp_law *law,
				      const struct mp_segment *segment, uint32_t rtt_ticks,
				      bool shared)
{
	endpoint->path.ack_bytes = segment->ip_bytes - segment->payload_bytes;
	mp_estimate_set_shared(&endpoint->estimate, shared);
	return mp_estimate_add(&endpoint->estimate, law, &endpoint->path, rtt_ticks, segment->now_ns,
			       segment->ack);
}

#endif
