/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When the packets of a whole host leave, by its cap (airtime.h), beside those of each of its flows (pace.h). The
 * latest packet's bytes take their time at the cap of the moment at which the next packet asks. If that
 * were fixed when the latest packet left, a host whose cap is raised would wait out what nobody wants of it any more.
 *
 * A gateway that holds packets asks mp_host_due_ns, and tells by mp_host_leaves which one went and when. A
 * gateway that has to say on arrival when a packet leaves (sch_fq, and each ACK) asks mp_host_departure_ns.
 */
#ifndef MESHPACE_HOSTPACE_H
#define MESHPACE_HOSTPACE_H

#include "police.h"
#include "turn.h"
#include "wait.h"

/*
 * By its host's cap an ACK waits no longer, and what is not TCP is dropped that would. Linux's least
 * retransmission time-out is 200 ms beside the round trip: an ACK that waits longer makes its sender take the
 * data for lost. A conversation bears 400 ms from mouth to ear (ITU-T G.114); half of that is left to the
 * rest of its way.
 */
#define MP_CAP_WAIT_NS (MP_NS_PER_S / 5)

/*
 * A host's UDP flows fall into so many buckets, which take turns as one flow each; else a flood from ever new ports
 * would always be first. A call shares its bucket with one download by UDP in one of sixteen cases.
 */
#define MP_UDP_BUCKETS_LOG2 4u
#define MP_UDP_BUCKETS (1u << MP_UDP_BUCKETS_LOG2)

/* One host's pacer in one direction. */
struct mp_host_pace {
	struct mp_pacer pacer;
	uint32_t bytes; /* of the latest packet, whose time the next one waits */
};

/* What becomes of a packet that would wait too long. */
enum mp_too_long { MP_TOO_LONG_LEAVES, MP_TOO_LONG_IS_REFUSED };

/*
 * What a host is held to, in bytes/s; 0: nothing. Uploads wait by what their host is policed by, a little
 * above its cap: a sender that keeps to its part by itself does not wait here as well.
 */
MP_INLINE uint64_t mp_held_bytes_per_s(uint64_t cap_bytes_per_s, bool up)
{
	return up ? mp_police_bytes_per_s(cap_bytes_per_s) : cap_bytes_per_s;
}

/* When a packet that has been ready since ready_ns may leave. */
MP_INLINE uint64_t mp_host_due_ns(const struct mp_host_pace *pace, uint64_t held_bytes_per_s,
				  uint64_t ready_ns)
{
	return mp_due_ns(&pace->pacer, ready_ns, mp_rate_interval_ns(held_bytes_per_s, pace->bytes));
}

/* Likewise an ACK, which waits as the data that it acknowledges would, but not too long. */
MP_INLINE uint64_t mp_host_ack_due_ns(const struct mp_host_pace *pace, uint64_t held_bytes_per_s,
				      uint64_t ready_ns)
{
	return mp_min_u64(mp_host_due_ns(pace, held_bytes_per_s, ready_ns), ready_ns + MP_CAP_WAIT_NS);
}

/* A packet leaves, and counts from then. */
MP_INLINE void mp_host_departed(struct mp_host_pace *pace, uint64_t departure_ns, uint32_t bytes)
{
	mp_departed(&pace->pacer, departure_ns);
	pace->bytes = bytes;
}

/*
 * A packet that was ready since ready_ns leaves at now_ns, at a gateway whose clock may be so late. A flow is made up
 * for what keeps the device busy (mp_law_departed), a host is not: its cap is there for others' sake, and they
 * have used that time. One that had to leave before it was due, since it had waited for as long as it may,
 * counts from now: a host owes no more than one wait.
 */
MP_INLINE void mp_host_leaves(struct mp_host_pace *pace, uint64_t held_bytes_per_s, uint64_t ready_ns,
			      uint64_t now_ns, uint32_t bytes, uint64_t clock_late_ns)
{
	uint64_t due_ns = mp_host_due_ns(pace, held_bytes_per_s, ready_ns);

	mp_host_departed(pace, mp_late_departure_ns(due_ns, now_ns, clock_late_ns), bytes);
}

/*
 * The departure of a packet that is ready at ready_ns, fixed now. It waits at most most_ns; then it
 * leaves, or is refused: 0, and nothing has changed.
 */
MP_INLINE uint64_t mp_host_departure_ns(struct mp_host_pace *pace, uint64_t held_bytes_per_s,
					uint64_t ready_ns, uint32_t bytes, uint64_t most_ns,
					enum mp_too_long then)
{
	uint64_t departure_ns = mp_host_due_ns(pace, held_bytes_per_s, ready_ns);

	if (departure_ns > ready_ns + most_ns)
		departure_ns = then == MP_TOO_LONG_LEAVES ? ready_ns + most_ns : 0;
	if (departure_ns)
		mp_host_departed(pace, departure_ns, bytes);
	return departure_ns;
}

/*
 * How far apart packets of so many bytes leave of a flow that takes turns with the others of its host, of
 * which so many, itself included, have something to send; 0: there is no cap.
 */
MP_INLINE uint64_t mp_turn_interval_ns(uint64_t held_bytes_per_s, uint32_t bytes, uint32_t flows)
{
	uint64_t turn_bytes = (uint64_t)bytes * (flows ? flows : 1);

	return mp_rate_interval_ns(held_bytes_per_s, (uint32_t)mp_min_u64(turn_bytes, 0xffffffffu));
}

