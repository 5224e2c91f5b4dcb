/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Packets that the kernel's HTB holds, in a class for each flow below one for its host. A packet passes the gateway's
 * program twice: it comes to wait, and when it is its turn it leaves. Between the two the class's rate decides, which
 * the law changes meanwhile; here stands what has to be known of a class: how much waits in it, how far apart packets
 * leave it, and whether it lets any go at all.
 *
 * Units are packets where a class counts slots (a flow's data, ACKs of a host's uploads), each of which HTB charges
 * alike; bytes where it counts those.
 */
#ifndef MESHPACE_HOLD_H
#define MESHPACE_HOLD_H

#include "wait.h"

#include "hostpace.h"

/* A class that nothing bounds: 10 Gbit/s. */
#define MP_HOLD_FREE_BYTES_PER_S 1250000000ull
/*
 * So much of a rate's change is heard of: spacing is right within 1%, and half of that is left for the timer. A law that
 * moves in larger steps is followed in each.
 */
#define MP_HOLD_NEWS 200u
/*
 * It is heard of once in so long at most: a change takes a system call of some 60 us, so that no class takes more of a
 * processor than a sixteenth, and the law learns a round trip of the mesh at a time, which is longer.
 */
#define MP_HOLD_NEWS_NS (MP_NS_PER_S / 1000)
/*
 * How long a class may save up, so that timers that come late do not slow it down: a tenth of an interval,
 * by which packets may then leave too early, and 50 us at least, by which a timer's interrupt is late.
 */
#define MP_HOLD_SAVED_PART 10u
#define MP_HOLD_LATE_NS 50000ull
/* What a full frame has beside its payload: Ethernet, IPv4, TCP with timestamps; its payload then. */
#define MP_HOLD_HEADER_BYTES 66u
#define MP_HOLD_PAYLOAD_BYTES 1448u
/*
 * Where nothing has left any class for so long, and of a class twice its interval beside, it lets nothing go: somebody
 * took away what holds packets. TCP sends nothing again within that time (RFC 6298), and a call bears it.
 */
#define MP_HOLD_STUCK_NS (MP_NS_PER_S / 20)
/* A class that was stuck is not tried again before. */
#define MP_HOLD_SHUNNED_NS MP_NS_PER_S

struct mp_hold {
	uint64_t came_ns;    /* the latest that came to wait; 0: none yet */
	uint64_t moved_ns;   /* the latest that left, or came where none waited */
	uint64_t slowest_ns; /* longest interval since then */
	uint64_t unit_ns;    /* how far apart units left, by the wait of the latest and how many stood before it */
	uint64_t stuck_ns;   /* when it was found to let nothing go; 0: never */
	uint32_t came, left; /* units, modulo 2^32 */
	struct mp_wait wait;
};

/* Bytes/s of a class in which each packet counts as slot_bytes. */
MP_INLINE uint64_t mp_hold_bytes_per_s(uint64_t interval_ns, uint32_t slot_bytes)
{
	uint64_t bytes_per_s = interval_ns ? slot_bytes * MP_NS_PER_S / interval_ns : MP_HOLD_FREE_BYTES_PER_S;

	return mp_max_u64(mp_min_u64(bytes_per_s, MP_HOLD_FREE_BYTES_PER_S), 1);
}

/* Bytes/s of a host's class, whose frames carry what it is held to in payload; 0: it has no cap. */
MP_INLINE uint64_t mp_hold_host_bytes_per_s(uint64_t held_bytes_per_s)
{
	uint64_t payload = mp_min_u64(held_bytes_per_s, MP_HOLD_FREE_BYTES_PER_S / 2);

	return payload ? payload + payload * MP_HOLD_HEADER_BYTES / MP_HOLD_PAYLOAD_BYTES : MP_HOLD_FREE_BYTES_PER_S;
}

