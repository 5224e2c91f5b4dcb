/* SPDX-License-Identifier: GPL-2.0-only */
/* A host that gets many datagrams, on a model path: when it is asked, and what its answers hold it to. */
#include "opaque-model.h"

/* Two packets in the time that a small one may wait: fewer do not fill the path, of which only T is asked. */
static void test_who_gets_few_is_asked_once(void)
{
	double least = (double)mp_opaque_least_bytes_per_s(mp_opaque_wait_ns(HOPS, mp_law_even().hop_wait_ns));
	struct model few = new_model(.97 * least), many = new_model(1.03 * least);

	CHECK_NEAR(least, 2 * 1500 / .0329, .001, 0);
	few.full_s = few.queue_s = .9;
	few.carries = least / 2; /* whatever waits */
	few.tcp = ALL;           /* and whatever comes beside them */
	few.wants = 0;
	run(&few, 30);
	CHECK_EQUAL(few.asks, 0);
	few = new_model(.97 * least);
	few.tcp = CARRIES;
	few.wants = few.tcp * .97 * least / (CARRIES - .97 * least);
	run(&few, 30);
	CHECK_EQUAL(few.asks, 1);
	CHECK_EQUAL(few.at.base_ns == 0, false);
	CHECK_EQUAL(few.at.held_bytes_per_s, 0);
	run(&many, 30);
	CHECK(many.asks > 90 && many.asks <= 30 * MP_HOST_ASKS_PER_S + MP_HOST_ASKS_PER_S, "%u asks", many.asks);
	CHECK_EQUAL(many.at.held_bytes_per_s, 0); /* nothing waits */
	/* A near host's path is filled by more packets in the same time. */
	CHECK_EQUAL(mp_opaque_wait_ns(HOPS, 8 * MS), 4 * mp_opaque_wait_ns(1, 8 * MS));
	CHECK_EQUAL(mp_opaque_wait_ns(0, 8 * MS), 4 * MS);
}

/* A second after it wants all it is asked, four times a second; D* waits then, and the path is nearly full. */
static void test_settles(void)
{
	struct model model = new_model(ALL);
	struct means means;

	CHECK(UNTIL(&model, model.asks) <= 2, "asked late");
	model = settled();
	model.asks = 0;
	means = run(&model, 120);
	CHECK(model.asks >= 470 && model.asks <= 481, "%u asks in two minutes", model.asks);
	CHECK_NEAR(means.shown_s, (double)model.wait_ns / 1e9, .05, 0);
	CHECK_NEAR(means.waits_s, (double)model.wait_ns / 1e9, .15, 0);
	CHECK(means.used > .9 && means.used < .97, "%.3f of the path", means.used);
	CHECK(means.least > .75 * CARRIES, "%.0f at the least", means.least);
}

/*
 * What waits all the time is not taken for the path: at the end of a window the host is held to half, and T is that of the empty
 * path after half an hour as it was before; else it would be held to nothing by then.
 */
static void test_a_long_download(void)
{
	struct model model = settled();
	uint64_t base_ns = model.at.base_ns;
	struct means means;
	uint32_t steps = 0, i;

	run(&model, 1800);
	CHECK(model.at.base_ns < base_ns + model.wait_ns / 4, "T of %.1f ms", (double)model.at.base_ns / MS);
	means = run(&model, 60);
	CHECK_NEAR(means.shown_s, (double)model.wait_ns / 1e9, .15, 0);
	for (i = 0; i < 240 * MP_AIR_STEPS_PER_S; i++) {
		step(&model);
		steps += model.at.looks;
	}
	CHECK(steps >= 1 && steps <= 6, "%u steps of a window at half", steps);
}

/* By a sixteenth an answer while little waits, and back likewise. */
static void test_follows(void)
{
	struct model model = settled();
	struct means means;
	uint32_t steps;

	model.carries *= 2;
	steps = UNTIL(&model, sends(&model) > .9 * model.carries);
	CHECK(steps > 5 && steps < 150, "%u steps to grow to twice as much", steps);
	run(&model, 30);
	model.carries /= 2;
	steps = UNTIL(&model, sends(&model) < model.carries);
	CHECK(steps < 150, "%u steps to fall to half", steps);
	means = run(&model, 60);
	CHECK_NEAR(means.shown_s, (double)model.wait_ns / 1e9, .1, 0);
	CHECK(means.used > .88, "%.3f of the path", means.used);
}

/*
 * Where a small packet waits behind large ones what waits gathers: it swings between nothing and twice what may wait, the path
 * is nearly always full, and the queue never; over one hop as over four.
 */
