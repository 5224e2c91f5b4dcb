/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is kept of the hosts that share the air (airtime.h), each in both directions: what they get, what they want, what
 * they are held to; and of all of them together.
 */
#ifndef MESHPACE_AIR_H
#define MESHPACE_AIR_H

#include "path.h"

#define MP_AIR_STEP_NS (MP_NS_PER_S / 10)
#define MP_AIR_STEPS_PER_S 10u   /* over which rates are smoothed */
/*
 * Steps without progress after which a host is not there, 3 s. A sender that has lost all of a window tries again after its
 * time-out, at least 1 s (RFC 6298, 2.4), and once more after twice as long (5.5).
 */
#define MP_AIR_PRESENT 30u
#define MP_AIR_STALLED 10u       /* after which its sender waits for the first of these */
#define MP_AIR_NEW 20u           /* steps of a newcomer, whose demand shows only when its slow start is over: */
#define MP_AIR_GROWS 4u          /* it doubles each round trip, and two of them are a step */
#define MP_AIR_ALL_Q16 (1u << 20) /* a demand without bound, 16 */
#define MP_AIR_SPARE_Q16 3277u   /* .05, beside twice what is used: who uses nothing can begin, */
#define MP_AIR_SPARE_PARTS 8u    /* but all who use nothing have no more than an eighth of the air */
#define MP_AIR_MAX_BYTES_PER_S 0xffffffffu /* 34 Gbit/s: products fit 64 bits */
#define MP_AIR_LEAST_BYTES_PER_S 1000u     /* nobody is held to less */
#define MP_AIR_WEIGHT_MAX_Q16 (100u << 16) /* of a host's: products fit 64 bits */

/* What w_i is, of a host of weight 1. */
enum mp_fairness { MP_FAIRNESS_AIR = 0, MP_FAIRNESS_RATE = 1 };

/* From the wired network to a host, and the other way. */
enum mp_air_direction { MP_AIR_DOWN = 0, MP_AIR_UP = 1 };

/* A host's downloads, or its uploads. */
struct mp_air_way {
	/* The caller fills in, before each step: */
	uint64_t delivered_bytes; /* ever */
	uint32_t flows;           /* of which something is under way */
	uint32_t wanting_flows;   /* of those, that want more (mp_flow_wants) */
	uint64_t again_packets;   /* seen a second time so far */
	uint64_t excess_bytes;    /* of ACKs that no data asked for, so far (endpoint/excess.h) */
	uint64_t waits_ns;        /* W (endpoint/queueing.h), if heard */
	bool heard;
	bool held;                /* something waits here for what the host is held to; of datagrams, or did (mp_opaque_has_more) */
	/* The steps fill in: */
	uint64_t part_bytes_per_s;  /* what it is held to in all */
	uint64_t cap_bytes_per_s;   /* what is left of that for data; 0: it is held to nothing */
	uint64_t alone_bytes_per_s; /* C; 0: not known */
	uint64_t before_bytes;      /* delivered at the previous step */
	uint64_t before_again;      /* again_packets then */
	uint64_t before_excess;     /* excess_bytes then */
	uint64_t rate_bytes_per_s;  /* r, smoothed */
	uint64_t latest_bytes_per_s; /* in the latest step */
	uint64_t excess_bytes_per_s; /* a, smoothed likewise */
	uint64_t held_bytes_per_s;  /* what it was held to in all meanwhile, smoothed likewise, from r before; 0: nothing */
	uint64_t known_bytes_per_s; /* C as it was learnt for other hops, */
	uint32_t known_hops;        /* for these; 0: for none */
	uint32_t unsure_q16;        /* P */
	uint32_t used_q16;          /* r / C; while it is held, (r + a) / C */
	uint32_t demand_q16;        /* d */
	uint32_t quiet;             /* steps since its latest progress */
	uint32_t age;               /* steps since the first */
	uint32_t whole;             /* steps since something of it was lost */
	uint32_t over;              /* steps in which it had 5/4 of what it is held to, less those in which it kept to it */
	bool present;
	bool wants;
	bool overfull;              /* more waits on its path than D* (airtime.h) */
};

