/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a packet's TCP options say that the gateway has to heed. Most packets have none, or a timestamp
 * alone, and are told from the others by their first word; only the others are walked through.
 */
#ifndef MESHPACE_BPF_TCPOPT_H
#define MESHPACE_BPF_TCPOPT_H

#include "packet.h"

#define MP_TCP_HEADER_MIN 20u
#define MP_TCP_HEADER_MAX 60u
#define MP_TCP_CHECKSUM_AT 16u

#define MP_TCPOPT_WINDOW 3u /* RFC 7323 */
#define MP_TCPOPT_SACK 5u   /* RFC 2018 */
#define MP_TCPOPT_MD5 19u   /* RFC 2385 */
#define MP_TCPOPT_AO 29u    /* RFC 5925 */
#define MP_TCPOPT_MPTCP 30u /* RFC 8684 */

/* NOP, NOP, timestamp of ten bytes: what nearly every header has, and nothing else. */
#define MP_TIMESTAMP_WORD 0x0101080au
#define MP_TIMESTAMP_BYTES 12u

/* Behind Ethernet, two VLAN tags, the longest IP header and TCP's own: 14 + 8 + 60 + 20. */
#define MP_TCP_OPTIONS_FAR 102u

/* Bits of mp_packet.options. */
enum mp_seen {
	MP_SEEN_SIGNATURE = 1 << 0, /* its receiver refuses it when it is changed */
	MP_SEEN_MPTCP = 1 << 1,
	MP_SEEN_DSACK = 1 << 2,     /* something came twice: nothing is missing */
	MP_SEEN_ASK = 1 << 3,       /* the question for RTT_wired ends the header */
	MP_SEEN_TOLD = 1 << 4,      /* RTT_wired, or what a flow shares; at mp_packet.told_at */
};

/* Whether the header has nothing that matters here, without a look at all of it. */
MP_INLINE bool mp_has_plain_options(struct __sk_buff *skb, const struct mp_packet *p)
{
	uint32_t bytes = p->tcp_bytes - MP_TCP_HEADER_MIN, first;
	uint64_t at = p->l4 + MP_TCP_HEADER_MIN;

	if (bytes == 0)
		return true;
	if (bytes != MP_TIMESTAMP_BYTES)
		return false;
	/* The compiler knows the bounds already and would drop what the verifier needs. */
	asm volatile("" : "+r"(at));
	return at <= MP_TCP_OPTIONS_FAR && mp_copy(skb, at, &first, sizeof(first)) &&
	       first == bpf_htonl(MP_TIMESTAMP_WORD);
}

/* Whether the first block of a SACK ends where all is acknowledged, or before (RFC 2883, section 4). */
MP_INLINE bool mp_is_dsack(struct __sk_buff *skb, const struct mp_packet *p, uint32_t at)
{
	uint32_t right;

	return bpf_skb_load_bytes(skb, at + 6, &right, sizeof(right)) == 0 &&
	       mp_seq_up_to(bpf_ntohl(right), p->ack);
}

/* An option in our kind, of the bytes that its head says. */
MP_INLINE uint32_t mp_seen_of_ours(struct __sk_buff *skb, uint32_t at, uint32_t bytes)
{
	uint16_t exid;

	if (bpf_skb_load_bytes(skb, at + 2, &exid, sizeof(exid)))
		return 0;
	if (bytes == MP_ASK_BYTES && exid == bpf_htons(MP_OPTION_EXID))
		return MP_SEEN_ASK;
	if (bytes == MP_OPTION_BYTES &&
	    (exid == bpf_htons(MP_OPTION_EXID) || exid == bpf_htons(MP_SHARED_EXID)))
		return MP_SEEN_TOLD;
	return 0;
}

/* The window scale, at an offset where it is, of which RFC 7323, 2.3, allows 14. */
MP_INLINE void mp_read_window_scale(struct __sk_buff *skb, struct mp_packet *p)
{
	uint8_t shift;

	if (p->window_at && bpf_skb_load_bytes(skb, p->window_at, &shift, sizeof(shift)) == 0)
		p->window_scale = (uint32_t)mp_min_u64(shift, 14) + 1;
}

