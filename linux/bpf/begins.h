/* SPDX-License-Identifier: GPL-2.0-only */
/* Whose flows begin (core's silence.h): told to the daemon's thread that holds packets, which lets the busy ones be silent. */
#ifndef MESHPACE_BPF_BEGINS_H
#define MESHPACE_BPF_BEGINS_H

#include "packet.h"

#include <linux/udp.h>

/* Addresses of hosts (struct mp_address). What does not fit is not missed: hosts that are in it ask for the same silence. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 << 10); /* a page of any kernel */
} mp_begun SEC(".maps");

/* A flow of a packet's host begins. On its own: the verifier goes through what follows once. */
__attribute__((noinline)) int mp_tell_begins(struct mp_packet *p)
{
	struct mp_address host;

	if (!p || !mp_settings.silences)
		return 0;
	__builtin_memcpy(host.bytes, p->key.mesh, sizeof(host.bytes));
	/* The thread that holds packets itself is woken by them. */
	bpf_ringbuf_output(&mp_begun, &host, sizeof(host), mp_settings.holds ? 0 : BPF_RB_NO_WAKEUP);
	return 0;
}

/* The bucket of UDP; of fragments, and of what has no ports, any. */
MP_INLINE uint32_t mp_bucket_of(struct __sk_buff *skb, const struct mp_packet *p, bool to_mesh)
{
	struct udphdr udp = {};

	bpf_skb_load_bytes(skb, (uint32_t)p->l4, &udp, sizeof(udp));
	return mp_udp_bucket(bpf_ntohl(((const uint32_t *)p->key.wired)[3]), bpf_ntohs(to_mesh ? udp.source : udp.dest),
			     bpf_ntohs(to_mesh ? udp.dest : udp.source));
}

#endif
