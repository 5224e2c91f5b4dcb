/* SPDX-License-Identifier: GPL-2.0-only */
/* The plain gateway: downloads, whose data is paced here. */
#ifndef MESHPACE_REPLAY_PLAIN_DOWN_H
#define MESHPACE_REPLAY_PLAIN_DOWN_H

#include "plain-connection.h"

static inline bool waits_too_long(struct replay_flow *flow, const struct packet *p)
{
	struct mp_waits_for waits_for =
		mp_waits_for_of(&flow->estimate, flow->interval_ns, flow->rtt_wired_us);
	uint64_t leaves_ns = mp_departure_ns(&flow->pacer, p->ready_ns, flow->interval_ns);

	waits_for.turn_ns = p->turn_ns;
	return p->settings->stamp && p->settings->pace &&
	       mp_wait_too_long(&flow->wait, &p->settings->law, &waits_for, leaves_ns - p->now_ns,
				p->now_ns);
}

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
	if (!flow || !flow->state.known || !waits_too_long(&flow->state, p))
		return true;
	outcome->marked = capable;
	return capable;
}

static inline void note_stored(struct replay_flow *flow, const struct packet *p, bool stored, bool gap)
{
	if (stored && flow->storing && !gap)
		return;
	flow->stored_from = stored ? p->in->seq : p->in->seq + p->in->len;
	flow->storing = stored;
}

static inline void take_handshake(struct replay_flow *flow, const struct packet *p)
{
	struct handshake *handshake = find_handshake(&p->in->flow);

	if (!handshake)
		return;
	flow->rtt_wired_us = mp_handshake_answered(&handshake->known, p->now_ns);
	flow->window_scale = handshake->known.window_scale;
}

static inline void set_departure(struct replay_flow *flow, struct packet *p)
{
	uint64_t interval_ns = p->settings->pace ? flow->interval_ns : 0;

	if (p->settings->stamp)
		p->departure_ns = mp_departure_ns(&flow->pacer, p->ready_ns, interval_ns);
	mp_departed_together(&flow->pacer, p->departure_ns, interval_ns, p->in->segments);
}

static inline bool down_data(struct packet *p)
{
	struct flow *found = flow_of(p, false);
	struct replay_flow *flow;
	bool new_data, gap, stored;

	if (!(found && mp_is_answered(&found->state.unanswered, p->now_ns)) && !unanswered_passes(p))
		return false;
	flow = &find_or_create_flow(&p->in->flow, false)->state;
	p->one_way = !flow->two_way;
	if (flow->first_ns == 0)
		take_handshake(flow, p);
	stored = p->settings->copies && p->ip_bytes + 14 <= 1664 && p->in->segments == 1;
	set_departure(flow, p);
	if (flow->progress.ack == flow->sent.max_end)
		flow->paused_ns = p->now_ns;
	gap = mp_seq_before(flow->sent.max_end, p->in->seq);
	new_data = mp_sent_record(&flow->sent, p->in->seq, p->in->len, p->departure_ns);
	count_data(flow, p, new_data);
	flow->unanswered.charged += p->charged;
	if (new_data)
		note_stored(flow, p, stored, gap);
	flow->path.data_bytes = (uint32_t)mp_max_u64(
		flow->path.data_bytes, p->ip_bytes - p->in->len + p->segment_bytes);
	return true;
}

static inline void down_no_data(struct packet *p)
{
	struct flow *flow = flow_of(p, false);
	struct handshake *handshake = find_handshake(&p->in->flow);

	if (!flow) {
		if (handshake)
			mp_handshake_answered(&handshake->known, p->now_ns);
		return;
	}
	if (flow->state.pacer.started)
		p->departure_ns = mp_follow_ns(&flow->state.pacer, p->departure_ns);
	if (mp_is_answered(&flow->state.unanswered, p->now_ns))
		p->met = true;
	if (p->in->flags & TRACE_FIN)
		mp_progress_fin(&flow->state.progress, flow->state.sent.max_end, p->in->seq);
}

static inline void down_again(const struct packet *p)
{
	struct flow *found = flow_of(p, false);
	struct replay_flow *flow;

	if (!found)
		return;
	flow = &found->state;
	mp_departed(&flow->pacer, mp_follow_ns(&flow->pacer, p->now_ns));
	mp_sent_record(&flow->sent, p->in->seq, p->in->len, p->now_ns);
	mp_dupack_sent(&flow->dupack, p->in->seq + p->in->len);
	flow->local_retransmits++;
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
	flow->state.floor_ns = *floor_for(&flow->id);
}

static inline enum mp_ack_verdict down_ack(struct packet *p)
{
	struct flow *found = flow_of(p, false);
	enum mp_ack_verdict verdict = MP_ACK_FORWARD;
	struct replay_flow *flow;
	bool stored, bare;

	if (!found)
		return MP_ACK_FORWARD;
	flow = &found->state;
	bare = is_pure_ack(p) && !(mp_dupack_repeats(&flow->dupack, p->in->ack) &&
				   (p->in->mptcp || p->in->dsack));
	take_news(found);
	hear_of_flow(flow, p);
	p->acks = count_ack(flow, p);
	if (!p->acks)
		return MP_ACK_FORWARD;
	p->rtt_ticks = mp_sent_ack(&flow->sent, p->in->ack, p->now_ns);
	p->charged = flow->unanswered.charged;
	flow->unanswered.charged = 0;
	stored = p->settings->copies && flow->storing &&
		 mp_seq_up_to((uint32_t)flow->stored_from, p->in->ack);
	if (mp_dupack_count(&flow->dupack, p->in->ack, bare, p->in->window, flow->sent.max_end))
		verdict = mp_dupack_verdict(&flow->dupack, stored, p->now_ns,
					    mp_window_mean_ns(&flow->estimate.window));
	if (found->unsent && found->unsent_seq == p->in->ack)
		return MP_ACK_FORWARD;
	return verdict;
}

static inline void down_learn(const struct packet *p)
{
	struct flow *found = flow_of(p, false);
	struct replay_flow *flow = &found->state;
	uint32_t hops = found->hops ? found->hops : mp_hops_of_ttl(p->in->ttl);

	flow->ttl = p->in->ttl;
	flow->path.hops = hops ? hops : p->settings->hops;
	flow->path.kbps = found->kbps ? found->kbps : p->settings->kbps;
	flow->path.ack_bytes = p->ip_bytes - p->in->len;
	mp_estimate_share(&flow->estimate, p->settings->sharers);
	mp_estimate_add(&flow->estimate, &p->settings->law, &flow->path, p->rtt_ticks, p->now_ns,
			p->in->ack);
	flow->interval_ns = 0;
	if (p->settings->pace && !found->outside)
		flow->interval_ns = mp_interval_ns(&flow->estimate, &p->settings->law, flow->floor_ns);
}

#endif
