/* SPDX-License-Identifier: GPL-2.0-only */
/* The plain gateway: downloads, whose data is paced here. */
#ifndef MESHPACE_REPLAY_PLAIN_DOWN_H
#define MESHPACE_REPLAY_PLAIN_DOWN_H

#include "plain-connection.h"

static inline bool wait_passes(const struct packet *p, struct replay_outcome *outcome)
{
	struct flow *flow = find_place(&p->in->flow, false);
	bool capable = p->in->ecn == 1 || p->in->ecn == 2;

	if (!is_even(p))
		return true;
	if (capable && !p->settings->stamp && flow && flow->mark) {
		flow->mark = false;
		outcome->marked = true;
		return true;
	}
	if (!flow || !flow->state.known || !p->settings->stamp || !p->settings->pace ||
	    !mp_endpoint_down_waits_too_long(&flow->state.at, &p->settings->law, p->turn_ns,
					     p->ready_ns, p->now_ns))
		return true;
	outcome->marked = capable;
	return capable;
}

static inline void take_handshake(struct mp_endpoint *at, const struct packet *p)
{
	struct handshake *handshake = find_handshake(&p->in->flow);

	if (handshake)
		mp_endpoint_down_begins(at, mp_handshake_answered(&handshake->known, p->now_ns),
					handshake->known.window_scale);
}

static inline bool down_data(struct packet *p)
{
	struct mp_segment segment = segment_of(p);
	struct flow *found = flow_of(p, false);
	struct mp_endpoint *at;
	bool stored;

	if (!(found && mp_endpoint_down_passes(&found->state.at, &segment)) && !unanswered_passes(p))
		return false;
	at = &find_or_create_flow(&p->in->flow, false)->state.at;
	p->one_way = !at->two_way;
	if (at->first_ns == 0)
		take_handshake(at, p);
	stored = p->settings->copies && mp_endpoint_down_copies(at, &segment) && p->ip_bytes + 14 <= 1664 && p->in->segments == 1;
	if (p->settings->stamp)
		p->departure_ns = mp_endpoint_down_departure_ns(at, p->settings->pace, true, p->ready_ns,
								p->now_ns, p->in->segments);
	mp_endpoint_down_data(at, &segment, p->departure_ns, stored, p->charged);
	return true;
}

static inline void down_no_data(struct packet *p)
{
	struct handshake *handshake = find_handshake(&p->in->flow);
	struct mp_segment segment = segment_of(p);
	struct flow *flow = flow_of(p, false);

	if (!flow) {
		if (handshake)
			mp_handshake_answered(&handshake->known, p->now_ns);
		return;
	}
	if (p->settings->stamp)
		p->departure_ns = mp_endpoint_down_no_data_ns(&flow->state.at, &segment, p->departure_ns);
	else if (p->in->flags & TRACE_FIN)
		mp_endpoint_fin(&flow->state.at, p->in->seq);
	if (mp_endpoint_is_answered(&flow->state.at, p->now_ns))
		p->met = true;
}

static inline void down_again(const struct packet *p)
{
	struct mp_segment segment = segment_of(p);
	struct flow *flow = flow_of(p, false);

	if (flow)
		mp_endpoint_down_again(&flow->state.at, &segment);
}

static inline void take_news(struct flow *flow)
{
	const struct host *host = host_of(flow->id.v6, flow->id.host);

	if (flow->known_changes == changes)
		return;
	flow->known_changes = changes;
	flow->hops = host->hops;
	flow->kbps = host->kbps;
	flow->outside = host->outside;
	flow->state.at.floor_ns = *floor_for(&flow->id);
}

static inline enum mp_ack_verdict down_ack(struct packet *p)
{
	struct mp_segment segment = segment_of(p);
	struct flow *flow = flow_of(p, false);
	enum mp_ack_verdict verdict;
	bool bare;

	if (!flow)
		return MP_ACK_FORWARD;
	bare = is_pure_ack(p) && !(mp_dupack_repeats(&flow->state.at.dupack, p->in->ack) &&
				   (p->in->mptcp || p->in->dsack));
	take_news(flow);
	hear_of_flow(flow, p);
	verdict = mp_endpoint_down_ack(&flow->state.at, &p->settings->law, &segment, bare, trace_sack_top(p->in),
				       p->settings->copies &&
					       mp_endpoint_has(&flow->state.at, p->in->ack, segment.now_ns),
				       &p->acked);
	if (!p->acked.counts)
		mp_endpoint_down_unfit(&flow->state.at, p->in->ack, segment.now_ns);
	if (flow->unsent && flow->unsent_seq == p->in->ack) {
		p->acked.again.to = p->acked.again.from;
		return MP_ACK_FORWARD;
	}
	return verdict;
}

static inline void down_learn(const struct packet *p)
{
	struct mp_segment segment = segment_of(p);
	struct flow *flow = flow_of(p, false);
	struct mp_endpoint *at = &flow->state.at;
	uint32_t hops = flow->hops ? flow->hops : mp_hops_of_ttl(p->in->ttl);

	at->ttl = p->in->ttl;
	at->path.hops = hops ? hops : p->settings->hops;
	at->path.kbps = flow->kbps ? flow->kbps : p->settings->kbps;
	mp_endpoint_down_learn(at, &p->settings->law, &segment, p->acked.rtt_ticks, p->settings->shared);
	at->interval_ns = 0;
	if (p->settings->pace && !flow->outside)
		at->interval_ns = mp_interval_ns(&at->estimate, &p->settings->law, at->floor_ns);
}

#endif
