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

/* From the mesh. */
static __attribute__((noinline)) int mp_other_from_mesh(struct __sk_buff *skb, struct mp_packet *p)
{
	struct mp_heard *host;

	if (!p || !p->segment.ip_bytes || !mp_is_unicast(skb, p))
		return 0;
	host = mp_note_heard(p);
	if (!host)
		return 0;
	/* Nothing acknowledges it: an address to which nothing ever came may be invented, and is no host that has a part. */
	if (host->other_bytes[MP_DOWN])
		__sync_fetch_and_add(&host->other_bytes[MP_UP], p->segment.ip_bytes);
	if (mp_settings.silences && p->protocol == IPPROTO_UDP &&
	    mp_datagram_begins(&host->begins, mp_bucket_of(skb, p, false), p->segment.now_ns))
		mp_tell_begins(p);
	return 0;
}

#endif
