/* SPDX-License-Identifier: GPL-2.0-only */
/* What the link layer adds to a packet's transmission over one hop (MAP eq. 9, 10). */
#ifndef MESHPACE_LINK_H
#define MESHPACE_LINK_H

#include "../arith/base.h"

/* Control frames of IEEE 802.11, bytes. */
#define MP_LINK_ACK_BYTES 14u
#define MP_LINK_RTS_BYTES 20u
#define MP_LINK_CTS_BYTES 14u

/* What the radios of a path do; used by the law `map` alone. All zero: nothing is known. */
struct mp_link {
	uint32_t base_kbps; /* b_base, of control frames; 0: unknown, their time ignored */
	uint16_t cw;        /* cw_cur, contention window in slots; 0: unknown, ignored */
	uint8_t slot_us;    /* t_slot; 0: unknown, ignored */
	uint8_t rts_cts;    /* RTS and CTS go before a packet */
	uint16_t h_cs;      /* carrier-sensing range in hops (radio.h); 0: unknown, 3 */
};

/* The papers' link, 802.11b with long preambles: 1 Mbit/s, CWmin 31 slots of 20 us, RTS/CTS off. */
MP_INLINE struct mp_link mp_link_80211b(void)
{
	struct mp_link link = {
		.base_kbps = 1000, .cw = 31, .slot_us = 20, .rts_cts = 0, .h_cs = 0,
	};
	return link;
}

/* Time to transmit bytes at kbps, in ns. */
MP_INLINE uint64_t mp_transmission_ns(uint32_t bytes, uint32_t kbps)
{
	return kbps ? (uint64_t)bytes * 8 * 1000000 / kbps : 0;
}

/* Bounds of the link-layer delay of one packet over one hop, in ns. */
struct mp_link_bounds {
	uint64_t least_ns; /* no retransmission */
	uint64_t most_ns;  /* three, after which the packet is dropped */
};

/*
 * ACK_LL / b_base <= t_LL <= ACK_LL / b_base + 3 (s / b + cw_cur t_slot) (MAP eq. 9, 10), where a
 * packet takes s / b = transmission_ns. RTS and CTS, where on, count on either side, as ACK_LL.
 */
MP_INLINE struct mp_link_bounds mp_link_bounds(const struct mp_link *link, uint64_t transmission_ns)
{
	uint32_t rts_cts = link->rts_cts ? MP_LINK_RTS_BYTES + MP_LINK_CTS_BYTES : 0;
	uint64_t backoff_ns = (uint64_t)link->cw * link->slot_us * MP_NS_PER_US;
	struct mp_link_bounds bounds;

	bounds.least_ns = mp_transmission_ns(MP_LINK_ACK_BYTES + rts_cts, link->base_kbps);
	bounds.most_ns = bounds.least_ns + 3 * (transmission_ns + backoff_ns);
	return bounds;
}

/* t_LLD or t_LLA: the middle between the bounds, in ns. */
MP_INLINE uint64_t mp_link_delay_ns(const struct mp_link *link, uint64_t transmission_ns)
{
	struct mp_link_bounds bounds = mp_link_bounds(link, transmission_ns);

	return (bounds.least_ns + bounds.most_ns) / 2;
}

#endif
