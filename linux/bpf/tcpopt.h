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
#define MP_TCPOPT_WINDOW_BYTES 3u
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
	MP_SEEN_DSACK = 1 << 2,    /* something came twice: nothing is missing */
	MP_SEEN_ASK = 1 << 3,      /* the question for RTT_wired ends the header */
	MP_SEEN_FEEDBACK = 1 << 4, /* RTT_wired, or what a flow shares; at mp_packet.feedback_at */
};

/* Copies the first bytes of the options, that many that the header has. */
MP_INLINE bool mp_copy_first_options(struct __sk_buff *skb, const struct mp_packet *p, void *options, uint32_t bytes)
{
	uint64_t words = (p->l4 - mp_limits.l2_bytes + MP_TCP_HEADER_MIN) / 4;

	/*
	 * The compiler knows the bounds already and would drop what the verifier needs; which sees by the
	 * multiplication, too, that the word is aligned (as MIPS wants it).
	 */
	asm volatile("" : "+r"(words));
	if (words > (MP_TCP_OPTIONS_FAR - 14) / 4)
		return false;
	return mp_copy(skb, mp_limits.l2_bytes + words * 4, options, bytes);
}

/* Whether the header has nothing that matters here, without a look at all of it. */
MP_INLINE bool mp_has_plain_options(struct __sk_buff *skb, const struct mp_packet *p)
{
	uint32_t bytes = p->tcp_bytes - MP_TCP_HEADER_MIN, first;

	if (bytes == 0)
		return true;
	if (bytes != MP_TIMESTAMP_BYTES)
		return false;
	return mp_copy_first_options(skb, p, &first, sizeof(first)) && first == bpf_htonl(MP_TIMESTAMP_WORD);
}

/*
 * An upload's data, or its acknowledgement: what it says of the path (core's echo.h). Sets p->segment.stamp and .echo. On its
 * own: a verifier would follow all that comes after for each way in which they may be there or not.
 */
static __attribute__((noinline)) int mp_read_timestamps(struct __sk_buff *skb, struct mp_packet *p)
{
	uint32_t options[MP_ECHO_LOOK_BYTES / 4];

	if (p && p->tcp_bytes >= MP_TCP_HEADER_MIN + MP_ECHO_LOOK_BYTES &&
	    mp_copy_first_options(skb, p, options, sizeof(options)))
		mp_echo_read((const uint8_t *)options, &p->segment.stamp, &p->segment.echo);
	return 0;
}

/*
 * TCP's options, copied out of the packet, and what was seen of them: with no pointer to the packet in it the walk
 * can be verified on its own where the kernel has no BTF. An option's first ten bytes lie in it wherever it
 * begins.
 */
struct mp_options {
	uint8_t bytes[MP_TCP_OPTIONS_MAX + 12];
	uint32_t count; /* bytes that the packet has of them */
	uint32_t ack;
	uint32_t at;           /* as far as they have been read */
	uint32_t seen;         /* of enum mp_seen */
	uint32_t feedback_at;  /* the first that tells something, from the TCP header on; 0: none */
	uint32_t window_scale; /* one more than its shift; 0: none */
	struct mp_sack_at sack;
};

/* Whether the first block of a SACK ends where all is acknowledged, or before (RFC 2883, section 4). */
MP_INLINE bool mp_is_dsack(const uint8_t *sack, uint32_t ack)
{
	return mp_seq_up_to(mp_sack_number(sack + 6), ack);
}

/* An option in our kind, of the bytes that its head says. */
MP_INLINE uint32_t mp_seen_of_ours(const uint8_t *option, uint32_t bytes)
{
	uint32_t exid = (uint32_t)option[2] << 8 | option[3];

	if (bytes == MP_ASK_BYTES && exid == MP_OPTION_EXID)
		return MP_SEEN_ASK;
	if (bytes == MP_OPTION_BYTES && (exid == MP_OPTION_EXID || exid == MP_FEEDBACK_EXID))
		return MP_SEEN_FEEDBACK;
	return 0;
}

/* What an option of two bytes or more says, which lies in the header. */
MP_INLINE uint32_t mp_seen_in(const uint8_t *option, uint32_t bytes, uint32_t ack)
{
	uint32_t kind = option[0];

	if (kind == MP_TCPOPT_MD5 || kind == MP_TCPOPT_AO)
		return MP_SEEN_SIGNATURE;
	if (kind == MP_TCPOPT_MPTCP)
		return MP_SEEN_MPTCP;
	if (kind == MP_SACK_KIND)
		return bytes >= 10 && mp_is_dsack(option, ack) ? MP_SEEN_DSACK : 0;
	return kind == MP_OPTION_KIND ? mp_seen_of_ours(option, bytes) : 0;
}

