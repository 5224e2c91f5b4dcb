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
#define TCP_BPF_SOCK_OPS_CB_FLAGS 1008 /* Linux 6.12 */
/* What a socket takes for "no bound", and the highest bound, by which TCP paces as it would by itself. */
#define MP_RATE_NONE 0xffffffffu
#define MP_RATE_MAX 0xfffffffeu
/* Any program may choose it for a socket, any network namespace for its default. */
#define TCP_CONG_NON_RESTRICTED 1
#define TCP_FLAG_SYN 0x02
#define AF_INET 2
#define AF_INET6 10
#define RTF_GATEWAY 2u /* linux/route.h */
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

/* Each network namespace numbers its interfaces anew: a container's may have the mesh interface's number. */
MP_INLINE bool mp_is_elsewhere(struct sock *sk)
{
	if (!mp_sender_settings.mesh_netns || !bpf_core_field_exists(sk->__sk_common.skc_net.net))
		return false;
	return BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum) != mp_sender_settings.mesh_netns;
}

/*
 * Where the socket's packets go, by the route that TCP has looked up; what it was before while TCP has
 * none. The law is that of the way to the gateway: loopback, the host's other networks and neighbours
 * on the link are none of its business.
 */
MP_INLINE int mp_way_of(struct sock *sk, int before)
{
	struct dst_entry *dst = sk ? BPF_CORE_READ(sk, sk_dst_cache) : NULL;
	struct rt6_info *route6 = (struct rt6_info *)dst;
	bool by_gateway;

	if (!dst)
		return before;
	if (BPF_CORE_READ(dst, dev, ifindex) != (int)mp_sender_settings.mesh_ifindex || mp_is_elsewhere(sk))
		return MP_WAY_OTHER;
	if (!mp_sender_settings.by_gateway)
		return MP_WAY_MESH;
	if (BPF_CORE_READ(dst, ops, family) == AF_INET)
		by_gateway = BPF_CORE_READ((struct rtable *)dst, rt_gw_family) != 0;
	else if (bpf_core_field_exists(route6->rt6i_flags))
		by_gateway = BPF_CORE_READ(route6, rt6i_flags) & RTF_GATEWAY;
	else /* IPv6 is a module: its routes cannot be read */
		by_gateway = true;
	return by_gateway ? MP_WAY_MESH : MP_WAY_OTHER;
}

/* What the application asks for is a bound of its own. It may set it at any time: then it is not ours. */
MP_INLINE void mp_note_own_rate(struct sock *sk, struct mp_sender *sender)
{
	uint64_t rate = sk->sk_max_pacing_rate;

	if (!sender->set_rate || rate != sender->set_rate)
		sender->own_rate = rate;
}

/*
 * Has TCP pace at so many bytes/s, or as the application would have it where that is less. Nothing may leave
 * faster, the window may hold back more.
 */
MP_INLINE void mp_set_rate(struct sock *sk, struct mp_sender *sender, uint64_t bytes_per_s)
{
	uint32_t set;

	mp_note_own_rate(sk, sender);
	bytes_per_s = mp_min_u64(bytes_per_s, sender->own_rate);
	set = (uint32_t)mp_min_u64(bytes_per_s, MP_RATE_NONE);
	if (bytes_per_s != sk->sk_max_pacing_rate &&
	    bpf_setsockopt(sk, SOL_SOCKET, SO_MAX_PACING_RATE, &set, sizeof(set)))
		sender->failed++;
	sender->set_rate = sk->sk_max_pacing_rate;
}

/*
 * A socket that chooses "meshpace" when it is connected already is heard from here on. Kernels before 6.12
 * cannot be told so: there such a flow hears no RTT_wired, and is paced by the whole RTT.
 */
MP_INLINE void mp_listen(struct sock *sk, struct mp_sender *sender)
{
	const uint32_t wanted = BPF_SOCK_OPS_PARSE_UNKNOWN_HDR_OPT_CB_FLAG |
				BPF_SOCK_OPS_RTT_CB_FLAG;
	uint32_t flags = 0;

	if (bpf_getsockopt(sk, IPPROTO_TCP, TCP_BPF_SOCK_OPS_CB_FLAGS, &flags, sizeof(flags)) ||
	    (flags & wanted) == wanted)
		return;
	sender->listens_for |= wanted & ~flags;
	flags |= wanted;
	bpf_setsockopt(sk, IPPROTO_TCP, TCP_BPF_SOCK_OPS_CB_FLAGS, &flags, sizeof(flags));
}

SEC("struct_ops")
void BPF_PROG(mp_begin, struct sock *sk)
{
	struct mp_sender *sender = bpf_sk_storage_get(&mp_senders, sk, 0,
						      BPF_SK_STORAGE_GET_F_CREATE);

	if (!sender)
		return;
	mp_note_own_rate(sk, sender);
	mp_listen(sk, sender);
}

