/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether a host of the mesh gets less than the law `even` promises, and what bounds what it gets: for whoever looks
 * at a gateway. No packet is held by it.
 *
 * What is compared. The promise is that with n active hosts each gets at least 1/n of what it gets alone, unless it does
 * not ask for it. A way that gets r and alone gets C takes r / C of the air (airtime.h), so a host gets of the air
 *
 *   U = sum of r / C over its two ways,        and was promised        P = min(w l, 1),
 *
 * where l is the level at which all who are there would take all of the air, one, if all of them wanted all: 1/n where
 * weights are alike and nobody is to have a least rate. Under `rate` w has 1/C in it (mp_airtime_of_level_q16), and P is the
 * share of the air that gives all the same goodput. Nothing else enters: neither what the host is held to at the moment,
 * nor L, for the law may be what is wrong.
 *
 * - n is 1: there is nothing to compare with; C is what arrives.
 * - It asks: the law sees that it wants more (mp_air_demand), or data are under way of which for MP_AIR_STALLED steps
 *   nothing was acknowledged. Who sends what it has gets what it asks for, however little.
 * - Short of P: U < 4/5 P. A second's rates are off by a fifth (MP_ALONE_NOISE_Q16), so that less says nothing.
 * - For three seconds: slow start takes two and one more shows it (MP_ALONE_SHOWS); until then a newcomer has not had
 *   the time to take its part, nor have others had it to leave it.
 *
 * That a host wants more shows in losses and in what waits here, so it shows now and then. A second in which U is short
 * and nothing shows counts back one of the three; one in which the host has four fifths counts back all of them. So a
 * verdict ends at the latest three seconds after the last sign of a demand.
 */
#ifndef MESHPACE_VERDICT_H
#define MESHPACE_VERDICT_H

#include "airtime.h"

#define MP_VERDICT_SHORT_NUM 4u /* 4/5 of the promise */
#define MP_VERDICT_SHORT_DEN 5u
#define MP_VERDICT_S (MP_ALONE_SHOWS / MP_AIR_STEPS_PER_S)

/* What bounds what a host gets. */
enum mp_bound {
	MP_BOUND_UNKNOWN, /* what it gets alone is not known yet */
	MP_BOUND_ABSENT,  /* it is not active, and nothing of it is under way */
	MP_BOUND_ROUTE,   /* data are under way, and for a second or more nothing was acknowledged */
	MP_BOUND_BEGINS,  /* it has just come */
	MP_BOUND_DEMAND,  /* it wants no more */
	MP_BOUND_SHARE,   /* it fills what it is held to here */
	MP_BOUND_MESH,    /* it wants more and does not fill what it is held to: others are in its way where nobody is held */
	MP_BOUND_PATH,    /* it is held to what its path carries, by its own answers (endpoint/opaque.h) */
	MP_BOUND_OTHERS,  /* nobody is held here, and it lacks what others have */
	MP_BOUND_NOTHING, /* it gets what there is */
};

/* Of one host, once a second. */
struct mp_verdict {
	/* The caller fills in: */
	bool path_holds;            /* it is held by its own answers */
	/* The steps fill in: */
	uint32_t short_s;           /* of the three seconds */
	bool underserved;
	enum mp_bound bound;
	uint32_t silent_s;          /* since something of it was acknowledged last */
	uint64_t used_q16;          /* U */
	uint64_t part_q16;          /* P */
	uint64_t part_bytes_per_s[2]; /* what P is of C, beside what the other way takes; 0: not known */
	uint64_t lacks_bytes_per_s; /* of its part, while it is underserved */
	uint64_t over_bytes_per_s;  /* above what it is held to, or would be */
};

/* w of a host: of its ways that are there the greater one, for they take the air in turn. */
MP_INLINE uint64_t mp_verdict_takes_q16(const struct mp_air *air, const struct mp_air_host *host, uint64_t level)
{
	uint64_t most_q16 = 0;
	uint32_t i;

	for (i = 0; i < 2; i++)
		if (host->way[i].present)
			most_q16 = mp_max_u64(most_q16, mp_airtime_part_q16(air, host, &host->way[i], level));
	return mp_min_u64(most_q16, MP_ONE_Q16);
}

/* l, if all n hosts wanted all: halvings find it, as mp_airtime_level does. */
MP_INLINE uint64_t mp_verdict_level(const struct mp_air *air, const struct mp_air_host *host, uint32_t n)
{
	uint64_t low = 0, high = 1ull << MP_AIRTIME_LEVEL_BITS;
	uint32_t round, i;

	for (round = 0; round < MP_AIRTIME_LEVEL_BITS; round++) {
		uint64_t middle = (low + high) / 2, sum_q16 = 0;

		for (i = 0; i < n; i++)
			sum_q16 += mp_verdict_takes_q16(air, &host[i], middle);
		if (sum_q16 > MP_ONE_Q16)
			high = middle;
		else
			low = middle;
	}
	return high;
}

/* Whether data are under way, and nothing is acknowledged any more. */
MP_INLINE bool mp_verdict_is_stalled(const struct mp_air_host *host)
{
	bool stalled = false;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		const struct mp_air_way *way = &host->way[i];

		if (way->present && way->quiet < MP_AIR_STALLED)
			return false;
		/* Whatever its receiver's window is. Of who never got anything nobody knows that it exists. */
		stalled = stalled || (way->flows && way->delivered_bytes && way->quiet >= MP_AIR_STALLED);
	}
	return stalled;
}

