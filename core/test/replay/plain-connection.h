/* SPDX-License-Identifier: GPL-2.0-only */
/* The plain gateway: what is counted of a flow, how a connection begins and ends. */
#ifndef MESHPACE_REPLAY_PLAIN_CONNECTION_H
#define MESHPACE_REPLAY_PLAIN_CONNECTION_H

#include "plain-host.h"

/* Counting. */

static inline void touch(struct replay_flow *flow, const struct packet *p)
{
	if (flow->first_ns == 0)
		flow->first_ns = p->now_ns;
	flow->last_ns = p->now_ns;
}

static inline void count_data(struct replay_flow *flow, const struct packet *p, bool new_data)
{
	touch(flow, p);
	mp_progress_data(&flow->progress, flow->sent.max_end, p->in->seq, p->in->len,
			 p->in->flags & TRACE_FIN, new_data);
	flow->data_ns = p->now_ns;
	flow->packets += p->in->segments;
	flow->bytes += p->in->len;
	if (!new_data)
		flow->retransmits += p->in->segments;
	flow->segment_bytes = mp_max_u64(flow->segment_bytes, p->segment_bytes);
}

static inline bool count_ack(struct replay_flow *flow, const struct packet *p)
{
	uint64_t acked_bytes = flow->progress.acked_bytes;

	if (!mp_progress_ack(&flow->progress, flow->sent.max_end, p->in->ack))
		return false;
	touch(flow, p);
	if (flow->progress.acked_bytes != acked_bytes || !flow->unanswered.since_ns)
		mp_unanswered_ends(&flow->unanswered, flow->bytes, p->now_ns);
	return true;
}

static inline void hear_of_flow(struct replay_flow *flow, struct packet *p)
{
	if (mp_heard_to_note(flow->heard_ns, p->now_ns))
		flow->heard_ns = p->now_ns;
	else
		p->heard = true;
}

/* How a connection begins, and breaks. */

static inline void connection_begins(const struct packet *p, bool upwards)
{
	const struct trace_flow *id = &p->in->flow;
	uint32_t i;

	if (p->in->flags & TRACE_ACK) {
		for (i = 0; i < syn_count; i++)
			if (same_flow(&syns[i].id, id) && syns[i].upload != upwards &&
			    syns[i].seq == p->in->ack - 1)
				break;
		if (i == syn_count)
			return;
		syns[i] = syns[--syn_count];
		end_flow(id, true);
		end_flow(id, false);
		return;
	}
	if (!flow_of(p, false) && !flow_of(p, true))
		return;
	if (syn_count == TABLE_SYNS)
		table_full("SYNs");
	syns[syn_count++] = (struct syn){ *id, upwards, p->in->seq };
}

static inline void connection_breaks(const struct packet *p, bool upwards)
{
	struct flow *flow = flow_of(p, upwards), *back = flow_of(p, !upwards);

	if (!flow ||
	    !mp_progress_reset(&flow->state.progress, flow->state.sent.max_end, p->in->seq))
		return;
	if (back)
		back->state.progress.fin = 1;
}

/* Whether the packet does nothing else. */
static inline bool begins_or_breaks(const struct packet *p, bool upwards)
{
	if (p->in->flags & TRACE_RST) {
		connection_breaks(p, upwards);
		return true;
	}
	if (!(p->in->flags & TRACE_SYN))
		return false;
	connection_begins(p, upwards);
	return upwards || !(p->in->flags & TRACE_ACK);
}

static inline void handshake_begins(const struct packet *p)
{
	struct handshake *known = handshake_of(&p->in->flow);

	known->known = mp_handshake_of(&known->known, p->asks, p->in->window_scale, p->now_ns);
}

#endif
