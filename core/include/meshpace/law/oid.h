/* SPDX-License-Identifier: GPL-2.0-only */
/* The out-of-interference delay that one RTT sample tells (MAP eq. 8, 11, 12). */
#ifndef MESHPACE_OID_H
#define MESHPACE_OID_H

#include "path.h"

/* Where H_cs is unknown it is what makes GAP's four hops. */
#define MP_H_CS_UNKNOWN (MP_REUSE_HOPS - 1)

/* Longer delays are cut off, so that no product with them overflows: 2.4 hours. */
#define MP_OID_MAX_NS (1ull << 43)

/* What the link layer adds to data and to its acknowledgement at each hop, t_LLD and t_LLA, in ns. */
struct mp_link_layer {
	uint64_t data_ns;
	uint64_t ack_ns;
};

/*
 * By eq. (9), (10), the middle of their bounds; or, where the least RTT so far is given (least_ns, else 0), what that
 * leaves beside transmissions: then nothing waited. Half of it is each one's, for backoff, preamble and the
 * link layer's own acknowledgement are of a frame and not of its bytes.
 */
MP_INLINE struct mp_link_layer mp_link_layer_of(const struct mp_path *path, uint64_t least_ns)
{
	uint64_t data_ns = mp_transmission_ns(path->data_bytes, path->kbps);
	uint64_t ack_ns = mp_transmission_ns(path->ack_bytes, path->kbps);
	uint64_t hop_ns = least_ns / (path->hops ? path->hops : 1);
	uint64_t half_ns = (mp_max_u64(hop_ns, data_ns + ack_ns) - data_ns - ack_ns) / 2;
	struct mp_link_layer layer = {
		.data_ns = mp_select_u64(least_ns != 0, half_ns, mp_link_delay_ns(&path->link, data_ns)),
		.ack_ns = mp_select_u64(least_ns != 0, half_ns, mp_link_delay_ns(&path->link, ack_ns)),
	};

	return layer;
}

/*
 * Average queueing delay at a hop, in ns: eq. (8), which makes the RTT of queueing, transmission
 * and link layer, over all hops, there and back, solved for
 *
 *   t_q = (RTT / h - (s_data + s_ACK) / b - t_LLD - t_LLA) / 2           (MAP eq. 11)
 *
 * The link layer's delays are estimates, and more than an idle radio takes: what is then left is
 * below 0, but a queueing delay is not.
 */
MP_INLINE uint64_t mp_queueing_delay_ns(const struct mp_path *path, struct mp_link_layer layer, uint64_t rtt_ns)
{
	uint64_t data_ns = mp_transmission_ns(path->data_bytes, path->kbps);
	uint64_t ack_ns = mp_transmission_ns(path->ack_bytes, path->kbps);
	uint64_t rest_ns = data_ns + ack_ns + layer.data_ns + layer.ack_ns;
	uint64_t hop_ns = rtt_ns / (path->hops ? path->hops : 1);

	return (mp_max_u64(hop_ns, rest_ns) - rest_ns) / 2;
}

/*
 * Hops until a packet is out of interference: H_cs + 1, but at most as many as the path has, or
 * with past_end one more (see mp_law_map). least_h_cs bounds H_cs from below.
 */
MP_INLINE uint32_t mp_oid_hops(const struct mp_path *path, uint32_t least_h_cs, bool past_end)
{
	uint64_t h_cs = path->link.h_cs ? path->link.h_cs : MP_H_CS_UNKNOWN;
	uint64_t hops = path->hops ? path->hops : 1;

	return (uint32_t)mp_min_u64(mp_max_u64(h_cs, least_h_cs) + 1, hops + past_end);
}

/*
 * OID = (H_cs + 1) (t_q + s_data / b) (MAP eq. 12), in ns, over hops = H_cs + 1. With link_in_oid each hop has t_LLD as
 * well, which eq. (8) counts and the definition of OID means: the time until a packet has been received H_cs + 1 hops
 * away.
 */
MP_INLINE uint64_t mp_oid_ns(const struct mp_path *path, uint32_t hops, struct mp_link_layer layer, bool link_in_oid,
			     uint64_t rtt_ns)
{
	uint64_t hop_ns = mp_queueing_delay_ns(path, layer, rtt_ns) + mp_transmission_ns(path->data_bytes, path->kbps) +
			  mp_select_u64(link_in_oid, layer.data_ns, 0);

	return mp_min_u64(mp_min_u64(hops, 0xffffu + 1) * mp_min_u64(hop_ns, MP_OID_MAX_NS),
			  MP_OID_MAX_NS);
}

#endif
