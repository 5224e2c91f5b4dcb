/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether the others' caps are what somebody lacks (share.h): a trial lowers them for who is underserved, and goes on
 * while that gains something; a test raises caps that have stood for long, to see whether anybody loses by it.
 */
#ifndef MESHPACE_TRIAL_H
#define MESHPACE_TRIAL_H

#include "hosts.h"

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

#endif
