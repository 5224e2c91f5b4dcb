/* SPDX-License-Identifier: GPL-2.0-only */
/* The plain gateway: how a connection begins and ends. */
#ifndef MESHPACE_REPLAY_PLAIN_CONNECTION_H
#define MESHPACE_REPLAY_PLAIN_CONNECTION_H

#include "plain-host.h"

static inline void hear_of_flow(struct flow *flow, struct packet *p)
{
	p->heard = !mp_endpoint_hears(&flow->state.at, p->now_ns) || p->heard;
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

	if (!flow || !mp_endpoint_reset(&flow->state.at, p->in->seq))
		return;
	if (back)
		back->state.at.progress.fin = 1;
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