/* What an option of two bytes or more says, which lies in the header. */
MP_INLINE uint32_t mp_seen_at(struct __sk_buff *skb, const struct mp_packet *p, uint32_t at,
			      uint32_t kind, uint32_t bytes)
{
	if (kind == MP_TCPOPT_MD5 || kind == MP_TCPOPT_AO)
		return MP_SEEN_SIGNATURE;
	if (kind == MP_TCPOPT_MPTCP)
		return MP_SEEN_MPTCP;
	if (kind == MP_TCPOPT_SACK)
		return bytes >= 10 && mp_is_dsack(skb, p, at) ? MP_SEEN_DSACK : 0;
	return kind == MP_OPTION_KIND ? mp_seen_of_ours(skb, at, bytes) : 0;
}

/*
 * Reads the option at p->options_at, from the TCP header on, and goes on to the next; false: there is
 * none. Where it is and what was seen stand in the packet, of which the verifier remembers nothing: else
 * it would follow every list of options that there can be.
 */
MP_INLINE bool mp_next_option(struct __sk_buff *skb, struct mp_packet *p)
{
	uint32_t at = p->options_at, l4 = (uint32_t)p->l4, bytes, seen;
	uint8_t head[2];

	if (at + sizeof(head) > p->tcp_bytes ||
	    bpf_skb_load_bytes(skb, l4 + at, head, sizeof(head)) || head[0] == MP_TCPOPT_END)
		return false;
	bytes = head[0] == MP_TCPOPT_NOP ? 1 : head[1];
	p->options_at = at + bytes;
	if (bytes == 1)
		return head[0] == MP_TCPOPT_NOP;
	if (bytes == 0 || p->options_at > p->tcp_bytes)
		return false;
	if (head[0] == MP_TCPOPT_WINDOW)
		p->window_at = l4 + at + 2;
	seen = mp_seen_at(skb, p, l4 + at, head[0], bytes);
	if (seen == MP_SEEN_ASK && p->options_at != p->tcp_bytes)
		return true;
	if (seen == MP_SEEN_TOLD && p->told_at == 0)
		p->told_at = at;
	p->options |= seen;
	return true;
}

/*
 * Walks through the TCP options, of which a broken list is read up to where it breaks, as its receiver
 * does. Sets p->options, and p->told_at.
 */
__attribute__((noinline)) int mp_read_options(struct __sk_buff *skb, struct mp_packet *p)
{
	uint32_t i;

	if (!p)
		return 0;
	p->options = p->told_at = p->window_at = 0;
	p->options_at = MP_TCP_HEADER_MIN;
	for (i = 0; i < MP_TCP_OPTIONS_MAX; i++)
		if (!mp_next_option(skb, p))
			break;
	return 0;
}

/* Whether its receiver would refuse the packet if it were another by a byte. */
MP_INLINE bool mp_is_signed(struct __sk_buff *skb, struct mp_packet *p)
{
	if (mp_has_plain_options(skb, p))
		return false;
	mp_read_options(skb, p);
	return p->options & MP_SEEN_SIGNATURE;
}

/*
 * An ACK that repeats the one before: whether it says something of its own, and is no sign of a loss. On
 * its own, or the verifier would walk through what follows once more.
 */
__attribute__((noinline)) int mp_says_more(struct __sk_buff *skb, struct mp_packet *p)
{
	if (!p || mp_has_plain_options(skb, p))
		return false;
	mp_read_options(skb, p);
	if (p->options & MP_SEEN_MPTCP)
		mp_count(MP_COUNT_DUPACKS_MPTCP);
	else if (p->options & MP_SEEN_DSACK)
		mp_count(MP_COUNT_DUPACKS_DSACK);
	return (p->options & (MP_SEEN_MPTCP | MP_SEEN_DSACK)) != 0;
}

#endif
