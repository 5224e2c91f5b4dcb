/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Data that would wait too long to be paced is lost, or marked by ECN (core's wait.h). Under release by
 * fq that is found here; elsewhere the daemon, which holds the packets, says which flow's is to be marked.
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

/* Its sender understands marks, and it has none yet. */
MP_INLINE bool mp_ecn_capable(const struct mp_packet *p)
{
	return p->ecn != 0 && p->ecn != MP_ECN_CE;
}

MP_INLINE bool mp_mark(struct __sk_buff *skb)
{
	if (bpf_skb_ecn_set_ce(skb) != 1)
		return false;
	mp_count(MP_COUNT_WAIT_MARKED);
	return true;
}

/* Whether the daemon has said that a packet of the flow is to be marked. */
MP_INLINE bool mp_mark_ordered(const struct mp_flow_key *key)
{
	return !mp_settings.stamp && bpf_map_lookup_elem(&mp_marks, key) &&
	       bpf_map_delete_elem(&mp_marks, key) == 0;
}

/* Whether this packet waits too long: for its flow, if that is known and paced here, and before for its host. */
MP_INLINE bool mp_waits_too_long(struct mp_flow *flow, const struct mp_packet *p)
{
	bool ends;

	if (!flow || !mp_settings.stamp || !mp_settings.pace)
		return false;
	bpf_spin_lock(&flow->lock);
	ends = mp_endpoint_down_waits_too_long(&flow->at, &mp_settings.law, p->turn_ns, p->ready_ns,
					       p->segment.now_ns);
	bpf_spin_unlock(&flow->lock);
	return ends;
}

/*
 * Data passes, marked where it has to be; flow may be NULL. False: it is to be dropped. On its own: of each way
 * through it the verifier then remembers only what it returns.
 */
static __attribute__((noinline)) int mp_wait_passes(struct __sk_buff *skb, const struct mp_packet *p,
						    const struct mp_flow_key *key, struct mp_flow *flow)
{
	if (!mp_settings.law.hop_wait_ns || mp_settings.holds)
		return true;
	if (mp_ecn_capable(p) && mp_mark_ordered(key)) {
		mp_mark(skb);
		return true;
	}
	if (!mp_waits_too_long(flow, p))
		return true;
	if (mp_ecn_capable(p) && mp_mark(skb))
		return true;
	mp_count(MP_COUNT_WAIT_DROPPED);
	return false;
}

#endif
