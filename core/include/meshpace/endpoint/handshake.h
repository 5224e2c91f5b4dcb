/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a handshake tells before the first data. RTT_wired of a download, whose data cannot tell it: from the mesh
 * end's SYN or SYN-ACK to the first packet of the wired end that acknowledges it. And whether the mesh end asked for
 * RTT_wired, and how its windows are scaled.
 */
#ifndef MESHPACE_HANDSHAKE_H
#define MESHPACE_HANDSHAKE_H

#include "../arith/base.h"

struct mp_handshake {
	uint64_t began_ns; /* 0: sent more than once, whose answer is it? (Karn); or not begun */
	uint32_t rtt_us;   /* 0: not answered yet */
	uint16_t asked;    /* for RTT_wired, in the SYN */
	uint16_t window_scale; /* one more than the shift; 0: not begun */
};

/*
 * A SYN or SYN-ACK from the mesh, with a window scale of one more than its shift (0: without). before: what is known of
 * the same connection; NULL: nothing.
 */
MP_INLINE struct mp_handshake mp_handshake_of(const struct mp_handshake *before, bool asks,
					      uint32_t window_scale, uint64_t now_ns)
{
	struct mp_handshake handshake = {
		.began_ns = before && before->window_scale && before->rtt_us == 0 ? 0 : now_ns,
		.rtt_us = 0,
		.asked = asks,
		.window_scale = (uint16_t)mp_max_u64(window_scale, 1),
	};

	return handshake;
}

/* The wired end has answered, now at the latest. Returns RTT_wired in us, 0 where it is not known. */
MP_INLINE uint32_t mp_handshake_answered(struct mp_handshake *handshake, uint64_t now_ns)
{
	if (handshake->rtt_us == 0 && handshake->began_ns)
		handshake->rtt_us = (uint32_t)mp_max_u64(
			(now_ns - handshake->began_ns) / MP_NS_PER_US, 1);
	return handshake->rtt_us;
}

#endif
