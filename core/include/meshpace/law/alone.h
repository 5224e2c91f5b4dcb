/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What each host gets when it is alone (airtime.h), learnt from what all of them get together:
 *
 *   sum of x_i / C_i <= 1                                                                     (1)
 *
 * While the air is used up, the sum of r_i / C_i, of the rates r_i that arrive, tells how much all C_i are too small;
 * which of them, their uncertainty says. That is the Kalman filter of ln C_i with the measurement ln(sum), whose gradient
 * is w_i = (r_i / C_i) / sum:
 *
 *   g_i = w_i P_i / (R + sum of w_j^2 P_j);  ln C_i += g_i ln(sum);  P_i -= g_i w_i P_i;  P_i += Q, at most P_0
 *
 * While more waits than D* (airtime.h) the sum is what the gateway allows, and tells nothing: what waits is of others'
 * making, or L is falling, and C_i that followed would fall for ever. Unless somebody lacks what he is held to though on his
 * own path more than D* waits: then his packets take more air than C_i says, and who has what he is held to has w = 0. Who lacks
 * while little waits for him is held up by his sender, by losses or by hidden terminals.
 *
 * Who is alone has w = 1, and C_i is what arrives. Beside one whose C is known all of the correction is a newcomer's. Who
 * has never been heard is taken to have the best known one's C, by their hops: a packet takes the air of min(h, 4) hops,
 * for four hops away it is sent on while the next one begins (GAP, section 4.1).
 *
 * With nobody known, nobody is held to anything, until somebody has wanted more for three seconds: two of slow start, in which
 * the cards find their bit rates, and one over which rates are smoothed. Then (1) tells C of all. Meanwhile flows are bounded
 * by their own search.
 *
 * While little waits the air is not used up, and what each has tells nothing of the ratios: who does not fill its part is held
 * up by something else. But a sum above 1 was carried, so C_i are too small. Their errors are taken for one and the same:
 *
 *   ln C_i += P_i ln(sum) / (R + sum of w_j P_j)
 *
 * C of a host that wants no more rises by as much less as it has less of the air than those that do: by w_i / W, at most 1, where
 * W is the mean of their w, weighted by w P. It falls by w_i, too, so its rises and falls have the ratio that those of the others
 * have. Else, as the sum swings about 1, C of a host that uses little would rise each time and never fall, and give it all of the
 * air when it wants more.
 */
#ifndef MESHPACE_ALONE_H
#define MESHPACE_ALONE_H

#include "air.h"

#define MP_ALONE_UNKNOWN_Q16 7864u /* P_0, .12: twice the deviation is a factor of 2 */
#define MP_ALONE_SHOWS (MP_AIR_NEW + MP_AIR_STEPS_PER_S) /* steps: a mean of what arrives after slow start */
#define MP_ALONE_DRIFT_Q16 3u      /* Q: what is not measured any more is as unknown as that after four minutes */
#define MP_ALONE_NOISE_Q16 26214u  /* R, .4: a second's rates are off by a fifth, and its ten steps tell one thing */

/*
 * C over one hop, of the way that is known best; 0: none is, and too little has arrived to tell by (1). What is sent of nobody
 * arrives, but by that alone nothing is known of others: it may be all that its sender has.
 */
MP_INLINE uint64_t mp_alone_one_hop(const struct mp_air_host *host, uint32_t n)
{
	uint64_t best = 0, arrives = 0;
	uint32_t i, unsure_q16 = MP_AIR_ALL_Q16;
	bool shows = false;

	for (i = 0; i < 2 * n; i++) {
		const struct mp_air_way *way = &host[i / 2].way[i % 2];

		if (!host[i / 2].nobody && way->alone_bytes_per_s && way->unsure_q16 < unsure_q16) {
			unsure_q16 = way->unsure_q16;
			best = way->alone_bytes_per_s * mp_air_hops(&host[i / 2]);
		}
		arrives += way->present ? way->rate_bytes_per_s * mp_air_hops(&host[i / 2]) : 0;
		shows = shows || (!host[i / 2].nobody && way->wants && way->age >= MP_ALONE_SHOWS);
	}
	return best ? best : shows ? arrives : 0;
}

