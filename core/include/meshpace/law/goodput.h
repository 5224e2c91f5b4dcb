/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Goodput control (GAP section 4.4 and figure 7): the gateway keeps fast
 * wired-to-wireless flows from starving others.
 *
 * Every 5 s each flow's goodput G(i) is compared with the mean over all flows
 * Gavg. A flow above 1.1 Gavg that the gateway paces is throttled to Gavg. If the
 * slow flows do not gain from it, the flows do not share a bottleneck, and all
 * throttling is cancelled until the next probe. Throttling ages: each step raises the
 * throttled rate by 1.1 G(i) / Gavg packets/s. When a flow starts or ends,
 * everything is reset.
 *
 * What the papers leave open: "slow" are the flows below the mean when throttling
 * began, and they gain when their goodput together exceeds what it was then by
 * gain_q16. Without such a margin noise alone upholds a useless throttle every other
 * time. Where no gain follows, the text's cancelling goes before the pseudocode's
 * throttling: a fast flow that harms nobody would else be throttled to a mean that its own
 * throttling lowers, step by step to nothing. And a throttled flow always gets the mean of
 * the moment: one that was caught while all were slow (a start) would need minutes of aging,
 * during which the slow ones, not paced here, take what it leaves.
 */
#ifndef MESHPACE_GOODPUT_H
#define MESHPACE_GOODPUT_H

#include "../arith/base.h"

struct mp_goodput_law {
	uint64_t step_ns;       /* probing interval, 5 s */
	uint32_t threshold_q16; /* S, 1.1 */
	uint32_t aging_q16;     /* packets/s added per step and unit of deviation, 1.1 */
	uint32_t gain_q16;      /* slow flows' goodput over that before, to count as a gain */
};

MP_INLINE struct mp_goodput_law mp_goodput_law_gap(void)
{
	struct mp_goodput_law law = {
		.step_ns = 5 * MP_NS_PER_S,
		.threshold_q16 = MP_Q16(1.1),
		.aging_q16 = MP_Q16(1.1),
		.gain_q16 = MP_Q16(1.05),
	};
	return law;
}

/* One flow through the gateway, in an array of the host. */
struct mp_goodput_flow {
	/* The host fills in: */
	uint64_t delivered_bytes; /* payload acknowledged so far */
	uint32_t segment_bytes;   /* payload of a data packet */
	bool paced_here;          /* wired-to-wireless: the gateway can throttle it */
	/* Goodput control fills in: */
	uint64_t floor_ns;            /* least interval between packets; 0: not throttled */
	uint64_t before_bytes;        /* delivered_bytes at the previous step */
	uint64_t goodput_bytes_per_s; /* G(i), bytes/s over the previous step */
	bool slow;                    /* below the mean when throttling began */
};

struct mp_goodput {
	uint64_t before_ns;        /* time of the previous step */
	uint64_t slow_bytes_per_s; /* goodput of the slow flows together when throttling began, bytes/s */
	bool throttling;
};

/* A flow started or ended: cancels all throttling and starts measuring anew at now_ns. */
MP_INLINE void mp_goodput_reset(struct mp_goodput *control, struct mp_goodput_flow *flows,
				uint32_t n, uint64_t now_ns)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		flows[i].floor_ns = 0;
		flows[i].slow = false;
		flows[i].before_bytes = flows[i].delivered_bytes;
	}
	control->before_ns = now_ns;
	control->slow_bytes_per_s = 0;
	control->throttling = false;
}

/* 34 Gbit/s: with it the sums and products of up to 2^14 flows stay within 64 bits. */
#define MP_GOODPUT_MAX_BYTES_PER_S 0xffffffffu

/* Measures G(i) since the previous step; returns Gavg in bytes/s. */
MP_INLINE uint64_t mp_goodput_measure(struct mp_goodput *control, struct mp_goodput_flow *flows,
				      uint32_t n, uint64_t now_ns)
{
	uint64_t elapsed_us = mp_max_u64((now_ns - control->before_ns) / MP_NS_PER_US, 1);
	uint64_t sum_bytes_per_s = 0;
	uint32_t i;

	for (i = 0; i < n; i++) {
		uint64_t bytes = flows[i].delivered_bytes - flows[i].before_bytes;

		/* 2^44 bytes in a step are beyond any radio, and keep the product in 64 bits. */
		flows[i].goodput_bytes_per_s = mp_min_u64(mp_min_u64(bytes, 1ull << 44) * 1000000 / elapsed_us,
						  MP_GOODPUT_MAX_BYTES_PER_S);
		flows[i].before_bytes = flows[i].delivered_bytes;
		sum_bytes_per_s += flows[i].goodput_bytes_per_s;
	}
	control->before_ns = now_ns;
	return n ? sum_bytes_per_s / n : 0;
}

MP_INLINE uint64_t mp_goodput_of_slow(const struct mp_goodput_flow *flows, uint32_t n)
{
	uint64_t sum_bytes_per_s = 0;
	uint32_t i;

	for (i = 0; i < n; i++)
		if (flows[i].slow)
			sum_bytes_per_s += flows[i].goodput_bytes_per_s;
	return sum_bytes_per_s;
}

