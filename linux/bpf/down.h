/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Wired-to-wireless flows: when their data leaves, and what the mesh's ACKs tell.
 *
 * Functions that are neither inlined nor static are verified each on its own: the verifier would not follow
 * all of the law in one program. Those that take the packet are static, since on its own a verifier without BTF
 * of the kernel's does not know what it is.
 */
#ifndef MESHPACE_BPF_DOWN_H
#define MESHPACE_BPF_DOWN_H

#include "begins.h"
#include "caps.h"
#include "flows.h"
#include "handshake.h"
#include "cache.h"
#include "lines.h"
#include "strangers.h"
#include "tcpopt.h"
#include "waits.h"

/* Data for the mesh passes; false: it is to be dropped. */
static __attribute__((noinline)) int mp_down_data(struct __sk_buff *skb, struct mp_packet *p)
{
	struct mp_flow_key key;
	struct mp_flow *flow;
	bool copies, stored, answered;

	if (!p)
		return true;
	key = mp_key_of(p, MP_DOWN);
	flow = mp_find_flow(&key);
	mp_mark_if_ordered(skb, p, &key);
	answered = flow && mp_endpoint_down_passes(&flow->at, &p->segment);
	if (!answered && !mp_unanswered_passes(p))
		return false;
	if (answered && mp_flow_begins(flow->at.data_ns, p->segment.now_ns))
		mp_tell_begins(p);
	if (!flow)
		flow = mp_find_or_create_flow(&key, p->segment.now_ns);
	if (!flow)
		return true;
	p->one_way = !flow->at.two_way;
	if (flow->at.first_ns == 0)
		mp_take_handshake(flow, &key, p->segment.now_ns);
	copies = mp_settings.local_retransmission && mp_endpoint_down_copies(&flow->at, &p->segment);
	stored = copies && mp_cache_segment(skb, p, &key, flow);
	bpf_spin_lock(&flow->lock);
	mp_endpoint_down_data(&flow->at, &p->segment, p->segment.now_ns, stored, p->charged);
	bpf_spin_unlock(&flow->lock);
	if (stored)
		mp_count(MP_COUNT_CACHED);
	if (copies && !stored)
		mp_count(MP_COUNT_CACHE_MISSED);
	if (answered)
		mp_asks_for_line(flow, &key, p->segment.now_ns);
	return true;
}

/* A segment from the daemon's retransmit cache. */
__attribute__((noinline)) int mp_down_again(struct mp_packet *p)
{
	struct mp_flow *flow;

	if (!p)
		return 0;
	flow = mp_flow_of(p, MP_DOWN);
	if (!flow)
		return 0;
	bpf_spin_lock(&flow->lock);
	mp_endpoint_down_again(&flow->at, &p->segment);
	bpf_spin_unlock(&flow->lock);
	return 0;
}

/* No data: sets p->met. */
__attribute__((noinline)) int mp_down_no_data(struct mp_packet *p)
{
	struct mp_flow_key key;
	struct mp_flow *flow;

	if (!p)
		return 0;
	key = mp_key_of(p, MP_DOWN);
	flow = mp_find_flow(&key);
	if (!flow) {
		mp_handshake_ends(&key, p->segment.now_ns);
		return 0;
	}
	bpf_spin_lock(&flow->lock);
	if (p->segment.flags & MP_TCP_FIN)
		mp_endpoint_fin(&flow->at, p->segment.seq);
	if (mp_endpoint_is_answered(&flow->at, p->segment.now_ns))
		p->met = true;
	bpf_spin_unlock(&flow->lock);
	return 0;
}

/* Of which the daemon knows nothing. */
const struct mp_host mp_no_host = {};

/*
 * Takes over what the daemon has set since the flow last looked, which is seldom. On its own: the verifier then goes
 * through what follows once, and not for each outcome of the lookups.
 */
__attribute__((noinline)) int mp_down_news(struct mp_packet *p)
{
	uint32_t changes = mp_settings.changes; /* what is set from now on is news again */
	const struct mp_link *link = &mp_settings.default_link;
	const struct mp_host *known;
	const uint64_t *floor_ns;
	struct mp_flow_key key;
	struct mp_flow *flow;
	uint64_t least_ns;

	if (!p)
		return 0;
	key = mp_key_of(p, MP_DOWN);
	flow = mp_find_flow(&key);
	if (!flow)
		return 0;
	known = bpf_map_lookup_elem(&mp_hosts, key.mesh);
	floor_ns = bpf_map_lookup_elem(&mp_floors, &key);
	least_ns = floor_ns ? *floor_ns : 0;
	if (known)
		link = &known->link;
	else
		known = &mp_no_host;
	bpf_spin_lock(&flow->lock);
	/* From there to there: on the stack there is no room for a copy. */
	flow->known_changes = changes;
	flow->host = *known;
	flow->host.link = *link;
	flow->at.path.link = *link;
	flow->at.floor_ns = least_ns;
	bpf_spin_unlock(&flow->lock);
	return 0;
}

