/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The law `even`: a flow's interval is sought, not derived. What the papers' formula states, a window
 * of h/2 packets, is right for one radio; what holds for every radio is that a path carries all it can
 * when a little waits at each of its hops, and that whatever waits beyond that is delay for nothing.
 *
 *   T   the round trip of the empty path: the least sample
 *   D   the round trip under the present load: the mean over a round, of samples cut to [0, 2 D]
 *   D*  what may wait on the path, law->hop_wait_ns a hop
 *   e = (T + D* - D) / D*, cut to [-1, 1]
 *
 * Once a round (D, or the time of MP_SEARCH_LEAST samples) the interval is divided by 1 + k e, with
 * k = 1/100, and 3/100 where |e| > 1/2; between rounds it is that divided by 1 + e/10, so that
 * the loop is damped: with D near D*, the delay answers a rate as sqrt(k) = 1/10 a round, at a
 * damping of 1/2. Until half of D* has waited for the first time k is 1/3: the path may carry ten times
 * what the first window asks of it, and a file is over before small steps get there. Cutting samples
 * is what the papers' law lacks: one that an ACK's wait during a route discovery made twenty times too
 * long counts as one of 2 D, and a round without samples changes nothing.
 *
 * A sender hears of what it did RTT_wired later than a gateway does. Once it has found its path its
 * rounds are as much longer, or it would answer the same delay again and again before its first
 * answer shows, and rate and delay would swing. And D* is at least 3/10 RTT_wired: a rate is off by a tenth
 * of e for a round, and until its answer shows; what gathers meanwhile needs room, or the path would be empty
 * as often as the rate is too low.
 *
 * Where twice what is wanted waits (e = -1) the path carries what arrives and no more: the rate falls
 * to 8/7 of that, in the first such round by an eighth at most.
 *
 * Delay may be of others' making, and then yielding gains nothing: at least half as many packets are
 * kept on the path as it would carry one by one, were it empty, in the time D*; on a radio that
 * aggregates that is more, since there a few packets cost the air nearly what many do.
 *
 * A path that says nothing for two round trips has lost its route, or the flow had nothing to send: what
 * arrived meanwhile is not what the path carries, and the round begins anew.
 *
 * A rate is raised only where it is what bounds the flow: where less than 3/4 of it arrived, the flow's
 * own sender, or its host's share, bounds it, and the delay says nothing of a greater rate.
 */
#ifndef MESHPACE_SEARCH_H
#define MESHPACE_SEARCH_H

#include "path.h"

#define MP_SEARCH_LEAST 4u        /* samples that make a round */
#define MP_SEARCH_GAIN_Q16 655    /* k, 1/100 */
#define MP_SEARCH_FAST 3          /* times k far from the target, */
#define MP_SEARCH_START_Q16 21845 /* or 1/3, until the flow has found its path */
#define MP_SEARCH_DAMPING_Q16 6554 /* of e, 1/10 */
#define MP_SEARCH_LATE_WAIT 3u    /* tenths of RTT_wired that may wait in any case */
#define MP_SEARCH_LONGEST_NS (4 * MP_NS_PER_S)
#define MP_SEARCH_WINDOW 10u      /* packets a round trip before anything is known: TCP's first window */
#define MP_SEARCH_SILENCE 2u      /* round trips without a sample: the round says nothing */
#define MP_SEARCH_PACKETS_Q8 512u /* on the path at the least, 2: who sends fewer learns nothing any more */

/* Parts of the law that can be left out, to see what each brings (scenarios/even-ablation.toml). */
enum mp_omit {
	MP_OMIT_FAST = 1 << 0,      /* the greater gains far from the target */
	MP_OMIT_DAMPING = 1 << 1,   /* the term e / 10 */
	MP_OMIT_ARRIVED = 1 << 2,   /* the fall to what arrives */
	MP_OMIT_BINDS = 1 << 3,     /* a rate is raised only where it bounds the flow */
	MP_OMIT_LEAST = 1 << 4,     /* D* / 2T packets on the path */
	MP_OMIT_CUT = 1 << 5,       /* samples count 2 D at most */
	MP_OMIT_WAITS = 1 << 6,     /* what waits to be paced is bounded by losses (wait.h): the hosts' */
	MP_OMIT_SILENCE = 1 << 7,   /* a round with silence in it does not count */
	MP_OMIT_PROBES = 1 << 8,    /* a stalled path is asked (probe.h): the hosts' */
	MP_OMIT_OPAQUE = 1 << 9,    /* hosts of many datagrams are asked, and held by their answers (opaque.h): the hosts' */
	MP_OMIT_FEEDBACK = 1 << 10, /* senders are told their part of a cap (feedback.h): the hosts' */
	MP_OMIT_SACK = 1 << 11,     /* all that SACK tells of is sent again, and the sender hears nothing (dupack.h) */
	MP_OMIT_MOMENT = 1 << 12,   /* who is busy is silent for a moment when others begin (silence.h): the hosts' */
};

