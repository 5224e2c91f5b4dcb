/* SPDX-License-Identifier: GPL-2.0-only */
/* Reading a packet: Ethernet or none, VLAN tags, IPv4 or IPv6, TCP. Never changes it. */
#ifndef MESHPACE_BPF_PACKET_H
#define MESHPACE_BPF_PACKET_H

#include "counters.h"

#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>

#include <bpf/bpf_endian.h>

#define MP_VLAN_TAGS_MAX 2
#define MP_VLAN_BYTES 4
#define MP_UDP_HEADER 8u

/* Where a packet has a SACK, and what it says (core's sack.h). */
struct mp_sack_at {
	struct mp_range top; /* its highest block */
	uint8_t at;          /* from the TCP header on; 0: none */
	uint8_t bytes;
};

struct mp_packet {
	struct mp_flow_key key; /* without direction */
	struct mp_segment segment; /* as core's endpoints look at it; of what is not TCP: now_ns, ip_bytes, segments, ttl */
	uint64_t ready_ns;      /* now_ns, or when a socket of this host wants it to leave */
	uint64_t held_bytes_per_s; /* htb: by its host's cap; 0: it has none */
	uint64_t l3, l4;        /* offsets of the headers; of 64 bits a verifier forgets none */
	uint32_t tcp_bytes;     /* of the TCP header, options included */
	uint32_t frame_bytes;
	uint8_t protocol;       /* above IP */
	uint8_t ecn;            /* of the IP header */
	bool v6;
	bool own;                    /* to the mesh: made by a process of this box, not forwarded */
	bool asks;                   /* its sender wants to know RTT_wired */
	bool one_way;                /* known to have no flow in the other direction */
	bool heard;                  /* from the mesh: its host has been noted as heard, lately */
	bool met;                    /* to the mesh: of a flow of which its host was heard lately */
	bool tells_feedback;         /* its receiver is told of others, and not of RTT_wired */
	uint8_t window_scale;        /* of a SYN, one more than its shift; 0: none */
	uint8_t options;             /* what its TCP options say, of enum mp_seen */
	uint8_t feedback_at;         /* the first that tells something, from the TCP header on; 0: none */
	uint32_t charged;            /* for it, of a flow that is not answered */
	struct mp_sack_at sack;      /* of an ACK from the mesh */
	union {
		struct mp_acked acked; /* from the mesh: what it tells of a flow that is known */
		struct {               /* to the mesh, where the kernel holds packets */
			uint64_t came_ns; /* when it came to wait */
			uint32_t came_by; /* the interface by which it came to this box; 0: made here */
			uint32_t stood;   /* units in line up to its own, when it came */
			uint32_t before;  /* units that had come to the line before it, ever */
			uint32_t news;    /* of an ACK that fits: bytes that it acknowledges more */
			uint32_t number;  /* of the class where it waits, or waited, with MP_HTB_MAJOR */
			uint8_t line;     /* where it waits, or waited: enum mp_line */
			uint8_t bucket;   /* of its flow, or of what is not TCP */
			/* In bits, or the stack has no room. */
			bool back : 1;     /* it has waited, and comes a second time */
			bool fits : 1;     /* an ACK: of data that is known */
			bool unheld : 1;   /* its line lets nothing go, so that it does not wait there */
			bool answered : 1; /* of TCP: of a flow that is */
		};
	};
	struct mp_feedback feedback; /* what its receiver is told of others */
};

/*
 * Copies a header from an offset of the packet, without a helper where it lies in the packet's first
 * piece of memory: a tenth of the cost. False: the packet is shorter.
 *
 * Where the processor wants alignment (MIPS) the verifier does, too, and takes it that a packet begins two
 * bytes behind a multiple of four (NET_IP_ALIGN): behind Ethernet's 14 bytes headers are aligned, without
 * them only half as well. Of the two branches the verifier takes one out of the program.
 */
