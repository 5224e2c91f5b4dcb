/* SPDX-License-Identifier: GPL-2.0-only */
/* A download's packets of BYTES each, as a gateway's endpoint sees them. */
#ifndef MESHPACE_PACKETS_H
#define MESHPACE_PACKETS_H

#include "check.h"

#include <meshpace/endpoint/down.h>

#include <string.h>

#define BYTES 1000u

static const uint64_t ms = 1000000;

/* A full data packet, or an ACK of nothing else. */
static inline struct mp_segment packet(uint32_t seq, uint32_t ack, uint32_t bytes, uint64_t now_ns)
{
	struct mp_segment segment = {
		.now_ns = now_ns,
		.seq = seq,
		.ack = ack,
		.window = 500,
		.payload_bytes = bytes,
		.ip_bytes = 40 + bytes,
		.segments = 1,
		.segment_bytes = bytes,
		.flags = MP_TCP_ACK,
		.ttl = 64,
	};

	return segment;
}

static inline void sends(struct mp_endpoint *down, uint32_t seq, uint64_t now_ns, bool stored)
{
	struct mp_segment data = packet(seq, 1, BYTES, now_ns);

	mp_endpoint_down_data(down, &data, now_ns, stored, 0);
}

/* has: what its receiver says that it has, too. */
static inline enum mp_ack_verdict tells(struct mp_endpoint *down, uint32_t ack, struct mp_range has, uint64_t now_ns,
				 struct mp_acked *acked)
{
	struct mp_segment pure = packet(1, ack, 0, now_ns);
	struct mp_law law = mp_law_even();
	enum mp_ack_verdict verdict;

	memset(acked, 0, sizeof(*acked));
	verdict = mp_endpoint_down_ack(down, &law, &pure, true, has, mp_endpoint_has(down, ack, now_ns), acked);
	if (!acked->counts)
		mp_endpoint_down_unfit(down, ack, now_ns);
	return verdict;
}

static inline enum mp_ack_verdict acknowledges(struct mp_endpoint *down, uint32_t ack, uint64_t now_ns,
					struct mp_acked *acked)
{
	return tells(down, ack, (struct mp_range){ ack, ack }, now_ns, acked);
}

#endif
