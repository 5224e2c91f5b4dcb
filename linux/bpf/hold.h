/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Packets that the kernel holds (core's hold.h). One that has to wait is given the number of its class and sent, by the filter
 * behind the gateway's, to an ifb whose HTB holds it; from there it comes to the mesh interface a second time, and
 * is looked at as if it had just come. What is written into it meanwhile is taken out again then.
 *
 *     to the mesh -> mp_to_mesh -> waits -> mp_wait: redirected -> ifb, HTB -> mp_to_mesh -> leaves
 *                              '-> leaves
 */
#ifndef MESHPACE_BPF_HOLD_H
#define MESHPACE_BPF_HOLD_H

#include "begins.h"
#include "places.h"
#include "strangers.h"
#include "waits.h"

/* What is kept in skb->cb of a packet that waits. */
enum mp_kept {
	MP_KEPT_MAGIC,    /* with its enum mp_line */
	MP_KEPT_STOOD,    /* units up to its own, when it came */
	MP_KEPT_CAME_BY,  /* the interface by which it came to this box; 0: made here */
	MP_KEPT_BEFORE,   /* units that had come to its line before it, ever */
	MP_KEPT_PRIORITY, /* its skb->priority */
};
#define MP_WAITS_MAGIC 0x6d707700u
#define MP_WAITS_LINE 0xffu

/* Whether a packet waits, or has waited. */
MP_INLINE bool mp_is_kept(const struct __sk_buff *skb)
{
	return (skb->cb[MP_KEPT_MAGIC] & ~MP_WAITS_LINE) == MP_WAITS_MAGIC;
}

/* Data of a flow that is answered. */
MP_INLINE enum mp_hold_verdict mp_hold_data(struct mp_class *class, const struct mp_flow *flow, struct mp_packet *p,
					    uint64_t held_bytes_per_s)
{
	struct mp_waits_for waits_for = mp_waits_for_of(&flow->at.estimate, flow->at.interval_ns,
							flow->at.rtt_wired_us);
	uint64_t turn_ns = mp_turn_interval_ns(held_bytes_per_s, p->segment.segment_bytes, 1);
	enum mp_hold_verdict verdict = MP_HOLD_PASSES;

	bpf_spin_lock(&class->lock);
	if (mp_lets_go(class, p)) {
		waits_for = mp_hold_waits_for(&class->hold, waits_for, held_bytes_per_s != 0, turn_ns);
		verdict = mp_hold_judge(&class->hold, &mp_settings.law, &waits_for, mp_ecn_capable(p),
					p->segment.now_ns);
		if (verdict != MP_HOLD_LOSES)
			mp_take_place_in_line(class, p, p->segment.segments);
	}
	bpf_spin_unlock(&class->lock);
	return verdict;
}

/* Whether something of a packet's bucket waits in a line. */
MP_INLINE bool mp_has_bucket(struct mp_class *class, const struct mp_packet *p)
{
	if (!mp_hold_waiting(&class->hold))
		*mp_of_bucket(class, p) = 0;
	return *mp_of_bucket(class, p) != 0;
}

/*
 * Data of a flow that is answered comes behind what waits with the new ones for so long. Where nobody judged it, it would keep
 * itself there. MP_HOLD_PASSES: it has no line of its own.
 */
__attribute__((noinline)) int mp_judge_follower(struct mp_packet *p, uint64_t wait_ns)
{
	struct mp_waits_for waits_for;
	enum mp_hold_verdict verdict;
	const struct mp_flow *flow;
	struct mp_flow_key key;
	struct mp_class *own;
	uint64_t apart_ns;

	if (!p)
		return MP_HOLD_PASSES;
	key = mp_key_of(p, MP_DOWN);
	flow = mp_find_flow(&key);
	own = bpf_map_lookup_elem(&mp_classes, &key);
	if (flow && !own)
		mp_tell_line(&key, flow->at.interval_ns);
	if (!flow || !own)
		return MP_HOLD_PASSES;
	waits_for = mp_waits_for_of(&flow->at.estimate, flow->at.interval_ns, flow->at.rtt_wired_us);
	apart_ns = mp_hold_apart_ns(flow->at.interval_ns, p->held_bytes_per_s);
	bpf_spin_lock(&own->lock);
	verdict = mp_hold_judge_follower(&own->hold, &waits_for, wait_ns, apart_ns, mp_ecn_capable(p), p->segment.now_ns);
	bpf_spin_unlock(&own->lock);
	return (int)verdict;
}

/*
 * In the host's line of flows that nobody has answered yet: their data, and what must not overtake data that waits there
 * although the flow has been answered meanwhile. follows: nothing else is to wait there.
 */
__attribute__((noinline)) int mp_hold_new(struct mp_packet *p, uint32_t follows)
{
	enum mp_hold_verdict verdict = MP_HOLD_PASSES;
	struct mp_flow_key key = { 0 };
	struct mp_class *class;

	if (!p)
		return MP_HOLD_PASSES;
	p->line = MP_LINE_NEW;
	mp_line_key(p, &key);
	class = bpf_map_lookup_elem(&mp_classes, &key);
	if (!class) {
		if (!follows)
			mp_tell_line(&key, 0);
		return MP_HOLD_PASSES;
	}
	if (!mp_has_bucket(class, p) && follows)
		return MP_HOLD_PASSES;
	if (follows && (!p->segment.payload_bytes || mp_hold_drains(p->segment.now_ns))) {
		verdict = mp_follows(class, p);
	} else {
		if (p->answered)
			verdict = mp_judge_follower(p, mp_hold_new_waits_ns(&class->hold, p->held_bytes_per_s));
		verdict = mp_hold_other(class, p, verdict);
	}
	if (verdict == MP_HOLD_WAITS || verdict == MP_HOLD_MARKS)
		mp_joins_bucket(class, p);
	return (int)verdict;
}

/* In the flow's own line, with an interval or by its host's cap. follows: nothing is to wait that would not overtake. */
__attribute__((noinline)) int mp_hold_flow(struct mp_packet *p, uint32_t follows)
{
	struct mp_flow_key key = { 0 };
	struct mp_class *class;
	struct mp_flow *flow;

	if (!p)
		return MP_HOLD_PASSES;
	p->line = MP_LINE_FLOW;
	key = mp_key_of(p, MP_DOWN);
	flow = mp_find_flow(&key);
	if (!flow)
		return MP_HOLD_PASSES;
	class = bpf_map_lookup_elem(&mp_classes, &key);
	if (class && !follows)
		mp_follow_interval(class, &key, flow->at.interval_ns, p->segment.now_ns);
	follows |= !flow->at.interval_ns && !p->held_bytes_per_s;
	if (class && follows)
		return mp_follows(class, p);
	if (follows)
		return MP_HOLD_PASSES;
	if (!class) {
		mp_tell_line(&key, flow->at.interval_ns);
		return MP_HOLD_PASSES;
	}
	return mp_hold_data(class, flow, p, p->held_bytes_per_s);
}

/* What a packet's host is held to; 0: nothing. */
MP_INLINE uint64_t mp_held_of(const struct mp_packet *p)
{
	struct mp_host_key key;
	const struct mp_cap *cap;

	if (!mp_settings.host_lines)
		return 0;
	key = mp_capped_key_of(p, MP_DOWN);
	cap = bpf_map_lookup_elem(&mp_caps, &key);
	return cap ? mp_held_bytes_per_s(cap->cap_bytes_per_s, false) : 0;
}

/* What data waits for: sets p->held_bytes_per_s and p->answered. */
__attribute__((noinline)) int mp_knows(struct mp_packet *p)
{
	const struct mp_flow *flow;

	if (!p)
		return 0;
	p->held_bytes_per_s = mp_held_of(p);
	flow = mp_flow_of(p, MP_DOWN);
	p->answered = flow && mp_endpoint_is_answered(&flow->at, p->segment.now_ns);
	return 0;
}

/* Whether something waits in the flow's own line. */
__attribute__((noinline)) int mp_waits_in_own(struct mp_packet *p)
{
	const struct mp_class *class;
	struct mp_flow_key key;

	if (!p)
		return false;
	key = mp_key_of(p, MP_DOWN);
	class = bpf_map_lookup_elem(&mp_classes, &key);
	return class && mp_hold_waiting(&class->hold);
}

/*
 * TCP to the mesh, but SYNs without data: whether it waits, and in which line. drains: nothing is to wait that would not
 * overtake. A flow that has no class, since there are enough or until there is one, waits in the line of new ones for its host's cap.
 * Nothing of a flow waits there any more of which something waits in its own line: the bucket is another's then.
 * Returns an enum mp_hold_verdict.
 */
MP_INLINE int mp_hold_tcp(struct mp_packet *p, bool drains)
{
	bool data = p->segment.payload_bytes > 0, own = mp_settings.host_lines && mp_waits_in_own(p);
	int verdict = MP_HOLD_PASSES;
	bool answered, capped;

	mp_knows(p);
	answered = p->answered;
	capped = p->held_bytes_per_s && !drains;
	if (mp_settings.host_lines && !own)
		verdict = mp_hold_new(p, !capped || !data || answered);
	if (verdict == MP_HOLD_PASSES && (!data || answered || own))
		verdict = mp_hold_flow(p, drains || !data);
	if (verdict == MP_HOLD_PASSES && data && answered && capped && !p->unheld)
		verdict = mp_hold_new(p, false);
	return verdict;
}

/* An acknowledgement of a capped host's own data waits as that data would. */
__attribute__((noinline)) int mp_hold_ack(struct mp_packet *p)
{
	struct mp_host_key host = { .direction = MP_UP };
	struct mp_flow_key key = { 0 };
	struct mp_class *class;
	uint32_t ack_bytes;
	struct mp_cap *cap;
	bool drains;

	if (!p || !mp_settings.host_lines)
		return MP_HOLD_PASSES;
	drains = mp_hold_drains(p->segment.now_ns);
	p->line = MP_LINE_ACKS;
	mp_line_key(p, &key);
	class = bpf_map_lookup_elem(&mp_classes, &key);
	__builtin_memcpy(host.address, key.mesh, sizeof(host.address));
	cap = bpf_map_lookup_elem(&mp_caps, &host);
	ack_bytes = cap ? cap->ack_bytes : 0;
	p->held_bytes_per_s = cap ? mp_held_bytes_per_s(cap->cap_bytes_per_s, true) : 0;
	if (class && (drains || !p->held_bytes_per_s || !ack_bytes)) {
		if (!drains)
			mp_follow_interval(class, &key, 0, p->segment.now_ns);
		return mp_follows(class, p);
	}
	if (!p->held_bytes_per_s || !ack_bytes)
		return MP_HOLD_PASSES;
	if (!class) {
		mp_tell_line(&key, mp_rate_interval_ns(p->held_bytes_per_s, ack_bytes));
		return MP_HOLD_PASSES;
	}
	mp_follow_interval(class, &key, mp_hold_ack_interval_ns(&class->hold, p->held_bytes_per_s, ack_bytes),
			   p->segment.now_ns);
	/* The more ACKs wait, the faster they leave. */
	return mp_hold_other(class, p, MP_HOLD_WAITS);
}

/* One of the two lines of what is not TCP; NULL: it has no class yet, for which the daemon is asked. */
MP_INLINE struct mp_class *mp_other_at(struct mp_flow_key *key, enum mp_line line, bool follows)
{
	struct mp_class *class;

	key->mesh_port = line;
	class = bpf_map_lookup_elem(&mp_classes, key);
	if (!class && !follows)
		mp_tell_line(key, 0);
	return class;
}

/* How many buckets have something waiting in a line. */
MP_INLINE uint32_t mp_buckets(const struct mp_class *class)
{
	uint32_t bucket, buckets = 0;

#pragma clang loop unroll(disable) vectorize(disable)
	for (bucket = 0; bucket < MP_UDP_BUCKETS; bucket++)
		buckets += class->of_bucket[bucket] != 0;
	return buckets;
}

/* Whether a packet may go first, before those that wait in bulk; if so, its bucket has its turn with that. */
MP_INLINE bool mp_may_go_first(struct mp_class *sparse, const struct mp_class *bulk, const struct mp_packet *p)
{
	uint32_t *ends = &sparse->turn_ends[mp_bucket_in_bounds(p)];

	if (mp_hold_has_turn(&bulk->hold, *ends))
		return false;
	*ends = mp_hold_turn_ends(&bulk->hold, mp_units(p), mp_buckets(bulk));
	return true;
}

/*
 * The line of what is not TCP, by fq_codel's rule (RFC 8290): sparse is of whose bucket nothing waits, and who has had no turn
 * of late. HTB serves that line before all others of its host, so that the second of a bucket, which waits with the others,
 * leaves after the first. But each line has a packet a minute for which HTB asks no host (a byte a second is the least rate of
 * its own): nobody is sparse while nothing waits with the others, or that packet might be a second one. Nothing begins to
 * wait until there are both lines.
 */
MP_INLINE struct mp_class *mp_other_line(struct mp_packet *p, struct mp_flow_key *key, bool follows)
{
	struct mp_class *sparse = mp_other_at(key, MP_LINE_SPARSE, follows);
	struct mp_class *bulk = mp_other_at(key, MP_LINE_BULK, follows);
	bool first, others;

	p->line = MP_LINE_BULK;
	if (!sparse)
		return bulk && mp_hold_waiting(&bulk->hold) ? bulk : NULL;
	first = mp_has_bucket(sparse, p);
	others = bulk && mp_has_bucket(bulk, p);
	if (bulk && (others || !mp_hold_waiting(&bulk->hold) || first) && !(follows && first && !others))
		return bulk;
	if (bulk && !follows && !mp_may_go_first(sparse, bulk, p))
		return bulk;
	p->line = MP_LINE_SPARSE;
	return bulk || mp_hold_waiting(&sparse->hold) ? sparse : NULL;
}

/* What is not TCP, likewise. drains: as above. */
__attribute__((noinline)) int mp_hold_datagram(struct mp_packet *p, uint32_t drains)
{
	struct mp_class *class;
	enum mp_hold_verdict verdict;
	struct mp_flow_key key = { 0 };
	bool follows;

	if (!p || !mp_settings.host_lines)
		return MP_HOLD_PASSES;
	p->line = MP_LINE_SPARSE;
	p->held_bytes_per_s = mp_held_of(p);
	follows = drains || !p->held_bytes_per_s;
	mp_line_key(p, &key);
	class = mp_other_line(p, &key, follows);
	if (!class)
		return MP_HOLD_PASSES;
	verdict = follows ? mp_follows(class, p) : mp_hold_other(class, p, MP_HOLD_PASSES);
	if (verdict == MP_HOLD_WAITS || verdict == MP_HOLD_MARKS)
		mp_joins_bucket(class, p);
	return (int)verdict;
}

/* A packet leaves a host's line: so much less of its bucket. */
MP_INLINE void mp_leaves_bucket(struct mp_class *class, const struct mp_packet *p)
{
	if (*mp_of_bucket(class, p) >= p->segment.segments)
		__sync_fetch_and_sub(mp_of_bucket(class, p), p->segment.segments);
}

/*
 * A packet leaves that waited: in which line its class tells. Its host may go by another address than when it came, and
 * what would be looked for by that has another count.
 */
__attribute__((noinline)) int mp_hold_ends(struct mp_packet *p)
{
	const struct mp_flow_key *line;
	struct mp_class *class;
	struct mp_flow_key key;
	uint64_t returned_ns;
	uint32_t number;

	if (!p)
		return 0;
	returned_ns = mp_hold_returned_ns(mp_returned_ns, p->segment.now_ns);
	if (returned_ns != mp_returned_ns)
		mp_returned_ns = returned_ns;
	number = p->number;
	line = bpf_map_lookup_elem(&mp_class_lines, &number);
	if (!line) /* its class was given up meanwhile, with what it counted */
		return 0;
	key = *line;
	class = bpf_map_lookup_elem(&mp_classes, &key);
	if (!class)
		return 0;
	if (p->line != MP_LINE_FLOW && p->line != MP_LINE_ACKS)
		mp_leaves_bucket(class, p);
	bpf_spin_lock(&class->lock);
	mp_hold_has_left(&class->hold, p->before);
	mp_hold_leaves(&class->hold, mp_units(p), p->stood, class->told.interval_ns, p->came_ns, p->segment.now_ns);
	bpf_spin_unlock(&class->lock);
	return 0;
}

/* Whether a packet comes to the interface a second time: what was kept in it is taken out again. */
MP_INLINE bool mp_comes_back(struct __sk_buff *skb, struct mp_packet *p)
{
	if (!mp_settings.held_at || skb->ingress_ifindex != mp_settings.held_at || !mp_is_kept(skb))
		return false;
	p->back = true;
	p->stood = skb->cb[MP_KEPT_STOOD];
	p->came_by = skb->cb[MP_KEPT_CAME_BY];
	p->line = skb->cb[MP_KEPT_MAGIC] & MP_WAITS_LINE;
	p->before = skb->cb[MP_KEPT_BEFORE];
	p->came_ns = skb->tstamp;
	p->number = skb->priority;
	skb->tstamp = 0;
	skb->priority = skb->cb[MP_KEPT_PRIORITY];
	return true;
}

/* The packet goes to wait. */
MP_INLINE void mp_sends_to_wait(struct __sk_buff *skb, const struct mp_packet *p)
{
	skb->cb[MP_KEPT_MAGIC] = MP_WAITS_MAGIC | p->line;
	skb->cb[MP_KEPT_STOOD] = p->stood;
	skb->cb[MP_KEPT_CAME_BY] = p->came_by;
	skb->cb[MP_KEPT_BEFORE] = p->before;
	skb->cb[MP_KEPT_PRIORITY] = skb->priority;
	skb->priority = p->number;
	skb->tstamp = p->segment.now_ns;
	mp_count(MP_COUNT_PACED);
}

/*
 * What becomes of a packet to the mesh, which comes for the first time, or back; an enum mp_hold_verdict. On its own: the
 * verifier goes through what follows once, and not for each line.
 */
__attribute__((noinline)) int mp_hold_or_leave(struct mp_packet *p, uint32_t tcp)
{
	bool drains;

	if (!p)
		return MP_HOLD_PASSES;
	if (p->back) {
		mp_hold_ends(p);
		return MP_HOLD_PASSES;
	}
	drains = mp_hold_drains(p->segment.now_ns);
	if (!tcp)
		return mp_hold_datagram(p, drains);
	if (p->segment.flags & MP_TCP_SYN && !p->segment.payload_bytes)
		return MP_HOLD_PASSES;
	return mp_hold_tcp(p, drains);
}

/* Whether a packet may be made to wait at all. */
MP_INLINE bool mp_may_wait(struct __sk_buff *skb, const struct mp_packet *p, bool tcp)
{
	if (mp_settings.holds == MP_HOLDS_NOTHING || skb->mark == MP_MARK_LOCAL || !p->segment.ip_bytes)
		return false;
	return tcp || mp_is_unicast(skb, p);
}

/* Has a packet wait that has to, and takes note of one that has waited. Returns an enum mp_hold_verdict. */
static __attribute__((noinline)) int mp_hold(struct __sk_buff *skb, struct mp_packet *p, bool tcp)
{
	int verdict;

	if (!p->back) {
		skb->cb[MP_KEPT_MAGIC] = 0;
		if (mp_has_no_line() || !mp_may_wait(skb, p, tcp))
			return MP_HOLD_PASSES;
	}
	if (mp_settings.host_lines || p->back)
		p->bucket = mp_bucket_of(skb, p, true);
	verdict = mp_hold_or_leave(p, tcp);
	if (verdict == MP_HOLD_PASSES && tcp && !p->back && mp_is_pure_ack(p))
		verdict = mp_hold_ack(p);
	if (p->unheld)
		mp_count(MP_COUNT_UNHELD);
	/* It has its place in line, and waits where it cannot be marked, too. */
	if (verdict == MP_HOLD_MARKS)
		mp_mark(skb, p, MP_COUNT_WAIT_MARKED);
	if (verdict == MP_HOLD_LOSES)
		mp_count(tcp ? MP_COUNT_WAIT_DROPPED : MP_COUNT_UDP_DROPPED);
	else if (verdict != MP_HOLD_PASSES)
		mp_sends_to_wait(skb, p);
	return verdict;
}

#endif