/*
 * A way's hops are others than before. What was learnt is kept with the hops that it was learnt for, and is C again when they are
 * those again, for routes break for a moment and come back. Else what was guessed by hops is guessed anew, and what was learnt
 * was of another path. As unknown as a guess it is in any case.
 */
MP_INLINE void mp_alone_change_hops(struct mp_air_way *way, uint64_t before, uint64_t hops)
{
	uint64_t bytes_per_s = way->alone_bytes_per_s;
	bool guessed = way->unsure_q16 > MP_ALONE_UNKNOWN_Q16 / 2 && before != way->known_hops;

	if (!bytes_per_s || hops == before)
		return;
	if (hops == way->known_hops)
		way->alone_bytes_per_s = way->known_bytes_per_s;
	else if (guessed)
		way->alone_bytes_per_s = bytes_per_s * before / hops;
	if (!guessed || before == way->known_hops) {
		way->known_hops = (uint32_t)before;
		way->known_bytes_per_s = bytes_per_s;
	}
	way->unsure_q16 = MP_ALONE_UNKNOWN_Q16;
}

/* A host's hops may be others than before: of both its ways. */
MP_INLINE void mp_alone_hops(struct mp_air_host *host)
{
	uint64_t hops = mp_air_hops(host), before = host->before_hops ? host->before_hops : hops;

	host->before_hops = (uint32_t)hops;
	mp_alone_change_hops(&host->way[0], before, hops);
	mp_alone_change_hops(&host->way[1], before, hops);
}

/* C of those who have none yet. */
MP_INLINE void mp_alone_guess(struct mp_air_host *host, uint32_t n)
{
	uint64_t one_hop;
	uint32_t i;

	for (i = 0; i < n; i++)
		mp_alone_hops(&host[i]);
	one_hop = mp_alone_one_hop(host, n);
	for (i = 0; one_hop && i < 2 * n; i++) {
		struct mp_air_way *way = &host[i / 2].way[i % 2];

		if (!way->present || way->alone_bytes_per_s)
			continue;
		way->alone_bytes_per_s = mp_min_u64(mp_max_u64(one_hop / mp_air_hops(&host[i / 2]), MP_AIR_LEAST_BYTES_PER_S),
						    MP_AIR_MAX_BYTES_PER_S);
		way->unsure_q16 = MP_ALONE_UNKNOWN_Q16;
	}
}

/* Whether C of anybody who is there is known: then of all of them. */
MP_INLINE bool mp_alone_is_known(const struct mp_air_host *host, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < 2 * n; i++)
		if (host[i / 2].way[i % 2].present && host[i / 2].way[i % 2].alone_bytes_per_s)
			return true;
	return false;
}

/* ln(x) by its first term, 2 (x - 1) / (x + 1), Q16. */
MP_INLINE int64_t mp_alone_ln_q16(uint64_t x_q16)
{
	return 2 * (((int64_t)x_q16 - (int64_t)MP_ONE_Q16) * (int64_t)MP_ONE_Q16 / (int64_t)(x_q16 + MP_ONE_Q16));
}

/* w of the filter, Q16: a way's part of what is used. */
MP_INLINE uint64_t mp_alone_gradient_q16(const struct mp_air_way *way, uint64_t sum_q16)
{
	return way->present && way->alone_bytes_per_s ? ((uint64_t)way->used_q16 << 16) / sum_q16 : 0;
}

/* Whether a way that wants more does not fill what it is held to. */
MP_INLINE bool mp_alone_way_lacks(const struct mp_air_way *way)
{
	return way->wants && way->age >= MP_AIR_NEW && !mp_air_fills(way);
}

/* Whether anybody lacks what he is held to: others may have it, he may be worse off than C says, or his sender is. */
MP_INLINE bool mp_alone_lacks(const struct mp_air_host *host, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < 2 * n; i++)
		if (mp_alone_way_lacks(&host[i / 2].way[i % 2]))
			return true;
	return false;
}

