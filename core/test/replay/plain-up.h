/* SPDX-License-Identifier: GPL-2.0-only */
/* The plain gateway: uploads, whose senders are told RTT_wired and what they share. */
#ifndef MESHPACE_REPLAY_PLAIN_UP_H
#define MESHPACE_REPLAY_PLAIN_UP_H

#include "plain-connection.h"

static inline void up_data(struct packet *p)
{
	const struct handshake *handshake = find_handshake(&p->in->flow);
	struct replay_flow *flow = &find_or_create_flow(&p->in->flow, true)->state;
	bool new_data, begins = flow->first_ns == 0;

	p->one_way = !flow->two_way;
	new_data = mp_sent_record(&flow->sent, p->in->seq, p->in->len, p->now_ns);
	count_data(flow, p, new_data);
	flow->pushed = (p->in->flags & TRACE_PSH) != 0;
	hear_of_flow(flow, p);
	flow->ttl = p->in->ttl;
	if (p->asks || (begins && handshake && handshake->known.asked))
		flow->asked = 1;
}

static inline uint64_t ack_departure(const struct replay_flow *flow, const struct packet *p)
{
	uint32_t bytes = mp_progress_news(&flow->progress, flow->sent.max_end, p->in->ack);
	struct cap *cap = &standing_host(&p->in->flow)->cap[1];

	if (!p->settings->stamp || !p->settings->pace || !is_pure_ack(p) ||
	    !mp_progress_fits(&flow->progress, flow->sent.max_end, p->in->ack))
		return p->departure_ns;
	if (!bytes)
		return mp_follow_ns(&flow->pacer, p->departure_ns);
	return mp_follow_ns(&flow->pacer, cap_departure(cap, true, p->departure_ns, bytes,
							MP_CAP_WAIT_NS, false));
}

static inline void up_ack(struct packet *p)
{
	struct flow *found = flow_of(p, true);
	struct replay_flow *flow;
	uint32_t rtt_wired_us = 0;

	if (!found)
		return;
	flow = &found->state;
	p->one_way = !flow->two_way;
	if (mp_heard_lately(flow->data_ns, p->now_ns))
		p->met = true;
	p->departure_ns = ack_departure(flow, p);
	if (is_pure_ack(p))
		flow->pacer.last_ns = p->departure_ns;
	if (count_ack(flow, p))
		rtt_wired_us = mp_rtt_wired_us(mp_sent_ack(&flow->sent, p->in->ack, p->departure_ns));
	if (!rtt_wired_us)
		return;
	flow->rtt_wired_us = rtt_wired_us;
	flow->estimate.samples++;
	if (p->settings->option == 2 || (p->settings->option == 1 && flow->asked))
		p->rtt_wired_us = rtt_wired_us;
}

static inline void up_tell(const struct packet *p, struct replay_outcome *outcome)
{
	struct flow *flow = flow_of(p, true);
	struct mp_shared *shared = &flow->state.shared;
	const struct cap *cap = &standing_host(&p->in->flow)->cap[1];
	bool tells_shared = false;

	if (is_even(p) && p->settings->pace) {
		shared->sharers = p->settings->sharers;
		shared->bps = cap->set ? cap->flow_bps : 0;
		tells_shared = mp_shared_turn(shared);
	}
	if (p->tcp_bytes + MP_OPTION_BYTES > 60 || p->in->has_signature)
		return;
	if (tells_shared)
		mp_shared_write(outcome->told, shared);
	else
		mp_option_write(outcome->told, p->rtt_wired_us);
}

#endif
