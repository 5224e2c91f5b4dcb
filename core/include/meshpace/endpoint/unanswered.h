/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Packets to the mesh that nobody answers: to addresses where nobody is, to hosts that have left, of
 * flows that are never acknowledged. They take the air of those who are active, and nothing is known of
 * them by which they could be paced. Three rules bound them; nobody who answers meets any.
 *
 * - A flow. No TCP sender may have more than 65,535 bytes under way before its first acknowledgement,
 *   since the window of a SYN-ACK is never scaled (RFC 7323, section 2.2). A flow without
 *   acknowledgements gets no more than that, and then a packet a second, lest it never find out that the
 *   path is back. So does a flow of which nothing new was acknowledged for as long as an active one may
 *   take.
 * - A host. Bytes of flows that were never acknowledged, and all that goes to somebody who has said nothing
 *   lately, wait in a virtual queue (police.h) of their host. The first acknowledgement takes a flow's bytes
 *   out again. What does not fit is lost: to hold it would only fill a real queue.
 * - All hosts. The same bytes wait in one queue more: that of the hosts that were heard of, or that of
 *   strangers, of whom not one packet has come. Strangers have one of their own, lest addresses that are
 *   invented keep out somebody who is there; and they have none for each host, lest they take memory.
 *   A window of a host that was heard lately waits in its own queue alone: else a few small packets a second to two
 *   hosts that have left would fill that of all, and nobody's connection could begin.
 *
 * Each queue empties at 1/64 of what active hosts got lately; so all that goes to hosts that are not there gets at
 * most 1/32 of what the air carries, and what flows to a host that is there do not answer 1/64 beyond.
 * While nobody is active nobody can be harmed, and nothing is lost.
 */
#ifndef MESHPACE_UNANSWERED_H
#define MESHPACE_UNANSWERED_H

#include "../arith/base.h"

/* Bytes that a flow may send without an acknowledgement. */
#define MP_UNANSWERED_WINDOW 65535u

/* So long without anything new acknowledged a flow counts as answered; as its host counts as active. */
#define MP_UNANSWERED_NS (3 * MP_NS_PER_S)

/* Beyond its window a flow tries a packet each so long: a sender's own time-outs are from 1 s on (RFC 6298). */
#define MP_UNANSWERED_TRY_NS MP_NS_PER_S

/*
 * Who was heard so lately is there. Whoever waits for something asks again: a resolver after 5 s, twice;
 * a connection that begins after 1, 3 and 7 s.
 */
#define MP_HEARD_NS (10 * MP_NS_PER_S)

/* When a host was heard is noted so often: the tenth part is as exact as it needs to be. */
#define MP_HEARD_NOTE_NS (MP_HEARD_NS / 10)

/* Whether who was heard then, at the latest, is there. */
MP_INLINE bool mp_heard_lately(uint64_t heard_ns, uint64_t now_ns)
{
	return now_ns < heard_ns + MP_HEARD_NS;
}

/* Whether it is to be noted that somebody is heard now. */
MP_INLINE bool mp_heard_to_note(uint64_t heard_ns, uint64_t now_ns)
{
	return now_ns - heard_ns >= MP_HEARD_NOTE_NS;
}

/*
 * What a packet costs beside its bytes: the preamble, the gaps and the acknowledgement of a frame take a third
 * to a half of the time of a full one (802.11b at 11 Mbit/s, 802.11n without aggregation).
 */
#define MP_UNANSWERED_FRAME_BYTES 750u

/*
 * The depth of a queue, in time at the rate of active hosts. Data of connections that begin is unanswered
 * for a round trip; if all that active hosts get were of such, there would be rate times round trip of it.
 * Half a second is a long round trip; and half as much again for what full packets cost beside their bytes.
 */
#define MP_UNANSWERED_DEPTH_NS (64 * MP_NS_PER_S * 3 / 4)

/*
 * But at least, in bytes: where active hosts use little of the air, somebody new may still begin, of a host
 * with eleven initial windows of ten full packets (RFC 6928), of all with twice as many.
 */
#define MP_UNANSWERED_DEPTH_BYTES (8 * MP_UNANSWERED_WINDOW)

/* The least rate, bytes/s: a full packet a second, lest nothing be tried any more. */
#define MP_UNANSWERED_LEAST_BYTES_PER_S 1500u

