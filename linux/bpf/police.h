/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A host that has a cap and sends more than that to the wired network: its senders are told by what is
 * lost here, or marked (core's police.h).
 */
#ifndef MESHPACE_BPF_POLICE_H
#define MESHPACE_BPF_POLICE_H

#include "caps.h"
#include "flows.h"
#include "waits.h"

/* Whether the host has sent too much with this packet. */
MP_INLINE bool mp_exceeds_cap(const struct mp_packet *p)
{
	struct mp_host_key key = mp_capped_key_of(p, MP_UP);
	struct mp_cap *cap = bpf_map_lookup_elem(&mp_caps, &key);
	bool exceeds;

	if (!cap)
		return false;
	bpf_spin_lock(&cap->lock);
	exceeds = mp_police_exceeds(&cap->police, cap->cap_bytes_per_s, p->segment.payload_bytes, p->segment.now_ns);
	bpf_spin_unlock(&cap->lock);
	return exceeds;
}

/* Data from the mesh passes, marked where it has to be; false: it is to be dropped. Before it counts. */
static __attribute__((noinline)) int mp_police_passes(struct __sk_buff *skb, struct mp_packet *p)
{
	struct mp_flow *flow;
	bool tell;

	if (!p || !mp_settings.pace || !mp_settings.law.hop_wait_ns || !mp_exceeds_cap(p))
		return true;
	flow = mp_flow_of(p, MP_UP);
	if (!flow)
		return true;
	bpf_spin_lock(&flow->lock);
	tell = mp_endpoint_up_notifies(&flow->at, &p->segment);
	bpf_spin_unlock(&flow->lock);
	if (!tell || (mp_ecn_capable(p) && mp_mark(skb, p, MP_COUNT_UP_MARKED)))
		return true;
	mp_count(MP_COUNT_UP_DROPPED);
	return false;
}

#endif
