/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who comes, goes and shares the mesh (share.h): a host is active while both ends show progress (active.h), one that
 * falls silent with data under way may have lost its route, and who leaves frees its part.
 */
#ifndef MESHPACE_PRESENCE_H
#define MESHPACE_PRESENCE_H

#include "hosts.h"

/*
 * Counts the hosts that share the mesh: those that want more and get at least an eighth of the mean, lately.
 * What they are told of each other costs a mesh that keeps its routes a twentieth of what it carries, and
 * wins one that loses them a tenth: so it counts for a while after somebody who shared the mesh got nothing
 * though data was under way, and for long if it then gets something again: who never does has left, and lost no
 * route.
 */
MP_INLINE uint32_t mp_shares_count(struct mp_shares *shares, struct mp_host_share *share, uint32_t n,
				   uint64_t mean_bytes_per_s)
{
	uint64_t least_bytes_per_s = mp_max_u64(mean_bytes_per_s / 8, MP_SHARE_LEAST_BYTES_PER_S);
	uint32_t i, hosts = 0;

	shares->lossy -= shares->lossy > 0;
	for (i = 0; i < n; i++) {
		struct mp_host_share *s = &share[i];

		s->lately -= s->lately > 0;
		if (s->flows && s->rate_bytes_per_s >= least_bytes_per_s)
			s->lately = MP_SHARE_LATELY;
		hosts += s->lately > 0;
	}
	return shares->lossy ? hosts : 0;
}

/* It has got something in this step. */
MP_INLINE void mp_host_share_progress(struct mp_shares *shares, struct mp_host_share *s)
{
	if (s->lately && s->stalled >= MP_SHARE_GAP)
		shares->lossy = MP_SHARE_LOSSY;
	s->active = MP_ACTIVE_STEPS;
	s->stalled = 0;
}

/* It has got nothing in this step. Returns whether it was active, and contended, until then. */
MP_INLINE bool mp_host_share_no_progress(struct mp_shares *shares, struct mp_host_share *s)
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
	s->underserved = false;
	return contended;
}

/* Whether it wanted more in this step, counted. */
MP_INLINE void mp_host_share_count_wanting(struct mp_host_share *s)
{
	bool wants = s->active && s->wanting_flows;

	s->wanting += wants && s->wanting < MP_SHARE_WANTING;
	s->wanting -= !wants && s->wanting > 0;
	s->contends = s->contends || s->wanting >= MP_SHARE_WANTING;
}

/* Somebody has left: the others' part is greater, and if it comes back it finds what it had. */
MP_INLINE void mp_shares_leave(struct mp_shares *shares, struct mp_host_share *share, uint32_t n, bool stalled)
{
	uint32_t i;

	shares->settles = MP_SHARE_SETTLES;
	if (!stalled)
		return;
	for (i = 0; i < n; i++)
		if (!shares->kept || share[i].kept_cap_bytes_per_s == 0)
			share[i].kept_cap_bytes_per_s = share[i].cap_bytes_per_s;
	shares->kept = MP_SHARE_KEPT;
}

/* Who had left is back, and wants what it wanted then: what was in force is so again. */
MP_INLINE void mp_shares_return(struct mp_shares *shares, struct mp_host_share *share, uint32_t n,
				struct mp_host_share *back)
{
	bool others = false;
	uint32_t i;

	back->left = false;
	back->wanting = MP_SHARE_WANTING;
	shares->settles = 0;
	shares->again = MP_SHARE_SMOOTHED;
	for (i = 0; i < n; i++) {
		struct mp_host_share *s = &share[i];

		if (s->kept_cap_bytes_per_s && (!s->cap_bytes_per_s || s->kept_cap_bytes_per_s < s->cap_bytes_per_s))
			s->cap_bytes_per_s = s->kept_cap_bytes_per_s;
		others = others || s->left;
	}
	shares->kept = others ? shares->kept : 0; /* the next who leaves finds caps of its own time */
}

/* Who has become active in this step, who is so no more, and who wants more. */
MP_INLINE void mp_shares_come_and_go(struct mp_shares *shares, struct mp_host_share *share, uint32_t n)
{
	uint32_t i;

	shares->kept -= shares->kept > 0;
	shares->again -= shares->again > 0;
	for (i = 0; i < n; i++) {
		struct mp_host_share *s = &share[i];

		s->left = s->left && shares->kept;
		if (s->delivered_bytes == s->before_bytes) {
			if (mp_host_share_no_progress(shares, s))
				mp_shares_leave(shares, share, n, s->left);
		} else {
			mp_host_share_progress(shares, s);
			if (s->left)
				mp_shares_return(shares, share, n, s);
		}
		mp_host_share_count_wanting(s);
	}
}

/* Whether somebody who wants more has lost more than a sixteenth of what it had since caps began to double. */
MP_INLINE bool mp_shares_lose(const struct mp_host_share *share, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (share[i].wanting >= MP_SHARE_WANTING &&
		    share[i].rate_bytes_per_s < share[i].was_bytes_per_s - share[i].was_bytes_per_s / 16)
			return true;
	return false;
}

/*
 * A step after somebody has left: caps double, until who wants more loses by it. Rates are smoothed, so that a
 * loss shows a step late: the latest two doublings were too many.
 */
MP_INLINE void mp_shares_settle(struct mp_shares *shares, struct mp_host_share *share, uint32_t n)
{
	bool begins = shares->settles == MP_SHARE_SETTLES, loses;
	uint32_t i;

	shares->trial = 0;
	shares->test = 0;
	for (i = 0; i < n; i++) {
		struct mp_host_share *s = &share[i];

		s->was_bytes_per_s = begins ? s->rate_bytes_per_s : mp_max_u64(s->was_bytes_per_s, s->rate_bytes_per_s);
		s->old_cap_bytes_per_s = begins ? s->cap_bytes_per_s : s->old_cap_bytes_per_s;
	}
	loses = mp_shares_lose(share, n);
	for (i = 0; i < n; i++)
		share[i].cap_bytes_per_s = loses ? mp_max_u64(share[i].cap_bytes_per_s / 4, share[i].old_cap_bytes_per_s) :
					   mp_min_u64(2 * share[i].cap_bytes_per_s, MP_SHARE_MAX_BYTES_PER_S);
	shares->settles = loses ? 0 : shares->settles - 1;
}

#endif
