/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Packets that are not read as TCP: UDP, ICMP, tunnels, fragments, what comes behind extension headers. They
 * count for their host, and wait or are lost by its cap.
 */
#ifndef MESHPACE_BPF_OTHERS_H
#define MESHPACE_BPF_OTHERS_H

#include "begins.h"
#include "caps.h"
#include "strangers.h"
#include "waits.h"

/*
 * Where the kernel holds packets, all have waited there. Where the daemon does, those of UDP and TCP have, fragments and what
 * is not read as TCP too; the others, and this box's own, never wait; what would wait too long is lost all the same.
 */
MP_INLINE bool mp_has_waited(const struct mp_packet *p)
{
	return mp_settings.holds || (!p->own && (p->protocol == IPPROTO_UDP || p->protocol == IPPROTO_TCP));
}

/* By its host's cap; false: it is to be dropped. */
MP_INLINE bool mp_cap_passes(const struct mp_packet *p)
{
	struct mp_host_key key = mp_capped_key_of(p, MP_DOWN);
	struct mp_cap *cap = bpf_map_lookup_elem(&mp_caps, &key);

	if (!cap || !mp_settings.pace || mp_has_waited(p) || mp_cap_takes(cap, p->ready_ns, p->segment.ip_bytes))
		return true;
	mp_count(MP_COUNT_UDP_DROPPED);
	return false;
}

/* To the mesh; false: it is to be dropped. */
static __attribute__((noinline)) int mp_other_to_mesh(struct __sk_buff *skb, struct mp_packet *p)
{
	struct mp_heard *host;

	if (!p || !p->segment.ip_bytes || !mp_is_unicast(skb, p))
		return true;
	host = mp_heard_of(p);
	if (mp_settings.unanswered_bytes_per_s && !mp_stranger_may(p, host))
		return false;
	if (!mp_settings.law.hop_wait_ns)
		return true;
	if (!mp_cap_passes(p))
		return false;
	if (host)
		__sync_fetch_and_add(&host->other_bytes[MP_DOWN], p->segment.ip_bytes);
	return true;
}

/* What the cap of its host makes of a packet from the mesh. By ICMP the gateway asks, and answers are to tell what waits. */
__attribute__((noinline)) int mp_other_judged(struct mp_packet *p)
{
	enum mp_hold_verdict verdict;
	struct mp_host_key key;
	struct mp_cap *cap;

	if (!p || !mp_settings.pace || p->protocol == IPPROTO_ICMP || p->protocol == IPPROTO_ICMPV6)
		return MP_HOLD_PASSES;
	key = mp_capped_key_of(p, MP_UP);
	cap = bpf_map_lookup_elem(&mp_caps, &key);
	if (!cap)
		return MP_HOLD_PASSES;
	bpf_spin_lock(&cap->lock);
	verdict = mp_police_datagram(&cap->police, cap->cap_bytes_per_s, p->segment.ip_bytes, mp_ecn_capable(p),
				     p->segment.now_ns);
	bpf_spin_unlock(&cap->lock);
	return (int)verdict;
}

/* Whether a packet from the mesh is too much for its host, and lost: not where it can be marked instead. */
MP_INLINE bool mp_other_is_too_much(struct __sk_buff *skb, struct mp_packet *p)
{
	int verdict = mp_settings.law.hop_wait_ns ? mp_other_judged(p) : MP_HOLD_PASSES;

	if (verdict == MP_HOLD_PASSES || verdict == MP_HOLD_WAITS)
		return false;
	if (verdict == MP_HOLD_MARKS && mp_mark(skb, p, MP_COUNT_UP_MARKED))
		return false;
	mp_count(MP_COUNT_UP_DROPPED);
	return true;
}

/* From the mesh; false: it is to be dropped. It has used the air, and counts. */
static __attribute__((noinline)) int mp_other_from_mesh(struct __sk_buff *skb, struct mp_packet *p)
{
	struct mp_heard *host;

	if (!p || !p->segment.ip_bytes || !mp_is_unicast(skb, p))
		return true;
	host = mp_note_heard(p);
	if (!host)
		return true;
	/* Nothing acknowledges it: an address to which nothing ever came may be invented, and is no host that has a part of its own. */
	if (host->other_bytes[MP_DOWN])
		__sync_fetch_and_add(&host->other_bytes[MP_UP], p->segment.ip_bytes);
	else
		mp_count_many(MP_COUNT_NOBODYS_BYTES, p->segment.ip_bytes);
	if (mp_settings.silences && p->protocol == IPPROTO_UDP &&
	    mp_datagram_begins(&host->begins, mp_bucket_of(skb, p, false), p->segment.now_ns))
		mp_tell_begins(p);
	return !mp_other_is_too_much(skb, p);
}

#endif
