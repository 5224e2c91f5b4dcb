/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * RTT_wired, or what a flow shares, into a pure ACK: eight more bytes at its end, where its options end.
 * And the sender's question for it, which goes no further than here; nor does what others tell in our name.
 */
#ifndef MESHPACE_BPF_OPTION_H
#define MESHPACE_BPF_OPTION_H

#include "tcpopt.h"

#define MP_TCP_OFFSET_AT 12u    /* data offset and flags, 16 bits */
#define MP_IPV4_LENGTH_AT 2u
#define MP_IPV4_CHECKSUM_AT 10u
#define MP_IPV6_LENGTH_AT 4u

static const uint8_t mp_nops[MP_SACK_BYTES_MAX] = {
	[0 ... MP_SACK_BYTES_MAX - 1] = MP_TCPOPT_NOP,
};

/* The IP length field from "before" to MP_OPTION_BYTES more; not 0 on failure. */
MP_INLINE long mp_lengthen_ip(struct __sk_buff *skb, const struct mp_packet *p)
{
	uint32_t header = p->v6 ? sizeof(struct ipv6hdr) : 0; /* not counted in IPv6's length */
	uint16_t before = bpf_htons((uint16_t)(p->segment.ip_bytes - header));
	uint16_t after = bpf_htons((uint16_t)(p->segment.ip_bytes - header + MP_OPTION_BYTES));
	uint32_t at = p->l3 + (p->v6 ? MP_IPV6_LENGTH_AT : MP_IPV4_LENGTH_AT);

	if (!p->v6 && bpf_l3_csum_replace(skb, p->l3 + MP_IPV4_CHECKSUM_AT, before, after, 2))
		return -1;
	return bpf_skb_store_bytes(skb, at, &after, sizeof(after), 0);
}

/* The TCP header's length and checksum for the option already in place; not 0 on failure. */
MP_INLINE long mp_lengthen_tcp(struct __sk_buff *skb, const struct mp_packet *p,
			       const uint8_t option[MP_OPTION_BYTES])
{
	uint32_t checksum = p->l4 + MP_TCP_CHECKSUM_AT;
	uint32_t tcp = p->segment.ip_bytes - (p->l4 - p->l3); /* pure ACK: all of it header */
	uint16_t before, after;
	int64_t sum;

	if (bpf_skb_load_bytes(skb, p->l4 + MP_TCP_OFFSET_AT, &before, sizeof(before)))
		return -1;
	after = bpf_htons((uint16_t)(bpf_ntohs(before) + ((MP_OPTION_BYTES / 4) << 12)));
	if (bpf_skb_store_bytes(skb, p->l4 + MP_TCP_OFFSET_AT, &after, sizeof(after), 0) ||
	    bpf_l4_csum_replace(skb, checksum, before, after, 2))
		return -1;
	sum = bpf_csum_diff(NULL, 0, (uint32_t *)option, MP_OPTION_BYTES, 0);
	if (bpf_l4_csum_replace(skb, checksum, 0, (uint64_t)sum, 0))
		return -1;
	/* The pseudo-header holds the length too. */
	return bpf_l4_csum_replace(skb, checksum, bpf_htons((uint16_t)tcp),
				   bpf_htons((uint16_t)(tcp + MP_OPTION_BYTES)),
				   2 | BPF_F_PSEUDO_HDR);
}

/*
 * Appends RTT_wired to the pure ACK p, or what it tells of others. Where the header has no room, or is
 * signed, the ACK goes without. When it fails half-way the ACK is broken and must be dropped: returns false then; a later
 * ACK says the same.
 */
static __attribute__((noinline)) int mp_append_option(struct __sk_buff *skb, struct mp_packet *p,
					       uint32_t rtt_wired_us)
{
	uint8_t option[MP_OPTION_BYTES] __attribute__((aligned(8)));

	if (!p)
		return true;
	if (p->tcp_bytes + MP_OPTION_BYTES > MP_TCP_HEADER_MAX ||
	    skb->len != p->l3 + p->segment.ip_bytes) {
		mp_count(MP_COUNT_OPTIONS_NO_ROOM);
		return true;
	}
	if (mp_is_signed(skb, p)) {
		mp_count(MP_COUNT_OPTIONS_SIGNED);
		return true;
	}
	if (bpf_skb_change_tail(skb, p->frame_bytes + MP_OPTION_BYTES, 0)) {
		mp_count(MP_COUNT_OPTIONS_FAILED); /* still whole */
		return true;
	}
	if (p->tells_feedback)
		mp_feedback_write(option, &p->feedback);
	else
		mp_option_write(option, rtt_wired_us);
	if (bpf_skb_store_bytes(skb, p->frame_bytes, option, MP_OPTION_BYTES, 0) ||
	    mp_lengthen_ip(skb, p) || mp_lengthen_tcp(skb, p, option)) {
		mp_count(MP_COUNT_OPTIONS_FAILED);
		return false;
	}
	mp_count(MP_COUNT_OPTIONS);
	return true;
}

