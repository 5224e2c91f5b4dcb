/* SPDX-License-Identifier: GPL-2.0-only */
/* The plain gateway: uploads, whose senders are told RTT_wired and what they share. */
#ifndef MESHPACE_REPLAY_PLAIN_UP_H
#define MESHPACE_REPLAY_PLAIN_UP_H

#include "plain-connection.h"

static inline void up_data(struct packet *p)
{
	const struct handshake *handshake = find_handshake(&p->in->flow);
	struct flow *flow = find_or_create_flow(&p->in->flow, true);
	struct mp_segment segment = segment_of(p);
	bool begins = flow->state.at.first_ns == 0;

	p->one_way = !flow->state.at.two_way;
	mp_endpoint_up_data(&flow->state.at, &segment,
			    p->asks || (begins && handshake && handshake->known.asked));
	hear_of_flow(flow, p);
}

static inline uint64_t ack_departure(const struct mp_endpoint *at, const struct packet *p)
{
	uint32_t bytes = mp_endpoint_up_news(at, p->in->ack);
	struct cap *cap = &standing_host(&p->in->flow)->cap[1];

	if (!p->settings->stamp || !p->settings->pace || !is_pure_ack(p) ||
	    !mp_endpoint_up_fits(at, p->in->ack))
		return p->departure_ns;
	if (!bytes)
		return mp_follow_ns(&at->pacer, p->departure_ns);
	return mp_follow_ns(&at->pacer, cap_departure(cap, true, p->departure_ns, bytes,
						      MP_CAP_WAIT_NS, false));
}

static inline void up_ack(struct packet *p)
{
	struct mp_segment segment = segment_of(p);
	struct flow *flow = flow_of(p, true);
	struct mp_endpoint *at;
	uint32_t rtt_wired_us = 0;

	if (!flow)
		return;
	at = &flow->state.at;
	p->one_way = !at->two_way;
	if (mp_heard_lately(at->data_ns, p->now_ns))
		p->met = true;
	p->departure_ns = ack_departure(at, p);
	if (p->settings->stamp && is_pure_ack(p))
		at->pacer.last_ns = p->departure_ns;
	if (mp_endpoint_ack(at, &segment))
		rtt_wired_us = mp_endpoint_up_sample(at, &segment, p->departure_ns);
	if (p->settings->option == 2 || (p->settings->option == 1 && at->asked))
		p->rtt_wired_us = rtt_wired_us;
}

static inline void up_tell(const struct packet *p, struct replay_outcome *outcome)
{
	struct flow *flow = flow_of(p, true);
	const struct cap *cap = &standing_host(&p->in->flow)->cap[1];
	bool tells_feedback = false;

	if (is_even(p) && p->settings->pace)
		tells_feedback = mp_endpoint_up_feedback(&flow->state.at, cap->set ? cap->flow_bytes_per_s : 0);
	if (p->tcp_bytes + MP_OPTION_BYTES > 60 || p->in->has_signature)
		return;
	if (tells_feedback)
		mp_feedback_write(outcome->feedback, &flow->state.at.feedback);
	else
		mp_option_write(outcome->feedback, p->rtt_wired_us);
}

#endif