/* How long a class may save whose packets leave so far apart. */
MP_INLINE uint64_t mp_hold_saved_ns(uint64_t interval_ns)
{
	return mp_max_u64(interval_ns / MP_HOLD_SAVED_PART, MP_HOLD_LATE_NS);
}

/*
 * Whether a silence is worth it (silence.h): in less than the wait of one hop nothing goes that waits about the gateway,
 * and a flood of those who ask would have all rates set thousands of times a second.
 */
MP_INLINE bool mp_hold_is_silence(uint64_t silent_ns, uint64_t hop_wait_ns)
{
	return silent_ns >= hop_wait_ns;
}

/* What a class's rate follows. */
struct mp_hold_told {
	uint64_t interval_ns; /* 0: it is free */
	uint64_t at_ns;       /* when it was told */
};

/* Whether a class is to be told another interval; 0: it is free from now on. */
MP_INLINE bool mp_hold_is_news(struct mp_hold_told told, uint64_t interval_ns, uint64_t now_ns)
{
	uint64_t most_ns = mp_max_u64(told.interval_ns, interval_ns);
	uint64_t apart_ns = most_ns - mp_min_u64(told.interval_ns, interval_ns);

	if ((told.interval_ns == 0) != (interval_ns == 0))
		return true;
	return apart_ns > told.interval_ns / MP_HOLD_NEWS && now_ns >= told.at_ns + MP_HOLD_NEWS_NS;
}

/* Units that wait. */
MP_INLINE uint32_t mp_hold_waiting(const struct mp_hold *hold)
{
	return hold->came - hold->left;
}

/* A class's interval has become this. */
MP_INLINE void mp_hold_tell(struct mp_hold *hold, uint64_t interval_ns)
{
	hold->slowest_ns = mp_max_u64(hold->slowest_ns, interval_ns);
}

/* Time between packets that wait for the interval of their class and for their host's cap, if it has one. */
MP_INLINE uint64_t mp_hold_apart_ns(uint64_t told_ns, uint64_t held_bytes_per_s)
{
	return mp_max_u64(told_ns, mp_rate_interval_ns(held_bytes_per_s, MP_HOLD_PAYLOAD_BYTES));
}

/* When something left any class last, and until when none may leave. */
struct mp_hold_others {
	uint64_t returned_ns;
	uint64_t silent_ns;
};

/*
 * Whether a class whose packets leave so far apart lets nothing go. If so, what it had is taken to be lost, and it is
 * shunned for a while.
 */
MP_INLINE bool mp_hold_is_stuck(struct mp_hold *hold, uint64_t apart_ns, struct mp_hold_others others, uint64_t now_ns)
{
	uint64_t moved_ns = mp_max_u64(mp_max_u64(hold->moved_ns, others.returned_ns), others.silent_ns);

	if (hold->stuck_ns && now_ns < hold->stuck_ns + MP_HOLD_SHUNNED_NS)
		return true;
	apart_ns = mp_max_u64(mp_max_u64(hold->slowest_ns, apart_ns), hold->unit_ns);
	if (!mp_hold_waiting(hold) || now_ns < moved_ns + 2 * apart_ns + MP_HOLD_STUCK_NS)
		return false;
	hold->stuck_ns = now_ns;
	hold->left = hold->came;
	return true;
}

/* A class without packets for so long is taken away: a flow that is idle for longer begins anew, one packet at once. */
#define MP_HOLD_IDLE_NS (10 * MP_NS_PER_S)

/* Packets that have not moved for so long, and two units' time beside, are not there any more: they left uncounted. */
MP_INLINE bool mp_hold_is_idle(const struct mp_hold *hold, uint64_t now_ns)
{
	uint64_t at_ns = hold->came_ns;

	if (mp_hold_waiting(hold))
		at_ns = mp_max_u64(at_ns, hold->moved_ns) + 2 * mp_max_u64(hold->slowest_ns, hold->unit_ns);
	return now_ns > at_ns + MP_HOLD_IDLE_NS;
}

