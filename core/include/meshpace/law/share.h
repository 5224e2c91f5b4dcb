/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What each host of the mesh gets (law `even`), in each direction. Goodput control (goodput.h) compares
 * flows, so that who opens more gets more, and throttles to the mean at once; here hosts are compared,
 * and the fast are lowered by steps for as long as the slow gain by it:
 *
 *   A host takes part only while it is active, and wants more only where the mesh is what bounds it
 *   (active.h). It is slow while it wants more than it gets and gets less than MP_SHARE_SLOW of the mean,
 *   both lately and in the long run: hosts that take turns owe each other nothing.
 *   An attempt begins for who gets less than MP_SHARE_POOR, and goes on while somebody is slow: less than
 *   a tenth is not worth the windows that it costs. Each second every host above the mean is capped nearer
 *   to it, by a sixth of what it is above. From MP_SHARE_SIGN to MP_SHARE_PROOF steps after it began the
 *   slow must have gained a sixteenth of what the others lost, for a byte far away costs the air several
 *   here: then it goes on from there. Else it was vain: whoever is slow has other reasons. Caps are what
 *   they were before, and no attempt is made for a while, of twice the length each time, unless somebody
 *   else is slow, it gets worse, or the slow get twice what they had, for a window of two packets may take
 *   longer than an attempt to open.
 *   While nobody is slow, and nobody has had less than MP_SHARE_EVEN in the long run, caps rise by 1/32 a
 *   second: what a host does not take is others'. Risen at each good moment, they would be a saw whose mean
 *   is an eighth too high. After a vain attempt, which shows that who is slow is not so because of others,
 *   they rise by 1/128.
 *   Caps that stand may be of a contention that is over: who gets nine tenths for reasons of its own ends
 *   no attempt and lets no cap rise. After MP_SHARE_PATIENCE a test raises all of them by 1/64 a second. If
 *   the slow have then lost more than a sixteenth of what the others have gained, caps are what they were,
 *   and stand twice as long before the next test; else it follows at once, from there.
 *
 *   Who wanted more and is not active any more leaves its part to the others: for MP_SHARE_SETTLES steps caps
 *   double each second; when who wants more loses by it, the latest are taken back. Who is alone
 *   has no cap. The caps of a contention with a host that fell silent with data under way are kept for
 *   MP_SHARE_KEPT steps: when it shows progress again its route has come back, and they are in force again.
 *
 * A cap thus ends where the slow get what they can use, whatever a packet of theirs costs the air:
 * no rate, hop count or capacity need be known.
 */
#ifndef MESHPACE_SHARE_H
#define MESHPACE_SHARE_H

#include "active.h"
#include "../endpoint/shared.h"

#define MP_SHARE_STEP_NS MP_NS_PER_S
#define MP_SHARE_SLOW_Q8 241u    /* .94 of the mean */
#define MP_SHARE_EVEN_Q8 248u    /* .97: while somebody has less caps do not rise */
#define MP_SHARE_POOR_Q8 230u    /* .90: for less an attempt begins */
#define MP_SHARE_WANTING 6u      /* steps in which a host wanted more, before it counts as slow */
#define MP_SHARE_SIGN 6u         /* steps of an attempt before a gain is one */
#define MP_SHARE_PROOF 12u       /* steps without: the slow have to find their new rate */
#define MP_SHARE_PATIENCE 90u    /* steps after the first vain attempt, or before the first test */
#define MP_SHARE_PATIENCE_MAX 480u
#define MP_SHARE_LATELY 20u      /* steps: who is silent for less still shares the mesh */
#define MP_SHARE_GAP 2u          /* steps without anything, data under way: a route was lost */
#define MP_SHARE_LOSSY 120u      /* steps for which that counts */
/*
 * Steps in which caps double after somebody has left: from the least part, a tenth of what one of ten hosts'
 * share becomes, to all takes log2(100) = 7.
 */
#define MP_SHARE_SETTLES 7u
#define MP_SHARE_SMOOTHED 4u     /* steps over which rates are smoothed */
#define MP_SHARE_KEPT 60u        /* steps: whose path does not answer for a minute is gone (probe.h) */
#define MP_SHARE_LEAST_BPS 1000u /* bytes/s: nobody is capped below */
#define MP_SHARE_MAX_BPS 0xffffffffu /* 34 Gbit/s: sums and products of 2^14 hosts fit 64 bits */