/* Throttling begins: remembers who is slow and how slow. */
MP_INLINE void mp_goodput_begin(struct mp_goodput *control, struct mp_goodput_flow *flows,
				uint32_t n, uint64_t mean_bytes_per_s)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		flows[i].slow = flows[i].goodput_bytes_per_s < mean_bytes_per_s;
	control->slow_bytes_per_s = mp_goodput_of_slow(flows, n);
	control->throttling = true;
}

/* Interval at which packets of segment_bytes make goodput_bytes_per_s bytes/s, in ns. */
MP_INLINE uint64_t mp_goodput_interval_ns(uint32_t segment_bytes, uint64_t goodput_bytes_per_s)
{
	return goodput_bytes_per_s ? segment_bytes * MP_NS_PER_S / goodput_bytes_per_s : 0;
}

/* Aging: R(i) grows by aging * G(i) / Gavg packets/s. */
MP_INLINE uint64_t mp_goodput_aged_ns(const struct mp_goodput_law *law, uint64_t floor_ns,
				      uint64_t deviation_q16)
{
	uint64_t rate_mpps = 1000 * MP_NS_PER_S / floor_ns;

	rate_mpps += (law->aging_q16 * deviation_q16 >> 16) * 1000 >> 16;
	return mp_max_u64(1000 * MP_NS_PER_S / mp_max_u64(rate_mpps, 1), 1);
}

/* G(i) / Gavg, cut off at 2^16. */
MP_INLINE uint64_t mp_goodput_deviation_q16(const struct mp_goodput_flow *flow, uint64_t mean_bytes_per_s)
{
	return mp_min_u64((flow->goodput_bytes_per_s << 16) / mean_bytes_per_s, 0xffffffffu);
}

/* Whether the slow flows gain from the throttling; nobody gains in an idle network. */
MP_INLINE bool mp_goodput_gained(const struct mp_goodput *control, const struct mp_goodput_law *law,
				 const struct mp_goodput_flow *flows, uint32_t n)
{
	return mp_goodput_of_slow(flows, n) << 16 > control->slow_bytes_per_s * law->gain_q16;
}

MP_INLINE void mp_goodput_cancel(struct mp_goodput *control, struct mp_goodput_flow *flows,
				 uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		flows[i].floor_ns = 0;
	control->throttling = false;
}

/*
 * One step of goodput control at now_ns, law->step_ns after the previous one, over all n
 * flows through the gateway; sets each flow's floor_ns. Returns how many are throttled.
 */
MP_INLINE uint32_t mp_goodput_step(struct mp_goodput *control, const struct mp_goodput_law *law,
				   struct mp_goodput_flow *flows, uint32_t n, uint64_t now_ns)
{
	uint64_t mean_bytes_per_s = mp_goodput_measure(control, flows, n, now_ns);
	uint32_t i, throttled = 0;

	if (mean_bytes_per_s == 0 || (control->throttling && !mp_goodput_gained(control, law, flows, n))) {
		mp_goodput_cancel(control, flows, n);
		return 0;
	}
	for (i = 0; i < n; i++) {
		struct mp_goodput_flow *flow = &flows[i];
		uint64_t deviation_q16 = mp_goodput_deviation_q16(flow, mean_bytes_per_s);

		if (flow->paced_here && deviation_q16 > law->threshold_q16) {
			if (!control->throttling)
				mp_goodput_begin(control, flows, n, mean_bytes_per_s);
			flow->floor_ns = mp_goodput_interval_ns(flow->segment_bytes, mean_bytes_per_s);
		}
		if (flow->floor_ns) {
			uint64_t aged_ns = mp_goodput_aged_ns(law, flow->floor_ns, deviation_q16);
			uint64_t mean_ns = mp_goodput_interval_ns(flow->segment_bytes, mean_bytes_per_s);

			flow->floor_ns = mp_min_u64(aged_ns, mean_ns);
			throttled++;
		}
	}
	control->throttling = throttled > 0;
	return throttled;
}

/* What tells a bulk transfer, of a flow's heavier direction. */
struct mp_goodput_bulk {
	uint64_t acked_bytes;
	uint64_t bytes;   /* payload that passed, in so many packets */
	uint64_t packets;
	uint64_t data_ns; /* when data passed last */
	bool outstanding; /* something is not acknowledged */
	bool finished;    /* its sender has said that there is no more */
};

/* A flow takes part while its data is no older: twice a step, so that one that a route break stops is not gone. */
#define MP_GOODPUT_RECENT_NS (10 * MP_NS_PER_S)
/* Mean payload of the packets of a bulk transfer, at least: half of the smallest usual segment, 536 (RFC 9293). */
#define MP_GOODPUT_BULK_BYTES 268u

/*
 * Whether a flow is compared with others. In the papers all flows transfer bulk; an idle login is slow without
 * being starved, and would halve what a download may have.
 */
MP_INLINE bool mp_goodput_takes_part(const struct mp_goodput_bulk *flow, uint64_t now_ns)
{
	bool recent = mp_max_u64(now_ns, flow->data_ns) - flow->data_ns < MP_GOODPUT_RECENT_NS;

	return !flow->finished && flow->acked_bytes && (recent || flow->outstanding) &&
	       flow->bytes >= MP_GOODPUT_BULK_BYTES * flow->packets;
}

#endif