/* When something left any class last, given that something leaves now. Kept to a millisecond, so that it is seldom written. */
MP_INLINE uint64_t mp_hold_returned_ns(uint64_t returned_ns, uint64_t now_ns)
{
	return now_ns > returned_ns + MP_NS_PER_S / 1000 ? now_ns : returned_ns;
}

/* Comes to wait. Returns the units that stand up to its own. */
MP_INLINE uint32_t mp_hold_comes(struct mp_hold *hold, uint32_t units, uint64_t interval_ns, uint64_t now_ns)
{
	if (!mp_hold_waiting(hold)) {
		hold->moved_ns = now_ns;
		hold->slowest_ns = interval_ns;
	}
	hold->came += units;
	hold->came_ns = now_ns;
	return mp_hold_waiting(hold);
}

/*
 * One leaves before which so many units had come, ever: they are gone, too, whether they were seen to leave or not, as where
 * somebody took the filters off or made the interface anew. A number of other counts than these says nothing.
 */
MP_INLINE void mp_hold_has_left(struct mp_hold *hold, uint32_t before)
{
	if (mp_seq_before(hold->left, before) && !mp_seq_before(hold->came, before))
		hold->left = before;
}

/* Leaves, having come at came_ns behind so many units, its own included. */
MP_INLINE void mp_hold_leaves(struct mp_hold *hold, uint32_t units, uint32_t stood, uint64_t interval_ns,
			      uint64_t came_ns, uint64_t now_ns)
{
	uint64_t waited_ns = mp_max_u64(now_ns, came_ns) - came_ns;

	hold->left += (uint32_t)mp_min_u64(units, mp_hold_waiting(hold));
	hold->moved_ns = now_ns;
	hold->slowest_ns = interval_ns;
	hold->unit_ns = stood > units ? waited_ns / stood : 0;
}

/* What a flow's data waits for in its class: if its host has a cap, by the turns that the flow had of late. */
MP_INLINE struct mp_waits_for mp_hold_waits_for(const struct mp_hold *hold, struct mp_waits_for flow, bool capped,
						uint64_t turn_ns)
{
	flow.turn_ns = capped ? mp_max_u64(hold->unit_ns, turn_ns) : 0;
	return flow;
}

/* A flow's data comes, behind what waits: whether it is to be lost, or marked where ecn. */
MP_INLINE enum mp_hold_verdict mp_hold_judge(struct mp_hold *hold, const struct mp_law *law,
					     const struct mp_waits_for *waits_for, bool ecn, uint64_t now_ns)
{
	uint32_t waiting = mp_hold_waiting(hold);

	if (mp_wait_beyond(waits_for, waiting))
		return MP_HOLD_LOSES;
	if (!mp_wait_too_long(&hold->wait, law, waits_for, mp_wait_behind_ns(waits_for, waiting), now_ns))
		return MP_HOLD_WAITS;
	return ecn ? MP_HOLD_MARKS : MP_HOLD_LOSES;
}

/*
 * Data of flows that nobody has answered waits no longer for its host's cap than until their senders take it for lost
 * (RFC 6298: 1 s before the first sample).
 */
#define MP_HOLD_NEW_WAIT_NS MP_NS_PER_S

/* Time between bytes of a line that counts bytes, of a host that is held to this rate: by its cap, or by the turns that it had. */
MP_INLINE uint64_t mp_hold_byte_ns(const struct mp_hold *hold, uint64_t held_bytes_per_s)
{
	return mp_min_u64(mp_max_u64(hold->unit_ns, mp_rate_interval_ns(held_bytes_per_s, 1)), MP_NS_PER_S);
}

/* How long data waits that comes now to the line of new flows. */
MP_INLINE uint64_t mp_hold_new_waits_ns(const struct mp_hold *hold, uint64_t held_bytes_per_s)
{
	return mp_hold_waiting(hold) * mp_hold_byte_ns(hold, held_bytes_per_s);
}

