/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A host of many datagrams, on a model path: how it begins, what its shares are told of it, what becomes of it when they end,
 * and what of that holds for a host that sends.
 */
#include "opaque-model.h"

static bool wants(const struct mp_opaque *opaque, uint64_t wait_ms)
{
	return mp_opaque_wants(opaque, MP_AIR_DOWN, false, wait_ms * MS);
}

/* Twice what a small packet waits; it wants more as soon as half of what may wait does; its share comes first. */
static void test_what_is_told_to_the_shares(void)
{
	struct mp_opaque opaque = { .way = { { .many = true } }, .base_ns = 5 * MS, .mean_ns = 20 * MS, .held_bytes_per_s = 1000 };

	CHECK_EQUAL(mp_opaque_waits_ns(&opaque), 30 * MS);
	CHECK(wants(&opaque, 29), "more than half waits");
	CHECK(!wants(&opaque, 31), "less than half waits");
	opaque.mean_ns = 0;
	CHECK(!wants(&opaque, 29) && mp_opaque_waits_ns(&opaque) == 0, "no answer yet");
	opaque.mean_ns = 20 * MS;
	opaque.way[MP_AIR_DOWN].many = false;
	CHECK(!wants(&opaque, 29), "few come");
	CHECK(!mp_opaque_wants(&opaque, MP_AIR_DOWN, true, 31 * MS), "few come, though some wait here");
	opaque.way[MP_AIR_DOWN].many = true;
	CHECK(mp_opaque_wants(&opaque, MP_AIR_DOWN, true, 31 * MS), "some wait here");
	CHECK(!mp_opaque_wants(&opaque, MP_AIR_UP, true, 29 * MS), "it sends few");
	CHECK_EQUAL(mp_opaque_cap(&opaque, 0), 1000);
	CHECK_EQUAL(mp_opaque_cap(&opaque, 5000), 5000);
	CHECK_EQUAL(mp_opaque_cap(&opaque, 500), 500);
	CHECK(!mp_opaque_has_more(&opaque, false, MS) && mp_opaque_has_more(&opaque, true, MS), "while datagrams wait here");
	CHECK(mp_opaque_has_more(&opaque, false, 3000 * MS) && !mp_opaque_has_more(&opaque, false, 3001 * MS), "3 s");
}

/* A sender in slow start, who gets twice as much each tenth of a second, from so little. */
static double slow_start(struct model *model, double bytes_per_s)
{
	double least = 2;
	uint32_t i;

	for (i = 0; i < 4 * MP_AIR_STEPS_PER_S; i++) {
		model->wants = bytes_per_s;
		step(model);
		bytes_per_s = fmin(2 * bytes_per_s, ALL);
		if (bytes_per_s > 2 * CARRIES)
			least = fmin(least, sends(model) / CARRIES);
	}
	return least;
}

/*
 * A download that fills the path at once keeps it full: it is held to nothing in its first second, and then to what it gets by
 * then. (Of a mean over a second that began with nothing it had a quarter of the path, and took eight seconds to all of it.)
 */
static void test_who_begins(void)
{
	struct model model;
	double least;

	model = new_model(0);
	least = slow_start(&model, FEW);
	CHECK(model.at.held_bytes_per_s, "it is held");
	CHECK(least > .8, "held to %.2f of the path", least);
	model = new_model(ALL);
	CHECK(UNTIL(&model, model.at.held_bytes_per_s) >= MP_AIR_STEPS_PER_S, "not in its first second");
	CHECK(held(&model) > .9 * CARRIES, "to %.2f of the path", held(&model) / CARRIES);
	/* Who comes back after he was not there begins like anybody. */
	model = settled();
	model.wants = 0;
	UNTIL(&model, !model.at.way[MP_AIR_DOWN].many);
	CHECK(slow_start(&model, FEW) > .8, "held to less");
}

/* While others share the air it is held to its share alone, by which its answers tell of them as well. */
static void test_shares_that_end(void)
{
	struct model model = settled();
	uint32_t steps;

	model.shared = true;
	model.carries = CARRIES / 2;
	run(&model, 5);
	CHECK_EQUAL(model.at.held_bytes_per_s, 0);
	CHECK(mp_opaque_waits_ns(&model.at) > 0, "its answers tell");
	model.shared = false;
	model.wants = CARRIES / 2; /* a sender that finds more only slowly */
	model.carries = CARRIES;
	step(&model);
	CHECK(model.at.mean_ns < model.at.base_ns + model.wait_ns / 2, "D begins anew");
	run(&model, 10);
	CHECK_EQUAL(model.at.held_bytes_per_s, 0);
	model.wants = ALL;
	steps = UNTIL(&model, model.at.held_bytes_per_s);
	CHECK(steps > 0 && held(&model) > .9 * CARRIES, "to %.2f of the path", held(&model) / CARRIES);
}

