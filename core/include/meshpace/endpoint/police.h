/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a host that sends to the wired network is held to its cap (airtime.h). When its data comes by here
 * it has used the air already; so its senders are told that it is too much, by a packet that is lost
 * or marked, and no oftener than they answer. What is too much a virtual queue says, which empties at
 * the rate of the cap (AVQ: Kunniyur and Srikant 2001). While it is long, each connection is notified once:
 * not again before what it was told with is acknowledged, for a window must not be cut twice.
 *
 * Of what is not TCP nobody reads answers. It has a virtual queue of its own, by which datagrams are lost or marked as
 * those to a host are that wait here (hostpace.h, mp_police_datagram). While something is in both, each empties half as fast.
 *
 * A sender of ours keeps to its part of the cap by itself (feedback.h). So that it loses nothing for being
 * a little early, others are held to a sixteenth more.
 */
#ifndef MESHPACE_POLICE_H
#define MESHPACE_POLICE_H

#include "progress.h"
#include "wait.h"

/* So long a queue is too much, and so many bytes: a slow path's window comes at once now and then. */
#define MP_POLICE_DEPTH_NS (MP_NS_PER_S / 10)
#define MP_POLICE_DEPTH_BYTES 24000u
/*
 * It gets no longer than that and this. What came above the cap has to be made up for, or on average a
 * sender that rises and falls would get more; but not what it could not help before it was told.
 */
#define MP_POLICE_OWED_NS (MP_NS_PER_S * 2 / 5)

/* A host's virtual queues. */
struct mp_police {
	uint64_t empty_ns;           /* when nothing will be in that of TCP */
	uint64_t datagrams_empty_ns; /* likewise of all else, */
	uint64_t datagrams_bytes_per_s; /* at this rate: at another it is as many bytes */
	struct mp_wait wait;         /* of that */
};

/* One of its connections. */
struct mp_notification {
	uint32_t end;   /* of the packet that was lost or marked */
	uint32_t waits; /* 1: for its acknowledgement */
};

/* Time that bytes take at a cap, in ns; 0 without one. */
MP_INLINE uint64_t mp_rate_interval_ns(uint64_t cap_bytes_per_s, uint32_t bytes)
{
	return cap_bytes_per_s ? bytes * MP_NS_PER_S / cap_bytes_per_s : 0;
}

/* What a host that sends is held to, by its cap; 0 without one. */
MP_INLINE uint64_t mp_police_bytes_per_s(uint64_t cap_bytes_per_s)
{
	return cap_bytes_per_s + cap_bytes_per_s / 16;
}

/* How long a queue is too much. */
MP_INLINE uint64_t mp_police_depth_ns(uint64_t cap_bytes_per_s)
{
	return mp_max_u64(MP_POLICE_DEPTH_NS, mp_rate_interval_ns(cap_bytes_per_s, MP_POLICE_DEPTH_BYTES));
}

/* How long bytes stay in one of a host's virtual queues, which empty at this rate, or at half of it while both are filled. */
MP_INLINE uint64_t mp_police_takes_ns(uint64_t held_bytes_per_s, uint32_t bytes, uint64_t other_empty_ns, uint64_t now_ns)
{
	return mp_rate_interval_ns(held_bytes_per_s, bytes) << (other_empty_ns > now_ns);
}

/* Whether it is too much TCP that comes at now_ns. */
MP_INLINE bool mp_police_exceeds(struct mp_police *police, uint64_t cap_bytes_per_s, uint32_t bytes,
				 uint64_t now_ns)
{
	uint64_t held_bytes_per_s = mp_police_bytes_per_s(cap_bytes_per_s);
	uint64_t depth_ns = mp_police_depth_ns(held_bytes_per_s);
	uint64_t queue_ns = mp_max_u64(police->empty_ns, now_ns) - now_ns;
	uint64_t longer_ns = queue_ns + mp_police_takes_ns(held_bytes_per_s, bytes, police->datagrams_empty_ns, now_ns);

	police->empty_ns = now_ns + mp_min_u64(longer_ns, depth_ns + MP_POLICE_OWED_NS);
	return queue_ns >= depth_ns;
}

/* Data up to ack is acknowledged. Call it for each ACK: 2 GiB later ack would lie before the end again. Without a branch. */
MP_INLINE void mp_notification_answered(struct mp_notification *notified, uint32_t ack)
{
	notified->waits &= mp_seq_before(ack, notified->end);
}

/*
 * Whether a connection may be notified by this packet, of data that came up to max_end before: with what
 * is sent again it is not, whose loss would stop it.
 */
MP_INLINE bool mp_notification_may(const struct mp_notification *notified, uint32_t seq, uint32_t max_end)
{
	return !notified->waits && mp_seq_up_to(max_end, seq);
}

/* It is notified, by the packet that ends there. */
MP_INLINE void mp_notified_by(struct mp_notification *notified, uint32_t end)
{
	notified->end = end;
	notified->waits = 1;
}

/*
 * A packet is too much for its host. Whether its connection is notified by it. All data counts for the host; but before
 * anything of a connection is acknowledged there was no round trip in which its sender could have been told, and
 * of so few packets a loss costs it a time-out.
 */
MP_INLINE bool mp_police_notifies(struct mp_notification *notified, const struct mp_progress *progress,
			       uint32_t max_end, uint32_t seq, uint32_t bytes)
{
	if (!progress->acked_bytes || !mp_notification_may(notified, seq, max_end))
		return false;
	mp_notified_by(notified, seq + bytes);
	return true;
}

#endif