/* A host of the mesh in one direction, in an array of the caller's. */
struct mp_share {
	/* The caller fills in: */
	uint64_t delivered_bytes; /* so far */
	uint32_t flows;           /* of it, of which something waits or is under way */
	uint32_t wanting_flows;   /* of those, that want more (mp_flow_wants) */
	/* The steps fill in: */
	uint64_t cap_bps;         /* bytes/s; 0: none */
	uint64_t before_bytes;    /* delivered at the previous step */
	uint64_t rate_bps;        /* smoothed over four steps, bytes/s */
	uint64_t usual_bps;       /* smoothed over twenty-four */
	uint64_t old_cap_bps;     /* before the attempt or the test */
	uint64_t was_bps;         /* what it got when that began: what it is compared with */
	uint64_t kept_cap_bps;    /* its cap when another host fell silent; 0: none */
	uint32_t wanting;         /* steps in which it wanted, less those in which it did not */
	uint32_t active;          /* steps for which its latest progress counts; 0: it is not active */
	uint32_t stalled;         /* steps in which it got nothing, data under way all the time */
	bool contends;            /* it has wanted more for long, since it became active */
	bool left;                /* it fell silent with data under way while it did */
	uint32_t lately;          /* steps for which it still shares the mesh */
	bool known;               /* it has been through a step */
	bool slow;                /* the attempt is for it, the test asks whether it loses */
};

struct mp_shares {
	uint64_t before_ns;  /* the previous step */
	uint32_t attempt;    /* steps since it began, from 1; 0: none */
	uint32_t patience;   /* steps without attempts after the next vain one */
	uint32_t pause;      /* steps that are left of them */
	uint32_t test;       /* steps since a test began, from 1; 0: none */
	uint32_t stood;      /* steps since caps came into force, or since the latest test that cost the slow */
	uint32_t stands;     /* steps that they stand before the next test */
	uint32_t lossy;      /* steps for which the mesh counts as one that loses routes */
	uint32_t sharers;    /* hosts that share such a mesh (search.h) */
	uint32_t settles;    /* steps in which caps still double, since somebody left */
	uint32_t kept;       /* steps for which kept caps may come into force again */
	uint32_t again;      /* steps since they did in which the mean is still of the time before */
};

/* Whether it is active, and gets so much or wants more. */
MP_INLINE bool mp_share_counts(const struct mp_share *share, uint64_t least_bps)
{
	return share->active && (share->wanting || share->rate_bps >= least_bps);
}

/* The mean rate of the active hosts that get at least least_bps or want more; 0 if that is one, or none. */
MP_INLINE uint64_t mp_shares_mean(const struct mp_share *share, uint32_t n, uint64_t least_bps)
{
	uint64_t sum_bps = 0;
	uint32_t i, hosts = 0;

	for (i = 0; i < n; i++)
		if (mp_share_counts(&share[i], least_bps)) {
			sum_bps += share[i].rate_bps;
			hosts++;
		}
	return hosts > 1 ? sum_bps / hosts : 0;
}

/*
 * Counts the hosts that share the mesh: those that want more and get at least an eighth of the mean, lately.
 * What they are told of each other costs a mesh that keeps its routes a twentieth of what it carries, and
 * wins one that loses them a tenth: so it counts for a while after somebody who shared the mesh got nothing
 * though data was under way, and for long if it then gets something again: who never does has left, and lost no
 * route.
 */
MP_INLINE uint32_t mp_shares_count(struct mp_shares *shares, struct mp_share *share, uint32_t n,
				   uint64_t mean_bps)
{
	uint64_t least_bps = mp_max_u64(mean_bps / 8, MP_SHARE_LEAST_BPS);
	uint32_t i, hosts = 0;

	shares->lossy -= shares->lossy > 0;
	for (i = 0; i < n; i++) {
		struct mp_share *s = &share[i];

		s->lately -= s->lately > 0;
		if (s->flows && s->rate_bps >= least_bps)
			s->lately = MP_SHARE_LATELY;
		hosts += s->lately > 0;
	}
	return shares->lossy ? hosts : 0;
}

/* It has got something in this step. */
MP_INLINE void mp_share_progress(struct mp_shares *shares, struct mp_share *s)
{
	if (s->lately && s->stalled >= MP_SHARE_GAP)
		shares->lossy = MP_SHARE_LOSSY;
	s->active = MP_ACTIVE_STEPS;
	s->stalled = 0;
}

