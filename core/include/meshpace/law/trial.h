/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether the others' caps are what somebody lacks (share.h): a trial lowers them for who is underserved, and goes on
 * while that gains something; a test raises caps that have stood for long, to see whether anybody loses by it.
 */
#ifndef MESHPACE_TRIAL_H
#define MESHPACE_TRIAL_H

#include "hosts.h"

/* Whether it wants more and gets less than part_q8 of the mean. */
MP_INLINE bool mp_host_share_gets_less(const struct mp_host_share *share, uint64_t mean_bytes_per_s, uint64_t part_q8)
{
	return share->wanting >= MP_SHARE_WANTING &&
	       mp_max_u64(share->rate_bytes_per_s, share->usual_bytes_per_s) << 8 < mean_bytes_per_s * part_q8;
}

MP_INLINE bool mp_host_share_is_underserved(const struct mp_host_share *share, uint64_t mean_bytes_per_s)
{
	return mp_host_share_gets_less(share, mean_bytes_per_s, MP_SHARE_SLOW_Q8);
}

/*
 * Whether somebody lacks something in the long run, beside what those who get the mean, or want more, have
 * had: a while in which all have little says nothing of their shares.
 */
MP_INLINE bool mp_shares_uneven(const struct mp_host_share *share, uint32_t n, uint64_t mean_bytes_per_s)
{
	uint64_t sum_bytes_per_s = 0, least_bytes_per_s = MP_SHARE_MAX_BYTES_PER_S;
	uint32_t i, hosts = 0;

	for (i = 0; i < n; i++) {
		const struct mp_host_share *s = &share[i];

		if (mp_host_share_counts(s, mean_bytes_per_s)) {
			sum_bytes_per_s += s->usual_bytes_per_s;
			hosts++;
		}
		if (s->wanting >= MP_SHARE_WANTING)
			least_bytes_per_s = mp_min_u64(least_bytes_per_s, s->usual_bytes_per_s);
	}
	return hosts > 1 && least_bytes_per_s << 8 < sum_bytes_per_s / hosts * MP_SHARE_EVEN_Q8;
}

/* What those get for whom the trial is, or the others. */
MP_INLINE uint64_t mp_shares_of(const struct mp_host_share *share, uint32_t n, bool underserved)
{
	uint64_t sum_bytes_per_s = 0;
	uint32_t i;

	for (i = 0; i < n; i++)
		sum_bytes_per_s += share[i].underserved == underserved ? share[i].rate_bytes_per_s : 0;
	return sum_bytes_per_s;
}

/* What the same had when it began. */
MP_INLINE uint64_t mp_shares_had(const struct mp_host_share *share, uint32_t n, bool underserved)
{
	uint64_t sum_bytes_per_s = 0;
	uint32_t i;

	for (i = 0; i < n; i++)
		sum_bytes_per_s += share[i].underserved == underserved ? share[i].was_bytes_per_s : 0;
	return sum_bytes_per_s;
}

/*
 * A trial begins, or one that has gained something goes on: then each is compared with what is half-way
 * between what it had and what it gets, which may be a chance.
 */
MP_INLINE void mp_shares_begin(struct mp_shares *shares, struct mp_host_share *share, uint32_t n,
			       uint64_t mean_bytes_per_s, bool goes_on)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		struct mp_host_share *s = &share[i];

		s->underserved = mp_host_share_is_underserved(s, mean_bytes_per_s);
		s->old_cap_bytes_per_s = s->cap_bytes_per_s;
		s->was_bytes_per_s = goes_on ? (s->was_bytes_per_s + s->rate_bytes_per_s) / 2 : s->rate_bytes_per_s;
	}
	if (goes_on)
		shares->patience = MP_SHARE_PATIENCE;
	shares->trial = 1;
}

/*
 * Whether the pause after a failed trial is over before its time: somebody else is underserved; or those whom
 * the trial was for get twice what they had; or less than 3/4 of it, while the others get more. When
 * the underserved have lost alone, because their route broke, another trial would fail as well.
 */
MP_INLINE bool mp_shares_outdated(const struct mp_host_share *share, uint32_t n, uint64_t mean_bytes_per_s)
{
	uint64_t underserved_bytes_per_s = mp_shares_of(share, n, true);
	uint64_t had_bytes_per_s = mp_shares_had(share, n, true);
	uint32_t i;

	for (i = 0; i < n; i++)
		if (!share[i].underserved && mp_host_share_is_underserved(&share[i], mean_bytes_per_s))
			return true;
	return underserved_bytes_per_s > 2 * mp_max_u64(had_bytes_per_s, MP_SHARE_LEAST_BYTES_PER_S) ||
	       (4 * underserved_bytes_per_s < 3 * had_bytes_per_s &&
		8 * mp_shares_of(share, n, false) > 9 * mp_shares_had(share, n, false));
}