MP_INLINE bool mp_copy(struct __sk_buff *skb, uint64_t at, void *header, uint32_t bytes)
{
	const void *from = (const void *)(long)skb->data + at;

	if (from + bytes > (const void *)(long)skb->data_end)
		return bpf_skb_load_bytes(skb, (uint32_t)at, header, bytes) == 0;
	if (mp_limits.l2_bytes)
		__builtin_memcpy(header, __builtin_assume_aligned(from, 4), bytes);
	else
		__builtin_memcpy(header, __builtin_assume_aligned(from, 2), bytes);
	return true;
}

MP_INLINE bool mp_is_vlan(uint16_t protocol)
{
	return protocol == bpf_htons(ETH_P_8021Q) || protocol == bpf_htons(ETH_P_8021AD);
}

/* Network protocol at p->l3, behind VLAN tags; in network order, 0 if there is none. */
MP_INLINE uint16_t mp_network_protocol(struct __sk_buff *skb, struct mp_packet *p)
{
	uint16_t protocol = (uint16_t)skb->protocol;
	int i;

	p->l3 = mp_limits.l2_bytes;
	if (p->l3 == 0)
		return protocol;
	for (i = 0; i < MP_VLAN_TAGS_MAX && mp_is_vlan(protocol); i++) {
		p->l3 += MP_VLAN_BYTES;
		if (bpf_skb_load_bytes(skb, p->l3 - sizeof(protocol), &protocol, sizeof(protocol)))
			return 0;
	}
	return protocol;
}

MP_INLINE void mp_map_ipv4(uint8_t address[16], uint32_t ipv4)
{
	((uint32_t *)address)[2] = bpf_htonl(0xffff);
	((uint32_t *)address)[3] = ipv4;
}

/* Reads IPv4; returns what the packet counts as, MP_COUNT_TCP when TCP follows at p->l4. */
MP_INLINE enum mp_counter mp_read_ipv4(struct __sk_buff *skb, struct mp_packet *p, bool to_mesh)
{
	struct iphdr ip;

	if (!mp_copy(skb, p->l3, &ip, sizeof(ip)) || ip.version != 4 || ip.ihl < 5)
		return MP_COUNT_MALFORMED;
	p->l4 = p->l3 + ip.ihl * 4u;
	p->segment.ip_bytes = bpf_ntohs(ip.tot_len);
	p->segment.ttl = ip.ttl;
	p->protocol = ip.protocol;
	p->ecn = ip.tos & 3;
	mp_map_ipv4(p->key.mesh, to_mesh ? ip.daddr : ip.saddr);
	mp_map_ipv4(p->key.wired, to_mesh ? ip.saddr : ip.daddr);
	if (ip.frag_off & bpf_htons(0x3fff)) /* more fragments, or an offset */
		return MP_COUNT_FRAGMENTS;
	return ip.protocol == IPPROTO_TCP ? MP_COUNT_TCP : MP_COUNT_OTHER;
}

/* Likewise IPv6. TCP behind extension headers is not looked for. */
MP_INLINE enum mp_counter mp_read_ipv6(struct __sk_buff *skb, struct mp_packet *p, bool to_mesh)
{
	struct ipv6hdr ip;

	if (!mp_copy(skb, p->l3, &ip, sizeof(ip)) || ip.version != 6)
		return MP_COUNT_MALFORMED;
	p->l4 = p->l3 + sizeof(ip);
	p->segment.ip_bytes = sizeof(ip) + bpf_ntohs(ip.payload_len);
	p->segment.ttl = ip.hop_limit;
	p->protocol = ip.nexthdr;
	p->ecn = ip.flow_lbl[0] >> 4 & 3;
	p->v6 = true;
	__builtin_memcpy(p->key.mesh, to_mesh ? &ip.daddr : &ip.saddr, 16);
	__builtin_memcpy(p->key.wired, to_mesh ? &ip.saddr : &ip.daddr, 16);
	return ip.nexthdr == IPPROTO_TCP ? MP_COUNT_TCP : MP_COUNT_OTHER;
}