/* It has got nothing in this step. Returns whether it was active, and contended, until then. */
MP_INLINE bool mp_share_no_progress(struct mp_shares *shares, struct mp_share *s)
{
	bool contended = s->contends;

	s->stalled = s->flows ? s->stalled + 1 : 0;
	if (s->lately && s->stalled == MP_SHARE_GAP)
		shares->lossy = (uint32_t)mp_max_u64(shares->lossy, MP_SHARE_LATELY);
	if (!s->active || --s->active)
		return false;
	s->left = s->stalled && contended;
	s->contends = false;
	s->wanting = 0;
	s->slow = false;
	return contended;
}

/* Whether it wanted more in this step, counted. */
MP_INLINE void mp_share_count_wanting(struct mp_share *s)
{
	bool wants = s->active && s->wanting_flows;

	s->wanting += wants && s->wanting < MP_SHARE_WANTING;
	s->wanting -= !wants && s->wanting > 0;
	s->contends = s->contends || s->wanting >= MP_SHARE_WANTING;
}

/* Somebody has left: the others' part is greater, and if it comes back it finds what it had. */
MP_INLINE void mp_shares_leave(struct mp_shares *shares, struct mp_share *share, uint32_t n, bool stalled)
{
	uint32_t i;

	shares->settles = MP_SHARE_SETTLES;
	if (!stalled)
		return;
	for (i = 0; i < n; i++)
		if (!shares->kept || share[i].kept_cap_bps == 0)
			share[i].kept_cap_bps = share[i].cap_bps;
	shares->kept = MP_SHARE_KEPT;
}

/* Who had left is back, and wants what it wanted then: what was in force is so again. */
MP_INLINE void mp_shares_return(struct mp_shares *shares, struct mp_share *share, uint32_t n,
				struct mp_share *back)
{
	bool others = false;
	uint32_t i;

	back->left = false;
	back->wanting = MP_SHARE_WANTING;
	shares->settles = 0;
	shares->again = MP_SHARE_SMOOTHED;
	for (i = 0; i < n; i++) {
		struct mp_share *s = &share[i];

		if (s->kept_cap_bps && (!s->cap_bps || s->kept_cap_bps < s->cap_bps))
			s->cap_bps = s->kept_cap_bps;
		others = others || s->left;
	}
	shares->kept = others ? shares->kept : 0; /* the next who leaves finds caps of its own time */
}

/* Who has become active in this step, who is so no more, and who wants more. */
MP_INLINE void mp_shares_come_and_go(struct mp_shares *shares, struct mp_share *share, uint32_t n)
{
	uint32_t i;

	shares->kept -= shares->kept > 0;
	shares->again -= shares->again > 0;
	for (i = 0; i < n; i++) {
		struct mp_share *s = &share[i];

		s->left = s->left && shares->kept;
		if (s->delivered_bytes == s->before_bytes) {
			if (mp_share_no_progress(shares, s))
				mp_shares_leave(shares, share, n, s->left);
		} else {
			mp_share_progress(shares, s);
			if (s->left)
				mp_shares_return(shares, share, n, s);
		}
		mp_share_count_wanting(s);
	}
}

/*
 * Rates since the previous step, smoothed; returns the mean of those who share what is scarce: who
 * gets less than the mean of all and wants no more is not one of them.
 */
MP_INLINE uint64_t mp_shares_measure(struct mp_shares *shares, struct mp_share *share, uint32_t n,
				     uint64_t now_ns)
{
	uint64_t elapsed_us = mp_max_u64((now_ns - shares->before_ns) / MP_NS_PER_US, 1);
	uint64_t mean_bps;
	uint32_t i;

	mp_shares_come_and_go(shares, share, n);
	for (i = 0; i < n; i++) {
		struct mp_share *s = &share[i];
		uint64_t bytes = mp_min_u64(s->delivered_bytes - s->before_bytes, 1ull << 44);
		uint64_t bps = mp_min_u64(bytes * 1000000 / elapsed_us, MP_SHARE_MAX_BPS);

		bps = shares->before_ns ? bps : 0; /* the first step has nothing to compare with */
		s->rate_bps = s->known ? (3 * s->rate_bps + bps) / 4 : bps;
		s->usual_bps = s->known ? (23 * s->usual_bps + bps) / 24 : bps;
		s->before_bytes = s->delivered_bytes;
		s->known = shares->before_ns != 0;
	}
	shares->before_ns = now_ns;
	mean_bps = mp_shares_mean(share, n, MP_SHARE_LEAST_BPS);
	shares->sharers = mp_shares_count(shares, share, n, mean_bps);
	return mp_shares_mean(share, n, mp_max_u64(mean_bps, MP_SHARE_LEAST_BPS));
}