/* Whether anybody does though his sender sends more than his path carries: more waits there than may. */
MP_INLINE bool mp_alone_lacks_air(const struct mp_air_host *host, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < 2 * n; i++)
		if (mp_alone_way_lacks(&host[i / 2].way[i % 2]) && host[i / 2].way[i % 2].overfull)
			return true;
	return false;
}

/*
 * w where less is used than there is, off_q16 < 0: of a sum that is too small because somebody lacks, who has what he is held to
 * is not the reason.
 */
MP_INLINE uint64_t mp_alone_blame_q16(const struct mp_air_host *host, uint32_t way, uint64_t sum_q16, bool spares)
{
	const struct mp_air_way *of = &host->way[way];
	bool has_its_part = of->held_bytes_per_s && mp_air_fills(of) && !mp_air_is_free(host, of);

	return spares && has_its_part ? 0 : mp_alone_gradient_q16(of, sum_q16);
}

/* x without so many fractional bits, to the nearest: what is cut off each time would be a drift where steps are small. */
MP_INLINE int64_t mp_alone_round(int64_t x, uint32_t bits)
{
	return (x + (1ll << bits >> 1)) >> bits;
}

/*
 * x e^by, by its first terms: x (1 + by), or x / (1 - by) where it falls, so that what rises comes back by the same. With by
 * = g ln s, ln s by its first term and g of 1 at most, a step of whatever length goes no further than to x s, what is measured:
 * of s > 1 is 1 + by <= (3 s - 1) / (s + 1) <= s, and of s < 1 is 1 - by <= (3 - s) / (1 + s) <= 1 / s.
 */
MP_INLINE uint64_t mp_alone_by_q24(uint64_t x, int64_t by_q24, uint64_t least)
{
	uint64_t one_q24 = 1u << 24, under_q24 = one_q24 + (uint64_t)(by_q24 < 0 ? -by_q24 : 0), moved;

	moved = by_q24 < 0 ? ((x << 24) + under_q24 / 2) / under_q24 : x + ((x * (uint64_t)by_q24 + one_q24 / 2) >> 24);
	return mp_min_u64(mp_max_u64(moved, least), MP_AIR_MAX_BYTES_PER_S);
}

/* Sum of r / C over all who are there; at least 1, Q16. */
MP_INLINE uint64_t mp_alone_sum_q16(const struct mp_air_host *host, uint32_t n)
{
	uint64_t sum_q16 = 1;
	uint32_t i;

	for (i = 0; i < 2 * n; i++)
		sum_q16 += host[i / 2].way[i % 2].present ? host[i / 2].way[i % 2].used_q16 : 0;
	return sum_q16;
}

/* The air is used up: C of all. */
MP_INLINE void mp_alone_learn(struct mp_air *air, struct mp_air_host *host, uint32_t n)
{
	uint64_t sum_q16 = mp_alone_sum_q16(host, n), spread_q16 = MP_ALONE_NOISE_Q16 / mp_max_u64(air->steps, 1);
	int64_t off_q16 = mp_alone_ln_q16(sum_q16), moved_q40 = 0;
	bool spares = off_q16 < 0 && mp_alone_lacks_air(host, n);
	uint32_t i;

	for (i = 0; i < 2 * n; i++) {
		uint64_t w_q16 = mp_alone_blame_q16(&host[i / 2], i % 2, sum_q16, spares);

		spread_q16 += (w_q16 * w_q16 >> 16) * host[i / 2].way[i % 2].unsure_q16 >> 16;
	}
	for (i = 0; i < 2 * n; i++) {
		struct mp_air_way *way = &host[i / 2].way[i % 2];
		uint64_t w_q16 = mp_alone_blame_q16(&host[i / 2], i % 2, sum_q16, spares);
		uint64_t gain_q32 = (w_q16 * way->unsure_q16 << 16) / spread_q16;
		int64_t step_q24 = mp_alone_round((int64_t)gain_q32 * off_q16, 24);

		if (!w_q16)
			continue;
		way->alone_bytes_per_s = mp_alone_by_q24(way->alone_bytes_per_s, step_q24, MP_AIR_LEAST_BYTES_PER_S);
		way->unsure_q16 -= (uint32_t)mp_alone_round((int64_t)((gain_q32 * w_q16 >> 16) * way->unsure_q16), 32);
		moved_q40 += (int64_t)w_q16 * step_q24;
	}
	/* What C_i say now L need not say any more. */
	air->air_q16 = (uint32_t)mp_alone_by_q24(air->air_q16, -mp_alone_round(moved_q40, 16), 1);
}

