// SPDX-License-Identifier: GPL-2.0-only
/*
 * The law at a wireless sender (GAP section 4.2): the congestion control "meshpace".
 *
 * NewReno's window, as the papers have it, is the kernel's own; TCP itself paces, at the rate that the
 * law sets. RTT_wireless is TCP's RTT without RTT_wired, which the gateway tells in ACKs, as it tells
 * under `even` how many share the mesh and what the flow may have. The sender asks for it, with the option's
 * first four bytes, on its first SYN, and on data while it hears nothing.
 */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "kernel.h"
#include "sender_intf.h"

char LICENSE[] SEC("license") = "GPL";

#define SOL_SOCKET 1
#define SO_MAX_PACING_RATE 47
#define IPPROTO_TCP 6
#define TCP_CONGESTION 13
/* Any program may choose it for a socket, any network namespace for its default. */
#define TCP_CONG_NON_RESTRICTED 1
#define TCP_FLAG_SYN 0x02
#define AF_INET 2
#define AF_INET6 10
#define IPV4_HEADER 20u
#define IPV6_HEADER 40u

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct mp_sender);
} mp_senders SEC(".maps");

struct mp_sender_settings mp_sender_settings SEC(".data.settings");

MP_INLINE uint16_t mp_family(struct sock *sk)
{
	return sk->__sk_common.skc_family;
}

/* h, b, s_data and s_ACK of the socket's path. */
MP_INLINE struct mp_path mp_path_of(struct sock *sk)
{
	const struct tcp_sock *tcp = (const struct tcp_sock *)sk;
	uint32_t headers = tcp->tcp_header_len;
	struct mp_path path = {
		.hops = mp_sender_settings.hops,
		.kbps = mp_sender_settings.kbps,
		.link = mp_sender_settings.link,
		.uneven_q16 = mp_sender_settings.uneven_q16,
	};

	headers += mp_family(sk) == AF_INET ? IPV4_HEADER : IPV6_HEADER;
	path.data_bytes = headers + tcp->mss_cache;
	path.ack_bytes = headers;
	return path;
}

/* Has TCP pace at R; nothing may leave faster, the window may hold back more. */
MP_INLINE void mp_set_rate(struct sock *sk, struct mp_sender *sender)
{
	const struct tcp_sock *tcp = (const struct tcp_sock *)sk;
	uint64_t bps = mp_rate_bytes_per_s(sender->interval_ns, tcp->mss_cache);
	uint32_t rate = bps && bps < 0xffffffffu ? (uint32_t)bps : 0xfffffffeu;

	if (rate == sender->rate_bps)
		return;
	sender->rate_bps = rate;
	if (bpf_setsockopt(sk, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof(rate)))
		sender->failed++;
}

/*
 * RTT and RTT_wired have to be of the same ACK: a receiver that delays one lengthens both. An ACK
 * that does not tell gives no sample, until nothing was told for so long that the whole RTT is taken.
 */
MP_INLINE bool mp_wired_part_known(struct mp_sender *sender)
{
	bool fresh = sender->fresh;

	sender->fresh = 0;
	if (sender->rtt_wired_us && bpf_ktime_get_ns() - sender->told_ns > MP_TOLD_STALE_NS) {
		sender->rtt_wired_us = 0;
		sender->shared = (struct mp_shared){};
		mp_estimate_forget(&sender->estimate);
	}
	return fresh || sender->rtt_wired_us == 0;
}

