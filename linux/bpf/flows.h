/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The flow table: found by key, made at a flow's first data, bounded.
 *
 * BPF's own LRU map cannot hold a spin lock. So every flow takes a place among mp_places, as
 * many as there may be flows; a new flow looks at a few of them, from a place that moves on, and takes
 * a free one, else that of a flow that was never acknowledged, else that of one of its own host's, else any;
 * and of several that of the one which was silent longest. So a flood of flows that nobody acknowledges takes
 * no place of one that is, and a host that opens many takes its own.
 */
#ifndef MESHPACE_BPF_FLOWS_H
#define MESHPACE_BPF_FLOWS_H

#include "packet.h"

#define MP_PLACES_LOOKED_AT 8u

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC); /* memory as flows come */
	__uint(max_entries, 16384);           /* the daemon sets it before loading */
	__type(key, struct mp_flow_key);
	__type(value, struct mp_flow);
} mp_flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 16384); /* likewise */
	__type(key, uint32_t);
	__type(value, struct mp_flow_key);
} mp_places SEC(".maps");

uint32_t mp_next_place;

/* Bytes of a new flow. A value with a lock may not be the source of an update. */
const struct {
	uint64_t words[sizeof(struct mp_flow) / 8];
} mp_no_flow = {};

/* Of hosts whose path the daemon knows; it alone writes, and takes off who has no flow. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 16384); /* likewise */
	__type(key, uint8_t[16]);
	__type(value, struct mp_host);
} mp_hosts SEC(".maps");

/*
 * Bytes of each host, one direction, that flows had acknowledged which BPF has ended: with those of the
 * flows in the table they are all that was delivered, and that never shrinks.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct mp_host_key);
	__type(value, uint64_t);
} mp_ended SEC(".maps");

/* Likewise of flows that the daemon has ended, which cannot add to a number that BPF adds to. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct mp_host_key);
	__type(value, uint64_t);
} mp_expired SEC(".maps");

/* Least intervals that goodput control sets, in ns; only throttled flows are in it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 16384); /* likewise */
	__type(key, struct mp_flow_key);
	__type(value, uint64_t);
} mp_floors SEC(".maps");

/*
 * The key of a packet's flow in one direction. A copy: Linux 6.1 takes no key out of an argument of
 * a function that is verified on its own.
 */
MP_INLINE struct mp_flow_key mp_key_of(const struct mp_packet *p, enum mp_direction direction)
{
	struct mp_flow_key key = p->key;

	key.direction = direction;
	return key;
}

MP_INLINE struct mp_flow *mp_find_flow(const struct mp_flow_key *key)
{
	return bpf_map_lookup_elem(&mp_flows, key);
}

/* A packet's flow in one direction; NULL: it is not known. */
MP_INLINE struct mp_flow *mp_flow_of(const struct mp_packet *p, enum mp_direction direction)
{
	struct mp_flow_key key = mp_key_of(p, direction);

	return mp_find_flow(&key);
}

MP_INLINE void mp_add_ended(const struct mp_flow_key *key, uint64_t acked_bytes)
{
	struct mp_host_key host = { .direction = key->direction };
	uint64_t none = 0, *bytes;

	if (acked_bytes == 0)
		return;
	__builtin_memcpy(host.address, key->mesh, sizeof(host.address));
	bytes = bpf_map_lookup_elem(&mp_ended, &host);
	if (!bytes) {
		bpf_map_update_elem(&mp_ended, &host, &none, BPF_NOEXIST);
		bytes = bpf_map_lookup_elem(&mp_ended, &host);
	}
	if (bytes)
		__sync_fetch_and_add(bytes, acked_bytes);
}