static void test_queues_that_gather(void)
{
	uint32_t hops;

	for (hops = 1; hops <= HOPS; hops++) {
		struct model model = new_model(CARRIES / 4);
		struct means means;

		model.wait_ns = mp_opaque_wait_ns(hops, mp_law_even().hop_wait_ns);
		run(&model, 10);
		model.queue_s = .7;
		model.wants = ALL;
		run(&model, 60);
		means = run(&model, 300);
		CHECK(means.least > .8 * CARRIES && means.most < 1.2 * CARRIES, "%.2f to %.2f of it",
		      means.least / CARRIES, means.most / CARRIES);
		CHECK(means.used > .97, "%.3f of the path", means.used);
		CHECK(means.waits_s < 1.5e-9 * (double)model.wait_ns, "%.0f ms wait", 1e3 * means.waits_s);
		CHECK(means.late < .05, "%.3f of the time more than thrice what may", means.late);
	}
}

/* Who sends less than it is held to is held to no more for it, and who has never been held is not. */
static void test_what_does_not_bind(void)
{
	struct model model = new_model(CARRIES / 2);
	double before;

	run(&model, 60);
	CHECK(model.at.mean_ns, "it answers");
	CHECK_EQUAL(model.at.held_bytes_per_s, 0);
	model = settled();
	before = held(&model);
	model.wants = before / 2;
	model.carries *= 2; /* little waits */
	run(&model, 3);     /* until the mean of a second shows it */
	before = held(&model);
	run(&model, 60);
	CHECK_EQUAL(model.at.held_bytes_per_s, before);
	model.wants = before * .8;
	run(&model, 10);
	CHECK(held(&model) > before, "who uses four fifths may have more");
}

/* It begins when half of what may wait does, in the mean, at what the host gets then. */
static void test_begins_at_what_it_gets(void)
{
	struct model model = new_model(CARRIES / 4);
	uint32_t steps;
	double before;

	run(&model, 10);
	model.answers_ns = 5 * MP_NS_PER_S / 100 + model.wait_ns;
	/* From 6 ms to more than 20: three answers, of D* more than the empty path at most, four a second. */
	steps = UNTIL(&model, model.at.held_bytes_per_s);
	CHECK(steps > 5 && steps <= 10, "%u steps", steps);
	CHECK(held(&model) >= .97 * CARRIES / 4 && held(&model) < 1.05 * CARRIES / 4, "%.0f", held(&model));
	/* When twice what may wait does, a sixteenth less an answer. */
	run(&model, 1);
	before = held(&model);
	CHECK(UNTIL(&model, held(&model) != before) <= 3, "the next answer");
	CHECK_NEAR(held(&model), (1 - 1. / 16) * before, .001, 0);
}

static void test_what_is_no_answer(void)
{
	struct model model = new_model(CARRIES / 4);

	run(&model, 10);
	model.at.heard_ns = 1;
	mp_opaque_answered(&model.at, model.wait_ns, 0, model.now_ns);
	mp_opaque_answered(&model.at, model.wait_ns, MP_NS_PER_S + 1, model.now_ns);
	CHECK_EQUAL(model.at.heard_ns, 1);
	mp_opaque_answered(&model.at, model.wait_ns, MP_NS_PER_S, model.now_ns);
	CHECK_EQUAL(model.at.heard_ns, model.now_ns);
	/* Of who gets few it tells T alone, which is true for as long as a path lasts. */
	model = new_model(FEW);
	run(&model, 1);
	mp_opaque_answered(&model.at, model.wait_ns, 3 * MS, model.now_ns);
	CHECK_EQUAL(model.at.base_ns, 3 * MS);
	CHECK_EQUAL(model.at.mean_ns, 0);
	mp_opaque_answered(&model.at, model.wait_ns, 40 * MS, model.now_ns + MP_OPAQUE_PATH_NS + 1);
	CHECK_EQUAL(model.at.base_ns, 3 * MS);
	mp_opaque_answered(&model.at, model.wait_ns, 50 * MS, model.now_ns + 2 * MP_OPAQUE_PATH_NS + 2);
	CHECK_EQUAL(model.at.base_ns, 40 * MS);
}

