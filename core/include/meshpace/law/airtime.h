/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What each host of the mesh gets (law `even`): a share of the air. All that the mesh carries for the Internet crosses
 * one gateway, and around it one frame is in the air at a time. A byte of host i takes 1/C_i of it, where C_i is the rate
 * that the host gets when it is alone in the same place. So rates x_i are carried as long as
 *
 *   sum of x_i / C_i <= 1                                                                     (1)
 *
 * and who has 1/n of the air has C_i / n, whatever its distance: that is what the law promises.
 *
 * Water-filling. A host's demand d_i is a share of the air, too. Level l is the greatest at which the sum of
 * min(d_i, w_i l) is L, and every host is held to w_i l C_i: what one does not use is the others', and who wants more a
 * moment later has its part at once. Under the policy `air` w_i is the host's weight, 1 unless the operator says so; under
 * `rate` that by C_i: then who wants more gets as many bytes as others of its weight.
 *
 * A host that is to have a least rate, which takes g_i of the air, is held to no less: max(w_i l, f g_i) C_i. f is 1, or as
 * much less as keeps what such hosts take by it at half of L: so much of the air is shared, whatever has been promised.
 *
 * Who acknowledges oftener than data comes takes a_i of the air beside its data (endpoint/excess.h): of what it is held to,
 * r_i / (r_i + a_i) is left for data, and in (1) x_i is r_i + a_i.
 *
 * L, the air that there is, is 1 where (1) is exact. It is more where branches do not hear each other, and less where C_i
 * are taken for greater than they are; so it is sought, by what waits in the mesh. On the path of host i W_i waits and
 * D*_i may:
 *
 *   e_i = (D*_i - W_i) / D*_i, cut to [-1, 1];  e: their mean
 *   each step of tau:  L grows by k e;  L (1 + p e) is in force
 *
 * What waits is the integral of what is too much, W' = L (1 + p e) - 1. Around W = D* that is an oscillator of the frequency
 * sqrt(k / (tau D*)) and the damping p sqrt(tau / (k D*)) / 2. With search.h's k = 1/100 and p = 1/10 the damping is 1/2
 * where D* = tau, and a round trip, which is about D*, is short beside the period, 20 pi of them. While no host fills
 * what it is held to, that nothing waits says nothing of more, and L does not grow. L is 5/4 at most: by so much a sum of
 * rates stands out of their noise, a fifth, and from there on C_i rise (alone.h). While somebody who wants more lacks a quarter
 * of what it is held to, L falls to 1, and so no C rises: others may be in its way, where nothing is seen waiting (hidden
 * terminals), and the promise goes before the sum. Uploads have a part in e where TCP's timestamps show what waits
 * (endpoint/echo.h). Beside what nothing holds L does not fall below 1: who yields to that leaves it more. And
 * beside who takes more than he is held to, who lacks teaches nothing.
 *
 * C_i is learnt from (1), too: alone.h.
 */
#ifndef MESHPACE_AIRTIME_H
#define MESHPACE_AIRTIME_H

#include "alone.h"
#include "search.h"

/* What else may wait beside each other host that wants all: its two aggregates (mp_law_even). */
#define MP_AIRTIME_OTHER_NS (2 * 5484 * MP_NS_PER_US)
#define MP_AIRTIME_GAIN_Q16 655     /* k */
#define MP_AIRTIME_DAMPING_Q16 6554 /* p */
#define MP_AIRTIME_LEAST_Q16 (1u << 15) /* of L, 1/2: C_i are wrong by no more, or what waits says nothing of the air */
#define MP_AIRTIME_MOST_Q16 81920u      /* of L, 5/4 */
#define MP_AIRTIME_LEVEL_BITS 41u       /* of l (mp_airtime_of_level_q16) */

/*
 * w l of a host by one of its ways, Q16. Under `rate` l is in bytes/s, so that a level more is a byte/s more of each whatever its
 * C. l is below 2^41: 16 times C of 1.25 GB/s at the least weight, .01, are 2e12 bytes/s, and by the greatest, 100 * 2^16, it fits
 * 64 bits.
 */
MP_INLINE uint64_t mp_airtime_of_level_q16(const struct mp_air *air, const struct mp_air_host *host,
					   const struct mp_air_way *way, uint64_t level)
{
	uint64_t weighs_q16 = level * mp_air_weight_q16(host);

	if (air->fairness == MP_FAIRNESS_AIR || !way->alone_bytes_per_s)
		return weighs_q16 >> 16;
	return weighs_q16 / way->alone_bytes_per_s;
}

