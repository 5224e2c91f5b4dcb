/* SPDX-License-Identifier: GPL-2.0-only */
/* What is counted of a host of the mesh (law `even`), in one direction, and what it is held to for it. */
#ifndef MESHPACE_LAW_HOSTS_H
#define MESHPACE_LAW_HOSTS_H

#include "active.h"

struct mp_host_share {
	uint64_t delivered_bytes; /* so far */
	uint32_t flows;           /* of which something waits or is under way */
	uint32_t wanting_flows;   /* of those, that want more (mp_flow_wants) */
	uint64_t again_packets;   /* seen a second time so far (air.h) */
	uint64_t cap_bytes_per_s; /* 0: none */
};

/* Time that bytes take at a cap, in ns; 0 without one. */
MP_INLINE uint64_t mp_rate_interval_ns(uint64_t cap_bytes_per_s, uint32_t bytes)
{
	return cap_bytes_per_s ? bytes * MP_NS_PER_S / cap_bytes_per_s : 0;
}

#endif