struct mp_search {
	uint64_t base_ns;      /* T; 0: no sample yet */
	uint64_t mean_ns;      /* D of the latest round */
	uint64_t round_ns;     /* D, or T + D* where that is more: what a window has to fill */
	uint64_t interval_ns;  /* sought so far; 0: no sample yet */
	uint64_t paced_ns;     /* the interval in force, damped */
	uint64_t late_ns;      /* RTT_wired, at a sender (mp_estimate_set_late); 0 at a gateway */
	uint64_t began_ns;     /* this round */
	uint64_t heard_ns;     /* the latest sample */
	uint64_t mean_at_ns;   /* when D was last measured, at the end of a round; 0: not yet */
	uint64_t sum_ns;       /* of this round's samples, cut */
	uint32_t count;        /* of them */
	uint32_t ack;          /* highest acknowledgement when the round began */
	uint32_t overshoots;   /* rounds in a row in which twice what is wanted waited */
	bool found;            /* half of what is wanted has waited for once */
	bool shared;           /* its host's share of the air bounds it, and not the search */
};

/* D* of hop_wait_ns a hop, in ns. */
MP_INLINE uint64_t mp_search_hops_ns(const struct mp_path *path, uint64_t hop_wait_ns)
{
	return (path->hops ? path->hops : 1) * hop_wait_ns;
}

/* D*, in ns. */
MP_INLINE uint64_t mp_search_wait_ns(const struct mp_search *search, const struct mp_path *path,
				     uint64_t hop_wait_ns)
{
	return mp_max_u64(mp_search_hops_ns(path, hop_wait_ns), search->late_ns / 10 * MP_SEARCH_LATE_WAIT);
}

/* e = (target - D) / D*, cut to [-1, 1], with 16 fractional bits. */
MP_INLINE int64_t mp_search_error_q16(uint64_t target_ns, uint64_t mean_ns, uint64_t wait_ns)
{
	uint64_t off_ns = mp_min_u64(mp_distance(target_ns, mean_ns), wait_ns);
	int64_t error_q16 = (int64_t)((off_ns << 16) / (wait_ns ? wait_ns : 1));

	return mean_ns > target_ns ? -error_q16 : error_q16;
}

/* interval / (1 + e gain), where |e gain| < 1/4; at least 1 us, of an interval of at most 4 s. */
MP_INLINE uint64_t mp_search_faster(uint64_t interval_ns, int64_t error_q16, int64_t gain_q16)
{
	uint64_t one_q16 = (uint64_t)((int64_t)MP_ONE_Q16 + (error_q16 * gain_q16 >> 16));

	interval_ns = mp_min_u64(interval_ns, MP_SEARCH_LONGEST_NS);
	return mp_max_u64((interval_ns << 16) / (one_q16 ? one_q16 : 1), MP_NS_PER_US);
}

/* A round begins. */
MP_INLINE void mp_search_begin(struct mp_search *search, uint64_t now_ns, uint32_t ack)
{
	search->began_ns = now_ns;
	search->sum_ns = 0;
	search->count = 0;
	search->ack = ack;
}

/* The first sample: the initial window over the round trip that is wanted. */
MP_INLINE void mp_search_start(struct mp_search *search, uint64_t wait_ns, uint64_t rtt_ns,
			       uint64_t now_ns, uint32_t ack)
{
	search->base_ns = rtt_ns;
	search->mean_ns = rtt_ns;
	search->round_ns = rtt_ns + wait_ns;
	search->interval_ns = search->round_ns / MP_SEARCH_WINDOW;
	search->paced_ns = search->shared ? 0 : search->interval_ns;
	search->heard_ns = now_ns;
	search->overshoots = 0;
	search->found = false;
	mp_search_begin(search, now_ns, ack);
}

/*
 * The interval at which packets arrived in a round of elapsed_ns, in ns. More than 2^31 bytes are an
 * acknowledgement of something older: none.
 */
MP_INLINE uint64_t mp_search_arrived_ns(const struct mp_search *search, const struct mp_path *path,
					uint64_t elapsed_ns, uint32_t ack)
{
	uint64_t bytes = ack - search->ack;

	bytes = bytes < 1u << 31 ? mp_max_u64(bytes, 1) : 1;
	return mp_min_u64(elapsed_ns, 1ull << 40) * mp_min_u64(path->data_bytes, 65535) / bytes;
}

/* The longest interval: with it 2 packets, or D* / 2T, are on the path. */
MP_INLINE uint64_t mp_search_longest_ns(const struct mp_search *search, uint64_t wait_ns, uint32_t omit)
{
	uint64_t packets_q8 = (wait_ns << 8) / mp_max_u64(2 * search->base_ns, 1);

	packets_q8 = omit & MP_OMIT_LEAST ? MP_SEARCH_PACKETS_Q8 : mp_max_u64(packets_q8, MP_SEARCH_PACKETS_Q8);
	return mp_max_u64((search->round_ns << 8) / packets_q8, MP_NS_PER_US);
}

/*
 * Twice what is wanted waits: the path carries no more than what arrives, in ns. Of the first such
 * round an eighth is believed: a radio that pauses, or a hole that is filled, has not changed the path.
 */