/*
 * Reads whether a packet from the mesh asks, and blanks the question out with NOPs: no host or
 * firewall in the Internet has to bear with it. A failure leaves it as it is.
 */
static __attribute__((noinline)) int mp_take_question(struct __sk_buff *skb, struct mp_packet *p)
{
	uint32_t question, nops = 0x01010101u, at;

	if (!p || mp_has_plain_options(skb, p))
		return 0;
	at = p->l4 + p->tcp_bytes - MP_ASK_BYTES;
	if (bpf_skb_load_bytes(skb, at, &question, sizeof(question)) ||
	    !mp_ask_read((const uint8_t *)&question))
		return 0;
	/* The same bytes may stand in a timestamp; and a signed packet stays as it is. */
	mp_read_options(skb, p);
	if ((p->options & (MP_SEEN_ASK | MP_SEEN_SIGNATURE)) != MP_SEEN_ASK)
		return 0;
	p->asks = true;
	mp_count(MP_COUNT_ASKS);
	if (bpf_skb_store_bytes(skb, at, &nops, sizeof(nops), 0) == 0)
		bpf_l4_csum_replace(skb, p->l4 + MP_TCP_CHECKSUM_AT, question, nops, 4);
	return 0;
}

/*
 * Blanks the option at p->feedback_at, at an odd place or an even one. The checksum is of words of two bytes:
 * the twelve bytes compared begin at an even place, and lie inside the packet whatever ends it.
 */
MP_INLINE long mp_blank_one(struct __sk_buff *skb, const struct mp_packet *p)
{
	const uint32_t nops[2] = { 0x01010101u, 0x01010101u };
	uint32_t at = (uint32_t)p->l4 + p->feedback_at;
	uint32_t from = at - 4 + (p->feedback_at & 1);
	uint32_t before[3], after[3];
	int64_t sum;

	if (bpf_skb_load_bytes(skb, from, before, sizeof(before)) ||
	    bpf_skb_store_bytes(skb, at, nops, sizeof(nops), 0) ||
	    bpf_skb_load_bytes(skb, from, after, sizeof(after)))
		return -1;
	sum = bpf_csum_diff(before, sizeof(before), after, sizeof(after), 0);
	return bpf_l4_csum_replace(skb, (uint32_t)p->l4 + MP_TCP_CHECKSUM_AT, 0, (uint64_t)sum, 0);
}

/*
 * Blanks an ACK's SACK: what it asks for is sent again from here. Likewise at an odd place or an even one, and a failure
 * leaves it as it is.
 */
static __attribute__((noinline)) int mp_blank_sack(struct __sk_buff *skb, struct mp_packet *p)
{
	uint32_t before[MP_SACK_BYTES_MAX / 4 + 1], after[MP_SACK_BYTES_MAX / 4 + 1];
	uint64_t more; /* blocks beside the first */
	uint32_t from;
	int64_t sum;

	if (!p)
		return 0;
	from = (uint32_t)p->l4 + p->sack.at - 2 + (p->sack.at & 1);
	more = (uint64_t)mp_sack_blocks(p->sack.bytes) - 1;
	/* The compiler knows the bounds already and would drop what the verifier needs. */
	asm volatile("" : "+r"(more));
	if (more >= MP_SACK_BLOCKS || bpf_skb_load_bytes(skb, from, before, 12 + 8 * (uint32_t)more) ||
	    bpf_skb_store_bytes(skb, (uint32_t)p->l4 + p->sack.at, mp_nops, 10 + 8 * (uint32_t)more, 0) ||
	    bpf_skb_load_bytes(skb, from, after, 12 + 8 * (uint32_t)more))
		return 0;
	sum = bpf_csum_diff(before, 12 + 8 * (uint32_t)more, after, 12 + 8 * (uint32_t)more, 0);
	bpf_l4_csum_replace(skb, (uint32_t)p->l4 + MP_TCP_CHECKSUM_AT, 0, (uint64_t)sum, 0);
	mp_count(MP_COUNT_SACKS_BLANKED);
	return 0;
}

/*
 * What a packet from the wires tells in our name is forged, or of a gateway further out, whose RTT_wired
 * is of another place and whose caps are of another mesh: it goes no further. A signed packet comes from
 * its connection's other end itself, and stays as it is.
 */
static __attribute__((noinline)) int mp_blank_feedback(struct __sk_buff *skb, struct mp_packet *p)
{
	uint32_t i;

	if (!p || mp_has_plain_options(skb, p))
		return 0;
	for (i = 0; i < MP_TCP_OPTIONS_MAX / MP_OPTION_BYTES; i++) {
		mp_read_options(skb, p);
		if ((p->options & (MP_SEEN_FEEDBACK | MP_SEEN_SIGNATURE)) != MP_SEEN_FEEDBACK ||
		    mp_blank_one(skb, p))
			return 0;
		mp_count(MP_COUNT_OPTIONS_BLANKED);
	}
	return 0;
}

#endif
