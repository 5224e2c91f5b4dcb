/* SPDX-License-Identifier: GPL-2.0-only */
/* The wireless path of a flow, and what one RTT sample says of it (GAP eq. 3, 4). */
#ifndef MESHPACE_PATH_H
#define MESHPACE_PATH_H

#include "base.h"

struct mp_path {
	uint32_t hops;       /* h: wireless hops between gateway and mesh host; 0 counts as 1 */
	uint32_t kbps;       /* b: bit rate of the links; 0: unknown, transmission time ignored */
	uint32_t data_bytes; /* s_data: a data packet, IP header included */
	uint32_t ack_bytes;  /* s_ACK: an ACK packet, IP header included */
};

/* Beyond four hops a transmission no longer interferes with the next one. */
#define MP_REUSE_HOPS 4u

/* Time to transmit bytes at kbps, in ns. */
MP_INLINE uint64_t mp_transmission_ns(uint32_t bytes, uint32_t kbps)
{
	return kbps ? (uint64_t)bytes * 8 * 1000000 / kbps : 0;
}

/*
 * Time that one data packet takes over one hop, t_q + s_data / b, in ns:
 *
 *   t_q = (RTT / h - (s_data + s_ACK) / b) / 2           (GAP eq. 3)
 *   t_q + s_data / b = (RTT / h + (s_data - s_ACK) / b) / 2
 *
 * An RTT below what the stated bit rate allows makes t_q negative, but not this
 * sum as long as data packets are larger than ACKs; else it is cut off at 0.
 */
MP_INLINE uint64_t mp_hop_delay_ns(const struct mp_path *path, uint64_t rtt_ns)
{
	uint32_t hops = path->hops ? path->hops : 1;
	uint64_t there = rtt_ns / hops + mp_transmission_ns(path->data_bytes, path->kbps);
	uint64_t back = mp_transmission_ns(path->ack_bytes, path->kbps);

	return there > back ? (there - back) / 2 : 0;
}

/* Four-hop delay FHD (GAP eq. 4), in ns; on shorter paths the h-hop delay. */
MP_INLINE uint64_t mp_reuse_delay_ns(const struct mp_path *path, uint64_t rtt_ns)
{
	uint32_t hops = path->hops ? path->hops : 1;

	return mp_min_u64(hops, MP_REUSE_HOPS) * mp_hop_delay_ns(path, rtt_ns);
}

/*
 * Hops to the host whose packet arrives with this TTL (hop limit), where the hosts between are
 * routers: it began at 64, 128 or 255. 0 for TTL 0, unknown.
 */
MP_INLINE uint32_t mp_hops_of_ttl(uint8_t ttl)
{
	uint32_t first = ttl <= 64 ? 64 : ttl <= 128 ? 128 : 255;

	return ttl ? first - ttl + 1 : 0;
}

#endif
