/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who has been heard of in the mesh, and what nobody there answers (core's unanswered.h): the queues in which
 * that waits, virtually. What does not fit is dropped here, at the mesh interface, whatever the release.
 */
#ifndef MESHPACE_BPF_STRANGERS_H
#define MESHPACE_BPF_STRANGERS_H

#include "flows.h"

#include <linux/icmpv6.h>

/* Mesh hosts of which a packet has come; none is made by packets from the wires. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384); /* as many as flows: the daemon sets it before loading */
	__type(key, uint8_t[16]);
	__type(value, struct mp_heard);
} mp_heard SEC(".maps");

/* A host of which nothing has come yet; the stack has no room for it. */
const struct mp_heard mp_not_heard = {};

enum mp_unanswered_of { MP_UNANSWERED_OF_STRANGERS, MP_UNANSWERED_OF_HOSTS, MP_UNANSWERED_QUEUES };

/*
 * Under this lock the queue of a host, too, whose map can have none. So all that is charged meets at one
 * lock: but that is only what nobody has answered.
 */
struct mp_unanswered_all {
	struct bpf_spin_lock lock;
	struct mp_unanswered_queue queue;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MP_UNANSWERED_QUEUES);
	__type(key, uint32_t);
	__type(value, struct mp_unanswered_all);
} mp_unanswered SEC(".maps");

/* IPv4's 224.0.0.0/3 and 169.254.0.0/16, IPv6's ff00::/8 and fe80::/10. */
MP_INLINE bool mp_many_or_link_local(const struct mp_packet *p)
{
	const uint8_t *a = p->key.mesh;

	if (p->v6)
		return a[0] == 0xff || (a[0] == 0xfe && (a[1] & 0xc0) == 0x80);
	return a[12] >= 224 || (a[12] == 169 && a[13] == 254);
}

/* Whether neighbours are looked for: router solicitation to redirect. */
MP_INLINE bool mp_is_neighbour_discovery(struct __sk_buff *skb, const struct mp_packet *p)
{
	uint8_t type = 0;

	if (p->protocol != IPPROTO_ICMPV6)
		return false;
	bpf_skb_load_bytes(skb, (uint32_t)p->l4, &type, sizeof(type));
	return type >= 133 && type <= 137;
}

/* From or to one host of the mesh, and no part of how neighbours find each other: that never counts. */
MP_INLINE bool mp_is_unicast(struct __sk_buff *skb, const struct mp_packet *p)
{
	uint8_t first = 0;

	if (mp_limits.l2_bytes)
		bpf_skb_load_bytes(skb, 0, &first, sizeof(first));
	return !(first & 1) && !mp_many_or_link_local(p) && !mp_is_neighbour_discovery(skb, p);
}

/* NULL: a stranger. */
MP_INLINE struct mp_heard *mp_heard_of(const struct mp_packet *p)
{
	uint8_t address[16];

	__builtin_memcpy(address, p->key.mesh, sizeof(address));
	return bpf_map_lookup_elem(&mp_heard, address);
}

/* A packet of a host of the mesh has come. */
MP_INLINE struct mp_heard *mp_note_heard(const struct mp_packet *p)
{
	struct mp_heard *host = mp_heard_of(p);
	uint8_t address[16];

	if (host) {
		if (mp_heard_to_note(host->heard_ns, p->segment.now_ns))
			host->heard_ns = p->segment.now_ns;
		return host;
	}
	__builtin_memcpy(address, p->key.mesh, sizeof(address));
	bpf_map_update_elem(&mp_heard, address, &mp_not_heard, BPF_NOEXIST);
	host = mp_heard_of(p);
	if (host)
		host->heard_ns = p->segment.now_ns;
	return host;
}

/* Likewise, one whose flow was not heard of for a while, or that has none. */
__attribute__((noinline)) int mp_hear(struct mp_packet *p)
{
	if (p && !mp_many_or_link_local(p))
		mp_note_heard(p);
	return 0;
}

