/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Replays traces over core/ alone, in plain C: the gateway as it is meant, without a kernel. What comes out is
 * what every other host must do. It does in order what linux/bpf/gateway.bpf.c does, with tables in place of
 * maps and one caller in place of locks.
 *
 * usage: replay-plain [-l] [-s] TRACE...    writes the traces with their outcomes; -s: with all states; -l: as on
 * Linux, where no departure is fixed on arrival, whatever the trace sets
 */
#include "plain-down.h"
#include "plain-up.h"

static bool is_on_linux;

/* The two hooks. */

static bool other_to_mesh(struct packet *p)
{
	struct host *host = host_of(p->in->flow.v6, p->in->flow.host);
	struct cap *cap = &standing_host(&p->in->flow)->cap[0];

	if (!stranger_passes(p))
		return false;
	if (!is_even(p))
		return true;
	if (p->settings->pace && p->settings->stamp) { /* elsewhere UDP has waited by now */
		uint64_t departure_ns = cap_departure(cap, false, p->ready_ns, p->ip_bytes,
						      MP_CAP_WAIT_NS, true);

		if (!departure_ns)
			return false;
		p->departure_ns = departure_ns;
	}
	if (host->heard)
		host->other_bytes[0] += p->ip_bytes;
	return true;
}

static void wait_for_host(struct packet *p)
{
	struct cap *cap = &standing_host(&p->in->flow)->cap[0];

	p->turn_ns = cap->set ? mp_turn_interval_ns(cap->cap_bytes_per_s, p->in->len, 1) : 0;
	p->ready_ns = cap_departure(cap, false, p->ready_ns, p->in->len, MP_HORIZON_NS, false);
}

static bool tcp_to_mesh(struct packet *p, struct replay_outcome *outcome)
{
	if (begins_or_breaks(p, false))
		return stranger_passes(p);
	if (p->in->len > 0 && !(p->in->flags & TRACE_SYN)) {
		if (p->settings->stamp && p->settings->pace)
			wait_for_host(p);
		if (!wait_passes(p, outcome) || !down_data(p))
			return false;
		if (!p->one_way && p->in->flags & TRACE_ACK)
			up_ack(p);
		return true;
	}
	if (p->in->flags & TRACE_ACK)
		up_ack(p);
	if (!p->one_way)
		down_no_data(p);
	return p->met || stranger_passes(p);
}

static void to_mesh(struct packet *p, struct replay_outcome *outcome)
{
	bool passes = p->in->udp ? other_to_mesh(p) : tcp_to_mesh(p, outcome);

	outcome->verdict = passes ? REPLAY_PASSES : REPLAY_DROPPED;
	if (!passes)
		return;
	if (p->settings->stamp && p->departure_ns > p->now_ns)
		outcome->wait_ns = p->departure_ns - p->now_ns;
	if (p->rtt_wired_us && is_pure_ack(p))
		up_tell(p, outcome);
}

static void ack_from_mesh(struct packet *p, struct replay_outcome *outcome)
{
	enum mp_ack_verdict verdict = down_ack(p);

	if (p->acked.counts)
		down_learn(p);
	if (p->acked.charged)
		unanswered_end(p);
	outcome->verdict = verdict == MP_ACK_FORWARD ? REPLAY_PASSES :
			   verdict == MP_ACK_PLAIN   ? REPLAY_PLAIN :
						       REPLAY_WITHHELD;
	outcome->copy = p->acked.again.from != p->acked.again.to;
}

static void from_mesh(struct packet *p, struct replay_outcome *outcome)
{
	struct host *host;

	if (p->in->udp) {
		hear(p);
		host = host_of(p->in->flow.v6, p->in->flow.host);
		host->other_bytes[1] += host->other_bytes[0] ? p->ip_bytes : 0;
		if (!datagram_passes(p, outcome))
			outcome->verdict = REPLAY_DROPPED;
		return;
	}
	p->asks = p->settings->option == 1 && p->in->asks && !p->in->has_signature;
	if (p->in->flags & TRACE_SYN && !(p->in->flags & TRACE_RST))
		handshake_begins(p);
	if (begins_or_breaks(p, true)) {
		hear(p);
		return;
	}
	if (p->in->len > 0 && !police_passes(p, outcome)) {
		outcome->verdict = REPLAY_DROPPED;
		return;
	}
	if (p->in->len > 0)
		up_data(p);
	else if (p->in->flags & TRACE_FIN) {
		struct flow *flow = flow_of(p, true);

		if (flow)
			mp_endpoint_fin(&flow->state.at, p->in->seq);
	}
	if (p->in->flags & TRACE_ACK && !p->one_way)
		ack_from_mesh(p, outcome);
	if (!p->heard)
		hear(p);
}