/* Who sends many is asked as who gets many is, and told of likewise; he is held to nothing. */
static void test_who_sends(void)
{
	double least = (double)mp_opaque_least_bytes_per_s(mp_opaque_wait_ns(HOPS, mp_law_even().hop_wait_ns));
	struct model model = new_model(FEW);

	model.up = .97 * least;
	run(&model, 30);
	CHECK_EQUAL(model.asks, 1); /* for T */
	CHECK(!mp_opaque_wants(&model.at, MP_AIR_UP, false, model.wait_ns), "it sends few");
	model.up = 1.03 * least;
	model.answers_ns = 200 * MS;
	run(&model, 30);
	CHECK(model.asks > 90 && model.asks <= 31 * MP_HOST_ASKS_PER_S + 1, "%u asks", model.asks);
	CHECK_EQUAL(model.at.held_bytes_per_s, 0);
	CHECK_NEAR((double)mp_opaque_waits_ns(&model.at), 2 * (200. - 4) * MS, .2, 0);
	CHECK(mp_opaque_wants(&model.at, MP_AIR_UP, false, model.wait_ns), "it sends many");
	CHECK(!wants(&model.at, 1), "it gets few");
	/* What waits of it bounds nothing that it gets. */
	model.wants = CARRIES / 4;
	run(&model, 30);
	CHECK_EQUAL(model.at.held_bytes_per_s, 0);
	CHECK(wants(&model.at, 1), "it gets many");
	/* And when it is done nothing of it is told. */
	model.wants = model.up = 0;
	run(&model, 10);
	CHECK(!mp_opaque_many(&model.at) && mp_opaque_waits_ns(&model.at) == 0, "done");
}

/* Acknowledgements of a fast transfer are none, however many they are. */
static void test_acknowledgements(void)
{
	struct model model = new_model(100 * CARRIES);

	model.carries = 200 * CARRIES;
	model.wait_ns = mp_opaque_wait_ns(1, mp_law_even().hop_wait_ns);
	model.up = model.wants / 15;
	run(&model, 30);
	CHECK(model.up > (double)mp_opaque_least_bytes_per_s(model.wait_ns), "enough to fill a path");
	CHECK(!model.at.way[MP_AIR_UP].many && model.at.way[MP_AIR_DOWN].many, "they are no upload");
	model.up = model.wants / 7;
	run(&model, 5);
	CHECK(model.at.way[MP_AIR_UP].many, "an upload beside it");
	/* The other way round. */
	model = new_model(7 * CARRIES);
	model.carries = 200 * CARRIES;
	model.up = 100 * CARRIES;
	run(&model, 30);
	CHECK(model.at.way[MP_AIR_UP].many && !model.at.way[MP_AIR_DOWN].many, "they are no download");
	CHECK(!wants(&model.at, 1), "nor want anything");
}

/* Steps of so much sent of nobody; returns what counts. */
static uint64_t nobody_sends(struct mp_opaque *nobody, double bytes_per_s, double seconds)
{
	static uint64_t bytes = 12345, now_ns = 1000 * MP_NS_PER_S;
	uint32_t steps = (uint32_t)lround(seconds * MP_AIR_STEPS_PER_S), i;
	uint64_t counted = 0;

	for (i = 0; i < steps; i++) {
		now_ns += MP_AIR_STEP_NS;
		bytes += (uint64_t)(bytes_per_s * (double)MP_AIR_STEP_NS / 1e9);
		counted += mp_opaque_nobody_step(nobody, bytes, mp_law_even().hop_wait_ns, now_ns);
	}
	return counted;
}

/* First packets of hosts are nobody's, too, and few; what fills a path is, and while it does. */
static void test_nobody(void)
{
	double fills = (double)mp_opaque_least_bytes_per_s(mp_opaque_wait_ns(1, mp_law_even().hop_wait_ns));
	struct mp_opaque nobody = {};

	CHECK_EQUAL(nobody_sends(&nobody, ALL / 1e3, .1), 0); /* what was sent before the first step */
	nobody = (struct mp_opaque){};
	CHECK_EQUAL(nobody_sends(&nobody, .9 * fills, 60), 0);
	CHECK(!nobody.way[MP_AIR_UP].many, "no more than a path carries");
	nobody_sends(&nobody, 4 * fills, 2);
	CHECK_NEAR((double)nobody_sends(&nobody, 4 * fills, 10), 40 * fills, .001, 0);
	CHECK(mp_opaque_wants(&nobody, MP_AIR_UP, false, 0), "it wants all");
	CHECK_EQUAL(mp_opaque_heard_ns(&nobody) + nobody.held_bytes_per_s, 0); /* and is never asked */
	nobody_sends(&nobody, 0, 5);
	CHECK(!nobody.way[MP_AIR_UP].many, "over");
	CHECK_EQUAL(nobody_sends(&nobody, 0, 1), 0);
	/* A counter that begins anew counts nothing twice. */
	nobody_sends(&nobody, 4 * fills, 2);
	CHECK_EQUAL(mp_opaque_nobody_step(&nobody, 7, mp_law_even().hop_wait_ns, nobody.before_ns + MP_AIR_STEP_NS), 0);
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	test_what_is_told_to_the_shares();
	test_who_begins();
	test_shares_that_end();
	test_who_sends();
	test_acknowledgements();
	test_nobody();
	return check_end();
}
