/* SPDX-License-Identifier: GPL-2.0-only */
/* The laws: from RTT samples and the path to the interval between packets. */
#ifndef MESHPACE_LAW_H
#define MESHPACE_LAW_H

#include "../arith/ewma.h"
#include "oid.h"
#include "pace.h"
#include "path.h"
#include "search.h"
#include "shaper.h"
#include "../arith/window.h"

/*
 * When a packet no longer interferes with the next: four hops away (GAP, AP), or beyond the range
 * in which the sender is sensed (MAP).
 */
enum mp_reuse { MP_REUSE_FOUR_HOPS = 0, MP_REUSE_CARRIER_SENSE = 1 };

struct mp_law {
	uint32_t window;              /* N, samples */
	uint32_t alpha_q16;           /* weight of the past in the smoothed delay */
	uint32_t cov_weight;          /* 2 in (1 + 2 CoV) */
	enum mp_spread spread;        /* what CoV is made of */
	bool one_hop_below_four;      /* on paths under four hops: one-hop, else h-hop delay */
	uint64_t delay_bound_ns;      /* samples above are discarded; 0: none are */
	uint32_t delay_bound_means;   /* a sample counts as so many of the window's means at most; 0: as it is */
	uint64_t initial_interval_ns; /* before the first sample; 0: unpaced */
	enum mp_reuse reuse;
	uint32_t least_h_cs;          /* map: H_cs is at least this */
	bool past_end;                /* map: where H_cs reaches h, OID is of h + 1 hops, not h */
	bool link_in_oid;             /* map: each hop of OID has t_LLD */
	bool link_learnt;             /* map: t_LLD and t_LLA are what the least RTT leaves */
	bool constant;                /* shaper: samples change nothing */
	uint32_t bucket;              /* shaper: packets that may leave together; 0 counts as 1 */
	uint64_t hop_wait_ns;         /* even: what may wait at a hop; 0: the interval is not sought */
	uint32_t omit;                /* even: parts left out, of mp_omit; 0: none */
};

/* What the papers leave out and the authors' own TCP-AP agent has: see mp_law_gap. */
#define MP_DELAY_BOUND_NS (MP_NS_PER_S / 2)

/*
 * TCP-GAP as published (journal 2008, section 4). The papers have no bound on a
 * sample; without one a single sample held during a route discovery stops the
 * flow, so there is one by default and a host offers to turn it off.
 */
MP_INLINE struct mp_law mp_law_gap(void)
{
	struct mp_law law = {
		.window = 50,
		.alpha_q16 = MP_Q16(0.7),
		.cov_weight = 2,
		.spread = MP_SPREAD_STANDARD,
		.one_hop_below_four = false,
		.delay_bound_ns = MP_DELAY_BOUND_NS,
		.delay_bound_means = 0,
		.initial_interval_ns = 0,
		.reuse = MP_REUSE_FOUR_HOPS,
		.least_h_cs = 0,
		.past_end = false,
		.link_in_oid = false,
		.link_learnt = false,
		.constant = false,
		.bucket = 1,
		.hop_wait_ns = 0,
		.omit = 0,
	};
	return law;
}

/* TCP-AP (pure wireless, whole RTT) with the defaults of the authors' ns-2 agent. */
MP_INLINE struct mp_law mp_law_ap(void)
{
	struct mp_law law = mp_law_gap();

	law.spread = MP_SPREAD_MEAN_ABSOLUTE;
	law.one_hop_below_four = true;
	law.initial_interval_ns = 50 * 1000 * MP_NS_PER_US;
	return law;
}

/*
 * MAP as published, eq. (1) to (15): GAP's CoV and average, of the out-of-interference delay. What
 * the path's radios are like stands in mp_path.link. Readings of the paper are options: eq. (7)
 * and (12) make OID a delay over h + 1 hops where the last node is the hidden terminal, though the
 * packet has but h to go (past_end, off); eq. (7) has H_cs >= 1, the text x >= 2 (least_h_cs, 1).
 * Two more mend what it leaves out: eq. (12) has no t_LLD, which eq. (8) and the definition of OID have
 * (link_in_oid, off); and t_LLD is the middle of bounds up to three retransmissions, not what a link shows
 * (link_learnt, off).
 */