/* Reads the option at o->at, and goes on to the next; false: there is none. */
MP_INLINE bool mp_next_option(struct mp_options *o)
{
	uint64_t at = o->at;
	const uint8_t *option;
	uint32_t bytes, seen;

	/* The compiler knows the bounds already and would drop what the verifier needs. */
	asm volatile("" : "+r"(at));
	if (at >= MP_TCP_OPTIONS_MAX || at + 2 > o->count)
		return false;
	option = o->bytes + at;
	if (option[0] == MP_TCPOPT_END)
		return false;
	bytes = option[0] == MP_TCPOPT_NOP ? 1 : option[1];
	o->at = (uint32_t)at + bytes;
	if (bytes == 1)
		return option[0] == MP_TCPOPT_NOP;
	if (bytes == 0 || o->at > o->count)
		return false;
	if (option[0] == MP_TCPOPT_WINDOW && bytes == MP_TCPOPT_WINDOW_BYTES)
		o->window_scale = (uint32_t)mp_min_u64(option[2], 14) + 1; /* RFC 7323, 2.3 */
	if (option[0] == MP_SACK_KIND) {
		o->sack.at = (uint8_t)(MP_TCP_HEADER_MIN + at);
		o->sack.bytes = (uint8_t)bytes;
	}
	seen = mp_seen_in(option, bytes, o->ack);
	if (seen == MP_SEEN_ASK && o->at != o->count)
		return true;
	if (seen == MP_SEEN_FEEDBACK && o->feedback_at == 0)
		o->feedback_at = MP_TCP_HEADER_MIN + (uint32_t)at;
	o->seen |= seen;
	return true;
}

/*
 * Walks through the options, of which a broken list is read up to where it breaks, as its receiver does. On
 * its own: the verifier knows nothing of what stands in its argument, else it would follow every list of
 * options that there can be.
 */
__attribute__((noinline)) int mp_walk_options(struct mp_options *o)
{
	uint32_t i;

	if (!o)
		return 0;
	for (i = 0; i < MP_TCP_OPTIONS_MAX; i++)
		if (!mp_next_option(o))
			break;
	return 0;
}

/*
 * A SACK that was found: its highest block, as core's mp_sack_top has it. One that a signature covers counts for nothing:
 * it cannot be blanked. On its own as the walk.
 */
__attribute__((noinline)) int mp_read_sack(struct mp_options *o)
{
	uint64_t at;
	uint32_t i;

	if (!o)
		return 0;
	o->sack.top.from = o->sack.top.to = o->ack;
	at = (uint64_t)o->sack.at - MP_TCP_HEADER_MIN;
	for (i = 0; i < MP_SACK_BLOCKS; i++) {
		struct mp_range has;

		/* The compiler knows the bounds already and would drop what the verifier needs. */
		asm volatile("" : "+r"(at));
		if (o->seen & MP_SEEN_SIGNATURE || i >= mp_sack_blocks(o->sack.bytes) ||
		    at > MP_TCP_OPTIONS_MAX - 10 - 8 * i)
			break;
		has = mp_sack_block(o->bytes + at, i, o->ack);
		if (mp_seq_before(o->sack.top.to, has.to))
			o->sack.top = has;
	}
	return 0;
}

/* Copies the options out of the packet; false: there are none. */
MP_INLINE bool mp_copy_options(struct __sk_buff *skb, const struct mp_packet *p,
			       struct mp_options *o)
{
	uint64_t count = o->count;

	/*
	 * Verifiers before Linux 6.18 draw no bounds from the one comparison that the compiler would make of
	 * these two.
	 */
	asm volatile("" : "+r"(count));
	if (count > MP_TCP_OPTIONS_MAX)
		return false;
	asm volatile("" : "+r"(count));
	return count >= 4 && bpf_skb_load_bytes(skb, (uint32_t)p->l4 + MP_TCP_HEADER_MIN, o->bytes,
						(uint32_t)count) == 0;
}

/* Reads the TCP options. Sets p->options, p->feedback_at, p->window_scale and p->sack. */
static __attribute__((noinline)) int mp_read_options(struct __sk_buff *skb, struct mp_packet *p)
{
	struct mp_options o = { .count = p->tcp_bytes - MP_TCP_HEADER_MIN, .ack = p->segment.ack };

	if (mp_copy_options(skb, p, &o))
		mp_walk_options(&o);
	mp_read_sack(&o);
	p->options = o.seen;
	p->sack = o.sack;
	p->feedback_at = o.feedback_at;
	p->window_scale = o.window_scale;
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

/* An ACK from the mesh: sets p->options and p->sack. */
static __attribute__((noinline)) int mp_read_ack_options(struct __sk_buff *skb, struct mp_packet *p)
{
	if (!p)
		return 0;
	p->sack.top.from = p->sack.top.to = p->segment.ack;
	if (!mp_has_plain_options(skb, p))
		mp_read_options(skb, p);
	return 0;
}

/* Whether an ACK that repeats the one before says something of its own, and is no sign of a loss. */
MP_INLINE bool mp_says_more(const struct mp_packet *p)
{
	if (p->options & MP_SEEN_MPTCP)
		mp_count(MP_COUNT_DUPACKS_MPTCP);
	else if (p->options & MP_SEEN_DSACK)
		mp_count(MP_COUNT_DUPACKS_DSACK);
	return (p->options & (MP_SEEN_MPTCP | MP_SEEN_DSACK)) != 0;
}

#endif
