/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Segments for the daemon's retransmit cache, and orders to send some of them again, in one ring buffer: an
 * order never overtakes the segments that it asks for. Where the daemon is slow and the buffer full,
 * segments go without a copy, and are counted.
 */
#ifndef MESHPACE_BPF_CACHE_H
#define MESHPACE_BPF_CACHE_H

#include "packet.h"

/*
 * The daemon looks at it 20 times a second, and is woken once a quarter waits. Three quarters then last for 20 ms at
 * 300 Mbit/s, more than a mesh carries, and a thread of a machine that is not overloaded runs by then. The daemon maps all
 * of it twice.
 */
#define MP_EVENTS_BYTES (1u << 20)
#define MP_EVENTS_WAKE_BYTES (MP_EVENTS_BYTES / 4)

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, MP_EVENTS_BYTES);
} mp_events SEC(".maps");

/*
 * What the daemon was ordered to send again and did not, since it made room or the host's budget is spent:
 * a flow's sequence number. The duplicate ACKs that ask for it are the sender's to answer.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, struct mp_flow_key);
	__type(value, uint32_t);
} mp_unsent SEC(".maps");

MP_INLINE bool mp_is_unsent(const struct mp_flow_key *key, uint32_t seq)
{
	const uint32_t *unsent = bpf_map_lookup_elem(&mp_unsent, key);

	return unsent && *unsent == seq;
}

/* What each record has beside its bytes (the kernel's BPF_RINGBUF_HDR_SZ). */
#define MP_EVENT_HEAD_BYTES 8u

/*
 * Wakes the daemon when a record makes a quarter full, and not with each one from then on: a wake-up is an interrupt, and
 * costs as much as the copy. Where two processors fill a quarter at once and neither wakes, the next quarter does.
 */
MP_INLINE uint64_t mp_wakeup(uint32_t record_bytes)
{
	uint64_t waiting = bpf_ringbuf_query(&mp_events, BPF_RB_AVAIL_DATA);
	uint64_t before = waiting - ((record_bytes + MP_EVENT_HEAD_BYTES + 7) & ~7u);

	return waiting / MP_EVENTS_WAKE_BYTES == before / MP_EVENTS_WAKE_BYTES ? BPF_RB_NO_WAKEUP : BPF_RB_FORCE_WAKEUP;
}

/* An IPv4 and a TCP header. */
#define MP_CACHED_MIN 40u

MP_INLINE uint32_t mp_cache_event_kind(const struct mp_flow *flow)
{
	if (!flow->at.progress.seen)
		return MP_EVENT_CACHE_FIRST;
	return flow->at.progress.acked_bytes ? MP_EVENT_CACHE : MP_EVENT_CACHE_UNANSWERED;
}

/* Copies a flow's data packet for the retransmit cache. False: not copied. */
MP_INLINE bool mp_cache_segment(struct __sk_buff *skb, const struct mp_packet *p,
			const struct mp_flow_key *key, const struct mp_flow *flow)
{
	uint32_t bytes = p->frame_bytes;
	struct mp_cache_event *segment;

	if (bytes > MP_CACHED_MAX || p->segment.segments > 1 || skb->vlan_present)
		return false;
	segment = bpf_ringbuf_reserve(&mp_events, sizeof(*segment), 0);
	if (!segment)
		return false;
	segment->event.kind = mp_cache_event_kind(flow);
	segment->event.seq = p->segment.seq;
	segment->event.end = p->segment.seq + p->segment.payload_bytes;
	segment->event.ack = flow->at.progress.seen ? flow->at.progress.ack : p->segment.seq;
	segment->event.key = *key;
	segment->bytes = bytes;
	segment->l3 = (uint16_t)p->l3;
	segment->l4 = (uint16_t)p->l4;
	/* The compiler knows the bounds already and would drop what the verifier needs. */
	asm volatile("" : "+r"(bytes));
	if (bytes < MP_CACHED_MIN || bytes > MP_CACHED_MAX ||
	    bpf_skb_load_bytes(skb, 0, segment->frame, bytes)) {
		bpf_ringbuf_discard(segment, BPF_RB_NO_WAKEUP);
		return false;
	}
	bpf_ringbuf_submit(segment, mp_wakeup(sizeof(*segment)));
	return true;
}

/* Copies an ACK's SACK out of the packet. */
MP_INLINE void mp_copy_sack(struct __sk_buff *skb, const struct mp_packet *p, struct mp_sack *sack)
{
	uint64_t last = p->sack.bytes - 1; /* none: far beyond */

	sack->ack = p->segment.ack;
	sack->bytes = 0;
	/* The compiler knows the bounds already and would drop what the verifier needs. */
	asm volatile("" : "+r"(last));
	if (last < MP_SACK_BYTES_MAX &&
	    bpf_skb_load_bytes(skb, (uint32_t)p->l4 + p->sack.at, sack->option, (uint32_t)last + 1) == 0)
		sack->bytes = (uint32_t)last + 1;
}

/* Has the daemon send again what an ACK from the mesh asks for. False: it was not told. */
static __attribute__((noinline)) int mp_order_retransmission(struct __sk_buff *skb, struct mp_packet *p)
{
	struct mp_order *order;

	if (!p)
		return false;
	order = bpf_ringbuf_reserve(&mp_events, sizeof(*order), 0);
	if (!order)
		return false;
	order->event.kind = MP_EVENT_RETRANSMIT;
	order->event.seq = p->acked.again.from;
	order->event.end = p->acked.again.to;
	order->event.ack = p->segment.ack;
	order->event.key = p->key;
	order->event.key.direction = MP_DOWN;
	mp_copy_sack(skb, p, &order->sack);
	bpf_ringbuf_submit(order, BPF_RB_FORCE_WAKEUP);
	return true;
}

#endif
