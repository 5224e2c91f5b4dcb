/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is kept of the hosts that share a mesh (law `even`), each in one direction: what they get, what they want, the
 * caps that bound them; and of all of them together. What is done with it: presence.h, trial.h, share.h.
 */
#ifndef MESHPACE_LAW_HOSTS_H
#define MESHPACE_LAW_HOSTS_H

#include "active.h"

#define MP_SHARE_STEP_NS MP_NS_PER_S
#define MP_SHARE_SLOW_Q8 241u /* .94 of the mean */
#define MP_SHARE_EVEN_Q8 248u /* .97: while somebody has less caps do not rise */
#define MP_SHARE_POOR_Q8 230u /* .90: for less a trial begins */
#define MP_SHARE_WANTING 6u   /* steps in which a host wanted more, before it counts as underserved */
#define MP_SHARE_SIGN 6u      /* steps of a trial before a gain is one */
#define MP_SHARE_PROOF 12u    /* steps without: the underserved have to find their new rate */
#define MP_SHARE_PATIENCE 90u /* steps after the first failed trial, or before the first test */
#define MP_SHARE_PATIENCE_MAX 480u
#define MP_SHARE_LATELY 20u      /* steps: who is silent for less still shares the mesh */
#define MP_SHARE_GAP 2u          /* steps without anything, data under way: a route was lost */
#define MP_SHARE_LOSSY 120u      /* steps for which that counts */
/*
 * Steps in which caps double after somebody has left: from the least part, a tenth of what one of ten hosts'
 * share becomes, to all takes log2(100) = 7.
 */
#define MP_SHARE_SETTLES 7u
#define MP_SHARE_SMOOTHED 4u                 /* steps over which rates are smoothed */
#define MP_SHARE_KEPT 60u                    /* steps: whose path does not answer for a minute is gone (probe.h) */
#define MP_SHARE_LEAST_BYTES_PER_S 1000u     /* bytes/s: nobody is capped below */
#define MP_SHARE_MAX_BYTES_PER_S 0xffffffffu /* 34 Gbit/s: sums and products of 2^14 hosts fit 64 bits */

/* A host of the mesh in one direction, in an array of the caller's. */
struct mp_host_share {
	/* The caller fills in: */
	uint64_t delivered_bytes; /* so far */
	uint32_t flows;           /* of it, of which something waits or is under way */
	uint32_t wanting_flows;   /* of those, that want more (mp_flow_wants) */
	uint64_t again_packets;   /* seen a second time so far (air.h) */
	/* The steps fill in: */
	uint64_t cap_bytes_per_s;      /* bytes/s; 0: none */
	uint64_t before_bytes;         /* delivered at the previous step */
	uint64_t rate_bytes_per_s;     /* smoothed over four steps, bytes/s */
	uint64_t usual_bytes_per_s;    /* smoothed over twenty-four */
	uint64_t old_cap_bytes_per_s;  /* before the trial or the test */
	uint64_t was_bytes_per_s;      /* what it got when that began: what it is compared with */
	uint64_t kept_cap_bytes_per_s; /* its cap when another host fell silent; 0: none */
	uint32_t wanting;              /* steps in which it wanted, less those in which it did not */
	uint32_t active;               /* steps for which its latest progress counts; 0: it is not active */
	uint32_t stalled;              /* steps in which it got nothing, data under way all the time */
	bool contends;                 /* it has wanted more for long, since it became active */
	bool left;                     /* it fell silent with data under way while it did */
	uint32_t lately;               /* steps for which it still shares the mesh */
	bool known;                    /* it has been through a step */
	bool underserved;              /* the trial is for it, the test asks whether it loses */
};

struct mp_shares {
	uint64_t before_ns;  /* the previous step */
	uint32_t trial; /* steps since it began, from 1; 0: none */
	uint32_t patience; /* steps without trials after the next failed one */
	uint32_t pause;      /* steps that are left of them */
	uint32_t test;       /* steps since a test began, from 1; 0: none */
	uint32_t stood; /* steps since caps came into force, or since the latest test that cost the underserved */
	uint32_t stands;     /* steps that they stand before the next test */
	uint32_t lossy;      /* steps for which the mesh counts as one that loses routes */
	uint32_t active_hosts; /* hosts that share such a mesh (search.h) */
	uint32_t settles;    /* steps in which caps still double, since somebody left */
	uint32_t kept;       /* steps for which kept caps may come into force again */
	uint32_t again;      /* steps since they did in which the mean is still of the time before */
};

/* Whether it is active, and gets so much or wants more. */
MP_INLINE bool mp_host_share_counts(const struct mp_host_share *share, uint64_t least_bytes_per_s)
{
	return share->active && (share->wanting || share->rate_bytes_per_s >= least_bytes_per_s);
}

/* The mean rate of the active hosts that get at least least_bytes_per_s or want more; 0 if that is one, or none. */
MP_INLINE uint64_t mp_shares_mean(const struct mp_host_share *share, uint32_t n, uint64_t least_bytes_per_s)
{
	uint64_t sum_bytes_per_s = 0;
	uint32_t i, hosts = 0;

	for (i = 0; i < n; i++)
		if (mp_host_share_counts(&share[i], least_bytes_per_s)) {
			sum_bytes_per_s += share[i].rate_bytes_per_s;
			hosts++;
		}
	return hosts > 1 ? sum_bytes_per_s / hosts : 0;
}

/* Time that bytes take at a cap, in ns; 0 without one. */
MP_INLINE uint64_t mp_rate_interval_ns(uint64_t cap_bytes_per_s, uint32_t bytes)
{
	return cap_bytes_per_s ? bytes * MP_NS_PER_S / cap_bytes_per_s : 0;
}

#endif