MP_INLINE struct mp_law mp_law_map(void)
{
	struct mp_law law = mp_law_gap();

	law.reuse = MP_REUSE_CARRIER_SENSE;
	law.least_h_cs = 1;
	return law;
}

/* A token bucket: one packet each interval_ns, bucket of them at once at most (shaper.h). */
MP_INLINE struct mp_law mp_law_shaper(uint64_t interval_ns, uint32_t bucket)
{
	struct mp_law law = mp_law_gap();

	law.constant = true;
	law.bucket = bucket;
	law.initial_interval_ns = interval_ns;
	return law;
}

/*
 * Ours: the interval is sought (search.h). At each hop two aggregates may wait while a third is in the
 * air: three times the longest that a transmission of 802.11n and later takes (aPPDUMaxTime, 5.484
 * ms); on 802.11b that is some four packets a hop. The window of samples is kept for what is shown.
 */
MP_INLINE struct mp_law mp_law_even(void)
{
	struct mp_law law = mp_law_gap();

	law.delay_bound_ns = 0;
	law.hop_wait_ns = 3 * 5484 * MP_NS_PER_US;
	return law;
}

/* What a flow's samples have told so far. */
struct mp_estimate {
	struct mp_window window;
	struct mp_ewma delay_ns; /* smoothed FHD (or h-hop delay), eq. (2), or OID, MAP eq. (15) */
	uint32_t cov_q16;        /* eq. (5) */
	uint32_t least_ticks;    /* the least RTT so far; 0: none */
	uint32_t samples;        /* taken */
	uint32_t discarded;      /* above the delay bound */
	struct mp_search search; /* even */
};

/* From now on samples are of another quantity: nothing learnt so far holds. */
MP_INLINE void mp_estimate_forget(struct mp_estimate *estimate)
{
	mp_window_clear(&estimate->window);
	estimate->delay_ns.started = false;
	estimate->cov_q16 = 0;
	estimate->least_ticks = 0;
	estimate->search.interval_ns = 0;
	estimate->search.paced_ns = 0;
	estimate->search.sum_ns = 0;
	estimate->search.count = 0;
}

/* FHD, or what GAP and AP have on paths under four hops, in ns. */
MP_INLINE uint64_t mp_law_four_hops_ns(const struct mp_law *law, const struct mp_path *path,
				       uint64_t rtt_ns)
{
	if (law->one_hop_below_four && path->hops < MP_REUSE_HOPS)
		return mp_hop_delay_ns(path, rtt_ns);
	return mp_reuse_delay_ns(path, rtt_ns);
}

/* Hops that a packet takes to be out of interference, under this law and on this path. */
MP_INLINE uint32_t mp_law_reuse_hops(const struct mp_law *law, const struct mp_path *path)
{
	uint64_t hops = path->hops ? path->hops : 1;

	if (law->reuse == MP_REUSE_CARRIER_SENSE)
		return mp_oid_hops(path, law->least_h_cs, law->past_end);
	if (law->one_hop_below_four && hops < MP_REUSE_HOPS)
		return 1;
	return (uint32_t)mp_min_u64(hops, MP_REUSE_HOPS);
}

/*
 * Tells the path the rates of its links: mp_path_set_links for what this law needs of them. None, or
 * more than MP_PATH_LINKS, change nothing.
 */
MP_INLINE void mp_law_set_links(const struct mp_law *law, struct mp_path *path,
				const uint32_t *kbps, uint32_t links)
{
	if (links == 0 || links > MP_PATH_LINKS)
		return;
	path->hops = links;
	mp_path_set_links(path, kbps, links, mp_law_reuse_hops(law, path));
}

/*
 * The spatial-reuse delay of one sample under this law, in ns; least_ns: the least sample so far. Both are
 * computed: a branch would have the kernel's verifier walk twice through all that a host does with a sample.
 */