/* Who answers no more is held no longer, and is held anew when he does. */
static void test_who_answers_no_more(void)
{
	struct model model = settled();
	uint64_t base_ns = model.at.base_ns;
	uint32_t steps;
	double before;

	model.mute = true;
	before = held(&model);
	run(&model, .9);
	CHECK_EQUAL(held(&model), before); /* an answer may be lost, or late */
	run(&model, 5);
	CHECK(held(&model) < .8 * before, "a queue that overflows: %.2f", held(&model) / before);
	steps = UNTIL(&model, !model.at.held_bytes_per_s);
	CHECK(steps > 30 && steps <= 45, "%u steps beyond 5.9 s", steps);
	CHECK(!mp_opaque_is_full(&model.at, model.wait_ns), "nothing is known");
	CHECK_EQUAL(mp_opaque_waits_ns(&model.at), 0);
	model.asks = 0;
	run(&model, 60);
	CHECK_EQUAL(model.at.held_bytes_per_s, 0);
	CHECK_EQUAL(model.asks, 0); /* others have the budget */
	CHECK_EQUAL(model.at.base_ns, base_ns);
	model.mute = false;
	run(&model, (double)(MP_OPAQUE_PATH_NS / MP_NS_PER_S) - 60);
	CHECK(UNTIL(&model, model.at.held_bytes_per_s) < 80, "it is asked and held anew");
	/* Who answers each time a second late does not answer. */
	model = settled();
	model.answers_ns = MP_NS_PER_S + MS;
	run(&model, 11);
	CHECK_EQUAL(model.at.held_bytes_per_s, 0);
	/* Nor does anybody hold a host that has never answered. */
	model = new_model(ALL);
	model.mute = true;
	run(&model, 60);
	CHECK_EQUAL(model.at.held_bytes_per_s, 0);
	CHECK_EQUAL(model.at.mean_ns, 0);
}

/* Who gets few for three seconds is held no longer; the path is as long as it was. */
static void test_who_pauses(void)
{
	struct model model = settled();
	uint32_t steps, asks;

	model.wants = 0;
	steps = UNTIL(&model, !model.at.way[MP_AIR_DOWN].many);
	/* The mean of a second falls to an eighth of it within two. */
	CHECK(steps >= MP_AIR_PRESENT && steps < MP_AIR_PRESENT + 30, "%u steps", steps);
	CHECK_EQUAL(model.at.held_bytes_per_s, 0);
	CHECK_EQUAL(model.at.mean_ns, 0);
	CHECK_EQUAL(model.at.base_ns, 4 * MS); /* which answers still told, with nothing before them */
	asks = model.asks;
	run(&model, 10);
	CHECK_EQUAL(model.asks, asks);
	/* A pause of a second is none. */
	model = settled();
	model.wants = 0;
	run(&model, 1);
	model.wants = ALL;
	run(&model, 3);
	CHECK(model.at.way[MP_AIR_DOWN].many && model.at.held_bytes_per_s, "after a second it is as it was");
}

/* What T was hours ago says nothing of a path that is another now, whether a few datagrams come all the time or none. */
static void test_an_old_path(bool pauses)
{
	struct model model = settled();
	uint32_t asks;

	model.wants = pauses ? 0 : FEW;
	run(&model, 10);
	CHECK(model.at.base_ns < 5 * MS, "it stays for a while: %" PRIu64, model.at.base_ns);
	model.answers_ns = 60 * MS;
	asks = model.asks;
	model.now_ns += pauses ? 3 * 3600 * MP_NS_PER_S : 0;
	run(&model, pauses ? 0 : 2e-9 * (double)MP_OPAQUE_PATH_NS + 10);
	model.wants = FEW;
	run(&model, 1);
	CHECK(model.asks > asks && model.asks <= asks + 2, "%u asks", model.asks - asks);
	CHECK_EQUAL(model.at.base_ns, 60 * MS);
	/* Of many hosts each is asked seldom: before so many asks are lost that it counts as mute, T is forgotten. */
	model = settled();
	model.at.unanswered = 1;
	model.now_ns += 3 * MP_OPAQUE_PATH_NS;
	model.mute = true;
	step(&model);
	CHECK(model.at.way[MP_AIR_DOWN].many && !model.at.held_bytes_per_s && !mp_opaque_is_full(&model.at, model.wait_ns), "held by no T");
}

/* One answer, of whatever length, counts as one of twice the mean, and takes a sixteenth of the rate at most. */
static void test_an_outlier(void)
{
	struct mp_opaque opaque = settled().at, idle;
	uint64_t wait_ns = new_model(0).wait_ns, mean_ns = opaque.mean_ns, now_ns = opaque.heard_ns + MP_NS_PER_S;
	uint64_t held = opaque.held_bytes_per_s;
	uint32_t i;

	mp_opaque_answered(&opaque, wait_ns, MP_NS_PER_S, now_ns);
	CHECK_EQUAL(opaque.mean_ns, (2 + 3) * mean_ns / 4);
	CHECK_NEAR((double)opaque.held_bytes_per_s, (1 - 1. / 16) * (double)held, .001, 0);
	/* As many as make a mean are no outliers. */
	for (i = 0; i < MP_OPAQUE_MEAN; i++)
		mp_opaque_answered(&opaque, wait_ns, MP_NS_PER_S, now_ns);
	CHECK(opaque.mean_ns > 2 * mean_ns, "%.2f of the mean", (double)opaque.mean_ns / (double)mean_ns);
	/* On an empty path two are no load either, and a third is. */
	idle = (struct mp_opaque){ .way = { { .many = true, .age = 10 } }, .base_ns = 4 * MS, .base_since_ns = now_ns, .rate_bytes_per_s = 10000 };
	for (i = 0; i < 3; i++) {
		CHECK_EQUAL(idle.held_bytes_per_s, 0);
		mp_opaque_answered(&idle, wait_ns, MP_NS_PER_S, now_ns);
	}
	CHECK(idle.held_bytes_per_s, "three late answers");
}