/* A flow's part. All zero: it has no acknowledgement yet. */
struct mp_unanswered {
	uint64_t since_ns;   /* something new was acknowledged, or what came then found all acknowledged */
	uint64_t from_bytes; /* that the flow had sent until then */
	uint64_t tried_ns;   /* the latest packet that passed beyond the window */
	uint32_t charged;    /* what waits of it in the virtual queues, in bytes */
};

/* A virtual queue: when nothing will be in it. */
struct mp_unanswered_queue {
	uint64_t empty_ns;
};

/* What active hosts got lately. */
struct mp_unanswered_rate {
	uint64_t lately_bytes_per_s;
};

/* What becomes of a flow's data. */
enum mp_unanswered_verdict {
	MP_UNANSWERED_PASSES,
	MP_UNANSWERED_CHARGED, /* passes if it fits into the queues */
	MP_UNANSWERED_ASTRAY, /* likewise, and counts for nothing, nor is it taken out again (mp_endpoint_strays) */
	MP_UNANSWERED_LOST,
};

/* Whether a flow counts as answered: then all of this is no concern of it. */
MP_INLINE bool mp_is_answered(const struct mp_unanswered *flow, uint64_t now_ns)
{
	return flow->since_ns && now_ns < flow->since_ns + MP_UNANSWERED_NS;
}

/*
 * Whether data of a flow may be held, to be paced: what nobody answers would only fill the queue. After a
 * pause, when nothing is outstanding, it may again.
 */
MP_INLINE bool mp_may_hold(const struct mp_unanswered *flow, bool outstanding, uint64_t now_ns)
{
	return mp_is_answered(flow, now_ns) || (flow->since_ns && !outstanding);
}

/* Something new was acknowledged of a flow that has sent so many bytes; or anything for the first time. */
MP_INLINE void mp_unanswered_ends(struct mp_unanswered *flow, uint64_t sent_bytes, uint64_t now_ns)
{
	flow->since_ns = now_ns;
	flow->from_bytes = sent_bytes;
}

/* Whether bytes are within the window that a flow may have under way without an acknowledgement. */
MP_INLINE bool mp_unanswered_in_window(const struct mp_unanswered *flow, uint64_t sent_bytes, uint32_t bytes)
{
	return sent_bytes - flow->from_bytes + bytes <= MP_UNANSWERED_WINDOW;
}

/*
 * What becomes of bytes of a flow that does not count as answered, before they count as sent; outstanding:
 * something that was sent before is not acknowledged.
 */
MP_INLINE enum mp_unanswered_verdict mp_unanswered_judge(struct mp_unanswered *flow,
							 uint64_t sent_bytes, uint32_t bytes,
							 bool outstanding, uint64_t now_ns)
{
	if (flow->since_ns && !outstanding) {
		mp_unanswered_ends(flow, sent_bytes, now_ns);
		return MP_UNANSWERED_PASSES;
	}
	if (mp_unanswered_in_window(flow, sent_bytes, bytes))
		return flow->since_ns ? MP_UNANSWERED_PASSES : MP_UNANSWERED_CHARGED;
	if (flow->tried_ns && now_ns - flow->tried_ns < MP_UNANSWERED_TRY_NS)
		return MP_UNANSWERED_LOST;
	flow->tried_ns = now_ns;
	return MP_UNANSWERED_CHARGED;
}

/* What packets of so many bytes together cost, in bytes. */
MP_INLINE uint32_t mp_unanswered_cost(uint32_t bytes, uint32_t packets)
{
	return bytes + packets * MP_UNANSWERED_FRAME_BYTES;
}

/* How long a queue is, which a rate that has risen since makes no longer than it may be. */
MP_INLINE uint64_t mp_unanswered_queue_ns(const struct mp_unanswered_queue *queue,
					  uint64_t depth_ns, uint64_t now_ns)
{
	return mp_min_u64(mp_max_u64(queue->empty_ns, now_ns) - now_ns, depth_ns);
}

/* How long the queue of all may be, in ns at its rate; that of a host half as long, lest one take all. */
MP_INLINE uint64_t mp_unanswered_depth_ns(uint64_t bytes_per_s)
{
	return mp_max_u64(MP_UNANSWERED_DEPTH_NS, MP_UNANSWERED_DEPTH_BYTES * MP_NS_PER_S / bytes_per_s);
}