/*
 * Segments of a super packet, whose headers end there: what comes from another machine by virtio or a tun device states their
 * size alone, and the kernel counts them when it splits the packet.
 */
MP_INLINE void mp_count_segments(const struct __sk_buff *skb, struct mp_packet *p, uint32_t headers_end)
{
	uint32_t gso_bytes = skb->gso_size;

	if (gso_bytes && p->segment.segments < 2 && skb->len > headers_end)
		p->segment.segments = (skb->len - headers_end + gso_bytes - 1) / gso_bytes;
}

MP_INLINE enum mp_counter mp_read_tcp(struct __sk_buff *skb, struct mp_packet *p, bool to_mesh)
{
	uint32_t ip_header = p->l4 - p->l3;
	struct tcphdr tcp;

	if (!mp_copy(skb, p->l4, &tcp, sizeof(tcp)))
		return MP_COUNT_MALFORMED;
	p->tcp_bytes = tcp.doff * 4u;
	mp_count_segments(skb, p, (uint32_t)p->l4 + p->tcp_bytes);
	if (p->segment.segments > 1) /* the IP length of a super packet may be too large for its field */
		p->segment.ip_bytes = skb->len - p->l3;
	if (p->tcp_bytes < sizeof(tcp) || p->segment.ip_bytes < ip_header + p->tcp_bytes ||
	    p->l3 + p->segment.ip_bytes > skb->len)
		return MP_COUNT_MALFORMED;
	p->segment.payload_bytes = p->segment.ip_bytes - ip_header - p->tcp_bytes;
	p->segment.segment_bytes = p->segment.payload_bytes;
	if (p->segment.segments > 1)
		p->segment.segment_bytes /= p->segment.segments;
	p->segment.seq = bpf_ntohl(tcp.seq);
	p->segment.ack = bpf_ntohl(tcp.ack_seq);
	p->segment.window = bpf_ntohs(tcp.window);
	p->segment.flags = ((const uint8_t *)&tcp)[13];
	p->key.mesh_port = to_mesh ? tcp.dest : tcp.source;
	p->key.wired_port = to_mesh ? tcp.source : tcp.dest;
	return MP_COUNT_TCP;
}

/*
 * Reads a packet to or from the mesh into p, zero but for its time. False: it is not read as TCP; without
 * ip_bytes it is not IP either, with them its addresses are known.
 */
MP_INLINE bool mp_read_packet(struct __sk_buff *skb, struct mp_packet *p, bool to_mesh)
{
	uint16_t protocol = mp_network_protocol(skb, p);
	enum mp_counter is = MP_COUNT_OTHER;

	p->ready_ns = p->segment.now_ns;
	p->frame_bytes = skb->len;
	p->segment.segments = skb->gso_segs > 1 ? skb->gso_segs : 1;
	if (protocol == bpf_htons(ETH_P_IP))
		is = mp_read_ipv4(skb, p, to_mesh);
	else if (protocol == bpf_htons(ETH_P_IPV6))
		is = mp_read_ipv6(skb, p, to_mesh);
	if (is == MP_COUNT_TCP)
		is = mp_read_tcp(skb, p, to_mesh);
	if (!to_mesh || !p->back)
		mp_count(is);
	if (is == MP_COUNT_TCP)
		return true;
	if (p->protocol == IPPROTO_UDP)
		mp_count_segments(skb, p, (uint32_t)p->l4 + MP_UDP_HEADER);
	/* Lengths that the sender states would be a lie's: what takes air counts. */
	p->segment.ip_bytes = p->segment.ip_bytes ? p->frame_bytes - (uint32_t)p->l3 : 0;
	return false;
}

MP_INLINE bool mp_is_pure_ack(const struct mp_packet *p)
{
	return mp_segment_is_pure_ack(&p->segment);
}

#endif