/* Whether it wants more and gets less than part_q8 of the mean. */
MP_INLINE bool mp_share_gets_less(const struct mp_share *share, uint64_t mean_bps, uint64_t part_q8)
{
	return share->wanting >= MP_SHARE_WANTING &&
	       mp_max_u64(share->rate_bps, share->usual_bps) << 8 < mean_bps * part_q8;
}

MP_INLINE bool mp_share_is_slow(const struct mp_share *share, uint64_t mean_bps)
{
	return mp_share_gets_less(share, mean_bps, MP_SHARE_SLOW_Q8);
}

/*
 * Whether somebody lacks something in the long run, beside what those who get the mean, or want more, have
 * had: a while in which all have little says nothing of their shares.
 */
MP_INLINE bool mp_shares_uneven(const struct mp_share *share, uint32_t n, uint64_t mean_bps)
{
	uint64_t sum_bps = 0, least_bps = MP_SHARE_MAX_BPS;
	uint32_t i, hosts = 0;

	for (i = 0; i < n; i++) {
		const struct mp_share *s = &share[i];

		if (mp_share_counts(s, mean_bps)) {
			sum_bps += s->usual_bps;
			hosts++;
		}
		if (s->wanting >= MP_SHARE_WANTING)
			least_bps = mp_min_u64(least_bps, s->usual_bps);
	}
	return hosts > 1 && least_bps << 8 < sum_bps / hosts * MP_SHARE_EVEN_Q8;
}

/* What those get for whom the attempt is, or the others. */
MP_INLINE uint64_t mp_shares_of(const struct mp_share *share, uint32_t n, bool slow)
{
	uint64_t sum_bps = 0;
	uint32_t i;

	for (i = 0; i < n; i++)
		sum_bps += share[i].slow == slow ? share[i].rate_bps : 0;
	return sum_bps;
}

/* What the same had when it began. */
MP_INLINE uint64_t mp_shares_had(const struct mp_share *share, uint32_t n, bool slow)
{
	uint64_t sum_bps = 0;
	uint32_t i;

	for (i = 0; i < n; i++)
		sum_bps += share[i].slow == slow ? share[i].was_bps : 0;
	return sum_bps;
}

/*
 * An attempt begins, or one that has gained something goes on: then each is compared with what is half-way
 * between what it had and what it gets, which may be a chance.
 */
MP_INLINE void mp_shares_begin(struct mp_shares *shares, struct mp_share *share, uint32_t n,
			       uint64_t mean_bps, bool goes_on)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		struct mp_share *s = &share[i];

		s->slow = mp_share_is_slow(s, mean_bps);
		s->old_cap_bps = s->cap_bps;
		s->was_bps = goes_on ? (s->was_bps + s->rate_bps) / 2 : s->rate_bps;
	}
	if (goes_on)
		shares->patience = MP_SHARE_PATIENCE;
	shares->attempt = 1;
}

/*
 * Whether the pause after a vain attempt is over before its time: somebody else is slow; or those whom
 * the attempt was for get twice what they had; or less than 3/4 of it, while the others get more. When
 * the slow have lost alone, because their route broke, another attempt would be as vain.
 */
MP_INLINE bool mp_shares_outdated(const struct mp_share *share, uint32_t n, uint64_t mean_bps)
{
	uint64_t slow_bps = mp_shares_of(share, n, true), had_bps = mp_shares_had(share, n, true);
	uint32_t i;

	for (i = 0; i < n; i++)
		if (!share[i].slow && mp_share_is_slow(&share[i], mean_bps))
			return true;
	return slow_bps > 2 * mp_max_u64(had_bps, MP_SHARE_LEAST_BPS) ||
	       (4 * slow_bps < 3 * had_bps &&
		8 * mp_shares_of(share, n, false) > 9 * mp_shares_had(share, n, false));
}