/* What of a host's queue exceeds a window. If the host was heard lately, only that much waits in the queue of all, too. */
MP_INLINE uint64_t mp_unanswered_beyond_ns(uint64_t queue_ns, uint64_t bytes_per_s)
{
	uint64_t window_ns = MP_UNANSWERED_WINDOW * MP_NS_PER_S / bytes_per_s;

	return mp_max_u64(queue_ns, window_ns) - window_ns;
}

/*
 * Whether what costs so many bytes fits into the queue of all and, unless that is NULL, of a host; then it waits there.
 * lately: the host was heard lately, and so has a window of its own.
 */
MP_INLINE bool mp_unanswered_fits(struct mp_unanswered_queue *all, struct mp_unanswered_queue *host, bool lately,
				  uint64_t bytes_per_s, uint32_t bytes, uint64_t now_ns)
{
	uint64_t depth_ns = mp_unanswered_depth_ns(bytes_per_s), time_ns = bytes * MP_NS_PER_S / bytes_per_s;
	uint64_t all_ns = mp_unanswered_queue_ns(all, depth_ns, now_ns), host_ns = 0;

	if (host)
		host_ns = mp_unanswered_queue_ns(host, depth_ns / 2, now_ns) + time_ns;
	if (lately)
		time_ns = mp_unanswered_beyond_ns(host_ns, bytes_per_s) -
			  mp_unanswered_beyond_ns(host_ns - time_ns, bytes_per_s);
	all_ns += time_ns;
	if (all_ns > depth_ns || host_ns > depth_ns / 2)
		return false;
	all->empty_ns = now_ns + all_ns;
	if (host)
		host->empty_ns = now_ns + host_ns;
	return true;
}

/* So much of a queue waits no more. */
MP_INLINE void mp_unanswered_take_out(struct mp_unanswered_queue *queue, uint64_t depth_ns, uint64_t time_ns,
				      uint64_t now_ns)
{
	uint64_t queue_ns = mp_unanswered_queue_ns(queue, depth_ns, now_ns);

	queue->empty_ns = now_ns + queue_ns - mp_min_u64(queue_ns, time_ns);
}

/*
 * Bytes that waited in the queues of a host and of all are answered. Of that of all no more is taken out than was put in
 * for a host that was heard lately, lest its answers make room for those who have left.
 */
MP_INLINE void mp_unanswered_take_back(struct mp_unanswered_queue *all, struct mp_unanswered_queue *host,
				       uint64_t bytes_per_s, uint32_t bytes, uint64_t now_ns)
{
	uint64_t depth_ns = mp_unanswered_depth_ns(bytes_per_s);
	uint64_t host_ns = mp_unanswered_queue_ns(host, depth_ns / 2, now_ns);
	uint64_t time_ns = mp_min_u64(bytes * MP_NS_PER_S / bytes_per_s, host_ns);
	uint64_t beyond_ns = mp_unanswered_beyond_ns(host_ns, bytes_per_s) -
			     mp_unanswered_beyond_ns(host_ns - time_ns, bytes_per_s);

	mp_unanswered_take_out(host, depth_ns / 2, time_ns, now_ns);
	mp_unanswered_take_out(all, depth_ns, beyond_ns, now_ns);
}

/*
 * A second has passed in which active hosts got so many bytes. Returns the rate of each queue in bytes/s,
 * 0: nothing bounds. What active hosts got is remembered as one remembers a page that one reads: half of it
 * after 44 s.
 */
MP_INLINE uint64_t mp_unanswered_step(struct mp_unanswered_rate *rate, uint64_t active_bytes_per_s)
{
	rate->lately_bytes_per_s = mp_max_u64(active_bytes_per_s,
					      rate->lately_bytes_per_s - rate->lately_bytes_per_s / 64);
	if (active_bytes_per_s == 0 && rate->lately_bytes_per_s / 64 < MP_UNANSWERED_LEAST_BYTES_PER_S)
		return 0;
	return mp_max_u64(rate->lately_bytes_per_s / 64, MP_UNANSWERED_LEAST_BYTES_PER_S);
}

#endif