/* A host of the mesh. */
struct mp_air_host {
	/* The caller fills in: */
	uint32_t hops;              /* 0: not known, taken for 1 */
	uint32_t weight_q16;        /* as so many hosts it counts; 0: as one */
	uint64_t least_bytes_per_s; /* its share is no less than these take; 0: it may be anything */
	bool nobody;                /* what is sent of nobody (mp_opaque_nobody_step): nothing holds it */
	struct mp_air_way way[2];   /* by enum mp_air_direction */
	/* The steps fill in: */
	uint32_t before_hops;       /* min(h, 4) in the previous step; 0: there was none */
};

struct mp_air {
	enum mp_fairness fairness; /* the caller's */
	uint64_t before_ns;        /* the previous step */
	uint32_t air_q16;          /* L */
	uint32_t steps;            /* that the latest one was */
	uint32_t present;          /* n */
	uint32_t wanting;          /* of those, that want all that they can get */
	uint32_t busy;             /* of those, that keep the air busy (mp_air_is_busy) */
	uint64_t silence_ns;       /* earned so far (mp_airtime_earn) */
	uint64_t weights_q16;      /* of those who are there */
	uint32_t least_q16;        /* f: what hosts have of the least that they are to have */
	int32_t error_q16;         /* e of the latest step */
	bool shared;               /* more than one was there in it, somebody wanted more, and C were known */
};

/* Hops within which one packet is in the air at a time. What is sent of nobody has all, lest C of others be guessed too small. */
MP_INLINE uint64_t mp_air_hops(const struct mp_air_host *host)
{
	return mp_min_u64(host->nobody ? MP_REUSE_HOPS : host->hops ? host->hops : 1, MP_REUSE_HOPS);
}

MP_INLINE bool mp_air_is_present(const struct mp_air_host *host)
{
	return host->way[0].present || host->way[1].present;
}

MP_INLINE uint64_t mp_air_weight_q16(const struct mp_air_host *host)
{
	return host->weight_q16 ? mp_min_u64(host->weight_q16, MP_AIR_WEIGHT_MAX_Q16) : MP_ONE_Q16;
}

/* Whether a way wants more than it gets, and uses half of its host's part of the air or more. */
MP_INLINE bool mp_air_way_is_busy(const struct mp_air *air, const struct mp_air_host *host, const struct mp_air_way *way)
{
	return way->wants && way->used_q16 * air->weights_q16 * 2 >= MP_ONE_Q16 * mp_air_weight_q16(host);
}

MP_INLINE bool mp_air_is_busy(const struct mp_air *air, const struct mp_air_host *host)
{
	return mp_air_way_is_busy(air, host, &host->way[0]) || mp_air_way_is_busy(air, host, &host->way[1]);
}

/* Steps that so much time is: a host that is busy may be late, by no more than the rates' memory. */
MP_INLINE uint32_t mp_air_steps(uint64_t elapsed_us)
{
	uint64_t step_us = MP_AIR_STEP_NS / MP_NS_PER_US;

	return (uint32_t)mp_max_u64(mp_min_u64((elapsed_us + step_us / 2) / step_us, MP_AIR_STEPS_PER_S), 1);
}

/* A mean over the latest second. */
MP_INLINE uint64_t mp_air_smoothed(uint64_t mean, uint64_t latest, uint32_t steps)
{
	return ((MP_AIR_STEPS_PER_S - steps) * mean + steps * latest) / MP_AIR_STEPS_PER_S;
}

/*
 * A mean over the latest second, or since a way came. With what it begins with nothing is measured: it may fill a hole, and
 * have been sent long before.
 */
MP_INLINE uint64_t mp_air_mean(uint64_t mean, uint64_t latest, uint32_t age, uint32_t steps)
{
	uint64_t over = mp_max_u64(mp_min_u64(age, MP_AIR_STEPS_PER_S), steps);

	return ((over - steps) * mean + steps * latest) / over;
}

/* By how much a sum has grown since before, bytes/s; one that shrank was forgotten in part, and goes on from what it is. */
MP_INLINE uint64_t mp_air_grew(uint64_t *before, uint64_t sum, uint64_t elapsed_us)
{
	uint64_t bytes = mp_min_u64(mp_max_u64(sum, *before) - *before, 1ull << 44);

	*before = sum;
	return mp_min_u64(bytes * 1000000 / elapsed_us, MP_AIR_MAX_BYTES_PER_S);
}