/* Takes a flow out of the table, and keeps what it had acknowledged. False: it was not there. */
__attribute__((noinline)) int mp_end_flow(const struct mp_flow_key *of)
{
	const struct mp_flow *flow;
	struct mp_flow_key key;
	uint64_t acked_bytes;

	if (!of)
		return false;
	key = *of;
	flow = bpf_map_lookup_elem(&mp_flows, &key);
	if (!flow)
		return false;
	acked_bytes = flow->at.progress.acked_bytes;
	if (bpf_map_delete_elem(&mp_flows, &key))
		return false;
	mp_add_ended(&key, acked_bytes);
	return true;
}

#define MP_EVICT_OWN (1ull << 61)
#define MP_EVICT_UNANSWERED (1ull << 62) /* more than any time since */

/* How gladly a flow makes room for another. */
MP_INLINE uint64_t mp_evictable(const struct mp_flow *flow, const struct mp_flow_key *place,
				const struct mp_flow_key *key, uint64_t now_ns)
{
	const uint64_t *a = (const uint64_t *)place->mesh, *b = (const uint64_t *)key->mesh;
	uint64_t evictable = mp_max_u64(now_ns, flow->at.last_ns) - flow->at.last_ns;

	if (!flow->at.unanswered.since_ns)
		return evictable | MP_EVICT_UNANSWERED;
	return a[0] == b[0] && a[1] == b[1] ? evictable | MP_EVICT_OWN : evictable;
}

/* A place for a new flow, empty now; NULL only if the map has none. */
MP_INLINE struct mp_flow_key *mp_take_place(const struct mp_flow_key *key, uint64_t now_ns)
{
	uint32_t first = __sync_fetch_and_add(&mp_next_place, MP_PLACES_LOOKED_AT);
	struct mp_flow_key *oldest = NULL;
	uint64_t most = 0;
	uint32_t i;

	for (i = 0; i < MP_PLACES_LOOKED_AT; i++) {
		uint32_t at = (first + i) % (mp_limits.max_flows ? mp_limits.max_flows : 1);
		struct mp_flow_key *place = bpf_map_lookup_elem(&mp_places, &at);
		const struct mp_flow *flow = place ? bpf_map_lookup_elem(&mp_flows, place) : NULL;
		uint64_t evictable = flow ? mp_evictable(flow, place, key, now_ns) : ~0ull;

		if (place && evictable >= most) {
			most = evictable;
			oldest = place;
		}
		if (!flow)
			break;
	}
	if (oldest && most != ~0ull && mp_end_flow(oldest))
		mp_count(MP_COUNT_FLOWS_EVICTED);
	return oldest;
}

/*
 * A new flow and that of the other direction, if there is one, learn of each other. Both are in the
 * table before they look, so that of two that begin at once one finds the other.
 */
MP_INLINE void mp_pair(struct mp_flow *flow, const struct mp_flow_key *key)
{
	struct mp_flow_key back = *key;
	struct mp_flow *other;

	back.direction = key->direction == MP_DOWN ? MP_UP : MP_DOWN;
	other = mp_find_flow(&back);
	if (!other)
		return;
	flow->at.two_way = 1;
	other->at.two_way = 1;
}

MP_INLINE struct mp_flow *mp_find_or_create_flow(const struct mp_flow_key *key, uint64_t now_ns)
{
	struct mp_flow *flow = mp_find_flow(key);
	struct mp_flow_key *place;

	if (flow)
		return flow;
	place = mp_take_place(key, now_ns);
	if (!place)
		return NULL;
	if (bpf_map_update_elem(&mp_flows, key, &mp_no_flow, BPF_NOEXIST) == 0) {
		*place = *key;
		mp_count(MP_COUNT_FLOWS_CREATED);
	}
	flow = mp_find_flow(key);
	if (flow)
		mp_pair(flow, key);
	return flow;
}

/* A packet of the flow comes from the mesh: whether its host is to be noted as heard. Under its lock. */
MP_INLINE void mp_hear_of_flow(struct mp_flow *flow, struct mp_packet *p)
{
	if (!mp_endpoint_hears(&flow->at, p->segment.now_ns))
		p->heard = true;
}

#endif