/* Whether a packet fits into the virtual queues of its host, if that was heard of, and of all. */
MP_INLINE bool mp_unanswered_has_room(const struct mp_packet *p, struct mp_heard *host)
{
	uint32_t of = host ? MP_UNANSWERED_OF_HOSTS : MP_UNANSWERED_OF_STRANGERS;
	uint64_t bytes_per_s = mp_settings.unanswered_bytes_per_s;
	struct mp_unanswered_all *all;
	struct mp_host *path;
	uint8_t address[16];
	bool fits, lately;

	__builtin_memcpy(address, p->key.mesh, sizeof(address));
	path = bpf_map_lookup_elem(&mp_hosts, address);
	all = bpf_map_lookup_elem(&mp_unanswered, &of);
	if (!all || bytes_per_s == 0 || (path && path->outside))
		return true;
	lately = host && mp_heard_lately(host->heard_ns, p->segment.now_ns);
	bpf_spin_lock(&all->lock);
	fits = mp_unanswered_fits(&all->queue, host ? &host->unanswered : NULL, lately, bytes_per_s,
				  mp_unanswered_cost(p->segment.ip_bytes, p->segment.segments), p->segment.now_ns);
	bpf_spin_unlock(&all->lock);
	if (!fits)
		mp_count(MP_COUNT_UNANSWERED_DROPPED);
	return fits;
}

/*
 * What is no data of a flow passes, to a host that was heard lately or within limits; false: it is to be dropped. What a SYN
 * carries is data that nobody has answered.
 */
MP_INLINE bool mp_stranger_may(const struct mp_packet *p, struct mp_heard *host)
{
	if (!p->segment.payload_bytes && host && mp_heard_lately(host->heard_ns, p->segment.now_ns))
		return true;
	return mp_unanswered_has_room(p, host);
}

static __attribute__((noinline)) int mp_stranger_passes(struct __sk_buff *skb, struct mp_packet *p)
{
	if (!p || !mp_settings.unanswered_bytes_per_s || !mp_is_unicast(skb, p))
		return true;
	return mp_stranger_may(p, mp_heard_of(p));
}

/*
 * Data passes of a flow that does not count as answered, or that is astray; false: it is to be dropped, before it counts, and
 * makes no flow. Sets p->charged.
 */
__attribute__((noinline)) int mp_unanswered_passes(struct mp_packet *p)
{
	enum mp_unanswered_verdict verdict = MP_UNANSWERED_CHARGED;
	struct mp_flow *flow;

	if (!p)
		return true;
	flow = mp_flow_of(p, MP_DOWN);
	if (flow) {
		bpf_spin_lock(&flow->lock);
		verdict = mp_endpoint_down_judge(&flow->at, &p->segment);
		bpf_spin_unlock(&flow->lock);
	}
	if (verdict == MP_UNANSWERED_PASSES || !mp_settings.unanswered_bytes_per_s)
		return true;
	if (verdict == MP_UNANSWERED_LOST) {
		mp_count(MP_COUNT_UNANSWERED_DROPPED);
		return false;
	}
	if (!mp_unanswered_has_room(p, mp_heard_of(p)))
		return false;
	if (verdict == MP_UNANSWERED_CHARGED)
		p->charged = mp_unanswered_cost(p->segment.ip_bytes, p->segment.segments);
	return true;
}

/* A flow is answered: what it was charged for waits no longer. */
__attribute__((noinline)) int mp_unanswered_end(struct mp_packet *p)
{
	uint32_t of = MP_UNANSWERED_OF_HOSTS;
	struct mp_unanswered_all *all;
	struct mp_heard *host;
	uint64_t bytes_per_s = mp_settings.unanswered_bytes_per_s;

	if (!p || !bytes_per_s)
		return 0;
	host = mp_heard_of(p);
	all = bpf_map_lookup_elem(&mp_unanswered, &of);
	if (!host || !all)
		return 0;
	bpf_spin_lock(&all->lock);
	mp_unanswered_take_back(&all->queue, &host->unanswered, bytes_per_s, p->acked.charged, p->segment.now_ns);
	bpf_spin_unlock(&all->lock);
	return 0;
}

#endif
