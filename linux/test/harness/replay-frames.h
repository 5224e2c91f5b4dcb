/* SPDX-License-Identifier: GPL-2.0-only */
/* The frames that a trace's packets are, and the keys of its flows and hosts. Included by replay.c. */
#ifndef MESHPACE_REPLAY_FRAMES_H
#define MESHPACE_REPLAY_FRAMES_H

#include "replay-maps.h"
#include "run.h"

#define FRAME_MAX 4096
#define ETHERNET_BYTES 14

/* Addresses. */

static inline void mesh_address(const struct trace_flow *id, uint32_t host, uint8_t address[16])
{
	static const uint8_t v4[16] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1 };
	static const uint8_t v6[16] = { 0xfd, 0, 0, 1 };

	memcpy(address, id->v6 ? v6 : v4, 16);
	address[14] = (uint8_t)(host >> 8);
	address[15] = (uint8_t)host;
}

static inline void wired_address(const struct trace_flow *id, uint8_t address[16])
{
	static const uint8_t v4[16] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 198, 18 };
	static const uint8_t v6[16] = { 0x20, 1, 0xd, 0xb8 };

	memcpy(address, id->v6 ? v6 : v4, 16);
	address[14] = (uint8_t)(id->wired >> 8);
	address[15] = (uint8_t)id->wired;
}

static inline uint16_t swapped(uint32_t value)
{
	return __builtin_bswap16((uint16_t)value);
}

static inline struct mp_flow_key key_of(const struct trace_flow *id, bool upload)
{
	struct mp_flow_key key = { .direction = upload ? MP_UP : MP_DOWN,
				   .mesh_port = swapped(id->mesh_port),
				   .wired_port = swapped(id->wired_port) };

	mesh_address(id, id->host, key.mesh);
	wired_address(id, key.wired);
	return key;
}

static inline struct mp_host_key host_key_of(const struct trace_flow *id, uint32_t host, bool up)
{
	struct mp_host_key key = { .direction = up ? MP_UP : MP_DOWN };

	mesh_address(id, host, key.address);
	return key;
}

/* Packets. */

static inline uint8_t *put_u16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
	return at + 2;
}

/* The IP header; where what is above it begins. */
static inline uint8_t *write_ip(uint8_t *at, const struct trace_packet *p, bool down, uint32_t above)
{
	uint8_t protocol = p->udp ? 17 : 6, mesh[16], wired[16];

	mesh_address(&p->flow, p->flow.host, mesh);
	wired_address(&p->flow, wired);
	if (p->flow.v6) {
		at[0] = 0x60;
		at[1] = (uint8_t)(p->ecn << 4);
		put_u16(at + 4, above);
		at[6] = protocol;
		at[7] = p->ttl;
		memcpy(at + 8, down ? wired : mesh, 16);
		memcpy(at + 24, down ? mesh : wired, 16);
		return at + 40;
	}
	at[0] = 0x45;
	at[1] = p->ecn;
	put_u16(at + 2, 20 + above);
	at[8] = p->ttl;
	at[9] = protocol;
	memcpy(at + 12, (down ? wired : mesh) + 12, 4);
	memcpy(at + 16, (down ? mesh : wired) + 12, 4);
	return at + 20;
}

static inline uint32_t write_frame(uint8_t frame[FRAME_MAX], const struct trace_packet *p, bool down)
{
	uint32_t header = p->udp ? 8 : 20 + p->option_bytes;
	uint8_t *at;

	if (header + p->len + 60 > FRAME_MAX) {
		fprintf(stderr, "replay-bpf: no packet of %u bytes can be made\n", p->len);
		exit(2);
	}
	memset(frame, 0, FRAME_MAX);
	frame[5] = frame[11] = 2;
	put_u16(frame + 12, p->flow.v6 ? 0x86dd : 0x0800);
	at = write_ip(frame + ETHERNET_BYTES, p, down, header + p->len);
	put_u16(at, down ? p->flow.wired_port : p->flow.mesh_port);
	put_u16(at + 2, down ? p->flow.mesh_port : p->flow.wired_port);
	if (p->udp) {
		put_u16(at + 4, header + p->len);
	} else {
		trace_put_u32(at + 4, p->seq);
		trace_put_u32(at + 8, p->ack);
		at[12] = (uint8_t)(header / 4 << 4);
		at[13] = p->flags;
		put_u16(at + 14, p->window);
		memcpy(at + 20, p->options, p->option_bytes);
	}
	return (uint32_t)(at - frame) + header + p->len;
}

/* What the kernel says the packet is, before a program sees it. */
static inline struct __sk_buff context_of(const struct trace_event *event)
{
	const struct trace_packet *p = &event->packet;
	struct __sk_buff skb = { .ingress_ifindex = p->own_ns ? 0 : 2 };

	if (event->kind == TRACE_AGAIN)
		skb.mark = MP_MARK_LOCAL;
	if (p->own_ns)
		skb.tstamp = event->now_ns + p->own_ns;
	if (p->segments > 1) {
		skb.gso_size = (p->len + p->segments - 1) / p->segments;
		/* By virtio and tun the size comes alone, where it tells as much. */
		if (p->seq / skb.gso_size % 2 || (p->len + skb.gso_size - 1) / skb.gso_size != p->segments)
			skb.gso_segs = p->segments;
	}
	return skb;
}

/* Whether a frame that came from the mesh still has the SACK of the packet that it was. */
static inline bool has_sack(const uint8_t *frame, const struct trace_packet *p)
{
	uint32_t ip_bytes = p->flow.v6 ? 40 : 20;

	return frame[ETHERNET_BYTES + ip_bytes + 20 + p->sack_at] == MP_SACK_KIND;
}

static inline bool is_marked(const uint8_t *frame, bool v6)
{
	return v6 ? (frame[ETHERNET_BYTES + 1] >> 4 & 3) == 3 : (frame[ETHERNET_BYTES + 1] & 3) == 3;
}

#endif