/* An ACK: the sample that TCP made of it, by its own rules for retransmissions. */
SEC("struct_ops")
void BPF_PROG(mp_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct mp_sender *sender = bpf_sk_storage_get(&mp_senders, sk, 0,
						      BPF_SK_STORAGE_GET_F_CREATE);
	const struct tcp_sock *tcp = (const struct tcp_sock *)sk;
	struct mp_law law = mp_sender_settings.law;
	uint64_t now_ns = bpf_ktime_get_ns();
	int32_t rtt_us = sample->rtt_us;
	uint64_t bytes_per_s;
	struct mp_path path;
	uint32_t ticks;

	if (!sender)
		return;
	sender->way = (uint8_t)mp_way_of(sk, sender->way);
	if (sender->way != MP_WAY_MESH) {
		sender->interval_ns = 0;
		mp_set_rate(sk, sender, UINT64_MAX);
		return;
	}
	mp_signalled_expire(&sender->signalled, &sender->estimate, now_ns);
	ticks = mp_signalled_sample_ticks(&sender->signalled,
					  rtt_us > 0 ? mp_ticks_of_us((uint32_t)rtt_us) : 0,
					  tcp->snd_una);
	if (ticks) {
		sender->rtt_us = (uint32_t)rtt_us;
		path = mp_path_of(sk);
		mp_estimate_add(&sender->estimate, &law, &path, ticks, now_ns, tcp->snd_una);
	}
	/* Also without a sample: what was signalled may hold no longer. */
	sender->interval_ns =
		mp_interval_ns(&sender->estimate, &law,
			       mp_signalled_interval_ns(&sender->signalled, tcp->mss_cache));
	bytes_per_s = mp_rate_bytes_per_s(sender->interval_ns, tcp->mss_cache);
	mp_set_rate(sk, sender, bytes_per_s ? mp_min_u64(bytes_per_s, MP_RATE_MAX) : MP_RATE_MAX);
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

/* The options of core/'s option.h and feedback.h: the question, and what is told. */
struct mp_ask {
	uint8_t option[MP_ASK_BYTES];
};

struct mp_tell {
	uint8_t option[MP_OPTION_BYTES];
};

/* What is signalled of others counts from the next sample on. */
MP_INLINE void mp_hear_feedback(struct bpf_sock_ops *ops, struct mp_sender *sender)
{
	struct mp_feedback nothing = {};
	struct mp_tell tell = {};

	/* Kind and experiment id are what the helper searches by. */
	mp_feedback_write(tell.option, &nothing);
	tell.option[1] = MP_ASK_BYTES;
	if (bpf_load_hdr_opt(ops, &tell, sizeof(tell), 0) == MP_OPTION_BYTES)
		mp_signalled_hear_feedback(&sender->signalled, tell.option, bpf_ktime_get_ns());
}

MP_INLINE void mp_hear(struct bpf_sock_ops *ops, struct mp_sender *sender)
{
	struct mp_tell tell = {};

	/* The question is what the helper searches by: kind and experiment id. */
	mp_ask_write(tell.option);
	if (bpf_load_hdr_opt(ops, &tell, sizeof(tell), 0) != MP_OPTION_BYTES ||
	    !mp_signalled_hear_wired(&sender->signalled, &sender->estimate, tell.option,
				     bpf_ktime_get_ns())) {
		mp_hear_feedback(ops, sender);
		return;
	}
	sender->signals++;
	sender->asks = 0;
}

/* Others' programs may have callbacks of their own: only those that were asked for here are ended. */
MP_INLINE void mp_listen_for(struct bpf_sock_ops *ops, struct mp_sender *sender, uint32_t on,
			     uint32_t off)
{
	uint32_t flags = ops->bpf_sock_ops_cb_flags;

	off &= sender->listens_for;
	sender->listens_for = (sender->listens_for | (on & ~flags)) & ~off;
	bpf_sock_ops_cb_flags_set(ops, (int)((flags | on) & ~off));
}

/* Whether the socket has, or will have, the congestion control "meshpace". */
MP_INLINE bool mp_is_ours(struct bpf_sock_ops *ops)
{
	const char ours[8] __attribute__((aligned(8))) = { 'm', 'e', 's', 'h', 'p', 'a', 'c', 'e' };
	char name[16] __attribute__((aligned(8))) = {};

	return bpf_getsockopt(ops, IPPROTO_TCP, TCP_CONGESTION, name, sizeof(name)) == 0 &&
	       *(const uint64_t *)name == *(const uint64_t *)ours && name[8] == '\0';
}

/* One packet asks. During the handshake the option counts until it is over, or the SYN lost. */
MP_INLINE void mp_ask(struct bpf_sock_ops *ops, struct mp_sender *sender, uint32_t and_for)
{
	sender->asking = 1;
	mp_listen_for(ops, sender, BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG | and_for, 0);
}

MP_INLINE void mp_asked(struct bpf_sock_ops *ops, struct mp_sender *sender)
{
	sender->asking = 0;
	mp_listen_for(ops, sender, 0,
		      BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG | BPF_SOCK_OPS_RTO_CB_FLAG);
}

/* Once per RTT: asks again while nothing is heard, for the gateway may have been started anew. */
MP_INLINE void mp_ask_again(struct bpf_sock_ops *ops, struct mp_sender *sender)
{
	uint64_t now_ns = bpf_ktime_get_ns();

	if (!mp_sender_settings.ask || sender->way != MP_WAY_MESH ||
	    now_ns - sender->signalled.wired_ns < MP_ASK_FIRST_NS ||
	    now_ns - sender->asked_ns < MP_ASK_FIRST_NS << sender->asks)
		return;
	sender->asked_ns = now_ns;
	if (sender->asks < MP_ASK_DOUBLINGS)
		sender->asks++;
	mp_ask(ops, sender, 0);
}

MP_INLINE void mp_write_ask(struct bpf_sock_ops *ops, struct mp_sender *sender)
{
	struct mp_ask ask;

	mp_ask_write(ask.option);
	bpf_store_hdr_opt(ops, &ask, sizeof(ask), 0);
	if (!(ops->skb_tcp_flags & TCP_FLAG_SYN))
		mp_asked(ops, sender);
}

/* The application has chosen another congestion control: it gets back what it had. */
MP_INLINE void mp_let_go(struct bpf_sock_ops *ops, struct mp_sender *sender)
{
	uint32_t own = (uint32_t)mp_min_u64(sender->own_rate, MP_RATE_NONE);

	if (sender->set_rate)
		bpf_setsockopt(ops, SOL_SOCKET, SO_MAX_PACING_RATE, &own, sizeof(own));
	mp_listen_for(ops, sender, 0, ~0u);
	/* Should it come back, all begins anew. */
	__builtin_memset(sender, 0, sizeof(*sender));
}

MP_INLINE void mp_connect(struct bpf_sock_ops *ops, struct bpf_sock *sk)
{
	struct mp_sender *sender;

	if (!mp_is_ours(ops) ||
	    mp_way_of((struct sock *)bpf_skc_to_tcp_sock(sk), MP_WAY_UNKNOWN) == MP_WAY_OTHER)
		return;
	sender = bpf_sk_storage_get(&mp_senders, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	/* A SYN-ACK does not ask: what the listener asked could not be taken back. */
	if (sender && mp_sender_settings.ask)
		mp_ask(ops, sender, BPF_SOCK_OPS_RTO_CB_FLAG);
}

MP_INLINE void mp_established(struct bpf_sock_ops *ops, struct bpf_sock *sk)
{
	struct mp_sender *sender;

	if (!mp_is_ours(ops))
		return;
	sender = bpf_sk_storage_get(&mp_senders, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!sender)
		return;
	mp_asked(ops, sender);
	mp_listen_for(ops, sender,
		      BPF_SOCK_OPS_PARSE_UNKNOWN_HDR_OPT_CB_FLAG | BPF_SOCK_OPS_RTT_CB_FLAG, 0);
}

/* What concerns a socket that these programs know; others' callbacks come here, too. */
MP_INLINE void mp_known(struct bpf_sock_ops *ops, struct mp_sender *sender)
{
	switch (ops->op) {
	case BPF_SOCK_OPS_RTO_CB:
		/* The SYN may have been dropped for its question: the next goes without, as with TFO. */
		if (sender->asking)
			mp_asked(ops, sender);
		return;
	case BPF_SOCK_OPS_HDR_OPT_LEN_CB:
		if (sender->asking)
			bpf_reserve_hdr_opt(ops, sizeof(struct mp_ask), 0);
		return;
	case BPF_SOCK_OPS_WRITE_HDR_OPT_CB:
		if (sender->asking)
			mp_write_ask(ops, sender);
		return;
	case BPF_SOCK_OPS_PARSE_HDR_OPT_CB:
		mp_hear(ops, sender);
		return;
	case BPF_SOCK_OPS_RTT_CB:
		if (mp_is_ours(ops))
			mp_ask_again(ops, sender);
		else
			mp_let_go(ops, sender);
		return;
	}
}

SEC("sockops")
int mp_sockops(struct bpf_sock_ops *ops)
{
	struct bpf_sock *sk = ops->sk; /* read once: each read is another pointer to the verifier */
	struct mp_sender *sender;

	if (!sk)
		return 1;
	switch (ops->op) {
	case BPF_SOCK_OPS_TCP_CONNECT_CB:
		mp_connect(ops, sk);
		return 1;
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		mp_established(ops, sk);
		return 1;
	}
	sender = bpf_sk_storage_get(&mp_senders, sk, 0, 0);
	if (sender)
		mp_known(ops, sender);
	return 1;
}
