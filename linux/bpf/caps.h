/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What mesh hosts get as a whole (core's airtime.h). What waits for that is held elsewhere (hold.h, the daemon); what is
 * not held is lost here where it would wait too long.
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

/*
 * Whether bytes that are ready then would leave in time, as the packets of their host before them; if so they count, and
 * if not they are to be dropped.
 */
MP_INLINE bool mp_cap_takes(struct mp_cap *cap, uint64_t ready_ns, uint32_t bytes)
{
	uint64_t departure_ns;

	bpf_spin_lock(&cap->lock);
	departure_ns = mp_host_departure_ns(&cap->pace, mp_held_bytes_per_s(cap->cap_bytes_per_s, false), ready_ns,
					    bytes, MP_CAP_WAIT_NS, MP_TOO_LONG_IS_REFUSED);
	bpf_spin_unlock(&cap->lock);
	return departure_ns != 0;
}

/*
 * Data waits in the kernel or the daemon for its host's cap, but for that of this box's own sockets where the daemon
 * holds (gate.h), which notice at once that a packet is refused; false: it is.
 */
__attribute__((noinline)) int mp_host_takes(struct mp_packet *p)
{
	struct mp_host_key key;
	struct mp_cap *cap;

	if (!p || !mp_settings.pace || mp_settings.holds || !p->own)
		return true;
	key = mp_capped_key_of(p, MP_DOWN);
	cap = bpf_map_lookup_elem(&mp_caps, &key);
	if (!cap || mp_cap_takes(cap, p->ready_ns, p->segment.payload_bytes))
		return true;
	mp_count(MP_COUNT_WAIT_DROPPED);
	return false;
}

#endif
