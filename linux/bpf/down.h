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

#include "caps.h"
#include "flows.h"
#include "handshake.h"
#include "store.h"
#include "strangers.h"
#include "tcpopt.h"

/*
 * From here on the store has every segment: without a copy, from the next one on; behind a gap, from
 * this one on, since what was lost on the way here the store never saw.
 */
MP_INLINE void mp_note_stored(struct mp_flow *flow, const struct mp_packet *p, bool stored, bool gap)
{
	if (stored && flow->storing && !gap)
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

/*
 * Data comes: whether nothing was under way, which of a new flow holds as well. Without a branch, for each
 * of which the verifier would walk through all that follows.
 */
MP_INLINE void mp_note_pause(struct mp_flow *flow, const struct mp_packet *p)
{
	uint64_t under_way = flow->progress.ack ^ flow->sent.max_end;
	uint64_t paused = 0 - ((under_way - 1) >> 63); /* all ones, or none */

	asm volatile("" : "+r"(paused));
	flow->paused_ns = (p->now_ns & paused) | (flow->paused_ns & ~paused);
}

/* Data for the mesh passes; false: it is to be dropped. Sets p->departure_ns. */
static __attribute__((noinline)) int mp_down_data(struct __sk_buff *skb, struct mp_packet *p)
{
	bool stored, missed, new_data, gap;
	struct mp_flow_key key;
	struct mp_flow *flow;

	if (!p)
		return true;
	key = mp_key_of(p, MP_DOWN);
	flow = mp_find_flow(&key);
	if (!(flow && mp_is_answered(&flow->unanswered, p->now_ns)) && !mp_unanswered_passes(p))
		return false;
	if (!flow)
		flow = mp_find_or_create_flow(&key, p->now_ns);
	if (!flow)
		return true;
	p->one_way = !flow->two_way;
	if (flow->first_ns == 0)
		mp_take_handshake(flow, &key, p->now_ns);
	stored = mp_settings.local_retransmission && mp_store(skb, p, &key, flow);
	missed = mp_settings.local_retransmission && !stored;
	bpf_spin_lock(&flow->lock);
	mp_set_departure(flow, p);
	mp_note_pause(flow, p);
	gap = mp_seq_before(flow->sent.max_end, p->seq);
	new_data = mp_sent_record(&flow->sent, p->seq, p->payload_bytes, p->departure_ns);
	mp_count_data(flow, p, new_data);
	flow->unanswered.charged += p->charged;
	if (new_data)
		mp_note_stored(flow, p, stored, gap);
	flow->path.data_bytes = (uint32_t)mp_max_u64(
		flow->path.data_bytes, p->ip_bytes - p->payload_bytes + p->segment_bytes);
	bpf_spin_unlock(&flow->lock);
	if (stored)
		mp_count(MP_COUNT_STORED);
	if (missed)
		mp_count(MP_COUNT_STORE_MISSED);
	return true;
}

/* A segment from the daemon's store: leaves at once, and its ACK gives no sample (Karn). */
__attribute__((noinline)) int mp_down_again(struct mp_packet *p)
{
	struct mp_flow *flow;

	if (!p)
		return 0;
	flow = mp_flow_of(p, MP_DOWN);
	if (!flow)
		return 0;
	bpf_spin_lock(&flow->lock);
	mp_departed(&flow->pacer, mp_follow_ns(&flow->pacer, p->now_ns));
	mp_sent_record(&flow->sent, p->seq, p->payload_bytes, p->now_ns);
	mp_dupack_sent(&flow->dupack, p->seq + p->payload_bytes);
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
	if (!flow) {
		mp_handshake_ends(&key, p->now_ns);
		return 0;
	}
	bpf_spin_lock(&flow->lock);
	if (flow->pacer.started)
		p->departure_ns = mp_follow_ns(&flow->pacer, p->departure_ns);
	if (mp_is_answered(&flow->unanswered, p->now_ns))
		p->met = true;
	if (p->flags & MP_TCP_FIN)
		mp_progress_fin(&flow->progress, flow->sent.max_end, p->seq);
	bpf_spin_unlock(&flow->lock);
	return 0;
}

/* What the daemon has set since the flow last looked. Before the lock is taken, which bars lookups. */
struct mp_news {
	uint32_t changes;
	struct mp_host host;
	uint64_t floor_ns;
};

MP_INLINE struct mp_news mp_look_up_news(const struct mp_flow_key *key)
{
	struct mp_news news = {
		.changes = mp_settings.changes,
		.host.link = mp_settings.default_link,
	};
	const struct mp_host *host = bpf_map_lookup_elem(&mp_hosts, key->mesh);
	const uint64_t *floor_ns = bpf_map_lookup_elem(&mp_floors, key);

	if (host)
		news.host = *host;
	if (floor_ns)
		news.floor_ns = *floor_ns;
	return news;
}

MP_INLINE void mp_take_news(struct mp_flow *flow, const struct mp_news *news)
{
	if (news->changes == 0)
		return;
	flow->known_changes = news->changes;
	flow->host = news->host;
	flow->path.link = news->host.link;
	flow->floor_ns = news->floor_ns;
}

/*
 * Hops and bit rate: what the daemon knows, else the TTL, else the default. What the law `map` wants
 * of the link came with the daemon's news.
 */
MP_INLINE void mp_set_path(struct mp_flow *flow, const struct mp_packet *p)
{
	uint32_t hops = flow->host.hops;

	if (hops == 0)
		hops = mp_hops_of_ttl(p->ttl);
	flow->ttl = p->ttl;
	flow->path.hops = hops ? hops : mp_settings.default_hops;
	flow->path.kbps = flow->host.kbps ? flow->host.kbps : mp_settings.default_kbps;
	flow->path.uneven_q16 = flow->host.uneven_q16;
	flow->path.ack_bytes = p->ip_bytes - p->payload_bytes;
}

/*
 * What an ACK from the mesh, after mp_down_ack, teaches: the sample, if any, and the interval that
 * follows. On its own, since with the search for the sample's segment the verifier would have to walk
 * through all of the law for each place where that may end.
 */
__attribute__((noinline)) int mp_down_learn(struct mp_packet *p)
{
	struct mp_flow *flow;

	if (!p)
		return 0;
	flow = mp_flow_of(p, MP_DOWN);
	if (!flow)
		return 0;
	bpf_spin_lock(&flow->lock);
	mp_set_path(flow, p);
	mp_estimate_share(&flow->estimate, mp_settings.sharers);
	mp_estimate_add(&flow->estimate, &mp_settings.law, &flow->path, p->rtt_ticks, p->now_ns,
			p->ack);
	flow->interval_ns = 0;
	if (mp_settings.pace && !flow->host.outside)
		flow->interval_ns = mp_interval_ns(&flow->estimate, &mp_settings.law,
						   flow->floor_ns);
	bpf_spin_unlock(&flow->lock);
	return 0;
}

/* An ACK from the mesh. Returns what becomes of it, an enum mp_ack_verdict; sets p->acks. */
static __attribute__((noinline)) int mp_down_ack(struct __sk_buff *skb, struct mp_packet *p)
{
	uint32_t verdict = MP_ACK_FORWARD;
	struct mp_news news = {};
	struct mp_flow_key key;
	struct mp_flow *flow;
	bool stored, repeats;

	if (!p)
		return MP_ACK_FORWARD;
	key = mp_key_of(p, MP_DOWN);
	flow = mp_find_flow(&key);
	if (!flow)
		return MP_ACK_FORWARD;
	if (flow->known_changes != mp_settings.changes)
		news = mp_look_up_news(&key);
	/* Asked only of what may be a duplicate: most ACKs are none. */
	repeats = mp_dupack_repeats(&flow->dupack, p->ack);
	p->bare = mp_is_pure_ack(p) && !(repeats && mp_says_more(skb, p));
	bpf_spin_lock(&flow->lock);
	mp_take_news(flow, &news);
	mp_hear_of_flow(flow, p);
	if (mp_count_ack(flow, p)) {
		p->acks = true;
		p->rtt_ticks = mp_sent_ack(&flow->sent, p->ack, p->now_ns);
		p->charged = flow->unanswered.charged;
		flow->unanswered.charged = 0;
		stored = mp_settings.local_retransmission && flow->storing &&
			 mp_seq_up_to(flow->stored_from, p->ack);
		if (mp_dupack_count(&flow->dupack, p->ack, p->bare, p->window, flow->sent.max_end))
			verdict = mp_dupack_verdict(&flow->dupack, stored, p->now_ns,
						    mp_window_mean_ns(&flow->estimate.window));
	}
	bpf_spin_unlock(&flow->lock);
	if (!p->acks)
		mp_count(MP_COUNT_ACKS_IGNORED);
	/* Looked up last, and seldom: before the lock the verifier would walk through all of this twice. */
	if (verdict != MP_ACK_FORWARD && mp_is_unsent(&key, p->ack))
		return MP_ACK_FORWARD;
	if (verdict == MP_ACK_RETRANSMIT && !mp_order_retransmission(&key, p->ack))
		return MP_ACK_FORWARD;
	return (int)verdict;
}

#endif
