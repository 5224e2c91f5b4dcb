/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Data from the mesh, which is paced at its sender, and its acknowledgements, by which the sender is told RTT_wired
 * (GAP 4.2).
 */
#ifndef MESHPACE_UP_H
#define MESHPACE_UP_H

#include "endpoint.h"

/*
 * Data from the mesh passes: T1 at the wired side is now. asks: its sender wants to know RTT_wired. What is astray counts for
 * nothing: who sends some of its own flow ahead would not be held to its part of the air until the rest is there.
 * Returns whether it is a host's: something of its flow was acknowledged, and it is not astray. Else it may be invented
 * (mp_opaque_nobody_step).
 */
MP_INLINE bool mp_endpoint_up_data(struct mp_endpoint *endpoint, const struct mp_segment *segment,
				   bool asks)
{
	if (!mp_endpoint_takes(endpoint, segment->seq))
		return false;
	mp_echo_answer(&endpoint->echo, segment->echo, endpoint->data_ns, segment->now_ns);
	mp_endpoint_data(endpoint, segment, segment->now_ns);
	endpoint->pushed = (segment->flags & MP_TCP_PSH) != 0;
	endpoint->ttl = segment->ttl;
	endpoint->asked = endpoint->asked | asks;
	return endpoint->progress.acked_bytes > 0;
}

/* Whether the sender of data that exceeds its host's cap is notified by the loss of this packet, or a mark. */
MP_INLINE bool mp_endpoint_up_notifies(struct mp_endpoint *endpoint, const struct mp_segment *segment)
{
	return !mp_endpoint_strays(endpoint, segment->seq) &&
	       mp_police_notifies(&endpoint->notified, &endpoint->progress, endpoint->sent.max_end, segment->seq,
				  segment->payload_bytes);
}

/* Whether an ACK of the wired end fits. */
MP_INLINE bool mp_endpoint_up_fits(const struct mp_endpoint *endpoint, uint32_t ack)
{
	return mp_progress_fits(&endpoint->progress, endpoint->sent.max_end, ack);
}

/* Bytes that an ACK which fits is the first to acknowledge. */
MP_INLINE uint32_t mp_endpoint_up_news(const struct mp_endpoint *endpoint, uint32_t ack)
{
	return mp_progress_news(&endpoint->progress, endpoint->sent.max_end, ack);
}

/*
 * An ACK that counts leaves for the mesh at departure_ns: what it waited here is not the mesh's. Returns RTT_wired in us,
 * the sample that it gives; 0: none.
 */
MP_INLINE uint32_t mp_endpoint_up_sample(struct mp_endpoint *endpoint, const struct mp_segment *segment,
					 uint64_t departure_ns)
{
	uint32_t rtt_wired_us =
		mp_rtt_wired_us(mp_sent_ack(&endpoint->sent, segment->ack, departure_ns));
	bool latest = segment->ack == endpoint->progress.ack;

	mp_echo_ask(&endpoint->echo, (uint32_t)mp_select_u64(latest, segment->stamp, 0), departure_ns);
	if (rtt_wired_us) {
		endpoint->rtt_wired_us = rtt_wired_us;
		endpoint->estimate.samples++;
	}
	return rtt_wired_us;
}

/* A pure ACK is going to tell the sender something: whether feedback (feedback.h), and not RTT_wired. */
MP_INLINE bool mp_endpoint_up_feedback(struct mp_endpoint *endpoint, uint64_t bytes_per_s)
{
	endpoint->feedback.bytes_per_s = bytes_per_s;
	return mp_feedback_turn(&endpoint->feedback);
}

#endif
