/* SPDX-License-Identifier: GPL-2.0-only */
/* The plain gateway: packets, and their hosts: who was heard, what nobody answers, caps. */
#ifndef MESHPACE_REPLAY_PLAIN_HOST_H
#define MESHPACE_REPLAY_PLAIN_HOST_H

#include "table.h"

struct packet {
	const struct trace_packet *in;
	const struct trace_settings *settings;
	uint64_t now_ns, ready_ns, departure_ns, turn_ns;
	uint32_t ip_bytes, tcp_bytes, segment_bytes, charged, rtt_wired_us;
	bool asks, one_way, heard, met;
	struct mp_acked acked;
};

static inline bool is_pure_ack(const struct packet *p)
{
	return p->in->len == 0 &&
	       (p->in->flags & (TRACE_ACK | TRACE_SYN | TRACE_FIN | TRACE_RST)) == TRACE_ACK;
}

static inline bool is_even(const struct packet *p)
{
	return p->settings->law.hop_wait_ns != 0;
}

static inline struct flow *flow_of(const struct packet *p, bool upload)
{
	return find_flow(&p->in->flow, upload);
}

/* The packet as core's endpoints look at it. */
static inline struct mp_segment segment_of(const struct packet *p)
{
	struct mp_segment segment = {
		.now_ns = p->now_ns,
		.seq = p->in->seq,
		.ack = p->in->ack,
		.window = p->in->window,
		.payload_bytes = p->in->len,
		.ip_bytes = p->ip_bytes,
		.segments = p->in->segments,
		.segment_bytes = p->segment_bytes,
		.flags = (uint8_t)p->in->flags,
		.ttl = (uint8_t)p->in->ttl,
	};

	if (p->in->option_bytes >= MP_ECHO_LOOK_BYTES)
		mp_echo_read(p->in->options, &segment.stamp, &segment.echo);
	return segment;
}

/* Who was heard lately, and what nobody answers. */

static inline void hear(const struct packet *p)
{
	struct host *host = host_of(p->in->flow.v6, p->in->flow.host);

	if (!host->heard) {
		host->unanswered.empty_ns = 0;
		host->heard_ns = p->now_ns;
	} else if (mp_heard_to_note(host->heard_ns, p->now_ns)) {
		host->heard_ns = p->now_ns;
	}
	host->heard = true;
}

static inline bool has_room(const struct packet *p)
{
	struct host *host = host_of(p->in->flow.v6, p->in->flow.host);

	if (!p->settings->unanswered_bytes_per_s || host->outside)
		return true;
	return mp_unanswered_fits(host->heard ? &of_hosts : &of_strangers,
				  host->heard ? &host->unanswered : NULL,
				  host->heard && mp_heard_lately(host->heard_ns, p->now_ns),
				  p->settings->unanswered_bytes_per_s,
				  mp_unanswered_cost(p->ip_bytes, p->in->segments), p->now_ns);
}

static inline bool stranger_passes(const struct packet *p)
{
	const struct host *host = host_of(p->in->flow.v6, p->in->flow.host);
	bool data = !p->in->udp && p->in->len; /* of a SYN, which nobody has answered */

	if (!p->settings->unanswered_bytes_per_s)
		return true;
	return (!data && host->heard && mp_heard_lately(host->heard_ns, p->now_ns)) || has_room(p);
}

static inline bool unanswered_passes(struct packet *p)
{
	struct mp_segment segment = segment_of(p);
	struct flow *flow = flow_of(p, false);
	enum mp_unanswered_verdict verdict = MP_UNANSWERED_CHARGED;

	if (flow)
		verdict = mp_endpoint_down_judge(&flow->state.at, &segment);
	if (verdict == MP_UNANSWERED_PASSES || !p->settings->unanswered_bytes_per_s)
		return true;
	if (verdict == MP_UNANSWERED_LOST || !has_room(p))
		return false;
	if (verdict == MP_UNANSWERED_CHARGED)
		p->charged = mp_unanswered_cost(p->ip_bytes, p->in->segments);
	return true;
}

static inline void unanswered_end(const struct packet *p)
{
	struct host *host = host_of(p->in->flow.v6, p->in->flow.host);
	uint64_t bytes_per_s = p->settings->unanswered_bytes_per_s;

	if (!bytes_per_s || !host->heard)
		return;
	mp_unanswered_take_back(&of_hosts, &host->unanswered, bytes_per_s, p->acked.charged, p->now_ns);
}

/* Caps. */

static inline uint64_t cap_departure(struct cap *cap, bool up, uint64_t ready_ns, uint32_t bytes,
			      uint64_t most_ns, bool refuses)
{
	enum mp_too_long then = refuses ? MP_TOO_LONG_IS_REFUSED : MP_TOO_LONG_LEAVES;

	if (!cap->set)
		return ready_ns;
	return mp_host_departure_ns(&cap->pace, mp_held_bytes_per_s(cap->cap_bytes_per_s, up), ready_ns, bytes, most_ns,
				    then);
}

static inline bool datagram_passes(const struct packet *p, struct replay_outcome *outcome)
{
	struct cap *cap = &standing_host(&p->in->flow)->cap[1];
	enum mp_hold_verdict verdict;

	if (!p->settings->pace || !is_even(p) || !cap->set)
		return true;
	verdict = mp_police_datagram(&cap->police, cap->cap_bytes_per_s, p->ip_bytes, p->in->ecn != 0, p->now_ns);
	outcome->marked = verdict == MP_HOLD_MARKS && p->in->ecn != 3;
	return verdict != MP_HOLD_LOSES;
}

static inline bool police_passes(const struct packet *p, struct replay_outcome *outcome)
{
	struct cap *cap = &standing_host(&p->in->flow)->cap[1];
	struct mp_segment segment = segment_of(p);
	struct flow *flow;

	if (!p->settings->pace || !is_even(p) || !cap->set ||
	    !mp_police_exceeds(&cap->police, cap->cap_bytes_per_s, p->in->len, p->now_ns))
		return true;
	flow = flow_of(p, true);
	if (!flow)
		return true;
	if (!mp_endpoint_up_notifies(&flow->state.at, &segment))
		return true;
	outcome->marked = p->in->ecn == 1 || p->in->ecn == 2;
	return outcome->marked;
}

#endif