MP_INLINE uint64_t mp_law_delay_ns(const struct mp_law *law, const struct mp_path *path,
				   uint64_t least_ns, uint64_t rtt_ns)
{
	uint32_t oid_hops = mp_oid_hops(path, law->least_h_cs, law->past_end);
	struct mp_link_layer layer = mp_link_layer_of(path, mp_select_u64(law->link_learnt, least_ns, 0));
	uint64_t oid_ns = mp_oid_ns(path, oid_hops, layer, law->link_in_oid, rtt_ns);

	return mp_uneven_delay_ns(path, mp_select_u64(law->reuse, oid_ns, mp_law_four_hops_ns(law, path, rtt_ns)));
}

/*
 * Takes a sample of RTT_wireless, in ticks (0: no sample), that an acknowledgement of everything
 * before ack gave at now_ns. Returns whether it counted; under a constant law none does.
 */
MP_INLINE bool mp_estimate_add(struct mp_estimate *estimate, const struct mp_law *law,
			       const struct mp_path *path, uint32_t rtt_ticks, uint64_t now_ns,
			       uint32_t ack)
{
	uint64_t rtt_ns = (uint64_t)rtt_ticks << MP_TICK_SHIFT;

	if (rtt_ticks == 0 || law->constant)
		return false;
	if (law->delay_bound_ns && rtt_ns > law->delay_bound_ns) {
		estimate->discarded++;
		return false;
	}
	rtt_ticks = mp_window_cut(&estimate->window, law->delay_bound_means, rtt_ticks);
	rtt_ns = (uint64_t)rtt_ticks << MP_TICK_SHIFT;
	mp_window_add(&estimate->window, law->window, rtt_ticks);
	estimate->cov_q16 = mp_window_cov_q16(&estimate->window, law->spread);
	estimate->least_ticks = (uint32_t)mp_min_u64(
		mp_select_u64(estimate->least_ticks != 0, estimate->least_ticks, rtt_ticks), rtt_ticks);
	mp_ewma_add(&estimate->delay_ns, law->alpha_q16,
		    mp_law_delay_ns(law, path, (uint64_t)estimate->least_ticks << MP_TICK_SHIFT, rtt_ns));
	if (law->hop_wait_ns)
		mp_search_add(&estimate->search, path, law->hop_wait_ns, law->omit, rtt_ns, now_ns,
			      ack);
	estimate->samples++;
	return true;
}

/* An RTT in us, as TCP measures it, in ticks; at most 274 s. */
MP_INLINE uint32_t mp_ticks_of_us(uint32_t us)
{
	return (uint32_t)mp_min_u64(us * MP_NS_PER_US >> MP_TICK_SHIFT, 0xffffffffu);
}

/*
 * RTT_wireless = RTT - RTT_wired (GAP figure 6), in ticks. 0, no sample, when
 * the option claims more than the whole RTT: the two were measured on different packets.
 */
MP_INLINE uint32_t mp_rtt_wireless_ticks(uint32_t rtt_ticks, uint32_t rtt_wired_us)
{
	uint32_t wired_ticks = mp_ticks_of_us(rtt_wired_us);

	return rtt_ticks > wired_ticks ? rtt_ticks - wired_ticks : 0;
}

/* Tells that samples are of the whole way: a sender's, who hears of the mesh RTT_wired late. */
MP_INLINE void mp_estimate_set_late(struct mp_estimate *estimate, uint32_t rtt_wired_us)
{
	estimate->search.late_ns = rtt_wired_us * MP_NS_PER_US;
}

/*
 * Tells whether hosts are held to their shares of the air (airtime.h): then a flow is not paced by itself. Without a
 * branch, for each of which a verifier would walk through all that follows.
 */
MP_INLINE void mp_estimate_set_shared(struct mp_estimate *estimate, bool shared)
{
	struct mp_search *search = &estimate->search;
	uint64_t alone_ns = mp_select_u64(search->shared, search->interval_ns, search->paced_ns);

	search->paced_ns = mp_select_u64(shared, 0, alone_ns);
	search->shared = shared;
}

