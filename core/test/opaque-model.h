/* SPDX-License-Identifier: GPL-2.0-only */
/* A path, and at its end a host that gets or sends many datagrams and answers when it is asked. */
#ifndef OPAQUE_MODEL_H
#define OPAQUE_MODEL_H

#include "check.h"

#include <meshpace/endpoint/budget.h>
#include <meshpace/endpoint/opaque.h>
#include <meshpace/law/law.h>

#define MS (MP_NS_PER_S / 1000)
#define HOPS 4u
#define ALL 1e12          /* what a sender wants that wants all */
#define FEW 20e3          /* bytes/s, which no path of two packets a round trip is so slow for */
#define CARRIES 875e3     /* bytes/s, 7 Mbit/s: four hops of 802.11n */
#define SMALL_WAIT_S .054 /* what a small packet waits when the path carries all it can */

/* A path, and the host at its end. */
struct model {
	struct mp_opaque at;
	struct mp_budget host, all;
	uint64_t wait_ns;                   /* D* */
	uint64_t now_ns;
	uint64_t datagram_bytes, tcp_bytes; /* that it got so far */
	uint64_t up_bytes;                  /* of datagrams that it sent */
	double carries;                     /* bytes/s */
	double wants, tcp;                  /* bytes/s of datagrams to it, and beside them */
	double up;                          /* and from it */
	bool shared;                        /* a share of the air bounds it */
	double full_s;                      /* what a small packet waits when the path is full */
	double queue_s;                     /* where it waits behind large ones, the longest queue; 0: it does not */
	double queued_s;                    /* and what waits in it */
	uint64_t answers_ns;                /* after so long it answers in any case; 0: after what waits */
	bool mute;
	uint32_t asks;
};

static inline struct model new_model(double wants)
{
	return (struct model){
		.wait_ns = mp_opaque_wait_ns(HOPS, mp_law_even().hop_wait_ns),
		.now_ns = 1000 * MP_NS_PER_S,
		.carries = CARRIES,
		.wants = wants,
		.full_s = SMALL_WAIT_S,
	};
}

static inline double held(const struct model *model)
{
	return (double)mp_opaque_cap(&model->at, 0);
}

static inline double sends(const struct model *model)
{
	return fmin(model->wants + model->tcp, held(model) > 0 ? held(model) : ALL);
}

/* By how much of what the path carries is used: of what waits when all is used, a third at four fifths. */
static inline double waits_s(const struct model *model)
{
	double used = fmin(sends(model) / model->carries, 1);

	return model->queue_s > 0 ? model->queued_s : model->full_s * used / (1 + 7 * (1 - used));
}

/* The host answers after the empty path's 4 ms, and half to three halves of what waits. */
static inline void answers(struct model *model)
{
	double rtt_s = .004 + (.5 + random_unit()) * waits_s(model);
	uint64_t rtt_ns = model->answers_ns ? model->answers_ns : (uint64_t)(rtt_s * 1e9);

	if (!model->mute)
		mp_opaque_answered(&model->at, model->wait_ns, rtt_ns, model->now_ns);
}

static inline bool steps_with(struct model *model)
{
	struct mp_opaque_counts counts = {
		.datagram_bytes = { model->datagram_bytes, model->up_bytes },
		.delivered_bytes = model->datagram_bytes + model->tcp_bytes,
		.shared = model->shared,
	};

	return mp_opaque_step(&model->at, &counts, model->wait_ns, model->now_ns);
}

static inline void step(struct model *model)
{
	double step_s = (double)MP_AIR_STEP_NS / 1e9;
	double bytes = fmin(sends(model), model->carries) * step_s;
	double part = model->wants / fmax(model->wants + model->tcp, 1);

	model->now_ns += MP_AIR_STEP_NS;
	model->queued_s += (sends(model) / model->carries - 1) * step_s;
	model->queued_s = fmin(fmax(model->queued_s, 0), model->queue_s);
	model->datagram_bytes += (uint64_t)(bytes * part);
	model->tcp_bytes += (uint64_t)(bytes * (1 - part));
	model->up_bytes += (uint64_t)(model->up * step_s);
	if (steps_with(model) && mp_ask_spend(&model->host, &model->all, model->now_ns)) {
		model->asks++;
		mp_opaque_asked(&model->at, model->wait_ns);
		answers(model);
	}
}

/* Means of some time. */
struct means {
	double used;    /* of what the path carries */
	double waits_s; /* for a small packet */
	double shown_s; /* D - T */
	double late;    /* the part of the time in which a small packet waits for more than 3 D* */
	double least, most; /* of what the host was held to, the extremes, but for looks */
};

static inline struct means run(struct model *model, double seconds)
{
	uint32_t steps = (uint32_t)lround(seconds * MP_AIR_STEPS_PER_S), i;
	struct means means = { .least = ALL };

	for (i = 0; i < steps; i++) {
		step(model);
		means.used += fmin(sends(model) / model->carries, 1) / steps;
		means.waits_s += waits_s(model) / steps;
		means.late += (waits_s(model) > 3e-9 * (double)model->wait_ns) / (double)steps;
		means.shown_s += ((double)model->at.mean_ns - (double)model->at.base_ns) / 1e9 / steps;
		means.least = fmin(means.least, (double)model->at.held_bytes_per_s);
		means.most = fmax(means.most, (double)model->at.held_bytes_per_s);
	}
	return means;
}

/* Steps until something is so, as many as there are in a minute at most. */
#define UNTIL(model, condition)                                                      \
	({                                                                           \
		uint32_t until_steps = 0;                                            \
		while (!(condition) && until_steps < 60 * MP_AIR_STEPS_PER_S) {      \
			step(model);                                                 \
			until_steps++;                                               \
		}                                                                    \
		until_steps;                                                         \
	})

/* A host that began with little, so that the empty path is known, and has wanted all for a minute. */
static inline struct model settled(void)
{
	struct model model = new_model(CARRIES / 4);

	run(&model, 10);
	model.wants = ALL;
	run(&model, 60);
	CHECK(model.at.held_bytes_per_s, "it is held");
	return model;
}

#endif