/* Everybody above the mean is capped a sixth of the way nearer to it. */
MP_INLINE void mp_shares_lower(struct mp_share *share, uint32_t n, uint64_t mean_bps)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		struct mp_share *s = &share[i];
		uint64_t from_bps = s->cap_bps ? mp_min_u64(s->cap_bps, s->rate_bps) : s->rate_bps;

		if (s->rate_bps > mean_bps && from_bps > mean_bps)
			s->cap_bps = mp_max_u64(from_bps - (from_bps - mean_bps) / 6,
						MP_SHARE_LEAST_BPS);
	}
}

/* Caps rise by a part in `parts`; one that is twice what is taken is none. */
MP_INLINE void mp_shares_raise(struct mp_share *share, uint32_t n, uint64_t parts)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		struct mp_share *s = &share[i];

		if (s->cap_bps > 2 * mp_max_u64(s->rate_bps, MP_SHARE_LEAST_BPS))
			s->cap_bps = 0;
		s->cap_bps += s->cap_bps / parts;
	}
}

/* The attempt was vain. */
MP_INLINE void mp_shares_give_up(struct mp_shares *shares, struct mp_share *share, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		share[i].cap_bps = share[i].old_cap_bps;
	shares->patience = shares->patience ? shares->patience : MP_SHARE_PATIENCE;
	shares->pause = shares->patience;
	shares->patience = (uint32_t)mp_min_u64(2 * shares->patience, MP_SHARE_PATIENCE_MAX);
	shares->attempt = 0;
}

/* Whether the slow have gained more than a sixteenth of what the others have lost. */
MP_INLINE bool mp_shares_gained(const struct mp_share *share, uint32_t n)
{
	uint64_t fast_bps = mp_shares_of(share, n, false);
	uint64_t lost_bps = mp_max_u64(mp_shares_had(share, n, false), fast_bps) - fast_bps;

	return mp_shares_of(share, n, true) > mp_shares_had(share, n, true) + lost_bps / 16;
}

/* A step of an attempt that is under way. */
MP_INLINE void mp_shares_try(struct mp_shares *shares, struct mp_share *share, uint32_t n,
			     uint64_t mean_bps)
{
	if (shares->attempt >= MP_SHARE_SIGN && mp_shares_gained(share, n)) {
		mp_shares_begin(shares, share, n, mean_bps, true);
	} else if (shares->attempt >= MP_SHARE_PROOF) {
		mp_shares_give_up(shares, share, n);
		return;
	}
	shares->attempt++;
	mp_shares_lower(share, n, mean_bps);
}

/* A test begins: does who wants more, and has less than the mean, lose when caps rise? */
MP_INLINE void mp_shares_begin_test(struct mp_shares *shares, struct mp_share *share, uint32_t n,
				    uint64_t mean_bps)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		struct mp_share *s = &share[i];

		s->slow = s->wanting >= MP_SHARE_WANTING && s->rate_bps < mean_bps;
		s->was_bps = mp_min_u64(s->rate_bps, s->usual_bps);
		s->old_cap_bps = s->cap_bps;
	}
	shares->test = 1;
}

/* Whether the slow have lost more than a sixteenth of what the others have gained. */
MP_INLINE bool mp_shares_lost(const struct mp_share *share, uint32_t n)
{
	uint64_t had_bps = mp_shares_had(share, n, false);
	uint64_t gain_bps = mp_max_u64(mp_shares_of(share, n, false), had_bps) - had_bps;

	return mp_shares_of(share, n, true) + gain_bps / 16 < mp_shares_had(share, n, true);
}

/* A step of a test that is under way. */
MP_INLINE void mp_shares_test(struct mp_shares *shares, struct mp_share *share, uint32_t n)
{
	uint32_t i;

	if (shares->test++ <= MP_SHARE_PROOF) {
		mp_shares_raise(share, n, 64);
		return;
	}
	shares->test = 0;
	if (!mp_shares_lost(share, n))
		return;
	for (i = 0; i < n; i++)
		share[i].cap_bps = share[i].old_cap_bps;
	shares->stood = 0;
	shares->stands = (uint32_t)mp_min_u64(2 * shares->stands, MP_SHARE_PATIENCE_MAX);
}