SEC("struct_ops")
void BPF_PROG(mp_begin, struct sock *sk)
{
	bpf_sk_storage_get(&mp_senders, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
}

/* An ACK: the sample that TCP made of it, by its own rules for retransmissions. */
SEC("struct_ops")
void BPF_PROG(mp_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct mp_sender *sender = bpf_sk_storage_get(&mp_senders, sk, 0,
						      BPF_SK_STORAGE_GET_F_CREATE);
	const struct tcp_sock *tcp = (const struct tcp_sock *)sk;
	struct mp_law law = mp_sender_settings.law;
	int32_t rtt_us = sample->rtt_us;
	struct mp_path path;

	if (!sender || rtt_us <= 0 || !mp_wired_part_known(sender))
		return;
	sender->rtt_us = (uint32_t)rtt_us;
	path = mp_path_of(sk);
	mp_estimate_set_late(&sender->estimate, sender->rtt_wired_us);
	mp_estimate_share(&sender->estimate, sender->shared.sharers);
	mp_estimate_add(&sender->estimate, &law, &path,
			mp_rtt_wireless_ticks(mp_ticks_of_us((uint32_t)rtt_us),
					      sender->rtt_wired_us),
			bpf_ktime_get_ns(), tcp->snd_una);
	sender->interval_ns =
		mp_interval_ns(&sender->estimate, &law,
			       mp_shared_interval_ns(&sender->shared, tcp->mss_cache));
	mp_set_rate(sk, sender);
}

extern __u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

SEC("struct_ops")
__u32 BPF_PROG(mp_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

SEC("struct_ops")
void BPF_PROG(mp_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

SEC("struct_ops")
__u32 BPF_PROG(mp_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

/* One segment at a time: the law's interval is between packets. */
SEC("struct_ops")
__u32 BPF_PROG(mp_min_tso_segs, struct sock *sk)
{
	return 1;
}

/* Before Linux 6.4 the loader takes the flag for a link off. */
SEC(".struct_ops.link")
struct tcp_congestion_ops mp_meshpace = {
	.init = (void *)mp_begin,
	.ssthresh = (void *)mp_ssthresh,
	.cong_avoid = (void *)mp_cong_avoid,
	.undo_cwnd = (void *)mp_undo_cwnd,
	.pkts_acked = (void *)mp_pkts_acked,
	.min_tso_segs = (void *)mp_min_tso_segs,
	.name = "meshpace",
	.flags = TCP_CONG_NON_RESTRICTED,
};

/* The options of core/'s option.h and shared.h: the question, and what is told. */
struct mp_ask {
	uint8_t option[MP_ASK_BYTES];
};

struct mp_tell {
	uint8_t option[MP_OPTION_BYTES];
};

/* What is told of others counts from the next sample on. */
MP_INLINE void mp_hear_shared(struct bpf_sock_ops *ops, struct mp_sender *sender)
{
	struct mp_shared nothing = {};
	struct mp_tell tell = {};

	/* Kind and experiment id are what the helper searches by. */
	mp_shared_write(tell.option, &nothing);
	tell.option[1] = MP_ASK_BYTES;
	if (bpf_load_hdr_opt(ops, &tell, sizeof(tell), 0) == MP_OPTION_BYTES)
		mp_shared_read(tell.option, &sender->shared);
}

MP_INLINE void mp_hear(struct bpf_sock_ops *ops, struct mp_sender *sender)
{
	struct mp_tell tell = {};
	uint32_t rtt_wired_us = 0;

	/* The question is what the helper searches by: kind and experiment id. */
	mp_ask_write(tell.option);
	if (bpf_load_hdr_opt(ops, &tell, sizeof(tell), 0) != MP_OPTION_BYTES ||
	    !mp_option_read(tell.option, &rtt_wired_us)) {
		mp_hear_shared(ops, sender);
		return;
	}
	mp_shared_unsaid(&sender->shared);
	if (sender->rtt_wired_us == 0) /* until now samples were of the whole RTT, the SYN's first */
		mp_estimate_forget(&sender->estimate);
	sender->rtt_wired_us = rtt_wired_us;
	sender->told_ns = bpf_ktime_get_ns();
	sender->told++;
	sender->fresh = 1;
	sender->asks = 0;
}

MP_INLINE void mp_listen_for(struct bpf_sock_ops *ops, uint32_t on, uint32_t off)
{
	bpf_sock_ops_cb_flags_set(ops, (int)((ops->bpf_sock_ops_cb_flags | on) & ~off));
}

/* Whether the socket has, or will have, the congestion control "meshpace". */
MP_INLINE bool mp_is_ours(struct bpf_sock_ops *ops)
{
	const char ours[8] __attribute__((aligned(8))) = { 'm', 'e', 's', 'h', 'p', 'a', 'c', 'e' };
	char name[16] __attribute__((aligned(8))) = {};

	return bpf_getsockopt(ops, IPPROTO_TCP, TCP_CONGESTION, name, sizeof(name)) == 0 &&
	       *(const uint64_t *)name == *(const uint64_t *)ours && name[8] == '\0';
}

/* Once per RTT: asks again while nothing is heard, for the gateway may have been started anew. */
MP_INLINE void mp_ask_again(struct bpf_sock_ops *ops, struct mp_sender *sender)
{
	uint64_t now_ns = bpf_ktime_get_ns();

	if (!mp_sender_settings.ask || now_ns - sender->told_ns < MP_ASK_FIRST_NS ||
	    now_ns - sender->asked_ns < MP_ASK_FIRST_NS << sender->asks)
		return;
	sender->asked_ns = now_ns;
	if (sender->asks < MP_ASK_DOUBLINGS)
		sender->asks++;
	mp_listen_for(ops, BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG, 0);
}

MP_INLINE void mp_write_ask(struct bpf_sock_ops *ops)
{
	struct mp_ask ask;

	mp_ask_write(ask.option);
	bpf_store_hdr_opt(ops, &ask, sizeof(ask), 0);
	/* One packet asks. During the handshake the option counts until it is over, or the SYN lost. */
	if (!(ops->skb_tcp_flags & TCP_FLAG_SYN))
		mp_listen_for(ops, 0, BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG);
}

MP_INLINE void mp_established(struct bpf_sock_ops *ops)
{
	/* A socket may choose "meshpace" later, too. */
	mp_listen_for(ops,
		      BPF_SOCK_OPS_PARSE_UNKNOWN_HDR_OPT_CB_FLAG | BPF_SOCK_OPS_RTT_CB_FLAG,
		      BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG | BPF_SOCK_OPS_RTO_CB_FLAG);
}

SEC("sockops")
int mp_sockops(struct bpf_sock_ops *ops)
{
	struct bpf_sock *sk = ops->sk; /* read once: each read is another pointer to the verifier */
	struct mp_sender *sender = NULL;

	switch (ops->op) {
	case BPF_SOCK_OPS_TCP_CONNECT_CB:
		/* A SYN-ACK does not ask: what the listener asked could not be taken back. */
		if (mp_sender_settings.ask && mp_is_ours(ops))
			mp_listen_for(ops, BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG |
					   BPF_SOCK_OPS_RTO_CB_FLAG, 0);
		return 1;
	case BPF_SOCK_OPS_RTO_CB:
		/* The SYN may have been dropped for its question: the next goes without, as with TFO. */
		mp_listen_for(ops, 0, BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG);
		return 1;
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		mp_established(ops);
		return 1;
	case BPF_SOCK_OPS_HDR_OPT_LEN_CB:
		bpf_reserve_hdr_opt(ops, sizeof(struct mp_ask), 0);
		return 1;
	case BPF_SOCK_OPS_WRITE_HDR_OPT_CB:
		mp_write_ask(ops);
		return 1;
	}
	if (sk)
		sender = bpf_sk_storage_get(&mp_senders, sk, 0, 0);
	if (!sender)
		return 1;
	if (ops->op == BPF_SOCK_OPS_PARSE_HDR_OPT_CB)
		mp_hear(ops, sender);
	else if (ops->op == BPF_SOCK_OPS_RTT_CB)
		mp_ask_again(ops, sender);
	return 1;
}

MP_INLINE void mp_put_ipv4(uint8_t address[16], __be32 ipv4)
{
	((uint32_t *)address)[2] = bpf_htonl(0xffff);
	((uint32_t *)address)[3] = ipv4;
}

/* For `meshpace sender status`: a row for each socket that has the law's state. */
SEC("iter/bpf_sk_storage_map")
int mp_list(struct bpf_iter__bpf_sk_storage_map *context)
{
	struct mp_sender *sender = context->value;
	struct sock *sk = context->sk;
	struct mp_sender_row row = {};
	const struct tcp_sock *tcp;

	if (!sk || !sender)
		return 0;
	tcp = bpf_skc_to_tcp_sock(sk);
	if (!tcp)
		return 0;
	if (mp_family(sk) == AF_INET) {
		mp_put_ipv4(row.local, sk->__sk_common.skc_rcv_saddr);
		mp_put_ipv4(row.remote, sk->__sk_common.skc_daddr);
	} else {
		bpf_core_read(row.local, 16, &sk->__sk_common.skc_v6_rcv_saddr);
		bpf_core_read(row.remote, 16, &sk->__sk_common.skc_v6_daddr);
	}
	row.local_port = sk->__sk_common.skc_num;
	row.remote_port = sk->__sk_common.skc_dport;
	row.cwnd = tcp->snd_cwnd;
	row.mss = tcp->mss_cache;
	row.retransmits = tcp->total_retrans;
	row.acked_bytes = tcp->bytes_acked;
	row.sender = *sender;
	bpf_seq_write(context->meta->seq, &row, sizeof(row));
	return 0;
}
