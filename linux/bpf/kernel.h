/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the sender reads of the kernel's own structs. libbpf finds each field's place in the running
 * kernel (CO-RE), so that one object serves all.
 */
#ifndef MESHPACE_BPF_KERNEL_H
#define MESHPACE_BPF_KERNEL_H

#include <linux/types.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	unsigned int inum;
};

struct net {
	struct ns_common ns;
};

/* Empty in a kernel without network namespaces. */
typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common {
	unsigned short skc_family;
	possible_net_t skc_net;
};

struct net_device {
	int ifindex;
};

struct dst_ops {
	unsigned short family;
};

/* What a route lookup has found; of IPv4 it begins an rtable, of IPv6 an rt6_info. */
struct dst_entry {
	struct net_device *dev;
	struct dst_ops *ops;
};

struct rtable {
	__u8 rt_gw_family;
};

struct rt6_info {
	__u32 rt6i_flags;
};

struct sock {
	struct sock_common __sk_common;
	struct dst_entry *sk_dst_cache;
	unsigned long sk_max_pacing_rate;
};

struct tcp_sock {
	__u16 tcp_header_len;
	__u32 snd_una;
	__u32 mss_cache;
};

struct ack_sample {
	__u32 pkts_acked;
	__s32 rtt_us;
	__u32 in_flight;
};

struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	__u32 (*undo_cwnd)(struct sock *sk);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	__u32 (*min_tso_segs)(struct sock *sk);
	void (*init)(struct sock *sk);
	char name[16];
	__u32 flags;
};

#pragma clang attribute pop

#endif