/* Everybody above the mean is capped a sixth of the way nearer to it. */
MP_INLINE void mp_shares_lower(struct mp_host_share *share, uint32_t n, uint64_t mean_bytes_per_s)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		struct mp_host_share *s = &share[i];
		uint64_t from_bytes_per_s = s->cap_bytes_per_s ?
						    mp_min_u64(s->cap_bytes_per_s, s->rate_bytes_per_s) :
						    s->rate_bytes_per_s;

		if (s->rate_bytes_per_s > mean_bytes_per_s && from_bytes_per_s > mean_bytes_per_s)
			s->cap_bytes_per_s = mp_max_u64(from_bytes_per_s - (from_bytes_per_s - mean_bytes_per_s) / 6,
						MP_SHARE_LEAST_BYTES_PER_S);
	}
}

/* Caps rise by a part in `parts`; one that is twice what is taken is none. */
MP_INLINE void mp_shares_raise(struct mp_host_share *share, uint32_t n, uint64_t parts)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		struct mp_host_share *s = &share[i];

		if (s->cap_bytes_per_s > 2 * mp_max_u64(s->rate_bytes_per_s, MP_SHARE_LEAST_BYTES_PER_S))
			s->cap_bytes_per_s = 0;
		s->cap_bytes_per_s += s->cap_bytes_per_s / parts;
	}
}

/* The trial failed. */
MP_INLINE void mp_shares_give_up(struct mp_shares *shares, struct mp_host_share *share, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		share[i].cap_bytes_per_s = share[i].old_cap_bytes_per_s;
	shares->patience = shares->patience ? shares->patience : MP_SHARE_PATIENCE;
	shares->pause = shares->patience;
	shares->patience = (uint32_t)mp_min_u64(2 * shares->patience, MP_SHARE_PATIENCE_MAX);
	shares->trial = 0;
}

/* Whether the underserved have gained more than a sixteenth of what the others have lost. */
MP_INLINE bool mp_shares_gained(const struct mp_host_share *share, uint32_t n)
{
	uint64_t fast_bytes_per_s = mp_shares_of(share, n, false);
	uint64_t lost_bytes_per_s = mp_max_u64(mp_shares_had(share, n, false), fast_bytes_per_s) - fast_bytes_per_s;

	return mp_shares_of(share, n, true) > mp_shares_had(share, n, true) + lost_bytes_per_s / 16;
}

/* A step of a trial that is under way. */
MP_INLINE void mp_shares_try(struct mp_shares *shares, struct mp_host_share *share, uint32_t n,
			     uint64_t mean_bytes_per_s)
{
	if (shares->trial >= MP_SHARE_SIGN && mp_shares_gained(share, n)) {
		mp_shares_begin(shares, share, n, mean_bytes_per_s, true);
	} else if (shares->trial >= MP_SHARE_PROOF) {
		mp_shares_give_up(shares, share, n);
		return;
	}
	shares->trial++;
	mp_shares_lower(share, n, mean_bytes_per_s);
}

/* A test begins: does who wants more, and has less than the mean, lose when caps rise? */
MP_INLINE void mp_shares_begin_test(struct mp_shares *shares, struct mp_host_share *share, uint32_t n,
				    uint64_t mean_bytes_per_s)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		struct mp_host_share *s = &share[i];

		s->underserved = s->wanting >= MP_SHARE_WANTING && s->rate_bytes_per_s < mean_bytes_per_s;
		s->was_bytes_per_s = mp_min_u64(s->rate_bytes_per_s, s->usual_bytes_per_s);
		s->old_cap_bytes_per_s = s->cap_bytes_per_s;
	}
	shares->test = 1;
}

/* Whether the underserved have lost more than a sixteenth of what the others have gained. */
MP_INLINE bool mp_shares_lost(const struct mp_host_share *share, uint32_t n)
{
	uint64_t had_bytes_per_s = mp_shares_had(share, n, false);
	uint64_t gain_bytes_per_s = mp_max_u64(mp_shares_of(share, n, false), had_bytes_per_s) - had_bytes_per_s;

	return mp_shares_of(share, n, true) + gain_bytes_per_s / 16 < mp_shares_had(share, n, true);
}

/* A step of a test that is under way. */
MP_INLINE void mp_shares_test(struct mp_shares *shares, struct mp_host_share *share, uint32_t n)
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
		share[i].cap_bytes_per_s = share[i].old_cap_bytes_per_s;
	shares->stood = 0;
	shares->stands = (uint32_t)mp_min_u64(2 * shares->stands, MP_SHARE_PATIENCE_MAX);
}

#endif
