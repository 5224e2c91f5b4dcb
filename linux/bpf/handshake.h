/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is known of a connection before its first data makes a flow, in a table in which the longest
 * unused entry makes room: so a flood of SYNs takes no more memory, whatever it asks.
 */
#ifndef MESHPACE_BPF_HANDSHAKE_H
#define MESHPACE_BPF_HANDSHAKE_H

#include "flows.h"
#include "tcpopt.h"

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384); /* as many as flows: the daemon sets it before loading */
	__type(key, struct mp_flow_key);
	__type(value, struct mp_handshake);
} mp_handshakes SEC(".maps");

/* A SYN or SYN-ACK from the mesh. */
static __attribute__((noinline)) int mp_handshake_begins(struct __sk_buff *skb, struct mp_packet *p)
{
	struct mp_handshake handshake;
	struct mp_flow_key key;

	if (!p)
		return 0;
	mp_read_options(skb, p);
	key = mp_key_of(p, MP_DOWN);
	handshake = mp_handshake_of(bpf_map_lookup_elem(&mp_handshakes, &key), p->asks,
				    p->window_scale, p->segment.now_ns);
	bpf_map_update_elem(&mp_handshakes, &key, &handshake, BPF_ANY);
	return 0;
}

/* An ACK of the wired end's, before its data. */
MP_INLINE void mp_handshake_ends(const struct mp_flow_key *key, uint64_t now_ns)
{
	struct mp_handshake *handshake = bpf_map_lookup_elem(&mp_handshakes, key);

	if (handshake)
		mp_handshake_answered(handshake, now_ns);
}

/* A download's first data: RTT_wired, and how its receiver's windows are scaled, where that is known. */
MP_INLINE void mp_take_handshake(struct mp_flow *flow, const struct mp_flow_key *key,
				 uint64_t now_ns)
{
	struct mp_handshake *handshake = bpf_map_lookup_elem(&mp_handshakes, key);

	if (!handshake)
		return;
	mp_endpoint_down_begins(&flow->at, mp_handshake_answered(handshake, now_ns),
				handshake->window_scale);
}

/* Whether the mesh end's SYN asked for RTT_wired. */
MP_INLINE bool mp_handshake_asked(const struct mp_packet *p)
{
	struct mp_flow_key key = mp_key_of(p, MP_DOWN);
	const struct mp_handshake *handshake = bpf_map_lookup_elem(&mp_handshakes, &key);

	return handshake && handshake->asked;
}

#endif