/*
 * Hops and bit rate: what the daemon knows, else the TTL, else the default. What the law `map` wants
 * of the link mp_down_news has taken over.
 */
MP_INLINE void mp_set_path(struct mp_flow *flow, const struct mp_packet *p)
{
	uint32_t hops = flow->host.hops;

	if (hops == 0)
		hops = mp_hops_of_ttl(p->segment.ttl);
	flow->at.ttl = p->segment.ttl;
	flow->at.path.hops = hops ? hops : mp_settings.default_hops;
	flow->at.path.kbps = flow->host.kbps ? flow->host.kbps : mp_settings.default_kbps;
	flow->at.path.uneven_q16 = flow->host.uneven_q16;
}

/*
 * What an ACK from the mesh, after mp_down_ack, teaches: the sample, if any, and the interval that
 * follows. On its own, since with the search for the sample's segment the verifier would have to walk
 * through all of the law for each place where that may end.
 */
__attribute__((noinline)) int mp_down_learn(struct mp_packet *p)
{
	struct mp_flow *flow;
	uint64_t before_ns;
	bool changes;

	if (!p)
		return 0;
	flow = mp_flow_of(p, MP_DOWN);
	if (!flow)
		return 0;
	bpf_spin_lock(&flow->lock);
	before_ns = flow->at.interval_ns;
	mp_set_path(flow, p);
	mp_endpoint_down_learn(&flow->at, &mp_settings.law, &p->segment, p->acked.rtt_ticks, mp_settings.shared);
	flow->at.interval_ns = 0;
	if (mp_settings.pace && !flow->host.outside)
		flow->at.interval_ns = mp_interval_ns(&flow->at.estimate, &mp_settings.law,
						      flow->at.floor_ns);
	changes = flow->at.interval_ns != before_ns;
	bpf_spin_unlock(&flow->lock);
	if (changes && mp_settings.held_at)
		mp_line_learns(p);
	return 0;
}

/* An ACK from the mesh did not count. On its own, since it is seldom: the verifier goes through it once. */
__attribute__((noinline)) int mp_down_unfit(struct mp_packet *p)
{
	struct mp_flow *flow;

	if (!p)
		return 0;
	mp_count(MP_COUNT_ACKS_IGNORED);
	flow = mp_flow_of(p, MP_DOWN);
	if (!flow)
		return 0;
	bpf_spin_lock(&flow->lock);
	mp_endpoint_down_unfit(&flow->at, p->segment.ack, p->segment.now_ns);
	bpf_spin_unlock(&flow->lock);
	return 0;
}

/* An ACK from the mesh. Returns what becomes of it, an enum mp_ack_verdict; sets p->acked. */
static __attribute__((noinline)) int mp_down_ack(struct __sk_buff *skb, struct mp_packet *p)
{
	uint32_t verdict = MP_ACK_FORWARD;
	struct mp_flow_key key;
	struct mp_flow *flow;
	bool repeats, bare;

	if (!p)
		return MP_ACK_FORWARD;
	key = mp_key_of(p, MP_DOWN);
	flow = mp_find_flow(&key);
	if (!flow)
		return MP_ACK_FORWARD;
	if (flow->known_changes != mp_settings.changes)
		mp_down_news(p);
	repeats = mp_dupack_repeats(&flow->at.dupack, p->segment.ack);
	bare = mp_is_pure_ack(p) && !(repeats && mp_says_more(p));
	bpf_spin_lock(&flow->lock);
	mp_hear_of_flow(flow, p);
	verdict = mp_endpoint_down_ack(&flow->at, &mp_settings.law, &p->segment, bare, p->sack.top,
				       mp_settings.local_retransmission &&
					       mp_endpoint_has(&flow->at, p->segment.ack, p->segment.now_ns),
				       &p->acked);
	bpf_spin_unlock(&flow->lock);
	if (!p->acked.counts)
		mp_down_unfit(p);
	/* Looked up last, and seldom: before the lock the verifier would walk through all of this twice. */
	if (verdict != MP_ACK_FORWARD && mp_is_unsent(&key, p->segment.ack))
		return MP_ACK_FORWARD;
	if (p->acked.again.from != p->acked.again.to && !mp_order_retransmission(skb, p))
		return MP_ACK_FORWARD;
	return (int)verdict;
}

#endif