/* RTT_wired as the option carries it, in us and at least 1; 0 for 0 ticks, no sample. */
MP_INLINE uint32_t mp_rtt_wired_us(uint32_t rtt_ticks)
{
	uint64_t us = ((uint64_t)rtt_ticks << MP_TICK_SHIFT) / MP_NS_PER_US;

	return rtt_ticks ? (uint32_t)mp_max_u64(us, 1) : 0;
}

/*
 * Interval between packets 1/R = FHD (1 + 2 CoV), eq. (1), or OID (1 + 2 CoV), MAP eq. (14), in ns;
 * at least floor_ns, by which goodput control slows a flow (0: not throttled). 0 means unpaced. Under
 * `even` it is what was sought.
 */
MP_INLINE uint64_t mp_interval_ns(const struct mp_estimate *estimate, const struct mp_law *law,
				  uint64_t floor_ns)
{
	uint64_t stretch_q16 = MP_ONE_Q16 + (uint64_t)law->cov_weight * estimate->cov_q16;
	uint64_t interval_ns = law->initial_interval_ns;

	if (law->hop_wait_ns)
		interval_ns = estimate->search.paced_ns;
	else if (estimate->delay_ns.started)
		interval_ns = mp_max_u64(estimate->delay_ns.value * stretch_q16 >> 16, 1);
	return mp_max_u64(interval_ns, floor_ns);
}

/* The rate R of an interval in bytes/s, packets of bytes each; 0 (no limit) for interval 0. */
MP_INLINE uint64_t mp_rate_bytes_per_s(uint64_t interval_ns, uint32_t bytes)
{
	return interval_ns ? bytes * MP_NS_PER_S / interval_ns : 0;
}

/* The rate R of an interval in packets per 1000 s; 0 (no limit) for interval 0. */
MP_INLINE uint64_t mp_rate_mpps(uint64_t interval_ns)
{
	return mp_rate_bytes_per_s(interval_ns, 1000);
}

/* When a packet is due that has been ready since ready_ns; under a constant law a bucket lets it go earlier. */
MP_INLINE uint64_t mp_law_due_ns(const struct mp_law *law, const struct mp_pacer *pacer,
				 uint64_t ready_ns, uint64_t interval_ns)
{
	return law->constant ? mp_bucket_departure_ns(pacer, ready_ns, interval_ns, law->bucket)
			     : mp_due_ns(pacer, ready_ns, interval_ns);
}

/*
 * Whether who lets a packet go sees that the device has room for it, and waits while it is busy (ns-3), or
 * hands it to a queue of the device that it does not see (Linux).
 */
enum mp_device { MP_DEVICE_SEEN = 0, MP_DEVICE_UNSEEN = 1 };

/*
 * A packet leaves at now_ns that has been ready since ready_ns, at a host whose clock may be so late, for which
 * it is made up. Under `even`, where a device is seen, a flow is also made up for what an aggregate keeps the device
 * busy, for whatever reason it sent nothing. Where none is, that would move packets from here into its queue.
 */
MP_INLINE void mp_law_departed(const struct mp_law *law, struct mp_pacer *pacer, uint64_t ready_ns,
			       uint64_t now_ns, uint64_t interval_ns, uint64_t clock_late_ns,
			       enum mp_device device)
{
	bool catches_up = law->hop_wait_ns && device == MP_DEVICE_SEEN;
	uint64_t from_ns = catches_up && pacer->started ? pacer->last_ns : ready_ns;
	uint64_t most_ns = mp_max_u64(catches_up ? law->hop_wait_ns : 0, clock_late_ns);
	uint64_t due_ns = mp_due_ns(pacer, from_ns, interval_ns);

	if (law->constant)
		mp_bucket_departed(pacer, now_ns, interval_ns);
	else
		mp_departed(pacer, mp_late_departure_ns(due_ns, now_ns, most_ns));
}

#endif