/* f g of a host by one of its ways, Q16. */
MP_INLINE uint64_t mp_airtime_least_q16(const struct mp_air *air, const struct mp_air_host *host,
					const struct mp_air_way *way)
{
	uint64_t least_bytes_per_s = mp_min_u64(host->least_bytes_per_s, MP_AIR_MAX_BYTES_PER_S);

	if (!least_bytes_per_s || !way->alone_bytes_per_s)
		return 0;
	return mp_min_u64((least_bytes_per_s << 16) / way->alone_bytes_per_s, MP_AIR_ALL_Q16) * air->least_q16 >> 16;
}

/* max(w l, f g) */
MP_INLINE uint64_t mp_airtime_part_q16(const struct mp_air *air, const struct mp_air_host *host,
				       const struct mp_air_way *way, uint64_t level)
{
	uint64_t part_q16 = mp_airtime_of_level_q16(air, host, way, level);

	return mp_min_u64(mp_max_u64(part_q16, mp_airtime_least_q16(air, host, way)), MP_AIR_ALL_Q16);
}

/* min(d, part) of a host: of both its ways, which take it in turn where each wants half of it. */
MP_INLINE uint64_t mp_airtime_takes_q16(const struct mp_air *air, const struct mp_air_host *host, uint64_t level)
{
	uint64_t down_q16 = mp_airtime_part_q16(air, host, &host->way[0], level);
	uint64_t up_q16 = mp_airtime_part_q16(air, host, &host->way[1], level);
	uint64_t demand_q16 = mp_min_u64(host->way[0].demand_q16, down_q16) + mp_min_u64(host->way[1].demand_q16, up_q16);

	return mp_min_u64(demand_q16, mp_max_u64(down_q16, up_q16));
}

/* What all take at a level. */
MP_INLINE uint64_t mp_airtime_taken_q16(const struct mp_air *air, const struct mp_air_host *host, uint32_t n, uint64_t level)
{
	uint64_t sum_q16 = 0;
	uint32_t i;

	for (i = 0; i < n; i++)
		sum_q16 += mp_airtime_takes_q16(air, &host[i], level);
	return sum_q16;
}

/*
 * f, the greatest with which what hosts are to have at least, and want, takes no more than half of the air. As of the level,
 * halvings find it: who wants less than f g takes the same of any f.
 */
MP_INLINE void mp_airtime_admit(struct mp_air *air, const struct mp_air_host *host, uint32_t n, uint64_t all_q16)
{
	uint32_t low_q16 = 0, high_q16 = MP_ONE_Q16, round;

	air->least_q16 = MP_ONE_Q16;
	if (2 * mp_airtime_taken_q16(air, host, n, 0) <= all_q16)
		return;
	for (round = 0; round < 16; round++) {
		air->least_q16 = (low_q16 + high_q16) / 2;
		if (2 * mp_airtime_taken_q16(air, host, n, 0) > all_q16)
			high_q16 = air->least_q16;
		else
			low_q16 = air->least_q16;
	}
	air->least_q16 = low_q16;
}

/* l: halvings find it. Without bound: not all of the air is wanted. */
MP_INLINE uint64_t mp_airtime_level(const struct mp_air *air, const struct mp_air_host *host, uint32_t n, uint64_t all_q16)
{
	uint64_t low = 0, high = 1ull << MP_AIRTIME_LEVEL_BITS;
	uint32_t round;

	for (round = 0; round < MP_AIRTIME_LEVEL_BITS; round++) {
		uint64_t middle = (low + high) / 2;

		if (mp_airtime_taken_q16(air, host, n, middle) > all_q16)
			high = middle;
		else
			low = middle;
	}
	return low;
}

/* D* of a host, in ns. */
MP_INLINE uint64_t mp_airtime_wait_ns(const struct mp_air *air, const struct mp_air_host *host, uint64_t hop_wait_ns)
{
	uint64_t hops = mp_min_u64(mp_max_u64(host->hops, 1), MP_TTL_HOPS_MAX);

	return hops * hop_wait_ns + (mp_max_u64(air->wanting, 1) - 1) * MP_AIRTIME_OTHER_NS;
}