/* Whether data that comes now to the line of flows that nobody has answered leaves in time. */
MP_INLINE bool mp_hold_has_room(const struct mp_hold *hold, uint64_t held_bytes_per_s)
{
	return mp_hold_new_waits_ns(hold, held_bytes_per_s) <= MP_HOLD_NEW_WAIT_NS;
}

/*
 * Data of a flow that has a line of its own, to which it may not go before what of it waits with the new ones has left, for
 * so long. There it is in the way of those, and the law's interval does not hold: of a line where it should not be at all
 * each wait is too long that lasts for a round trip. What waits longer than an ACK may, and behind more than a few, is lost.
 */
MP_INLINE enum mp_hold_verdict mp_hold_judge_follower(struct mp_hold *own, const struct mp_waits_for *flow, uint64_t wait_ns,
						      uint64_t apart_ns, bool ecn, uint64_t now_ns)
{
	uint64_t round_ns = mp_max_u64(flow->mesh_ns + flow->wired_ns + wait_ns, MP_WAIT_ROUND_NS);

	own->came_ns = now_ns; /* it is not idle */
	if (wait_ns > mp_max_u64(MP_CAP_WAIT_NS, MP_WAIT_PACKETS * apart_ns))
		return MP_HOLD_LOSES;
	if (!mp_wait_persists(&own->wait, round_ns, now_ns))
		return MP_HOLD_WAITS;
	return ecn ? MP_HOLD_MARKS : MP_HOLD_LOSES;
}

/* What becomes of so many bytes that are not TCP, and come to their host's line. */
MP_INLINE enum mp_hold_verdict mp_hold_judge_datagram(struct mp_hold *hold, uint64_t held_bytes_per_s, uint32_t bytes,
						      bool ecn, uint64_t now_ns)
{
	uint64_t byte_ns = mp_hold_byte_ns(hold, held_bytes_per_s);

	return mp_datagram_judge(&hold->wait, mp_hold_waiting(hold) * byte_ns, bytes * byte_ns, ecn, now_ns);
}

/*
 * Who went first has had his turn until each of those that wait with the others has had as much: until so many units have
 * left their line, ever, by as many who wait there. So who goes first gets no more than who waits does (start-time fair
 * queueing, turn.h), and one who paces himself to find nothing of his own waiting does not have the host to himself.
 */
MP_INLINE uint32_t mp_hold_turn_ends(const struct mp_hold *others, uint32_t units, uint32_t who)
{
	return others->left + units * who;
}

/* No turn is longer: each bucket has the largest packet (64 KiB, and headers of each part). Farther ahead the count has wrapped. */
#define MP_HOLD_TURN_MOST (MP_UDP_BUCKETS << 17)

/* Whether a turn that ends there is not over. */
MP_INLINE bool mp_hold_has_turn(const struct mp_hold *others, uint32_t ends)
{
	return ends - others->left - 1 < MP_HOLD_TURN_MOST;
}

/*
 * What an ACK acknowledges on average, with one that acknowledges so much more; 0: none is known. Over eight, as TCP
 * averages round trips (RFC 6298).
 */
MP_INLINE uint32_t mp_hold_ack_bytes(uint32_t ack_bytes, uint32_t bytes)
{
	uint64_t sum = 7ull * ack_bytes + mp_min_u64(bytes, 1u << 20);

	return ack_bytes ? (uint32_t)mp_max_u64(sum / 8, 1) : bytes;
}

/*
 * How far apart ACKs leave, of so many bytes each, of a host whose data is held to this. None waits longer than it may:
 * the more wait, the faster they leave.
 */
MP_INLINE uint64_t mp_hold_ack_interval_ns(const struct mp_hold *hold, uint64_t held_bytes_per_s, uint32_t ack_bytes)
{
	uint64_t interval_ns = mp_rate_interval_ns(held_bytes_per_s, ack_bytes);

	return mp_min_u64(interval_ns, MP_CAP_WAIT_NS / (mp_hold_waiting(hold) + 1));
}

#endif
