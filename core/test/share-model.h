/* SPDX-License-Identifier: GPL-2.0-only */
/* Model meshes for the tests of shares: who costs the air how much, who wants how much. */
#ifndef MESHPACE_SHARE_MODEL_H
#define MESHPACE_SHARE_MODEL_H

#include "check.h"

#include <string.h>

#include <meshpace/endpoint/feedback.h>
#include <meshpace/law/share.h>

#define MOST 16
#define PROBE_BYTES_PER_S 1500

static struct mp_shares shares;
static struct mp_host_share share[MOST];
static uint64_t now_ns;

/* A mesh of n hosts: host i takes want[i] bytes/s if it may, each byte costs cost[i] of the air. */
static double want[MOST], cost[MOST], got[MOST];
static double noise;
static bool content[MOST]; /* bound by its own application, server or window */
static bool hungry; /* whoever gets all it can use wants more all the same */

static inline void begin(void)
{
	memset(&shares, 0, sizeof(shares));
	memset(share, 0, sizeof(share));
	memset(got, 0, sizeof(got));
	memset(want, 0, sizeof(want));
	memset(content, 0, sizeof(content));
	now_ns = 1000 * MP_NS_PER_S;
	noise = 0;
	hungry = false;
}

/* Two whose bytes cost the air the same, and who want more whatever they get. */
static inline void begin_two(double first, double other)
{
	begin();
	hungry = true;
	cost[0] = cost[1] = 1;
	want[0] = first;
	want[1] = other;
}

/*
 * The first takes what it wants of the air, the next of what is left, and so on; but whose path is there gets
 * a packet a second through, by which it was asked (probe.h).
 */
static inline void second(uint32_t n, double air)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		double bytes_per_s = fmin(want[i], fmax(air / cost[i], PROBE_BYTES_PER_S));

		if (share[i].cap_bytes_per_s)
			bytes_per_s = fmin(bytes_per_s, (double)share[i].cap_bytes_per_s);
		air = fmax(air - bytes_per_s * cost[i], 0);
		bytes_per_s *= 1 + noise * (2 * random_unit() - 1);
		got[i] = bytes_per_s;
		share[i].delivered_bytes += (uint64_t)bytes_per_s;
		share[i].flows = hungry || bytes_per_s < 0.98 * want[i];
		share[i].wanting_flows = content[i] ? 0 : share[i].flows;
	}
	now_ns += MP_SHARE_STEP_NS;
	mp_shares_step(&shares, share, n, now_ns);
}

/* Means of what each gets over so many seconds. */
static inline void run(uint32_t n, double air, uint32_t seconds, double *mean)
{
	uint32_t s, i;

	for (i = 0; i < n; i++)
		mean[i] = 0;
	for (s = 0; s < seconds; s++) {
		second(n, air);
		for (i = 0; i < n; i++)
			mean[i] += got[i] / seconds;
	}
}

#endif