/* e; returns whether anybody was heard. */
MP_INLINE bool mp_airtime_error(struct mp_air *air, struct mp_air_host *host, uint32_t n, uint64_t hop_wait_ns)
{
	int64_t sum_q16 = 0;
	uint32_t i, heard = 0;

	for (i = 0; i < 2 * n; i++) {
		const struct mp_air_way *way = &host[i / 2].way[i % 2];
		uint64_t wait_ns = mp_airtime_wait_ns(air, &host[i / 2], hop_wait_ns);

		if (!way->heard || !way->present)
			continue;
		sum_q16 += mp_search_error_q16(wait_ns, way->waits_ns, wait_ns);
		heard++;
	}
	air->error_q16 = heard ? (int32_t)(sum_q16 / (int64_t)heard) : 0;
	for (i = 0; i < 2 * n; i++) {
		struct mp_air_way *way = &host[i / 2].way[i % 2];

		way->overfull = way->heard ? way->waits_ns > mp_airtime_wait_ns(air, &host[i / 2], hop_wait_ns)
					   : air->error_q16 < 0;
	}
	return heard > 0;
}

/* Whether anybody fills what he is held to, or is held to nothing, or something waits here for it to be sent. */
MP_INLINE bool mp_airtime_binds(const struct mp_air_host *host, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < 2 * n; i++) {
		const struct mp_air_way *way = &host[i / 2].way[i % 2];

		if (way->present && (way->held || mp_air_fills(way)))
			return true;
	}
	return false;
}

/* Whether somebody takes more than he is held to, for so many steps, or is held to nothing (mp_air_exceeds). */
MP_INLINE bool mp_airtime_anybody_exceeds(const struct mp_air_host *host, uint32_t n, uint32_t steps)
{
	uint32_t i;

	for (i = 0; i < 2 * n; i++)
		if (mp_air_exceeds(&host[i / 2], &host[i / 2].way[i % 2], steps))
			return true;
	return false;
}

/*
 * Whether (1) tells of C (alone.h): while the air is overfull only if somebody lacks what he is held to because of it, and not
 * because others take more than they are held to.
 */
MP_INLINE bool mp_airtime_tells(const struct mp_air *air, const struct mp_air_host *host, uint32_t n)
{
	return air->error_q16 >= 0 || !air->shared || (mp_alone_lacks_air(host, n) && !mp_airtime_anybody_exceeds(host, n, 1));
}

/* L at the least: who yields to what nothing holds leaves it more, and gains nothing. */
MP_INLINE uint32_t mp_airtime_floor_q16(const struct mp_air_host *host, uint32_t n)
{
	return mp_airtime_anybody_exceeds(host, n, MP_AIR_PRESENT) ? MP_ONE_Q16 : MP_AIRTIME_LEAST_Q16;
}

/* x (1 + e gain), Q16. */
MP_INLINE uint32_t mp_airtime_by_q16(uint32_t x_q16, int32_t error_q16, int64_t gain_q16)
{
	return (uint32_t)(x_q16 + ((int64_t)x_q16 * (error_q16 * gain_q16 >> 16) >> 16));
}

/* r / (r + a) of what a way is held to: what is left for data. */
MP_INLINE uint64_t mp_airtime_for_data(const struct mp_air_way *way)
{
	uint64_t all_bytes_per_s = way->rate_bytes_per_s + way->excess_bytes_per_s;

	if (!way->excess_bytes_per_s)
		return way->part_bytes_per_s;
	return way->part_bytes_per_s * way->rate_bytes_per_s / all_bytes_per_s;
}

/* What each way is held to, at level l. Returns how many are. */
MP_INLINE uint32_t mp_airtime_hold(const struct mp_air *air, struct mp_air_host *host, uint32_t n, uint64_t level)
{
	uint32_t i, held = 0;

	for (i = 0; i < 2 * n; i++) {
		struct mp_air_way *way = &host[i / 2].way[i % 2];
		const struct mp_air_way *other = &host[i / 2].way[1 - i % 2];
		uint64_t part_q16 = mp_airtime_part_q16(air, &host[i / 2], way, level);
		uint64_t others_q16 = mp_min_u64(other->present ? other->demand_q16 : 0, part_q16 / 2);
		uint64_t bytes_per_s = way->alone_bytes_per_s * (part_q16 - others_q16) >> 16;

		way->cap_bytes_per_s = 0;
		if (!air->shared || host[i / 2].nobody || !way->present || !way->alone_bytes_per_s || part_q16 >= MP_AIR_ALL_Q16)
			continue;
		way->part_bytes_per_s = mp_max_u64(mp_min_u64(bytes_per_s, MP_AIR_MAX_BYTES_PER_S), MP_AIR_LEAST_BYTES_PER_S);
		way->cap_bytes_per_s = mp_max_u64(mp_airtime_for_data(way), MP_AIR_LEAST_BYTES_PER_S);
		held++;
	}
	return held;
}