static void replay_begin(void)
{
	forget_all();
}

static void replay_configure(const struct trace_event *event)
{
	const struct trace_flow *id = &event->packet.flow;
	struct host *host = host_of(id->v6, id->host);
	struct cap *cap = &host->cap[event->upwards];

	switch (event->kind) {
	case TRACE_HOST:
		host->hops = event->hops;
		host->kbps = event->kbps;
		host->outside = event->outside;
		changes++;
		break;
	case TRACE_CAP:
		if (event->number == 0)
			memset(cap, 0, sizeof(*cap));
		cap->set = event->number != 0;
		cap->cap_bytes_per_s = event->number;
		cap->flow_bytes_per_s = event->each;
		break;
	case TRACE_FLOOR:
		*floor_for(id) = event->number;
		changes++;
		break;
	case TRACE_ALIAS:
		host->has_alias = true;
		host->alias_of = event->of;
		break;
	case TRACE_UNSENT:
		place_of(id, false)->unsent = true;
		place_of(id, false)->unsent_seq = (uint32_t)event->number;
		break;
	case TRACE_FORGET:
		if (find_flow(id, event->upwards))
			find_flow(id, event->upwards)->state.known = false;
		if (!event->upwards)
			*floor_for(id) = 0;
		break;
	case TRACE_MARK:
		place_of(id, false)->mark = true;
		break;
	default:
		break;
	}
}

static void replay_packet(const struct trace_event *event, struct replay_outcome *outcome)
{
	const struct trace_packet *in = &event->packet;
	struct trace_settings settings = event->settings;
	struct packet p = { .in = in, .settings = &settings, .now_ns = event->now_ns };

	settings.stamp = settings.stamp && !is_on_linux;
	p.ready_ns = p.departure_ns = p.now_ns;
	p.tcp_bytes = 20 + in->option_bytes;
	p.ip_bytes = (in->flow.v6 ? 40 : 20) + (in->udp ? 8 : p.tcp_bytes) + in->len;
	p.segment_bytes = in->len / in->segments;
	if (event->kind == TRACE_AGAIN) {
		down_again(&p);
		return;
	}
	if (event->kind == TRACE_UP) {
		from_mesh(&p, outcome);
		return;
	}
	if (in->own_ns < MP_HORIZON_NS && !in->udp)
		p.ready_ns += in->own_ns;
	to_mesh(&p, outcome);
}

static void replay_look(const struct trace_flow *id, bool upload, struct replay_flow *state)
{
	const struct flow *flow = find_flow(id, upload);

	memset(state, 0, sizeof(*state));
	if (flow)
		*state = flow->state;
}

static void replay_look_at_host(const struct trace_flow *id, struct replay_host *state)
{
	const struct host *host = host_of(id->v6, id->host), *standing = standing_host(id);
	int up;

	memset(state, 0, sizeof(*state));
	state->heard_ns = host->heard_ns;
	state->unanswered_ns = host->unanswered.empty_ns;
	for (up = 0; up < 2; up++) {
		state->other_bytes[up] = host->other_bytes[up];
		state->cap_bytes_per_s[up] = standing->cap[up].cap_bytes_per_s;
		state->cap_last_ns[up] = standing->cap[up].pace.pacer.last_ns;
		state->ended[up] = host->ended[up];
	}
	state->police_ns = standing->cap[1].police.empty_ns;
}

int main(int argc, char **argv)
{
	is_on_linux = argc > 1 && strcmp(argv[1], "-l") == 0;
	return replay_arguments(argc, argv, 1 + is_on_linux);
}