/*
 * For how many steps a way has had more than 5/4 of what it is held to, less those in which it kept to it. While it sends nothing
 * it does not keep to it: a flood may pause. Twice what tells (mp_air_is_free) is the most, so who heeds is believed after three to
 * six seconds of it.
 */
MP_INLINE uint32_t mp_air_over(const struct mp_air_way *way, uint32_t steps)
{
	uint64_t held_bytes_per_s = way->held_bytes_per_s;
	bool keeps = way->latest_bytes_per_s && mp_max_u64(way->latest_bytes_per_s, way->rate_bytes_per_s) <= held_bytes_per_s;

	if (!held_bytes_per_s || !way->present)
		return 0;
	if (way->rate_bytes_per_s * 4 > held_bytes_per_s * 5)
		return (uint32_t)mp_min_u64((uint64_t)way->over + steps, 2 * MP_AIR_PRESENT);
	return keeps ? way->over - (uint32_t)mp_min_u64(way->over, steps) : way->over;
}

/* A step's progress of one way: its rate, and whether it is there. */
MP_INLINE void mp_air_progress(struct mp_air_way *way, uint64_t elapsed_us)
{
	uint64_t before_bytes = way->before_bytes, before_bytes_per_s = way->present ? way->rate_bytes_per_s : 0;
	bool progresses = way->delivered_bytes > before_bytes;
	uint64_t bytes_per_s = mp_air_grew(&way->before_bytes, way->delivered_bytes, elapsed_us);
	uint64_t excess_bytes_per_s = mp_air_grew(&way->before_excess, way->excess_bytes, elapsed_us);
	bool comes = progresses && !way->present;
	uint32_t steps = mp_air_steps(elapsed_us);

	way->quiet = progresses ? 0 : (uint32_t)mp_min_u64((uint64_t)way->quiet + steps, 0xffffffffu);
	way->present = progresses || (way->present && way->quiet < MP_AIR_PRESENT);
	way->age = comes ? 0 : (uint32_t)mp_min_u64((uint64_t)way->age + steps, 0xffffffffu);
	way->whole = way->again_packets > way->before_again ? 0
		     : comes ? MP_AIR_PRESENT : (uint32_t)mp_min_u64((uint64_t)way->whole + steps, 0xffffffffu);
	way->before_again = way->again_packets;
	way->latest_bytes_per_s = bytes_per_s;
	way->rate_bytes_per_s = comes ? 0 : mp_air_mean(way->rate_bytes_per_s, bytes_per_s, way->age, steps);
	way->excess_bytes_per_s = mp_air_smoothed(way->excess_bytes_per_s, excess_bytes_per_s, steps);
	way->held_bytes_per_s = !way->cap_bytes_per_s ? 0
				: !way->held_bytes_per_s ? mp_max_u64(before_bytes_per_s, way->part_bytes_per_s)
				: mp_air_smoothed(way->held_bytes_per_s, way->part_bytes_per_s, steps);
	way->over = mp_air_over(way, steps);
}

/* Whether a way takes more than it is held to, for so many steps; what is sent of nobody does by itself. */
MP_INLINE bool mp_air_exceeds(const struct mp_air_host *host, const struct mp_air_way *way, uint32_t steps)
{
	return way->present && (host->nobody || way->over >= steps);
}

/*
 * Whether nothing holds a way: what is sent of nobody, or who does not heed what he is held to, as a flood of datagrams. More than
 * 5/4 of it stands out of a second's noise, and in three seconds all but such senders have heard of a loss and heeded it.
 */
MP_INLINE bool mp_air_is_free(const struct mp_air_host *host, const struct mp_air_way *way)
{
	return mp_air_exceeds(host, way, MP_AIR_PRESENT);
}

