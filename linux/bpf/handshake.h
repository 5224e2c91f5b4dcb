/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is known of a connection before its first data makes a flow, in a table in which the longest
 * unused entry makes room: so a flood of SYNs takes no more memory, whatever it asks.
 *
 * RTT_wired of a flow to the mesh, whose data cannot tell it: from the mesh end's SYN or SYN-ACK to
 * the first packet of the wired end that acknowledges it. And whether the mesh end asked for RTT_wired, and
 * how its windows are scaled.
 */
#ifndef MESHPACE_BPF_HANDSHAKE_H
#define MESHPACE_BPF_HANDSHAKE_H

#include "flows.h"
#include "tcpopt.h"

struct mp_handshake {
	uint64_t began_ns; /* 0: sent more than once, whose answer is it? (Karn) */
	uint32_t rtt_us;   /* 0: not answered yet */
	uint16_t asked;    /* for RTT_wired, in the SYN */
	uint16_t window_scale; /* one more than the shift */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384); /* as many as flows: the daemon sets it before loading */
	__type(key, struct mp_flow_key);
	__type(value, struct mp_handshake);
} mp_handshakes SEC(".maps");

/* A SYN or SYN-ACK from the mesh. */
static __attribute__((noinline)) int mp_handshake_begins(struct __sk_buff *skb, struct mp_packet *p)
{
	struct mp_handshake handshake = {};
	const struct mp_handshake *before;
	struct mp_flow_key key;

	if (!p)
		return 0;
	mp_read_options(skb, p);
	key = mp_key_of(p, MP_DOWN);
	before = bpf_map_lookup_elem(&mp_handshakes, &key);
	handshake.began_ns = before && before->rtt_us == 0 ? 0 : p->now_ns;
	handshake.asked = p->asks;
	handshake.window_scale = (uint16_t)mp_max_u64(p->window_scale, 1);
	bpf_map_update_elem(&mp_handshakes, &key, &handshake, BPF_ANY);
	return 0;
}

/* The wired end has answered, now at the latest. Returns RTT_wired in us, 0 where it is not known. */
MP_INLINE uint32_t mp_handshake_answered(struct mp_handshake *handshake, uint64_t now_ns)
{
	if (handshake->rtt_us == 0 && handshake->began_ns)
		handshake->rtt_us = (uint32_t)mp_max_u64(
			(now_ns - handshake->began_ns) / MP_NS_PER_US, 1);
	return handshake->rtt_us;
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
	flow->rtt_wired_us = mp_handshake_answered(handshake, now_ns);
	flow->window_scale = (uint8_t)handshake->window_scale;
}

/* Whether the mesh end's SYN asked for RTT_wired. */
MP_INLINE bool mp_handshake_asked(const struct mp_packet *p)
{
	struct mp_flow_key key = mp_key_of(p, MP_DOWN);
	const struct mp_handshake *handshake = bpf_map_lookup_elem(&mp_handshakes, &key);

	return handshake && handshake->asked;
}

#endif
