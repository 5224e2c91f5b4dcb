/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a connection ends, or begins anew under the same ports. Anybody can forge a SYN or a RST; so only
 * what fits the sequence numbers of both ends, which a third party does not know, changes a flow.
 */
#ifndef MESHPACE_BPF_CONNECTION_H
#define MESHPACE_BPF_CONNECTION_H

#include "flows.h"

/* A SYN under ports whose flows are known. Its number is in the key: no later SYN takes its place. */
struct mp_syn {
	struct mp_flow_key key; /* its direction: that of the SYN's own data */
	uint32_t seq;
};

/*
 * Waiting for its SYN-ACK, which takes a round trip. Only connections that begin anew under ports that
 * were used within the idle time-out are in it, so that a few would do; whose entry a flood of such SYNs
 * has pushed out keeps its old flows until they are idle.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, struct mp_syn);
	__type(value, uint32_t);
} mp_syns SEC(".maps");

MP_INLINE uint32_t mp_other_way(uint32_t direction)
{
	return direction == MP_DOWN ? MP_UP : MP_DOWN;
}

/*
 * A SYN from the end whose data goes this way. One without ACK is only remembered: an end that still has
 * the old connection does not take it (RFC 5961, section 4). When the other end answers it the old
 * connection is none any more, and its flows end.
 */
__attribute__((noinline)) int mp_connection_begins(struct mp_packet *p, uint32_t direction)
{
	struct mp_syn syn = {};
	uint32_t one = 1;

	if (!p)
		return 0;
	if (p->segment.flags & MP_TCP_ACK) {
		syn.key = mp_key_of(p, mp_other_way(direction));
		syn.seq = p->segment.ack - 1;
		if (bpf_map_delete_elem(&mp_syns, &syn))
			return 0;
		mp_end_flow(&syn.key);
		syn.key.direction = direction;
		mp_end_flow(&syn.key);
		return 0;
	}
	if (!mp_flow_of(p, MP_DOWN) && !mp_flow_of(p, MP_UP))
		return 0;
	syn.key = mp_key_of(p, direction);
	syn.seq = p->segment.seq + p->segment.payload_bytes; /* taken, too, where there is some (RFC 7413) */
	bpf_map_update_elem(&mp_syns, &syn, &one, BPF_ANY);
	syn.seq = p->segment.seq;
	bpf_map_update_elem(&mp_syns, &syn, &one, BPF_ANY);
	return 0;
}

/*
 * A RST from the end whose data goes this way. It counts where its receiver takes it: exactly where the
 * data goes on (RFC 5961, section 3), as its sender or its receiver sees it. Then the connection is finished;
 * its flows stay until they are idle, with what they have counted. Where no data has told its
 * sequence numbers nobody knows, and nothing changes.
 */
__attribute__((noinline)) int mp_connection_breaks(struct mp_packet *p, uint32_t direction)
{
	struct mp_flow *flow, *back;
	bool fits;

	if (!p)
		return 0;
	flow = mp_flow_of(p, direction);
	if (!flow) {
		mp_count(MP_COUNT_RESETS_IGNORED);
		return 0;
	}
	bpf_spin_lock(&flow->lock);
	fits = mp_endpoint_reset(&flow->at, p->segment.seq);
	bpf_spin_unlock(&flow->lock);
	if (!fits) {
		mp_count(MP_COUNT_RESETS_IGNORED);
		return 0;
	}
	back = mp_flow_of(p, mp_other_way(direction));
	if (!back)
		return 0;
	bpf_spin_lock(&back->lock);
	back->at.progress.fin = 1;
	bpf_spin_unlock(&back->lock);
	return 0;
}

#endif
