/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Data that would wait too long to be paced is lost, or marked by ECN (core's wait.h). Who holds the packets finds that:
 * the kernel (hold.h), or the daemon, which says which flow's next one is to be marked.
 */
#ifndef MESHPACE_BPF_WAITS_H
#define MESHPACE_BPF_WAITS_H

#include "flows.h"

#define MP_ECN_CE 3u

/* Flows whose next packet is to be marked; set by the daemon. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct mp_flow_key);
	__type(value, uint32_t);
} mp_marks SEC(".maps");

/* Its sender understands marks (RFC 3168, section 5). */
MP_INLINE bool mp_ecn_capable(const struct mp_packet *p)
{
	return p->ecn != 0;
}

/*
 * Marks a packet of a sender that understands it, and counts it; false: it could not be. One that has come marked tells its
 * sender already: it is not lost for that, and counts for whoever marked it.
 */
MP_INLINE bool mp_mark(struct __sk_buff *skb, const struct mp_packet *p, uint32_t counter)
{
	if (p->ecn == MP_ECN_CE)
		return true;
	if (bpf_skb_ecn_set_ce(skb) != 1)
		return false;
	mp_count(counter);
	return true;
}

/* Whether the daemon has said that a packet of the flow is to be marked. */
MP_INLINE bool mp_mark_ordered(const struct mp_flow_key *key)
{
	return bpf_map_lookup_elem(&mp_marks, key) && bpf_map_delete_elem(&mp_marks, key) == 0;
}

/* Data leaves the daemon: marked where it has to be. On its own: the verifier then goes through what follows once. */
static __attribute__((noinline)) int mp_mark_if_ordered(struct __sk_buff *skb, const struct mp_packet *p,
							const struct mp_flow_key *key)
{
	if (mp_settings.law.hop_wait_ns && !mp_settings.holds && mp_ecn_capable(p) && mp_mark_ordered(key))
		mp_mark(skb, p, MP_COUNT_WAIT_MARKED);
	return 0;
}

#endif
