/* SPDX-License-Identifier: GPL-2.0-only */
/* The search of `even` on a model path: a queue that serves at a rate of its own behind a fixed delay. */
#include "check.h"

#include <string.h>

#include <meshpace/law/law.h>

#define PACKET 1500u
#define MS 1000000ull

/* A path: its own round trip, the time that it needs for a packet, and what waits on it. */
struct model {
	uint64_t idle_ns, service_ns;
	uint64_t free_ns;  /* when the last packet so far is through */
	uint64_t now_ns;
	uint64_t delay_ns; /* of the latest packet */
	uint32_t seq;
	double outlier;    /* share of samples that come out twenty times too long */
	double noise;      /* of the service time */
	uint64_t late_ns;  /* RTT_wired: samples come so much later */
	struct {
		uint64_t rtt_ns, at_ns;
		uint32_t ack;
	} coming[1024];
	uint32_t sent, heard;
};

static struct mp_law law;
static struct mp_path path;
static struct mp_estimate estimate;

static void begin(struct model *model, uint32_t hops, uint64_t idle_ns, uint64_t service_ns)
{
	law = mp_law_even();
	memset(&estimate, 0, sizeof(estimate));
	memset(&path, 0, sizeof(path));
	path.hops = hops;
	path.data_bytes = PACKET;
	memset(model, 0, sizeof(*model));
	model->idle_ns = idle_ns;
	model->service_ns = service_ns;
	model->now_ns = 1000 * MP_NS_PER_S;
}

/* Takes the samples that have come. */
static void hear(struct model *model)
{
	while (model->heard != model->sent &&
	       (model->late_ns == 0 || model->coming[model->heard % 1024].at_ns <= model->now_ns)) {
		uint32_t i = model->heard++ % 1024;

		mp_estimate_add(&estimate, &law, &path,
				(uint32_t)(model->coming[i].rtt_ns >> MP_TICK_SHIFT),
				model->coming[i].at_ns, model->coming[i].ack);
	}
}

/* The next packet leaves at the interval in force, or so late; its sample is taken at its ACK's time. */
static void send(struct model *model, uint64_t least_interval_ns)
{
	uint64_t interval_ns = mp_interval_ns(&estimate, &law, least_interval_ns);
	uint64_t rtt_ns;

	model->now_ns += mp_max_u64(interval_ns, 10000);
	model->free_ns = mp_max_u64(model->free_ns, model->now_ns) +
			 (uint64_t)((double)model->service_ns * (1 + model->noise * (2 * random_unit() - 1)));
	model->delay_ns = model->free_ns - model->now_ns + model->idle_ns;
	model->seq += PACKET;
	rtt_ns = model->delay_ns;
	if (random_unit() < model->outlier)
		rtt_ns *= 20;
	model->coming[model->sent % 1024].rtt_ns = rtt_ns;
	model->coming[model->sent % 1024].at_ns = model->now_ns + model->delay_ns + model->late_ns;
	model->coming[model->sent++ % 1024].ack = model->seq;
	hear(model);
}

/* Sends for so long; returns the mean rate as a share of what the path serves, and the mean delay. */
static double run(struct model *model, double seconds, uint64_t least_interval_ns, double *delay_ms)
{
	uint64_t began_ns = model->now_ns, end_ns = began_ns + (uint64_t)(seconds * 1e9);
	uint64_t packets = 0;
	double sum_ns = 0;

	while (model->now_ns < end_ns) {
		send(model, least_interval_ns);
		sum_ns += (double)model->delay_ns;
		packets++;
	}
	*delay_ms = sum_ns / (double)packets / 1e6;
	return (double)(packets * model->service_ns) / (double)(model->now_ns - began_ns);
}

/* From any start, on slow and fast paths: all that the path carries, and D* waits on it. */
static void test_finds_the_path(void)
{
	static const struct {
		uint32_t hops;
		double idle_ms, service_ms;
	} cases[] = {
		{ 1, 2, 4 }, { 8, 30, 18 }, { 1, 0.5, 0.35 }, { 4, 2.3, 1.6 }, { 8, 5, 2.5 }, { 2, 1, 0.1 },
	};
	uint32_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		double wait_ms = cases[i].hops * 3 * 5.484, delay_ms;
		struct model model;

		begin(&model, cases[i].hops, (uint64_t)(cases[i].idle_ms * 1e6),
		      (uint64_t)(cases[i].service_ms * 1e6));
		run(&model, 30, 0, &delay_ms);
		CHECK_NEAR(run(&model, 20, 0, &delay_ms), 1, 0.03, 0);
		CHECK_NEAR(delay_ms, cases[i].idle_ms + wait_ms, 0.2, 2 * cases[i].service_ms);
	}
}

