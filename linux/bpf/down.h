/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Wired-to-wireless flows: when their data leaves, and what the mesh's ACKs tell.
 *
 * Functions that are not inlined are verified each on its own: the verifier would not follow all of
 * the law in one program.
 */
#ifndef MESHPACE_BPF_DOWN_H
#define MESHPACE_BPF_DOWN_H

#include "flows.h"
#include "store.h"

/* From here on the store has every segment: without a copy, from the next one on. */
MP_INLINE void mp_note_stored(struct mp_flow *flow, const struct mp_packet *p, bool stored)
{
	if (stored && flow->storing)
		return;
	flow->stored_from = stored ? p->seq : p->seq + p->payload_bytes;
	flow->storing = stored;
}

/*
 * The departure of a packet that sch_fq holds; elsewhere it departs now. Under the lock. When pacing
 * ends a packet still waits for those before it, so that none overtakes.
 */
MP_INLINE void mp_set_departure(struct mp_flow *flow, struct mp_packet *p)
{
	uint64_t interval_ns = mp_settings.pace ? flow->interval_ns : 0;

	if (mp_settings.stamp)
		p->departure_ns = mp_departure_ns(&flow->pacer, p->ready_ns, interval_ns);
	mp_departed_together(&flow->pacer, p->departure_ns, interval_ns, p->segments);
}

/* Data for the mesh. Sets p->departure_ns. */
__attribute__((noinline)) int mp_down_data(struct __sk_buff *skb, struct mp_packet *p)
{
	bool stored, missed, new_data;
	struct mp_flow_key key;
	struct mp_flow *flow;

	if (!p)
		return 0;
	key = mp_key_of(p, MP_DOWN);
	flow = mp_find_or_create_flow(&key, p->now_ns);
	if (!flow)
		return 0;
	stored = mp_settings.local_retransmission && mp_store(skb, p, &key, flow->ack);
	missed = mp_settings.local_retransmission && !stored;
	bpf_spin_lock(&flow->lock);
	mp_set_departure(flow, p);
	new_data = mp_sent_record(&flow->sent, p->seq, p->payload_bytes, p->departure_ns);
	mp_count_data(flow, p, new_data);
	if (new_data)
		mp_note_stored(flow, p, stored);
	flow->path.data_bytes = (uint32_t)mp_max_u64(flow->path.data_bytes, mp_packet_bytes(p));
	bpf_spin_unlock(&flow->lock);
	if (stored)
		mp_count(MP_COUNT_STORED);
	if (missed)
		mp_count(MP_COUNT_STORE_MISSED);
	return 0;
}

/* A segment from the daemon's store: leaves at once, and its ACK gives no sample (Karn). */
__attribute__((noinline)) int mp_down_again(struct mp_packet *p)
{
	struct mp_flow_key key;
	struct mp_flow *flow;

	if (!p)
		return 0;
	key = mp_key_of(p, MP_DOWN);
	flow = mp_find_flow(&key);
	if (!flow)
		return 0;
	bpf_spin_lock(&flow->lock);
	mp_departed(&flow->pacer, mp_max_u64(flow->pacer.last_ns, p->now_ns));
	mp_sent_record(&flow->sent, p->seq, p->payload_bytes, p->now_ns);
	flow->local_retransmits++;
	bpf_spin_unlock(&flow->lock);
	return 0;
}

/* No data, but it must not overtake data that waits: p->departure_ns is that of the latest. */
__attribute__((noinline)) int mp_down_no_data(struct mp_packet *p)
{
	struct mp_flow_key key;
	struct mp_flow *flow;

	if (!p)
		return 0;
	key = mp_key_of(p, MP_DOWN);
	flow = mp_find_flow(&key);
	if (!flow)
		return 0;
	bpf_spin_lock(&flow->lock);
	if (flow->pacer.started)
		p->departure_ns = mp_max_u64(flow->pacer.last_ns, p->now_ns);
	if (p->flags & MP_TCP_FIN)
		flow->fin = 1;
	bpf_spin_unlock(&flow->lock);
	return 0;
}

/* Hops and bit rate: what the daemon knows, else the TTL, else the default. */
MP_INLINE struct mp_host mp_find_host(const struct mp_packet *p, const struct mp_flow_key *key)
{
	const struct mp_host *known = bpf_map_lookup_elem(&mp_hosts, key->mesh);
	struct mp_host host = {};

	if (known)
		host = *known;
	if (host.hops == 0)
		host.hops = mp_hops_of_ttl(p->ttl);
	if (host.hops == 0)
		host.hops = mp_settings.default_hops;
	if (host.kbps == 0)
		host.kbps = mp_settings.default_kbps;
	return host;
}

/* The sample that an ACK gives, if any, and the interval that follows. Under the lock. */
MP_INLINE void mp_learn(struct mp_flow *flow, const struct mp_packet *p,
			const struct mp_host *host)
{
	uint32_t rtt_ticks = mp_sent_ack(&flow->sent, p->ack, p->now_ns);

	flow->ttl = p->ttl;
	flow->path.hops = host->hops;
	flow->path.kbps = host->kbps;
	flow->path.ack_bytes = p->ip_bytes - p->payload_bytes;
	mp_estimate_add(&flow->estimate, &mp_settings.law, &flow->path, rtt_ticks);
	flow->interval_ns = 0;
	if (mp_settings.pace && !host->outside)
		flow->interval_ns = mp_interval_ns(&flow->estimate, &mp_settings.law,
						   flow->floor_ns);
}

/* An ACK from the mesh. Returns what becomes of it, an enum mp_ack_verdict. */
__attribute__((noinline)) int mp_down_ack(struct mp_packet *p)
{
	uint32_t verdict = MP_ACK_FORWARD;
	const uint64_t *floor_ns;
	struct mp_flow_key key;
	struct mp_flow *flow;
	struct mp_host host;
	bool stored;

	if (!p)
		return MP_ACK_FORWARD;
	key = mp_key_of(p, MP_DOWN);
	flow = mp_find_flow(&key);
	if (!flow)
		return MP_ACK_FORWARD;
	host = mp_find_host(p, &key);
	floor_ns = bpf_map_lookup_elem(&mp_floors, &key);
	bpf_spin_lock(&flow->lock);
	if (mp_count_ack(flow, p)) {
		flow->floor_ns = floor_ns ? *floor_ns : 0;
		mp_dupack_count(&flow->dupack, p->ack, p->payload_bytes, p->window,
				flow->sent.max_end);
		mp_learn(flow, p, &host);
		stored = mp_settings.local_retransmission && flow->storing &&
			 mp_seq_up_to(flow->stored_from, p->ack);
		verdict = mp_dupack_verdict(&flow->dupack, stored && mp_is_pure_ack(p), p->now_ns,
					    mp_window_mean_ns(&flow->estimate.window));
	}
	bpf_spin_unlock(&flow->lock);
	if (verdict == MP_ACK_RETRANSMIT && !mp_order_retransmission(&key, p->ack))
		return MP_ACK_FORWARD;
	return (int)verdict;
}

#endif
