/* SPDX-License-Identifier: GPL-2.0-only */
/* A model mesh for the law of shares: a byte to host i takes 1 / truth[i] of the air, and what is too much waits. */
#ifndef MESHPACE_AIR_MODEL_H
#define MESHPACE_AIR_MODEL_H

#include "check.h"

#include <meshpace/law/airtime.h>

#ifndef HOSTS
#define HOSTS 8u
#endif
#define HOP_WAIT_NS (3 * 5484 * MP_NS_PER_US)
#define ALL 1e12 /* what an application wants that wants all */
static const double one_hop = 4.2e6;

static struct mp_air air;
static struct mp_air_host host[HOSTS];
static double truth[HOSTS];  /* bytes/s that it gets when it is alone */
static double wants[HOSTS];  /* bytes/s that its application sends; 0: it is not there */
static bool dead[HOSTS];     /* something is under way to it, and nobody answers */
static bool lies[HOSTS];     /* it answers late: a second seems to wait on its path */
static bool floods[HOSTS];   /* it sends what it wants, whatever it is held to */
static double waits_s;       /* of air, in the mesh */
static double carries;       /* what the mesh carries of the air: 1, or more with spatial reuse */
static double noise;         /* of what it carries, from step to step */
static enum mp_air_direction direction[HOSTS];
static uint64_t now_ns;
static uint32_t late;         /* the law is asked at each so many steps; 0: at each */

static void begin(void)
{
	uint32_t i;

	air = (struct mp_air){ .before_ns = 0 };
	now_ns = 0;
	waits_s = 0;
	carries = 1;
	noise = 0.1;
	late = 0;
	for (i = 0; i < HOSTS; i++) {
		host[i] = (struct mp_air_host){ .hops = 1 };
		wants[i] = 0;
		dead[i] = false;
		lies[i] = false;
		floods[i] = false;
		direction[i] = MP_AIR_DOWN;
	}
}

/* A host that is so many hops away, and alone gets so much. */
static void place(uint32_t i, uint32_t hops, double alone_bytes_per_s)
{
	host[i].hops = hops;
	truth[i] = alone_bytes_per_s;
}

/* What its sender puts into the mesh, bytes/s: alone as much as its own search finds. */
static double sends(uint32_t i)
{
	const struct mp_air_way *way = &host[i].way[direction[i]];
	double most = way->cap_bytes_per_s && !floods[i] ? (double)way->cap_bytes_per_s : truth[i];

	return dead[i] ? 0 : fmin(wants[i], most);
}

static double uniform(double low, double high)
{
	return low + (high - low) * (double)(random_u64() >> 11) / (double)(1ull << 53);
}

/* A step of n hosts; adds what each has got to sum, unless that is null. */
static void step(uint32_t n, double *sum)
{
	double tau_s = (double)MP_AIR_STEP_NS / 1e9, used = 0, served;
	double air_s = carries * uniform(1 - noise, 1 + noise) * tau_s;
	uint32_t i;

	now_ns += MP_AIR_STEP_NS;
	for (i = 0; i < n; i++)
		used += sends(i) / truth[i] * tau_s;
	served = used + waits_s > 0 ? fmin(1, air_s / (used + waits_s)) : 0;
	for (i = 0; i < n; i++) {
		struct mp_air_way *way = &host[i].way[direction[i]];
		double bytes = sends(i) * tau_s * fmin(1, used > 0 ? served * (used + waits_s) / used : 0);
		bool more = wants[i] > 1.01 * sends(i);

		way->delivered_bytes += (uint64_t)bytes;
		way->flows = wants[i] > 0;
		/* That data are under way is seen, not whether there are more. */
		way->wanting_flows = wants[i] > 0;
		way->held = direction[i] == MP_AIR_DOWN && more && !dead[i];
		way->heard = direction[i] == MP_AIR_DOWN && wants[i] > 0 && !dead[i];
		way->waits_ns = lies[i] ? MP_NS_PER_S : (uint64_t)(waits_s * 1e9);
		if (sum)
			sum[i] += bytes;
	}
	/* Windows and queues end somewhere: what is beyond is lost, and its sender sends less. */
	waits_s = fmin(fmax(0, waits_s + used - air_s), 0.3);
	if (!late || now_ns / MP_AIR_STEP_NS % late == 0)
		mp_airtime_step(&air, host, n, HOP_WAIT_NS, now_ns);
}

/* So many seconds; mean[i]: what each gets, bytes/s. */
static void run(uint32_t n, double seconds, double *mean)
{
	uint32_t steps = (uint32_t)lround(seconds * 1e9 / (double)MP_AIR_STEP_NS), i;
	double sum[HOSTS] = { 0 };

	for (i = 0; i < steps; i++)
		step(n, sum);
	for (i = 0; i < n; i++)
		mean[i] = sum[i] / seconds;
}

/* Each of n hosts gets so much of its part, 1/n of what it has alone. */
static inline void check_parts(uint32_t n, const double *mean, double least)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		CHECK(mean[i] >= least * truth[i] / n, "host %u of %u: %.0f of %.0f alone", i, n, mean[i], truth[i]);
}

/* Four hosts at one to four hops, who all want all. */
static inline void place_four(void)
{
	uint32_t i;

	begin();
	for (i = 0; i < 4; i++) {
		place(i, i + 1, one_hop / (i + 1));
		wants[i] = ALL;
	}
}

/* One a hop away that wants all, and one four hops away. */
static inline void place_near_and_far(double far_wants)
{
	begin();
	place(0, 1, one_hop);
	place(1, 4, one_hop / 4);
	wants[0] = ALL;
	wants[1] = far_wants;
}

#endif