/* A path that carries ten times what the first window asks of it: a file need not be long to use it. */
static void test_begins_fast(void)
{
	struct model model;
	double delay_ms, share;

	begin(&model, 4, 4 * MS, MS / 2);
	share = run(&model, 0.5, 0, &delay_ms);
	CHECK(share > 0.7, "%.2f of the path in the first half second", share);
	/* What is sent before the first overshoot shows is at most a round of it. */
	CHECK(delay_ms < 4 + 2 * 4 * 3 * 5.484, "%.0f ms wait", delay_ms);
}

/*
 * A sender hears of what it did a quarter of a second later. Had it rounds as short as a gateway's, or let it
 * as little wait, its rate would swing, and a path that serves now faster, now slower, would be empty for
 * moments.
 */
static void test_hears_late(void)
{
	struct model model;
	double delay_ms, share;

	begin(&model, 2, 15 * MS, 7 * MS);
	model.noise = 0.9;
	model.late_ns = 240 * MS;
	mp_estimate_set_late(&estimate, 240000);
	/* At most 200 packets/s: before the first sample TCP's window would bound it. */
	run(&model, 60, 5 * MS, &delay_ms);
	share = run(&model, 1800, 5 * MS, &delay_ms);
	CHECK(share > 0.98, "%.3f of the path", share);
	CHECK(delay_ms < 22 + 1.2 * 0.3 * 240, "%.0f ms wait", delay_ms);
}

/* One sample in a hundred, or in five, is twenty times too long, as of an ACK that waited. */
static void test_outliers(void)
{
	static const uint64_t service_ns[] = { 2 * MS, 15 * MS };
	static const double outliers[] = { 0.01, 0.2 };
	struct model model;
	double delay_ms, share;
	uint32_t i, k;

	for (i = 0; i < 2; i++)
		for (k = 0; k < 2; k++) {
			begin(&model, 4, 3 * service_ns[i] / 2, service_ns[i]);
			run(&model, 30, 0, &delay_ms);
			model.outlier = outliers[k];
			share = run(&model, 60, 0, &delay_ms);
			CHECK(share > 0.95, "%.2f of the path, with %.2f of outliers", share,
			      outliers[k]);
		}
}

/* A break of three seconds and its one sample: back at nine tenths within five seconds. */
static void test_after_a_break(void)
{
	struct model model;
	double delay_ms;

	begin(&model, 4, 3 * MS, 2 * MS);
	run(&model, 30, 0, &delay_ms);
	model.free_ns = model.now_ns + 3 * MP_NS_PER_S;
	send(&model, 0);
	model.now_ns = model.free_ns;
	run(&model, 4, 0, &delay_ms);
	CHECK(run(&model, 2, 0, &delay_ms) > 0.9, "a break slows the flow");
}

/*
 * An overfull path falls silent for six seconds, keeps what it had and then delivers it at once: that is
 * not what it carries, or the flow crawls for a minute, every packet of it sent twice and no sample taken.
 */
static void test_a_silence_is_no_rate(void)
{
	struct mp_search search = { 0 };
	uint64_t now_ns = MP_NS_PER_S, before_ns;
	uint32_t i, ack = 0;

	law = mp_law_even();
	memset(&path, 0, sizeof(path));
	path.hops = 5;
	path.data_bytes = PACKET;
	for (i = 0; i < 60; i++)
		mp_search_add(&search, &path, law.hop_wait_ns, law.omit, 20 * MS, now_ns += 15 * MS,
			      ack += PACKET);
	for (i = 0; search.overshoots < 2; i++) {
		CHECK(i < 200, "the path is not overfull");
		mp_search_add(&search, &path, law.hop_wait_ns, law.omit, 300 * MS, now_ns += 15 * MS,
			      ack += PACKET);
	}
	before_ns = search.interval_ns;
	now_ns += 6 * MP_NS_PER_S;
	for (i = 0; i < 30; i++)
		mp_search_add(&search, &path, law.hop_wait_ns, law.omit, 6 * MP_NS_PER_S,
			      now_ns += 8 * MS, ack += PACKET);
	CHECK(search.interval_ns < 3 * before_ns / 2, "from %.1f to %.1f ms", (double)before_ns / 1e6,
	      (double)search.interval_ns / 1e6);
}

/* A sender that uses a tenth of the path: nothing is learnt of a greater rate, so it does not grow. */
static void test_idle_senders(void)
{
	struct model model;
	uint64_t before_ns;
	double delay_ms;

	begin(&model, 4, 3 * MS, 2 * MS);
	run(&model, 30, 0, &delay_ms);
	before_ns = mp_interval_ns(&estimate, &law, 0);
	run(&model, 60, 20 * MS, &delay_ms);
	CHECK_NEAR(mp_interval_ns(&estimate, &law, 0), before_ns, 0.2, 0);
}