/* Whether somebody who wants more has lost more than a sixteenth of what it had since caps began to double. */
MP_INLINE bool mp_shares_lose(const struct mp_share *share, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (share[i].wanting >= MP_SHARE_WANTING &&
		    share[i].rate_bps < share[i].was_bps - share[i].was_bps / 16)
			return true;
	return false;
}

/*
 * A step after somebody has left: caps double, until who wants more loses by it. Rates are smoothed, so that a
 * loss shows a step late: the latest two doublings were too many.
 */
MP_INLINE void mp_shares_settle(struct mp_shares *shares, struct mp_share *share, uint32_t n)
{
	bool begins = shares->settles == MP_SHARE_SETTLES, loses;
	uint32_t i;

	shares->attempt = 0;
	shares->test = 0;
	for (i = 0; i < n; i++) {
		struct mp_share *s = &share[i];

		s->was_bps = begins ? s->rate_bps : mp_max_u64(s->was_bps, s->rate_bps);
		s->old_cap_bps = begins ? s->cap_bps : s->old_cap_bps;
	}
	loses = mp_shares_lose(share, n);
	for (i = 0; i < n; i++)
		share[i].cap_bps = loses ? mp_max_u64(share[i].cap_bps / 4, share[i].old_cap_bps) :
					   mp_min_u64(2 * share[i].cap_bps, MP_SHARE_MAX_BPS);
	shares->settles = loses ? 0 : shares->settles - 1;
}

/*
 * A step at now_ns, MP_SHARE_STEP_NS after the previous one, over all n hosts and directions; sets
 * each one's cap_bps. Returns how many have one. The array may change from step to step: an entry
 * that is new is all zero but for what the caller fills in.
 */
MP_INLINE uint32_t mp_shares_step(struct mp_shares *shares, struct mp_share *share, uint32_t n,
				  uint64_t now_ns)
{
	uint64_t mean_bps = mp_shares_measure(shares, share, n, now_ns);
	uint32_t i, capped = 0;
	bool uneven = mp_shares_uneven(share, n, mean_bps), slow = false, poor = false;

	for (i = 0; i < n; i++) {
		slow = slow || mp_share_is_slow(&share[i], mean_bps);
		poor = poor || mp_share_gets_less(&share[i], mean_bps, MP_SHARE_POOR_Q8);
	}
	shares->pause -= shares->pause > 0;
	if (shares->settles) {
		mp_shares_settle(shares, share, n);
	} else if (shares->test) {
		mp_shares_test(shares, share, n);
	} else if (!shares->attempt && shares->stood >= shares->stands && (slow || uneven)) {
		mp_shares_begin_test(shares, share, n, mean_bps);
	} else if (!slow) {
		shares->attempt = 0;
		if (!uneven)
			mp_shares_raise(share, n, 32);
	} else if (shares->attempt) {
		mp_shares_try(shares, share, n, mean_bps);
	} else if (shares->pause ? mp_shares_outdated(share, n, mean_bps) : poor) {
		mp_shares_begin(shares, share, n, mean_bps, false);
		mp_shares_lower(share, n, mean_bps);
	} else if (shares->pause) {
		mp_shares_raise(share, n, 128);
	}
	for (i = 0; i < n; i++) {
		if (mean_bps == 0) /* alone */
			share[i].cap_bps = 0;
		if (share[i].cap_bps && !shares->again) /* nobody owes more than the mean */
			share[i].cap_bps = mp_max_u64(share[i].cap_bps, mean_bps);
		capped += share[i].cap_bps > 0;
	}
	shares->stood = capped ? shares->stood + 1 : 0;
	shares->stands = capped ? shares->stands : MP_SHARE_PATIENCE;
	return capped;
}

/* What each flow of an entry is to know of the others: its part of the cap, and how many they are. */
MP_INLINE struct mp_shared mp_share_told(const struct mp_shares *shares, const struct mp_share *share)
{
	uint64_t part_bps = share->cap_bps / mp_max_u64(share->flows, 1);
	struct mp_shared told = {
		.bps = share->cap_bps ? mp_max_u64(part_bps, 1) : 0, /* 0 would be no limit */
		.sharers = shares->sharers,
		.acks = 0,
	};

	return told;
}

/* Time that bytes take at a cap, in ns; 0 without one. */
MP_INLINE uint64_t mp_share_interval_ns(uint64_t cap_bps, uint32_t bytes)
{
	return cap_bps ? bytes * MP_NS_PER_S / cap_bps : 0;
}

#endif