/* What waits may be of others' making: two packets are on the path all the same. */
static void test_least(void)
{
	struct model model = settled();
	double least = (double)mp_opaque_least_bytes_per_s(model.wait_ns);
	struct means means;

	model.answers_ns = 500 * MS;
	run(&model, 60);
	means = run(&model, 120);
	CHECK_NEAR(means.least, least, 0, 1);
	CHECK_NEAR(means.most, least, 0, 1); /* and it is not taken for one who gets few */
}

/* Counters that jump and shrink. */
static bool steps_anyhow(struct mp_opaque *opaque, uint64_t wait_ns, uint64_t now_ns)
{
	struct mp_opaque_counts counts = {
		.datagram_bytes = { random_extreme_u64(), random_extreme_u64() },
		.delivered_bytes = random_extreme_u64(),
		.shared = random_one_in(10),
	};

	return mp_opaque_step(opaque, &counts, wait_ns, now_ns);
}

/* Whatever comes: no overflow, and a rate within bounds. */
static void test_anything(void)
{
	struct mp_opaque opaque = { 0 };
	uint64_t now_ns = 0, wait_ns = 0;
	uint32_t i;

	CHECK_EQUAL(mp_opaque_least_bytes_per_s(0), 3000000000u);
	for (i = 0; i < 200000; i++) {
		uint32_t hops = random_below(256);

		if (random_one_in(1000))
			opaque = (struct mp_opaque){ 0 };
		if (random_one_in(20))
			wait_ns = mp_opaque_wait_ns(hops, random_one_in(4) ? 0 : random_extreme_u64() >> 34);
		now_ns += random_extreme_u64() >> 20;
		now_ns = now_ns >> 63 ? 0 : now_ns;
		if (steps_anyhow(&opaque, wait_ns, now_ns))
			mp_opaque_answered(&opaque, wait_ns, random_one_in(8) ? 0 : random_extreme_u64() >> random_below(40),
					   now_ns);
		if (random_one_in(3))
			mp_opaque_asked(&opaque, wait_ns);
		CHECK(opaque.held_bytes_per_s <= MP_AIR_MAX_BYTES_PER_S / 3 * 4ull + 2, "%" PRIu64, opaque.held_bytes_per_s);
		CHECK(opaque.mean_ns <= MP_OPAQUE_MOST_NS, "%" PRIu64 " ns", opaque.mean_ns);
		mp_opaque_waits_ns(&opaque);
		mp_opaque_wants(&opaque, random_one_in(2) ? MP_AIR_UP : MP_AIR_DOWN, random_one_in(2), wait_ns);
	}
}

/* Counters that shrink are no bytes. */
static void test_counters_that_shrink(void)
{
	struct mp_opaque_counts counts = { .datagram_bytes = { 10, 10 }, .delivered_bytes = 10 };
	struct mp_opaque opaque = { .before_ns = 1, .way = { { .bytes = 1000 }, { .bytes = 1000 } }, .delivered_bytes = 1000 };

	mp_opaque_step(&opaque, &counts, 0, MP_NS_PER_S);
	CHECK_EQUAL(opaque.way[0].bytes_per_s + opaque.way[1].bytes_per_s + opaque.rate_bytes_per_s, 0);
	counts = (struct mp_opaque_counts){ .datagram_bytes = { 1010, 10 }, .delivered_bytes = 2010 };
	mp_opaque_step(&opaque, &counts, 0, MP_NS_PER_S + MP_AIR_STEP_NS);
	CHECK_EQUAL(opaque.way[0].bytes_per_s, 1000);
	CHECK_EQUAL(opaque.latest_bytes_per_s, 20000);
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	test_who_gets_few_is_asked_once();
	test_settles();
	test_follows();
	test_queues_that_gather();
	test_what_does_not_bind();
	test_begins_at_what_it_gets();
	test_what_is_no_answer();
	test_who_answers_no_more();
	test_who_pauses();
	test_an_old_path(false);
	test_an_old_path(true);
	test_an_outlier();
	test_least();
	test_anything();
	test_counters_that_shrink();
	test_a_long_download();
	return check_end();
}