/*
 * While hosts share the air an application sends little, and then all it can, alone: what it sent meanwhile is not what the
 * path carries, or it has some packets a second ever after.
 */
static void test_little_while_shared(void)
{
	uint64_t now_ns = MP_NS_PER_S;
	uint32_t i, ack = 0;

	law = mp_law_even();
	memset(&path, 0, sizeof(path));
	memset(&estimate, 0, sizeof(estimate));
	path.hops = 1;
	path.data_bytes = PACKET;
	mp_estimate_set_shared(&estimate, true);
	for (i = 0; i < 1000; i++)
		mp_search_add(&estimate.search, &path, law.hop_wait_ns, law.omit, 4 * MS, now_ns += 10 * MS, ack += 100);
	mp_estimate_set_shared(&estimate, false);
	CHECK(estimate.search.paced_ns <= estimate.search.round_ns / 2, "%.1f ms a packet, round trips of %.1f",
	      (double)estimate.search.paced_ns / 1e6, (double)estimate.search.round_ns / 1e6);
	for (i = 0; i < 1000; i++) {
		now_ns += estimate.search.paced_ns;
		mp_search_add(&estimate.search, &path, law.hop_wait_ns, law.omit, 4 * MS, now_ns, ack += PACKET);
	}
	CHECK(estimate.search.paced_ns < MS, "%.1f ms a packet", (double)estimate.search.paced_ns / 1e6);
}

/* The path's rate falls to a quarter, and comes back. */
static void test_follows(void)
{
	struct model model;
	double delay_ms;

	begin(&model, 4, 3 * MS, 2 * MS);
	run(&model, 30, 0, &delay_ms);
	model.service_ns = 8 * MS;
	run(&model, 20, 0, &delay_ms);
	CHECK_NEAR(run(&model, 10, 0, &delay_ms), 1, 0.05, 0);
	CHECK(delay_ms < 2 * (3 + 4 * 3 * 5.484), "%.0f ms wait", delay_ms);
	model.service_ns = 2 * MS;
	run(&model, 10, 0, &delay_ms);
	CHECK_NEAR(run(&model, 10, 0, &delay_ms), 1, 0.05, 0);
}

/* A route gets longer: T stays, and where its hops are told D* has room for the difference. */
static void test_a_route_gets_longer(void)
{
	struct model model;
	double delay_ms;

	begin(&model, 1, 8 * MS, 8 * MS);
	run(&model, 30, 0, &delay_ms);
	model.idle_ns = 64 * MS;
	model.service_ns = 20 * MS;
	path.hops = 8;
	run(&model, 30, 0, &delay_ms);
	CHECK_NEAR(run(&model, 30, 0, &delay_ms), 1, 0.05, 0);
	CHECK(estimate.search.base_ns < 20 * MS, "T of another path");
}

/* Delay of others' making: the flow keeps some packets on the path, more where they are short. */
static void test_yields_not_everything(void)
{
	struct model model;
	double delay_ms;
	uint32_t i;

	begin(&model, 1, MS / 2, MS / 4);
	run(&model, 10, 0, &delay_ms);
	for (i = 0; i < 100000; i++) {
		model.free_ns = mp_max_u64(model.free_ns, model.now_ns + 60 * MS);
		send(&model, 0);
	}
	/* D* / 2T = 10 packets in 60 ms, damped by a tenth. */
	CHECK(mp_interval_ns(&estimate, &law, 0) < 8 * MS, "the flow yields everything");
	CHECK(mp_interval_ns(&estimate, &law, 0) > 2 * MS, "the flow does not yield");
}

/* Whatever comes: no division by zero, no overflow, an interval within bounds. */
static void test_anything(void)
{
	uint32_t i;

	law = mp_law_even();
	memset(&estimate, 0, sizeof(estimate));
	for (i = 0; i < 200000; i++) {
		uint64_t now_ns = random_u64() >> (random_u64() & 63);
		uint32_t ticks = (uint32_t)(random_u64() >> (32 + (random_u64() & 31)));

		path.hops = (uint32_t)(random_u64() & 255);
		path.data_bytes = (uint32_t)(random_u64() & 65535);
		mp_estimate_add(&estimate, &law, &path, ticks, now_ns, (uint32_t)random_u64());
		CHECK(mp_interval_ns(&estimate, &law, 0) <= 64 * MP_NS_PER_S, "%" PRIu64 " ns",
		      mp_interval_ns(&estimate, &law, 0));
		if ((random_u64() & 1023) == 0)
			mp_estimate_forget(&estimate);
	}
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	test_finds_the_path();
	test_begins_fast();
	test_hears_late();
	test_outliers();
	test_after_a_break();
	test_a_silence_is_no_rate();
	test_idle_senders();
	test_little_while_shared();
	test_follows();
	test_a_route_gets_longer();
	test_yields_not_everything();
	test_anything();
	return check_end();
}