/* By what C rise while little waits: R; the sum of w P over all ways, the same and that of w^2 P over those that want more. */
struct mp_alone_errors {
	uint64_t noise_q16, all_q32, wanting_q32, squares_q48;
};

MP_INLINE struct mp_alone_errors mp_alone_errors_of(const struct mp_air *air, const struct mp_air_host *host, uint32_t n,
						    uint64_t sum_q16)
{
	struct mp_alone_errors errors = { MP_ALONE_NOISE_Q16 / mp_max_u64(air->steps, 1), 0, 0, 0 };
	uint32_t i;

	for (i = 0; i < 2 * n; i++) {
		const struct mp_air_way *way = &host[i / 2].way[i % 2];
		uint64_t w_q16 = mp_alone_gradient_q16(way, sum_q16);

		errors.all_q32 += w_q16 * way->unsure_q16;
		errors.wanting_q32 += way->wants ? w_q16 * way->unsure_q16 : 0;
		errors.squares_q48 += way->wants ? w_q16 * w_q16 * way->unsure_q16 : 0;
	}
	return errors;
}

/* By how much of ln(sum) a way's C rises. */
MP_INLINE uint64_t mp_alone_rises_q16(const struct mp_alone_errors *errors, const struct mp_air_way *way, uint64_t sum_q16)
{
	uint64_t gain_q16 = ((uint64_t)way->unsure_q16 << 16) / (errors->noise_q16 + (errors->all_q32 >> 16));
	uint64_t part_q16 = mp_alone_gradient_q16(way, sum_q16) * errors->wanting_q32 / mp_max_u64(errors->squares_q48 >> 16, 1);

	return way->wants ? gain_q16 : gain_q16 * mp_min_u64(part_q16, MP_ONE_Q16) >> 16;
}

/* Little waits: C that (1) shows to be too small rise, all of them. */
MP_INLINE void mp_alone_rise(const struct mp_air *air, struct mp_air_host *host, uint32_t n)
{
	uint64_t sum_q16 = mp_alone_sum_q16(host, n);
	struct mp_alone_errors errors = mp_alone_errors_of(air, host, n, sum_q16);
	int64_t off_q16 = mp_alone_ln_q16(sum_q16);
	uint32_t i;

	for (i = 0; i < 2 * n && off_q16 > 0; i++) {
		struct mp_air_way *way = &host[i / 2].way[i % 2];
		int64_t step_q24 = mp_alone_round((int64_t)mp_alone_rises_q16(&errors, way, sum_q16) * off_q16, 8);

		if (way->present && way->alone_bytes_per_s)
			way->alone_bytes_per_s = mp_alone_by_q24(way->alone_bytes_per_s, step_q24, MP_AIR_LEAST_BYTES_PER_S);
	}
}

/* What was learnt is forgotten in time. */
MP_INLINE void mp_alone_forget(const struct mp_air *air, struct mp_air_host *host, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < 2 * n; i++) {
		struct mp_air_way *way = &host[i / 2].way[i % 2];

		way->unsure_q16 = (uint32_t)mp_min_u64((uint64_t)way->unsure_q16 + air->steps * MP_ALONE_DRIFT_Q16,
						       MP_ALONE_UNKNOWN_Q16);
	}
}

#endif
