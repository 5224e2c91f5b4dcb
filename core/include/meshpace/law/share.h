/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What each host of the mesh gets (law `even`), in each direction. Goodput control (goodput.h) compares
 * flows, so that who opens more gets more, and throttles to the mean at once; here hosts are compared,
 * and the fast are lowered by steps for as long as the underserved gain by it:
 *
 *   A host takes part only while it is active, and wants more only where the mesh is what bounds it
 *   (active.h). It is underserved while it wants more than it gets and gets less than MP_SHARE_SLOW of the mean,
 *   both lately and in the long run: hosts that take turns owe each other nothing.
 *   A trial begins for who gets less than MP_SHARE_POOR, and goes on while somebody is underserved: less than
 *   a tenth is not worth the windows that it costs. Each second every host above the mean is capped nearer
 *   to it, by a sixth of what it is above. From MP_SHARE_SIGN to MP_SHARE_PROOF steps after it began the
 *   underserved must have gained a sixteenth of what the others lost, for a byte far away costs the air several
 *   here: then it goes on from there. Else it failed: whoever is underserved has other reasons. Caps are what
 *   they were before, and no trial is made for a while, of twice the length each time, unless somebody
 *   else is underserved, it gets worse, or the underserved get twice what they had, for a window of two packets may take
 *   longer than a trial to open.
 *   While nobody is underserved, and nobody has had less than MP_SHARE_EVEN in the long run, caps rise by 1/32 a
 *   second: what a host does not take is others'. Risen at each good moment, they would be a saw whose mean
 *   is an eighth too high. After a failed trial, which shows that who is underserved is not so because of others,
 *   they rise by 1/128.
 *   Caps that stand may be of a contention that is over: who gets nine tenths for reasons of its own ends
 *   no trial and lets no cap rise. After MP_SHARE_PATIENCE a test raises all of them by 1/64 a second. If
 *   the underserved have then lost more than a sixteenth of what the others have gained, caps are what they were,
 *   and stand twice as long before the next test; else it follows at once, from there.
 *
 *   Who wanted more and is not active any more leaves its part to the others: for MP_SHARE_SETTLES steps caps
 *   double each second; when who wants more loses by it, the latest are taken back. Who is alone
 *   has no cap. The caps of a contention with a host that fell silent with data under way are kept for
 *   MP_SHARE_KEPT steps: when it shows progress again its route has come back, and they are in force again.
 *
 * A cap thus ends where the underserved get what they can use, whatever a packet of theirs costs the air:
 * no rate, hop count or capacity need be known.
 */
#ifndef MESHPACE_SHARE_H
#define MESHPACE_SHARE_H

#include "presence.h"
#include "trial.h"

/*
 * Rates since the previous step, smoothed; returns the mean of those who share what is scarce: who
 * gets less than the mean of all and wants no more is not one of them.
 */
MP_INLINE uint64_t mp_shares_measure(struct mp_shares *shares, struct mp_host_share *share, uint32_t n,
				     uint64_t now_ns)
{
	uint64_t elapsed_us = mp_max_u64((now_ns - shares->before_ns) / MP_NS_PER_US, 1);
	uint64_t mean_bytes_per_s;
	uint32_t i;

	mp_shares_come_and_go(shares, share, n);
	for (i = 0; i < n; i++) {
		struct mp_host_share *s = &share[i];
		uint64_t bytes = mp_min_u64(s->delivered_bytes - s->before_bytes, 1ull << 44);
		uint64_t bytes_per_s = mp_min_u64(bytes * 1000000 / elapsed_us, MP_SHARE_MAX_BYTES_PER_S);

		bytes_per_s = shares->before_ns ? bytes_per_s : 0; /* the first step has nothing to compare with */
		s->rate_bytes_per_s = s->known ? (3 * s->rate_bytes_per_s + bytes_per_s) / 4 : bytes_per_s;
		s->usual_bytes_per_s = s->known ? (23 * s->usual_bytes_per_s + bytes_per_s) / 24 : bytes_per_s;
		s->before_bytes = s->delivered_bytes;
		s->known = shares->before_ns != 0;
	}
	shares->before_ns = now_ns;
	mean_bytes_per_s = mp_shares_mean(share, n, MP_SHARE_LEAST_BYTES_PER_S);
	shares->active_hosts = mp_shares_count(shares, share, n, mean_bytes_per_s);
	return mp_shares_mean(share, n, mp_max_u64(mean_bytes_per_s, MP_SHARE_LEAST_BYTES_PER_S));
}

/*
 * A step at now_ns, MP_SHARE_STEP_NS after the previous one, over all n hosts and directions; sets
 * each one's cap_bytes_per_s. Returns how many have one. The array may change from step to step: an entry
 * that is new is all zero but for what the caller fills in.
 */
MP_INLINE uint32_t mp_shares_step(struct mp_shares *shares, struct mp_host_share *share, uint32_t n,
				  uint64_t now_ns)
{
	uint64_t mean_bytes_per_s = mp_shares_measure(shares, share, n, now_ns);
	uint32_t i, capped = 0;
	bool uneven = mp_shares_uneven(share, n, mean_bytes_per_s), underserved = false, poor = false;

	for (i = 0; i < n; i++) {
		underserved = underserved || mp_host_share_is_underserved(&share[i], mean_bytes_per_s);
		poor = poor || mp_host_share_gets_less(&share[i], mean_bytes_per_s, MP_SHARE_POOR_Q8);
	}
	shares->pause -= shares->pause > 0;
	if (shares->settles) {
		mp_shares_settle(shares, share, n);
	} else if (shares->test) {
		mp_shares_test(shares, share, n);
	} else if (!shares->trial && shares->stood >= shares->stands && (underserved || uneven)) {
		mp_shares_begin_test(shares, share, n, mean_bytes_per_s);
	} else if (!underserved) {
		shares->trial = 0;
		if (!uneven)
			mp_shares_raise(share, n, 32);
	} else if (shares->trial) {
		mp_shares_try(shares, share, n, mean_bytes_per_s);
	} else if (shares->pause ? mp_shares_outdated(share, n, mean_bytes_per_s) : poor) {
		mp_shares_begin(shares, share, n, mean_bytes_per_s, false);
		mp_shares_lower(share, n, mean_bytes_per_s);
	} else if (shares->pause) {
		mp_shares_raise(share, n, 128);
	}
	for (i = 0; i < n; i++) {
		if (mean_bytes_per_s == 0) /* alone */
			share[i].cap_bytes_per_s = 0;
		if (share[i].cap_bytes_per_s && !shares->again) /* nobody owes more than the mean */
			share[i].cap_bytes_per_s = mp_max_u64(share[i].cap_bytes_per_s, mean_bytes_per_s);
		capped += share[i].cap_bytes_per_s > 0;
	}
	shares->stood = capped ? shares->stood + 1 : 0;
	shares->stands = capped ? shares->stands : MP_SHARE_PATIENCE;
	return capped;
}

#endif
