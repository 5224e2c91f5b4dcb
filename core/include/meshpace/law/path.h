/* SPDX-License-Identifier: GPL-2.0-only */
/* The wireless path of a flow, and what one RTT sample says of it (GAP eq. 3, 4). */
#ifndef MESHPACE_PATH_H
#define MESHPACE_PATH_H

#include "link.h"

struct mp_path {
	uint32_t hops;       /* h: wireless hops between gateway and mesh host; 0 counts as 1 */
	uint32_t kbps;       /* b: bit rate of the links; 0: unknown, transmission time ignored */
	uint32_t data_bytes; /* s_data: a data packet, IP header included */
	uint32_t ack_bytes;  /* s_ACK: an ACK packet, IP header included */
	struct mp_link link; /* for the law `map` */
	int64_t uneven_q16;  /* of links at different rates, see mp_path_set_links; else 0 */
};

/* Beyond four hops a transmission no longer interferes with the next one. */
#define MP_REUSE_HOPS 4u

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

/* Most links of a path whose rates can be told one by one. */
#define MP_PATH_LINKS 36u

/* Time of a byte at kbps, in ns with 24 fractional bits, rounded; 0 for 0, unknown. */
MP_INLINE uint64_t mp_byte_ns_q24(uint32_t kbps)
{
	return kbps ? ((8000000ull << 24) + kbps / 2) / kbps : 0;
}

/*
 * The greatest sum over so many links in a row, of times of a byte. The sum moves along the path;
 * where links are fewer it is of all.
 */
MP_INLINE uint64_t mp_slowest_in_a_row(const uint32_t *kbps, uint32_t links, uint32_t in_a_row)
{
	uint64_t sum = 0, most = 0;
	uint32_t i;

	for (i = 0; i < links; i++) {
		sum += mp_byte_ns_q24(kbps[i]);
		if (i >= in_a_row)
			sum -= mp_byte_ns_q24(kbps[i - in_a_row]);
		most = mp_max_u64(most, sum);
	}
	return most;
}

/*
 * Links at bit rates b_1 .. b_n of their own (GAP section 4.2), 1 to MP_PATH_LINKS of them, in kbit/s,
 * 0: unknown. With them
 *
 *   t_q = (RTT - (s_data + s_ACK) sum 1/b_i) / 2 h,    FHD = 4 t_q + s_data max sum 1/b_i
 *
 * where the second sum is over as many links in a row as a packet takes to be out of interference,
 * wherever on the path they are slowest: no faster does the path carry packets. The path is given
 * their number, the bit rate that as many equal links would need for the first sum, and by how much
 * the second exceeds that of such links, per byte of data: a sample then costs one multiplication
 * more. reuse_hops is what mp_law_reuse_hops says of a path of so many hops. Links of one rate give
 * what that rate alone gives.
 */
MP_INLINE void mp_path_set_links(struct mp_path *path, const uint32_t *kbps, uint32_t links,
				 uint32_t reuse_hops)
{
	uint32_t in_a_row = (uint32_t)mp_min_u64(reuse_hops, links);
	uint64_t all = mp_slowest_in_a_row(kbps, links, links);
	uint64_t row = mp_slowest_in_a_row(kbps, links, in_a_row);

	path->hops = links;
	path->kbps = all ? (uint32_t)(((8000000ull << 24) * links + all / 2) / all) : 0;
	path->uneven_q16 = (int64_t)(row >> 8) -
			   (int64_t)(in_a_row * mp_byte_ns_q24(path->kbps) >> 8);
}

/* One rate, or none, is known of all links. */
MP_INLINE void mp_path_set_rate(struct mp_path *path, uint32_t hops, uint32_t kbps)
{
	path->hops = hops;
	path->kbps = kbps;
	path->uneven_q16 = 0;
}

/* delay_ns of a path of equal links, corrected for links that are not; at least 0. */
MP_INLINE uint64_t mp_uneven_delay_ns(const struct mp_path *path, uint64_t delay_ns)
{
	int64_t more_ns = (int64_t)path->data_bytes * path->uneven_q16 >> 16;
	int64_t sum_ns = (int64_t)delay_ns + more_ns;

	return (uint64_t)(sum_ns & ~(sum_ns >> 63));
}

/* No mesh is wider: NET_DIAMETER of AODV (RFC 3561, section 10). */
#define MP_TTL_HOPS_MAX 35u

/*
 * Hops to the host whose packet arrives with this TTL (hop limit), where the hosts between are
 * routers: it began at 64, 128 or 255. 0, unknown, where that gives more hops than a mesh has: the packet
 * began with another TTL, as those of a phone that hides its tethering do (65), or of a host that wants
 * the law of a long path.
 */
MP_INLINE uint32_t mp_hops_of_ttl(uint8_t ttl)
{
	uint32_t first = ttl <= 64 ? 64 : ttl <= 128 ? 128 : 255;
	uint32_t hops = first - ttl + 1;

	return hops <= MP_TTL_HOPS_MAX ? hops : 0;
}

#endif
