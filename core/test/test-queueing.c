/* SPDX-License-Identifier: GPL-2.0-only */
/* What waits on the path of a host, by those of its flows that were heard lately. */
#include "check.h"

#include <meshpace/endpoint/queueing.h>

#define MS (MP_NS_PER_S / 1000)

static void test_the_mean_of_what_was_heard_lately(void)
{
	uint64_t now_ns = 100 * MP_NS_PER_S;
	struct mp_queueing queueing = { 0 };
	struct mp_air_way way = { .heard = true, .waits_ns = 1 };

	mp_queueing_tell(&queueing, &way);
	CHECK(!way.heard && !way.waits_ns, "nobody was heard");
	mp_queueing_add(&queueing, 900 * MS, 0, now_ns);
	mp_queueing_add(&queueing, 900 * MS, now_ns - MP_QUEUEING_RECENT_NS, now_ns);
	mp_queueing_add(&queueing, 20 * MS, now_ns + 1, now_ns);
	mp_queueing_add(&queueing, 50 * MS, now_ns - MP_QUEUEING_RECENT_NS + 1, now_ns);
	mp_queueing_tell(&queueing, &way);
	CHECK_EQUAL(way.heard, true);
	CHECK_EQUAL(way.waits_ns, 35 * MS);
}

static void test_what_waits_is_what_is_longer_than_the_empty_path(void)
{
	struct mp_endpoint down = { 0 }, up = { 0 };

	CHECK_EQUAL(mp_queueing_heard_ns(&down), 0);
	down.estimate.search = (struct mp_search){ .base_ns = 20 * MS, .mean_ns = 50 * MS, .round_ns = 60 * MS, .heard_ns = 7 };
	CHECK_EQUAL(mp_queueing_ns(&down), 30 * MS);
	CHECK_EQUAL(mp_queueing_heard_ns(&down), 0); /* no round is over yet */
	down.estimate.search.mean_at_ns = 7;
	CHECK_EQUAL(mp_queueing_heard_ns(&down), 7);
	/* A shorter base is found in the middle of a round, and a longer one never. */
	down.estimate.search.mean_ns = 10 * MS;
	CHECK_EQUAL(mp_queueing_ns(&down), 0);
	up.echo = (struct mp_echo){ .base_ns = 20 * MS, .rtt_ns = 24 * MS, .heard_ns = 9 };
	CHECK_EQUAL(mp_queueing_ns(&up), 4 * MS);
	CHECK_EQUAL(mp_queueing_heard_ns(&up), 9);
}

/*
 * A chat whose first answer took 120 ms, and each later one 8: what the first waited would be W for ever, and take the air
 * from all others (airtime.h). Messages that come as often as rounds take are heard.
 */
static void test_a_sparse_flow_tells_nothing_of_now(uint64_t every_ns, bool is_heard)
{
	const struct mp_path path = { .hops = 1, .data_bytes = 1500 };
	struct mp_endpoint down = { 0 };
	struct mp_search *search = &down.estimate.search;
	struct mp_queueing queueing = { 0 };
	uint64_t now_ns = MP_NS_PER_S;
	uint32_t i, ack = 0;

	for (i = 0; i < 100; i++) {
		mp_search_add(search, &path, 16 * MS, 0, i ? 8 * MS : 120 * MS, now_ns, ack += 100);
		now_ns += every_ns;
	}
	mp_queueing_add(&queueing, mp_queueing_ns(&down), mp_queueing_heard_ns(&down), now_ns);
	CHECK_EQUAL(queueing.flows, is_heard);
	if (is_heard)
		CHECK_EQUAL(queueing.sum_ns, 0);
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	test_a_sparse_flow_tells_nothing_of_now(500 * MS, false);
	test_a_sparse_flow_tells_nothing_of_now(20 * MS, true);
	test_the_mean_of_what_was_heard_lately();
	test_what_waits_is_what_is_longer_than_the_empty_path();
	return check_end();
}
