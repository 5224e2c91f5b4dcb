/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What comes, for a trace (core/test/traces) that the daemon writes with --record. Without that the verifier
 * takes all of this out of the programs.
 */
#ifndef MESHPACE_BPF_RECORD_H
#define MESHPACE_BPF_RECORD_H

#include "tcpopt.h"

/* At 100,000 packets a second the daemon has a fifth of a second. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20); /* the daemon does without it where nothing is recorded */
} mp_records SEC(".maps");

MP_INLINE void mp_record_options(struct __sk_buff *skb, const struct mp_packet *p,
				 struct mp_record *record)
{
	uint32_t last = p->tcp_bytes - MP_TCP_HEADER_MIN - 1; /* no options: far beyond */

	/* The compiler knows the bounds already and would drop what the verifier needs: of Linux 6.1 a length from 1 on. */
	asm volatile("" : "+r"(last));
	if (last >= MP_TCP_OPTIONS_MAX ||
	    bpf_skb_load_bytes(skb, (uint32_t)p->l4 + MP_TCP_HEADER_MIN, record->options, last + 1))
		return;
	record->option_bytes = (uint8_t)(last + 1);
}

MP_INLINE void mp_record_tcp(struct __sk_buff *skb, const struct mp_packet *p,
			     struct mp_record *record)
{
	record->seq = p->segment.seq;
	record->ack = p->segment.ack;
	record->window = (uint16_t)p->segment.window;
	record->flags = p->segment.flags;
	record->payload_bytes = p->segment.payload_bytes;
	mp_record_options(skb, p, record);
}

/* A packet comes that has been read, before anything comes of it. */
MP_INLINE void mp_record(struct __sk_buff *skb, const struct mp_packet *p,
			 enum mp_direction direction, bool is_tcp)
{
	struct mp_record *record;

	if (!mp_limits.records || !p->segment.ip_bytes)
		return;
	record = bpf_ringbuf_reserve(&mp_records, sizeof(*record), 0);
	if (!record) {
		mp_count(MP_COUNT_RECORDS_LOST);
		return;
	}
	__builtin_memset(record, 0, sizeof(*record));
	record->now_ns = p->segment.now_ns;
	record->key = p->key;
	record->key.direction = direction;
	record->bytes = p->segment.ip_bytes;
	record->segments = p->segment.segments;
	record->protocol = is_tcp ? IPPROTO_TCP : IPPROTO_UDP;
	record->ttl = p->segment.ttl;
	record->ecn = p->ecn;
	record->again = skb->mark == MP_MARK_LOCAL;
	if (direction == MP_DOWN && skb->ingress_ifindex == 0 && skb->tstamp > p->segment.now_ns)
		record->own_ns = skb->tstamp - p->segment.now_ns;
	if (is_tcp)
		mp_record_tcp(skb, p, record);
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

#endif
