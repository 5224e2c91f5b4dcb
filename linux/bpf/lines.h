/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where packets wait that the kernel holds: a flow in a line of its own, what is no flow's in those of its host (intf.h,
 * enum mp_line). Each line has a class of HTB, which the daemon makes when it is told that one is needed, and whose rate
 * follows the line's interval.
 */
#ifndef MESHPACE_BPF_LINES_H
#define MESHPACE_BPF_LINES_H

#include "caps.h"
#include "flows.h"

/* Set by the daemon, which makes classes and takes them away. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 2048);
	__type(key, struct mp_flow_key);
	__type(value, struct mp_class);
} mp_classes SEC(".maps");

/* Whether there are classes at all; set by the daemon. */
uint32_t mp_has_lines SEC(".data.lined");

/* Of each class, by its whole number, which its packets bear as skb->priority: its line. Likewise. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 2048);
	__type(key, uint32_t);
	__type(value, struct mp_flow_key);
} mp_class_lines SEC(".maps");

/* struct mp_line_news. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 << 10);
} mp_lines SEC(".maps");

/* Whether nothing more is to wait than must not overtake: pacing ends, or the daemon hangs. */
MP_INLINE bool mp_hold_drains(uint64_t now_ns)
{
	return !mp_settings.pace || mp_settings.holds != MP_HOLDS_ALL || !mp_alive(now_ns);
}

/* A packet's bucket in bounds. The compiler knows them already and would drop what the verifier needs. */
MP_INLINE uint32_t mp_bucket_in_bounds(const struct mp_packet *p)
{
	uint32_t bucket = p->bucket;

	asm volatile("" : "+r"(bucket));
	return bucket & (MP_UDP_BUCKETS - 1);
}

/* How many packets of a packet's bucket wait in a host's line. */
MP_INLINE uint32_t *mp_of_bucket(struct mp_class *class, const struct mp_packet *p)
{
	return &class->of_bucket[mp_bucket_in_bounds(p)];
}

/* Tells the daemon that a line needs a class, or its class another rate. False: there was no room to tell it. */
MP_INLINE bool mp_tell_line(const struct mp_flow_key *key, uint64_t interval_ns)
{
	struct mp_line_news *news = bpf_ringbuf_reserve(&mp_lines, sizeof(*news), 0);

	if (!news)
		return false;
	news->key = *key;
	news->interval_ns = interval_ns;
	bpf_ringbuf_submit(news, 0);
	return true;
}

/*
 * Whether a packet need not look for its line: there is none, and no host has a cap for which it would have to wait. A flow
 * that has an interval asks for its line where it is known (mp_asks_for_line).
 */
MP_INLINE bool mp_has_no_line(void)
{
	return !mp_has_lines && !mp_settings.host_lines;
}

/* The first of all lines is asked for by the flow that has an interval, when its data passes. */
MP_INLINE void mp_asks_for_line(const struct mp_flow *flow, const struct mp_flow_key *key, uint64_t now_ns)
{
	if (flow->at.interval_ns && mp_settings.held_at && mp_has_no_line() && !mp_hold_drains(now_ns))
		mp_tell_line(key, flow->at.interval_ns);
}

/* A class's rate is to follow this interval from now on. */
MP_INLINE void mp_follow_interval(struct mp_class *class, const struct mp_flow_key *key, uint64_t interval_ns,
				  uint64_t now_ns)
{
	struct mp_hold_told told = { interval_ns, now_ns };

	if (!mp_hold_is_news(class->told, interval_ns, now_ns) || !mp_tell_line(key, interval_ns))
		return;
	bpf_spin_lock(&class->lock);
	class->told = told;
	mp_hold_tell(&class->hold, interval_ns);
	bpf_spin_unlock(&class->lock);
}

/* The interval of a flow has changed: its class, if it has one, is told. */
__attribute__((noinline)) int mp_line_learns(struct mp_packet *p)
{
	struct mp_flow *flow = p ? mp_flow_of(p, MP_DOWN) : NULL;
	struct mp_class *class;
	struct mp_flow_key key;

	if (!p || !flow)
		return 0;
	key = mp_key_of(p, MP_DOWN);
	class = bpf_map_lookup_elem(&mp_classes, &key);
	if (class)
		mp_follow_interval(class, &key, flow->at.interval_ns, p->segment.now_ns);
	return 0;
}

/* The key of a line; of a host's by its standing address. On its own: the verifier goes through what follows once. */
__attribute__((noinline)) int mp_line_key(struct mp_packet *p, struct mp_flow_key *key)
{
	if (!p || !key)
		return 0;
	*key = mp_key_of(p, MP_DOWN);
	if (p->line == MP_LINE_FLOW)
		return 0;
	__builtin_memset(key->wired, 0, sizeof(key->wired));
	key->mesh_port = p->line;
	key->wired_port = 0;
	if (p->line == MP_LINE_ACKS)
		key->direction = MP_UP;
	if (mp_settings.aliases)
		mp_stand_for_host((struct mp_address *)key->mesh);
	return 0;
}

#endif