MP_INLINE uint64_t mp_search_carried_ns(const struct mp_search *search, uint64_t arrived_ns)
{
	uint64_t carried_ns = arrived_ns - arrived_ns / 8;

	if (search->overshoots == 1)
		carried_ns = mp_min_u64(carried_ns, search->interval_ns + search->interval_ns / 8);
	return mp_max_u64(search->interval_ns, carried_ns);
}

/* k, or more far from the target. */
MP_INLINE int64_t mp_search_gain_q16(const struct mp_search *search, int64_t error_q16, uint32_t omit)
{
	int64_t far_q16 = MP_ONE_Q16 / 2;

	if (omit & MP_OMIT_FAST || (error_q16 <= far_q16 && error_q16 >= -far_q16))
		return MP_SEARCH_GAIN_Q16;
	return search->found ? MP_SEARCH_FAST * MP_SEARCH_GAIN_Q16 : MP_SEARCH_START_Q16;
}

/* How long a round lasts, in ns. */
MP_INLINE uint64_t mp_search_lasts_ns(const struct mp_search *search)
{
	return search->mean_ns + (search->found ? search->late_ns : 0);
}

/*
 * Its host's share bounds a flow, and the search will begin again from what arrives now; but no slower than a search may
 * be: of an application that sends little the path would else seem to carry no more, and no round would end any more.
 */
MP_INLINE void mp_search_follow(struct mp_search *search, uint64_t arrived_ns, uint64_t longest_ns)
{
	search->interval_ns = mp_min_u64(mp_min_u64(mp_max_u64(arrived_ns, MP_NS_PER_US), longest_ns), MP_SEARCH_LONGEST_NS);
	search->overshoots = 0;
	search->found = false;
	search->paced_ns = 0;
}

/* A round is over. */
MP_INLINE void mp_search_round(struct mp_search *search, const struct mp_path *path,
			       uint64_t wait_ns, uint32_t omit, uint64_t now_ns, uint32_t ack)
{
	uint64_t elapsed_ns = mp_max_u64(now_ns, search->began_ns) - search->began_ns;
	uint64_t arrived_ns = mp_search_arrived_ns(search, path, elapsed_ns, ack);
	bool binds = omit & MP_OMIT_BINDS || arrived_ns / 4 <= search->interval_ns / 3;
	int64_t damping_q16 = omit & MP_OMIT_DAMPING ? 0 : MP_SEARCH_DAMPING_Q16, error_q16;

	search->mean_ns = search->sum_ns / search->count;
	search->mean_at_ns = now_ns;
	search->round_ns = mp_max_u64(search->mean_ns, search->base_ns + wait_ns);
	error_q16 = mp_search_error_q16(search->base_ns + wait_ns, search->mean_ns, wait_ns);
	if (search->shared) {
		mp_search_follow(search, arrived_ns, mp_search_longest_ns(search, wait_ns, omit));
		mp_search_begin(search, now_ns, ack);
		return;
	}
	search->overshoots = error_q16 <= -(int64_t)MP_ONE_Q16 ? search->overshoots + 1 : 0;
	search->found = search->found || error_q16 <= (int64_t)(MP_ONE_Q16 / 2);
	if (!(omit & MP_OMIT_ARRIVED) && search->overshoots)
		search->interval_ns = mp_search_carried_ns(search, arrived_ns);
	if (binds || error_q16 < 0)
		search->interval_ns = mp_min_u64(
			mp_search_faster(search->interval_ns, error_q16,
					 mp_search_gain_q16(search, error_q16, omit)),
			mp_search_longest_ns(search, wait_ns, omit));
	search->paced_ns = mp_search_faster(search->interval_ns, error_q16, damping_q16);
	mp_search_begin(search, now_ns, ack);
}

/*
 * A sample of the round trip, at now_ns, by an acknowledgement of everything before ack; omit: parts
 * left out, of mp_omit.
 */
MP_INLINE void mp_search_add(struct mp_search *search, const struct mp_path *path,
			     uint64_t hop_wait_ns, uint32_t omit, uint64_t rtt_ns, uint64_t now_ns,
			     uint32_t ack)
{
	uint64_t wait_ns = mp_search_wait_ns(search, path, hop_wait_ns);

	if (search->interval_ns == 0)
		mp_search_start(search, wait_ns, rtt_ns, now_ns, ack);
	if (!(omit & MP_OMIT_SILENCE) &&
	    now_ns > search->heard_ns + MP_SEARCH_SILENCE * search->round_ns)
		mp_search_begin(search, now_ns, ack);
	search->heard_ns = now_ns;
	search->base_ns = mp_min_u64(search->base_ns, rtt_ns);
	search->sum_ns += omit & MP_OMIT_CUT ? rtt_ns : mp_min_u64(rtt_ns, 2 * search->mean_ns);
	search->count++;
	if (search->count >= MP_SEARCH_LEAST &&
	    now_ns >= search->began_ns + mp_search_lasts_ns(search))
		mp_search_round(search, path, wait_ns, omit, now_ns, ack);
}

#endif
