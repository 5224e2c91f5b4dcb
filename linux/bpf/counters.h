/* SPDX-License-Identifier: GPL-2.0-only */
/* What the programs count, and what the daemon sets. */
#ifndef MESHPACE_BPF_COUNTERS_H
#define MESHPACE_BPF_COUNTERS_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "intf.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, MP_COUNTERS);
	__type(key, uint32_t);
	__type(value, uint64_t);
} mp_counters SEC(".maps");

MP_INLINE void mp_count_many(enum mp_counter counter, uint32_t times)
{
	uint32_t i = counter;
	uint64_t *value = bpf_map_lookup_elem(&mp_counters, &i);

	if (value)
		*value += times;
}

MP_INLINE void mp_count(enum mp_counter counter)
{
	mp_count_many(counter, 1);
}

/*
 * That the program is run at all, also without the daemon: an interface counts segments, too. What comes by virtio or a tun device
 * states their size alone (packet.h); that headers count here for some of one more does no harm.
 */
MP_INLINE void mp_see(const struct __sk_buff *skb, enum mp_counter counter)
{
	uint32_t segments = skb->gso_segs, gso_bytes = skb->gso_size;

	if (gso_bytes && segments < 2)
		segments = (skb->len + gso_bytes - 1) / gso_bytes;
	mp_count_many(counter, segments > 1 ? segments : 1);
}

/* Maps of their own, which the daemon writes as a whole. */
struct mp_settings mp_settings SEC(".data.settings");
uint64_t mp_beat_ns SEC(".data.beat"); /* CLOCK_MONOTONIC */
const volatile struct mp_limits mp_limits SEC(".rodata.limits") = { 14, 16384, 0, 0 };

/*
 * The time. Where traces are replayed (core/test/traces) it is what the replayer writes into the heartbeat,
 * so that the programs can run without a wall clock. The flag is constant when the programs are loaded: the
 * verifier takes the branch that is not taken out of the program.
 */
MP_INLINE uint64_t mp_now(void)
{
	return mp_limits.test_clock ? mp_beat_ns : bpf_ktime_get_ns();
}

/* The daemon is well. Else packets pass as if nothing were attached. */
MP_INLINE bool mp_alive(uint64_t now_ns)
{
	return mp_beat_fresh(mp_beat_ns, now_ns);
}

#endif
