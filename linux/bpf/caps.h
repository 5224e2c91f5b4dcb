/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What mesh hosts get as a whole (core's share.h): under release by fq each host that has a cap has a pacer
 * beside those of its flows.
 */
#ifndef MESHPACE_BPF_CAPS_H
#define MESHPACE_BPF_CAPS_H

#include "packet.h"

/* Set by the daemon. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 16384);
	__type(key, struct mp_host_key);
	__type(value, struct mp_cap);
} mp_caps SEC(".maps");

/*
 * Of each address that is not its host's only one: the address that stands for all of the host's, by which
 * its cap is found. Those that stand for themselves are not in it. Set by the daemon, which sees MAC
 * addresses (crates/meshpace/src/hosts/identity.rs).
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 16384); /* the daemon sets it before loading */
	__type(key, struct mp_address);
	__type(value, struct mp_address);
} mp_aliases SEC(".maps");

MP_INLINE struct mp_host_key mp_host_key_of(const struct mp_packet *p, enum mp_direction direction)
{
	struct mp_host_key key = { .direction = direction };

	__builtin_memcpy(key.address, p->key.mesh, sizeof(key.address));
	return key;
}

/*
 * Replaces an address by the one that stands for its host. On its own: the verifier then goes through what
 * follows once, and not for each outcome of the lookup. A copy: as in mp_key_of.
 */
__attribute__((noinline)) int mp_stand_for_host(struct mp_address *address)
{
	const struct mp_address *standing;
	struct mp_address key;

	if (!address)
		return 0;
	key = *address;
	standing = bpf_map_lookup_elem(&mp_aliases, &key);
	if (standing)
		*address = *standing;
	return 0;
}

/* The host that has the cap, whichever of its addresses the packet bears. */
MP_INLINE struct mp_host_key mp_capped_key_of(const struct mp_packet *p, enum mp_direction direction)
{
	struct mp_host_key key = mp_host_key_of(p, direction);

	if (mp_settings.aliases)
		mp_stand_for_host((struct mp_address *)key.address);
	return key;
}

/* What becomes of bytes that would wait too long. */
enum mp_too_long { MP_TOO_LONG_LEAVES, MP_TOO_LONG_IS_REFUSED };

/* What a host is held to: by what it sends, which its senders keep to themselves, a little above its cap. */
MP_INLINE uint64_t mp_held_bps(const struct mp_host_key *key, const struct mp_cap *cap)
{
	return key->direction == MP_UP ? mp_police_bps(cap->cap_bps) : cap->cap_bps;
}

/*
 * When bytes leave that are ready now: as the packets before them left, whatever each waited for its
 * flow. Without a cap that is now. They wait at most most_ns; 0: they are refused.
 */
MP_INLINE uint64_t mp_cap_departure(const struct mp_host_key *key, uint64_t ready_ns,
				    uint32_t bytes, uint64_t most_ns, enum mp_too_long then)
{
	struct mp_cap *cap = bpf_map_lookup_elem(&mp_caps, key);
	uint64_t departure_ns;

	if (!cap)
		return ready_ns;
	bpf_spin_lock(&cap->lock);
	departure_ns = mp_departure_ns(&cap->pacer, ready_ns,
				       mp_share_interval_ns(mp_held_bps(key, cap), cap->bytes));
	if (departure_ns > ready_ns + most_ns)
		departure_ns = then == MP_TOO_LONG_LEAVES ? ready_ns + most_ns : 0;
	if (departure_ns) {
		mp_departed(&cap->pacer, departure_ns);
		cap->bytes = bytes;
	}
	bpf_spin_unlock(&cap->lock);
	return departure_ns;
}

/* Where sch_fq holds packets: data is ready when its host's cap lets it go. */
__attribute__((noinline)) int mp_wait_for_host(struct mp_packet *p)
{
	struct mp_host_key key;

	if (!p || !mp_settings.stamp || !mp_settings.pace)
		return 0;
	key = mp_capped_key_of(p, MP_DOWN);
	p->ready_ns = mp_cap_departure(&key, p->ready_ns, p->payload_bytes, MP_HORIZON_NS,
				       MP_TOO_LONG_LEAVES);
	return 0;
}

#endif