/* Whether all that is there of a host is new. */
MP_INLINE bool mp_verdict_begins(const struct mp_air_host *host)
{
	uint32_t i;

	for (i = 0; i < 2; i++)
		if (host->way[i].present && host->way[i].age >= MP_AIR_NEW)
			return false;
	return true;
}

/* What bounds a way that wants more. */
MP_INLINE enum mp_bound mp_verdict_way(const struct mp_verdict *verdict, const struct mp_air_way *way, bool is_short)
{
	if (way->cap_bytes_per_s)
		return way->held || mp_air_fills(way) ? MP_BOUND_SHARE : MP_BOUND_MESH;
	if (verdict->path_holds)
		return MP_BOUND_PATH;
	return is_short ? MP_BOUND_OTHERS : MP_BOUND_NOTHING;
}

MP_INLINE enum mp_bound mp_verdict_bound(const struct mp_verdict *verdict, const struct mp_air_host *host, bool is_short)
{
	const struct mp_air_way *down = &host->way[MP_AIR_DOWN], *up = &host->way[MP_AIR_UP];

	if (mp_verdict_is_stalled(host))
		return MP_BOUND_ROUTE;
	if (!mp_air_is_present(host))
		return MP_BOUND_ABSENT;
	if (!down->alone_bytes_per_s && !up->alone_bytes_per_s)
		return MP_BOUND_UNKNOWN;
	if (!down->wants && !up->wants)
		return mp_verdict_begins(host) ? MP_BOUND_BEGINS : MP_BOUND_DEMAND;
	return mp_verdict_way(verdict, down->wants ? down : up, is_short);
}

/* What each way's part is of what it gets alone: of P, what the other way takes of it, half at most, is not its own. */
MP_INLINE void mp_verdict_parts(struct mp_verdict *verdict, const struct mp_air *air, const struct mp_air_host *host,
				uint64_t level)
{
	uint32_t i;

	verdict->part_q16 = mp_verdict_takes_q16(air, host, level);
	verdict->used_q16 = 0;
	for (i = 0; i < 2; i++) {
		const struct mp_air_way *way = &host->way[i], *other = &host->way[1 - i];
		uint64_t part_q16 = mp_min_u64(mp_airtime_part_q16(air, host, way, level), MP_ONE_Q16);
		uint64_t others_q16 = other->present ? mp_min_u64(other->used_q16, part_q16 / 2) : 0;

		verdict->part_bytes_per_s[i] = mp_air_is_present(host) ? way->alone_bytes_per_s * (part_q16 - others_q16) >> 16 : 0;
		verdict->used_q16 += way->present ? way->used_q16 : 0;
	}
}

/* What the ways lack of their parts, and what exceeds what they are or would be held to: held_bytes_per_s; 0: nothing. */
MP_INLINE void mp_verdict_amounts(struct mp_verdict *verdict, const struct mp_air_host *host, const uint64_t *held_bytes_per_s)
{
	uint32_t i;

	verdict->lacks_bytes_per_s = 0;
	verdict->over_bytes_per_s = 0;
	for (i = 0; i < 2; i++) {
		uint64_t rate_bytes_per_s = host->way[i].rate_bytes_per_s, part_bytes_per_s = verdict->part_bytes_per_s[i];

		if (verdict->underserved && host->way[i].flows)
			verdict->lacks_bytes_per_s += mp_max_u64(part_bytes_per_s, rate_bytes_per_s) - rate_bytes_per_s;
		if (held_bytes_per_s[i])
			verdict->over_bytes_per_s += mp_max_u64(rate_bytes_per_s, held_bytes_per_s[i]) - held_bytes_per_s[i];
	}
}

/*
 * A second has passed, in which air and host went their steps; level: mp_verdict_level of all hosts.
 * held_bytes_per_s: what its ways are held to, or would be where nothing is held (0: to nothing).
 */
MP_INLINE void mp_verdict_step(struct mp_verdict *verdict, const struct mp_air *air, const struct mp_air_host *host,
			       uint64_t level, const uint64_t *held_bytes_per_s)
{
	bool stalled = mp_verdict_is_stalled(host), asks = host->way[0].wants || host->way[1].wants || stalled, is_short;
	uint64_t quiet = mp_min_u64(host->way[0].delivered_bytes ? host->way[0].quiet : 0xffffffffu,
				    host->way[1].delivered_bytes ? host->way[1].quiet : 0xffffffffu);

	verdict->silent_s = (uint32_t)quiet / MP_AIR_STEPS_PER_S;
	mp_verdict_parts(verdict, air, host, level);
	is_short = mp_air_is_present(host) && air->present > 1 && !mp_verdict_begins(host) && verdict->part_q16 &&
		   verdict->used_q16 * MP_VERDICT_SHORT_DEN < verdict->part_q16 * MP_VERDICT_SHORT_NUM;
	if (!is_short || !(asks || host->way[0].wanting_flows || host->way[1].wanting_flows))
		verdict->short_s = 0;
	else if (asks)
		verdict->short_s = (uint32_t)mp_min_u64((uint64_t)verdict->short_s + 1, MP_VERDICT_S);
	else if (verdict->short_s)
		verdict->short_s--;
	verdict->underserved = verdict->short_s == MP_VERDICT_S || (verdict->underserved && verdict->short_s);
	verdict->bound = mp_verdict_bound(verdict, host, is_short);
	mp_verdict_amounts(verdict, host, held_bytes_per_s);
}

#endif