/* What each host has got since the previous step, and how many are there. */
MP_INLINE void mp_air_measure(struct mp_air *air, struct mp_air_host *host, uint32_t n, uint64_t now_ns)
{
	uint64_t elapsed_us = mp_max_u64((mp_max_u64(now_ns, air->before_ns) - air->before_ns) / MP_NS_PER_US, 1);
	uint32_t i;

	air->before_ns = now_ns;
	air->steps = mp_air_steps(elapsed_us);
	air->present = 0;
	air->weights_q16 = 0;
	for (i = 0; i < n; i++) {
		mp_air_progress(&host[i].way[0], elapsed_us);
		mp_air_progress(&host[i].way[1], elapsed_us);
		if (!mp_air_is_present(&host[i]))
			continue;
		air->present++;
		air->weights_q16 += mp_air_weight_q16(&host[i]);
	}
}

/*
 * What the air carried of a way. Where an acknowledgement fills a hole, more arrives than the way was held to; ACKs in
 * excess count while it is held, else who sends many of them before would seem to have so much.
 */
MP_INLINE uint64_t mp_air_carried(const struct mp_air_host *host, const struct mp_air_way *way)
{
	if (!way->held_bytes_per_s || mp_air_is_free(host, way))
		return way->rate_bytes_per_s;
	return mp_min_u64(way->rate_bytes_per_s + way->excess_bytes_per_s, way->held_bytes_per_s);
}

/* Whether a way fills what it is held to, three quarters, or is held to nothing. */
MP_INLINE bool mp_air_fills(const struct mp_air_way *way)
{
	return (way->rate_bytes_per_s + way->excess_bytes_per_s) * 4 >= way->held_bytes_per_s * 3;
}

/*
 * That a way would send more shows in that something of it waits here, or that it fills what it is held to, or where it is held
 * to nothing, that it uses nearly its host's part of the air, 1/n where weights are alike, three quarters; or that it loses,
 * and then sends again within three seconds. Else it sends what it has.
 */
MP_INLINE bool mp_air_has_more(const struct mp_air *air, const struct mp_air_host *host, const struct mp_air_way *way,
			       uint64_t used_q16)
{
	bool fills = way->held_bytes_per_s ? mp_air_fills(way)
					   : used_q16 * air->weights_q16 * 4 >= 3 * MP_ONE_Q16 * mp_air_weight_q16(host);

	return way->held || !way->alone_bytes_per_s || fills || way->whole < MP_AIR_PRESENT;
}

/*
 * What a way wants of the air that does not want all: what it uses, over the latest second or since the latest step, for a page's
 * beginning is over before a mean shows it; and a little to spare. Of whom nothing is under way uses nothing now.
 */
MP_INLINE uint64_t mp_air_modest_q16(const struct mp_air *air, const struct mp_air_way *way, uint64_t used_q16)
{
	uint64_t latest_bytes_per_s = way->cap_bytes_per_s ? mp_min_u64(way->latest_bytes_per_s, way->cap_bytes_per_s)
							   : way->latest_bytes_per_s;
	uint64_t latest_q16 = way->alone_bytes_per_s ? (latest_bytes_per_s << 16) / way->alone_bytes_per_s : 0;
	uint64_t spare_q16 = mp_min_u64(MP_ONE_Q16 / MP_AIR_SPARE_PARTS / mp_max_u64(air->present, 1), MP_AIR_SPARE_Q16);
	uint64_t grows = way->age < MP_AIR_NEW ? MP_AIR_GROWS : 1;

	if (!way->flows)
		used_q16 = 0;
	return mp_min_u64(grows * mp_max_u64(used_q16, latest_q16) + spare_q16, MP_AIR_ALL_Q16);
}

/* What a way of a host's uses and wants of the air; returns whether it wants all that it can get. */
MP_INLINE bool mp_air_demand(const struct mp_air *air, const struct mp_air_host *host, struct mp_air_way *way)
{
	uint64_t carried_q16 = way->alone_bytes_per_s ? (mp_air_carried(host, way) << 16) / way->alone_bytes_per_s : 0;
	uint64_t used_q16 = mp_min_u64(carried_q16, MP_AIR_ALL_Q16);
	bool wants = way->present && way->wanting_flows && way->quiet < MP_AIR_STALLED &&
		     mp_air_has_more(air, host, way, used_q16);

	way->wants = wants;
	way->used_q16 = (uint32_t)used_q16;
	way->demand_q16 = wants ? MP_AIR_ALL_Q16 : way->present ? (uint32_t)mp_air_modest_q16(air, way, used_q16) : 0;
	return wants;
}

#endif