/* What becomes of a packet. */
enum mp_hold_verdict { MP_HOLD_PASSES, MP_HOLD_WAITS, MP_HOLD_MARKS, MP_HOLD_LOSES };

/*
 * How long a datagram that comes now would wait, behind what its host has in line: of so many flows, its own
 * included.
 */
MP_INLINE uint64_t mp_datagram_waits_ns(const struct mp_host_pace *pace, const struct mp_turns *turns,
					const struct mp_turn *turn, uint64_t held_bytes_per_s, uint32_t flows,
					uint64_t now_ns)
{
	uint64_t ahead = mp_turns_ahead(turns, mp_turn_tag(turns, turn), flows);
	uint32_t bytes = (uint32_t)mp_min_u64(ahead, 0xffffffffu);
	uint64_t due_ns = mp_host_due_ns(pace, held_bytes_per_s, now_ns);

	return due_ns - now_ns + mp_rate_interval_ns(held_bytes_per_s, bytes);
}

/*
 * By CoDel what is not TCP waits no longer in the mean: nobody knows its round trips, so one of MP_WAIT_ROUND_NS is
 * reckoned with, as CoDel does (RFC 8289, 4.3), and who cuts his window to 0.7 (RFC 9438, QUIC's usual law) fills that
 * with 3/7 of it still waiting. A packet of a slow host waits for eight before it in any case.
 */
#define MP_DATAGRAM_TARGET_NS (MP_WAIT_ROUND_NS * 3 / 7)

/*
 * What becomes of a datagram that comes to a line and would wait so long, where packets leave so far apart: what speaks
 * ECN is marked first. Who heeds neither is held at what a conversation bears.
 */
MP_INLINE enum mp_hold_verdict mp_datagram_judge(struct mp_wait *wait, uint64_t wait_ns, uint64_t apart_ns,
						 bool ecn, uint64_t now_ns)
{
	uint64_t target_ns = mp_max_u64(MP_DATAGRAM_TARGET_NS, MP_WAIT_PACKETS * apart_ns);

	if (wait_ns > MP_CAP_WAIT_NS)
		return MP_HOLD_LOSES;
	if (!mp_wait_ends(wait, wait_ns, target_ns, MP_WAIT_ROUND_NS, now_ns))
		return MP_HOLD_WAITS;
	return ecn ? MP_HOLD_MARKS : MP_HOLD_LOSES;
}

/*
 * How long the virtual queue of what is not TCP is at a rate: the bytes in it stay when the cap changes, or who met a low one with
 * a large datagram would lose all for as long as that one would have taken. At most an hour: products fit 64 bits.
 */
MP_INLINE uint64_t mp_police_queue_ns(struct mp_police *police, uint64_t held_bytes_per_s, uint64_t now_ns)
{
	uint64_t queue_ns = mp_max_u64(police->datagrams_empty_ns, now_ns) - now_ns;
	uint64_t before_bytes_per_s = police->datagrams_bytes_per_s;

	police->datagrams_bytes_per_s = held_bytes_per_s;
	if (!queue_ns || held_bytes_per_s == before_bytes_per_s || !held_bytes_per_s)
		return queue_ns;
	queue_ns = mp_min_u64(queue_ns, 3600 * MP_NS_PER_S) / MP_NS_PER_US * before_bytes_per_s / held_bytes_per_s;
	return mp_min_u64(queue_ns, 3600 * (MP_NS_PER_S / MP_NS_PER_US)) * MP_NS_PER_US;
}

/*
 * What becomes of so many bytes, not TCP, that a host with this cap has sent, and that come by here: nothing waits, but they
 * are judged as if they did, in the host's virtual queue (police.h). What is lost was none of it.
 */
MP_INLINE enum mp_hold_verdict mp_police_datagram(struct mp_police *police, uint64_t cap_bytes_per_s, uint32_t bytes,
						  bool ecn, uint64_t now_ns)
{
	uint64_t held_bytes_per_s = mp_police_bytes_per_s(cap_bytes_per_s);
	uint64_t takes_ns = mp_police_takes_ns(held_bytes_per_s, bytes, police->empty_ns, now_ns);
	uint64_t queue_ns = mp_police_queue_ns(police, held_bytes_per_s, now_ns);
	enum mp_hold_verdict verdict = mp_datagram_judge(&police->wait, queue_ns, takes_ns, ecn, now_ns);

	police->datagrams_empty_ns = now_ns + queue_ns + (verdict == MP_HOLD_LOSES ? 0 : takes_ns);
	return verdict;
}

/* The bucket of a UDP flow, by its wired IPv4 address, or the end of its IPv6 address, and its ports. */
MP_INLINE uint32_t mp_udp_bucket(uint32_t wired, uint16_t wired_port, uint16_t mesh_port)
{
	uint32_t flow = wired ^ ((uint32_t)wired_port << 16 | mesh_port);
	uint64_t hash = (flow * 2654435769ull) & 0xffffffffu; /* Knuth: 2^32 by the golden ratio */

	return (uint32_t)(hash >> (32 - MP_UDP_BUCKETS_LOG2));
}

#endif