/* Of the time silence is earned: half of a tenth (endpoint/silence.h). */
#define MP_AIRTIME_SILENCE_Q16 (MP_ONE_Q16 / 20)

/*
 * Of silence (endpoint/silence.h) a twentieth of the time is earned; but with it hosts that are not busy have no more than their
 * parts, and who begins counts as one of them, whether it is counted yet or not.
 */
MP_INLINE void mp_airtime_earn(struct mp_air *air, const struct mp_air_host *host, uint32_t n)
{
	uint64_t used_q16 = 0, busy_q16 = 0, others_q16;
	uint32_t i;

	air->busy = 0;
	for (i = 0; i < n; i++) {
		bool is_busy = mp_air_is_busy(air, &host[i]);

		air->busy += is_busy;
		if (is_busy)
			busy_q16 += mp_air_weight_q16(&host[i]);
		else
			used_q16 += (uint64_t)host[i].way[0].used_q16 + host[i].way[1].used_q16;
	}
	others_q16 = mp_max_u64(air->weights_q16, busy_q16 + MP_ONE_Q16) - busy_q16;
	others_q16 = (others_q16 << 16) / (busy_q16 + others_q16);
	others_q16 = mp_min_u64(mp_max_u64(others_q16, used_q16) - used_q16, MP_AIRTIME_SILENCE_Q16);
	air->silence_ns += air->steps * MP_AIR_STEP_NS * others_q16 >> 16;
}

/*
 * A step at now_ns, MP_AIR_STEP_NS after the previous one, or a few of them, over all n hosts; sets what each is held to,
 * and returns how many ways are. The array may change from step to step: who is new is all zero but for what the caller
 * fills in.
 */
MP_INLINE uint32_t mp_airtime_step(struct mp_air *air, struct mp_air_host *host, uint32_t n, uint64_t hop_wait_ns,
			       uint64_t now_ns)
{
	uint32_t i, in_force_q16;
	bool heard, used_up;

	mp_air_measure(air, host, n, now_ns);
	air->wanting = 0;
	for (i = 0; i < n; i++) {
		bool down = mp_air_demand(air, &host[i], &host[i].way[0]), up = mp_air_demand(air, &host[i], &host[i].way[1]);

		air->wanting += down || up;
	}
	mp_airtime_earn(air, host, n);
	mp_alone_guess(host, n);
	heard = mp_airtime_error(air, host, n, hop_wait_ns);
	if (!air->air_q16 || !air->shared)
		air->air_q16 = MP_ONE_Q16;
	mp_alone_forget(air, host, n);
	used_up = heard ? air->error_q16 < (int32_t)(MP_ONE_Q16 / 2) : air->present == 1;
	if (air->wanting && used_up && mp_airtime_tells(air, host, n))
		mp_alone_learn(air, host, n);
	else if (air->wanting && !used_up)
		mp_alone_rise(air, host, n);
	if (air->air_q16 > MP_ONE_Q16 && mp_alone_lacks(host, n))
		air->error_q16 = -(int32_t)MP_ONE_Q16;
	if (air->error_q16 < 0 || mp_airtime_binds(host, n))
		air->air_q16 = mp_airtime_by_q16(air->air_q16, air->error_q16, (int64_t)air->steps * MP_AIRTIME_GAIN_Q16);
	air->air_q16 = (uint32_t)mp_max_u64(mp_min_u64(air->air_q16, MP_AIRTIME_MOST_Q16), mp_airtime_floor_q16(host, n));
	air->shared = air->present > 1 && air->wanting && mp_alone_is_known(host, n);
	in_force_q16 = mp_airtime_by_q16(air->air_q16, air->error_q16, MP_AIRTIME_DAMPING_Q16);
	mp_airtime_admit(air, host, n, in_force_q16);
	return mp_airtime_hold(air, host, n, mp_airtime_level(air, host, n, in_force_q16));
}

#endif
