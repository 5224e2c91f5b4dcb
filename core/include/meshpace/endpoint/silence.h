/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A moment's silence (law `even`): while one host's bulk transfers keep the air busy, each hop of another's page waits for an
 * aggregate or two of theirs, in both directions and in each of its round trips. What makes up the page is little, and
 * its host has a part of the air that it does not use. So when a flow of such a host begins, the gateway holds back TCP of
 * hosts that keep the air busy, and ACKs of their own data, for a moment.
 *
 *   who   Hosts are silent that keep the air busy (air.h), for those that do not.
 *   when  A flow begins: a SYN comes from the mesh, or the first packet after a second without one: of data from the
 *         mesh, of UDP from the mesh, or of data to the mesh whose flow the mesh answers. What comes from the wires alone asks
 *         for nothing: else anybody in the Internet could silence a mesh.
 *   how   What waits about the gateway has to go first: over the four hops within which packets interfere (GAP, section 4.1),
 *   long  D* of each (mp_law_even). As long again is for what then comes and goes undisturbed: MP_SILENCE_HOPS hops in all.
 *         At a stretch it is no longer than a retransmission time-out allows (MP_CAP_WAIT_NS), after which the senders of
 *         what waits would take it for lost. The next stretch begins after as long without: in between what waits leaves,
 *         and who is busy has half of the time whoever else begins something.
 *   how   In any ten seconds, the time over which a part is promised, it costs a tenth of that at most: half of it may be
 *   often saved (MP_SILENCE_SAVED_NS), the other half is earned meanwhile, a twentieth of the time (mp_airtime_earn). Who asks
 *         often, as idle telephones do or a liar, gets no more by that.
 */
#ifndef MESHPACE_SILENCE_H
#define MESHPACE_SILENCE_H

#include "../law/law.h"
#include "hostpace.h"

/* A flow that has sent nothing for so long begins anew, as TCP does after its time-out (RFC 5681, 4.1), at least 1 s. */
#define MP_SILENCE_BEGINS_NS MP_NS_PER_S
#define MP_SILENCE_HOPS (2 * MP_REUSE_HOPS)
#define MP_SILENCE_SAVED_NS (MP_NS_PER_S / 2)

/* When something of a host's UDP came last from the mesh, by the buckets in which its flows take turns (turn.h). */
struct mp_begins {
	uint32_t seen_ms[MP_UDP_BUCKETS]; /* of the clock, which comes round after 49 days; 0: nothing has come */
};

struct mp_silence {
	uint64_t from_ns;   /* since when they have been silent, at a stretch */
	uint64_t until_ns;  /* nothing of those who are busy leaves before */
	uint64_t saved_ns;  /* that may still be spent */
	uint64_t earned_ns; /* so far, of which the rest is spent or lost */
};

/* Whether a flow begins whose latest packet before this one came at seen_ns; 0: none did. */
MP_INLINE bool mp_flow_begins(uint64_t seen_ns, uint64_t now_ns)
{
	return !seen_ns || mp_max_u64(now_ns, seen_ns) - seen_ns >= MP_SILENCE_BEGINS_NS;
}

/* Likewise, of UDP that comes from the mesh now; takes note of it. */
MP_INLINE bool mp_datagram_begins(struct mp_begins *host, uint32_t bucket, uint64_t now_ns)
{
	uint32_t now_ms = (uint32_t)(now_ns / (MP_NS_PER_S / 1000)) | 1;
	uint32_t *seen_ms = &host->seen_ms[bucket % MP_UDP_BUCKETS];
	bool begins = !*seen_ms || (int32_t)(now_ms - *seen_ms) >= (int32_t)(MP_SILENCE_BEGINS_NS * 1000 / MP_NS_PER_S);

	*seen_ms = now_ms;
	return begins;
}

/*
 * At now_ns a flow begins of a host that is not busy, and others are; so much has been earned so far. Returns whether
 * they are to be silent for longer than they are anyway.
 */
MP_INLINE bool mp_silence_ask(struct mp_silence *silence, uint64_t earned_ns, uint64_t hop_wait_ns, uint64_t now_ns)
{
	uint64_t more_ns = mp_max_u64(earned_ns, silence->earned_ns) - silence->earned_ns;
	uint64_t from_ns = mp_max_u64(silence->until_ns, now_ns), until_ns;
	uint64_t stretch_ns = silence->from_ns;

	silence->earned_ns = earned_ns;
	silence->saved_ns = mp_min_u64(silence->saved_ns + more_ns, MP_SILENCE_SAVED_NS);
	if (now_ns >= silence->until_ns + (silence->until_ns - silence->from_ns))
		stretch_ns = now_ns;
	until_ns = mp_min_u64(now_ns + MP_SILENCE_HOPS * hop_wait_ns, from_ns + silence->saved_ns);
	until_ns = mp_min_u64(until_ns, stretch_ns + MP_CAP_WAIT_NS);
	if (until_ns <= from_ns)
		return false;
	silence->saved_ns -= until_ns - from_ns;
	silence->from_ns = stretch_ns;
	silence->until_ns = until_ns;
	return true;
}

/* When TCP of a host leaves, or an ACK of its own, that would at due_ns. */
MP_INLINE uint64_t mp_silence_due_ns(const struct mp_silence *silence, bool is_busy, uint64_t due_ns)
{
	return is_busy ? mp_max_u64(due_ns, silence->until_ns) : due_ns;
}

#endif
