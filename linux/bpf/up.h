/* SPDX-License-Identifier: GPL-2.0-only */
/* Wireless-to-wired flows: the gateway measures RTT_wired and tells the sender, and what the flow shares. */
#ifndef MESHPACE_BPF_UP_H
#define MESHPACE_BPF_UP_H

#include "begins.h"
#include "caps.h"
#include "flows.h"
#include "handshake.h"
#include "cache.h"
#include "tcpopt.h"

/* Data from the mesh: T1 at the wired side is now. */
__attribute__((noinline)) int mp_up_data(struct mp_packet *p)
{
	struct mp_flow_key key;
	struct mp_flow *flow;
	bool asks, begins, of_host;

	if (!p)
		return 0;
	key = mp_key_of(p, MP_UP);
	flow = mp_find_or_create_flow(&key, p->segment.now_ns);
	if (!flow)
		return 0;
	p->one_way = !flow->at.two_way;
	asks = p->asks || (flow->at.first_ns == 0 && mp_handshake_asked(p));
	begins = mp_flow_begins(flow->at.data_ns, p->segment.now_ns);
	bpf_spin_lock(&flow->lock);
	of_host = mp_endpoint_up_data(&flow->at, &p->segment, asks);
	mp_hear_of_flow(flow, p);
	bpf_spin_unlock(&flow->lock);
	if (!of_host)
		mp_count_many(MP_COUNT_NOBODYS_BYTES, p->segment.ip_bytes);
	if (begins)
		mp_tell_begins(p);
	return 0;
}

/* A FIN without data from the mesh. */
__attribute__((noinline)) int mp_up_fin(struct mp_packet *p)
{
	struct mp_flow *flow;

	if (!p)
		return 0;
	flow = mp_flow_of(p, MP_UP);
	if (!flow)
		return 0;
	bpf_spin_lock(&flow->lock);
	mp_endpoint_fin(&flow->at, p->segment.seq);
	bpf_spin_unlock(&flow->lock);
	return 0;
}

/*
 * Keeps an upload's latest pure ACK for the daemon, which sends it again where the path was silent. The
 * lock cannot be held here; what two processors have written at once its checksum tells.
 */
MP_INLINE void mp_keep_ack(struct __sk_buff *skb, struct mp_packet *p, struct mp_flow *flow)
{
	uint32_t bytes = p->frame_bytes;

	if (!mp_settings.law.hop_wait_ns || !mp_is_pure_ack(p) ||
	    !mp_endpoint_up_fits(&flow->at, p->segment.ack) || skb->vlan_present ||
	    mp_is_signed(skb, p)) /* it is to be sent without its timestamp */
		return;
	/* The compiler knows the bounds already and would drop what the verifier needs. */
	asm volatile("" : "+r"(bytes));
	if (bytes < MP_CACHED_MIN || bytes > MP_PURE_ACK_MAX ||
	    bpf_skb_load_bytes(skb, 0, flow->pure_ack, bytes))
		bytes = 0;
	flow->pure_ack_bytes = (uint16_t)bytes;
	flow->pure_ack_l3 = (uint8_t)p->l3;
	flow->pure_ack_l4 = (uint8_t)p->l4;
}

/* A pure ACK leaves that acknowledges p->news bytes more: what one does on average (mp_cap). */
__attribute__((noinline)) int mp_note_ack_bytes(struct mp_packet *p)
{
	struct mp_host_key host;
	struct mp_cap *cap;

	if (!p)
		return 0;
	host = mp_capped_key_of(p, MP_UP);
	cap = bpf_map_lookup_elem(&mp_caps, &host);
	if (!cap)
		return 0;
	bpf_spin_lock(&cap->lock);
	cap->ack_bytes = mp_hold_ack_bytes(cap->ack_bytes, p->news);
	bpf_spin_unlock(&cap->lock);
	return 0;
}

/* An ACK from the wired side. Returns RTT_wired in us, 0 when there is nothing to tell its receiver. */
static __attribute__((noinline)) uint32_t mp_up_ack(struct __sk_buff *skb, struct mp_packet *p)
{
	uint32_t rtt_wired_us = 0;
	struct mp_flow *flow;
	bool counts, tell;

	if (!p)
		return 0;
	flow = mp_flow_of(p, MP_UP);
	if (!flow)
		return 0;
	p->one_way = !flow->at.two_way;
	if (mp_heard_lately(flow->at.data_ns, p->segment.now_ns))
		p->met = true;
	p->fits = mp_endpoint_up_fits(&flow->at, p->segment.ack);
	p->news = mp_endpoint_up_news(&flow->at, p->segment.ack);
	mp_keep_ack(skb, p, flow);
	bpf_spin_lock(&flow->lock);
	counts = mp_endpoint_ack(&flow->at, &p->segment);
	if (counts)
		rtt_wired_us = mp_endpoint_up_sample(&flow->at, &p->segment, p->segment.now_ns);
	tell = mp_settings.option == MP_OPTION_ALWAYS ||
	       (mp_settings.option == MP_OPTION_ASKED && flow->at.asked);
	bpf_spin_unlock(&flow->lock);
	if (!counts)
		mp_count(MP_COUNT_ACKS_IGNORED);
	return tell ? rtt_wired_us : 0;
}

/*
 * A pure ACK is going to tell RTT_wired: whether it tells of others instead. On its own, or the verifier would
 * walk through it for each place where the search for the segment's T1 may end.
 */
__attribute__((noinline)) int mp_up_tell(struct mp_packet *p)
{
	struct mp_host_key host;
	struct mp_flow *flow;
	struct mp_cap *cap;
	uint64_t flow_bytes_per_s;

	if (!p || !mp_settings.law.hop_wait_ns || !mp_settings.pace)
		return 0;
	flow = mp_flow_of(p, MP_UP);
	if (!flow)
		return 0;
	host = mp_capped_key_of(p, MP_UP);
	cap = bpf_map_lookup_elem(&mp_caps, &host);
	flow_bytes_per_s = cap ? cap->flow_bytes_per_s : 0;
	bpf_spin_lock(&flow->lock);
	p->tells_feedback = mp_endpoint_up_feedback(&flow->at, flow_bytes_per_s);
	p->feedback = flow->at.feedback;
	bpf_spin_unlock(&flow->lock);
	return 0;
}

#endif
