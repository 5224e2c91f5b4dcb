/* SPDX-License-Identifier: GPL-2.0-only */
/* Departures: in order, never in the past, an interval apart, never beyond the horizon. */
#include "check.h"

#include <meshpace/law/pace.h>

static void test_spacing(void)
{
	struct mp_pacer pacer = { 0, false };
	uint64_t now_ns = 5 * MP_NS_PER_S, departure_ns;

	departure_ns = mp_departure_ns(&pacer, now_ns, 1000);
	CHECK_EQUAL(departure_ns, now_ns); /* the first leaves at once */
	mp_departed(&pacer, departure_ns);
	CHECK_EQUAL(mp_departure_ns(&pacer, now_ns, 1000), now_ns + 1000);
	CHECK_EQUAL(mp_departure_ns(&pacer, now_ns + 400, 1000), now_ns + 1000);
	CHECK_EQUAL(mp_departure_ns(&pacer, now_ns + 1400, 1000), now_ns + 1400);
	CHECK_EQUAL(mp_departure_ns(&pacer, now_ns, 0), now_ns); /* unpaced */
	CHECK_EQUAL(mp_departure_ns(&pacer, now_ns, 3600 * MP_NS_PER_S), now_ns + MP_HORIZON_NS);
}

/* A super packet takes the time of all its segments, so that the flow keeps its rate. */
static void test_super_packet(void)
{
	struct mp_pacer pacer = { 0, false };
	uint64_t now_ns = 7 * MP_NS_PER_S;

	mp_departed_together(&pacer, now_ns, 1000, 1);
	CHECK_EQUAL(pacer.last_ns, now_ns);
	mp_departed_together(&pacer, now_ns, 1000, 0);
	CHECK_EQUAL(pacer.last_ns, now_ns);
	mp_departed_together(&pacer, now_ns, 1000, 45);
	CHECK_EQUAL(mp_departure_ns(&pacer, now_ns, 1000), now_ns + 45 * 1000);
	mp_departed_together(&pacer, now_ns, UINT64_MAX, UINT32_MAX);
	CHECK_EQUAL(mp_departure_ns(&pacer, now_ns, 1000), now_ns + MP_HORIZON_NS);
}

static void test_random_departures(void)
{
	uint32_t run, i;

	for (run = 0; run < 5000; run++) {
		struct mp_pacer pacer = { 0, false };
		uint64_t now_ns = random_u64() >> random_between(2, 63), last_ns = 0;

		for (i = 0; i < 100; i++) {
			uint64_t interval_ns = random_extreme_u64() >> 4, due_ns, departure_ns;

			now_ns += (uint64_t)random_log(1, 1e10);
			departure_ns = mp_departure_ns(&pacer, now_ns, interval_ns);
			due_ns = i ? last_ns + interval_ns : now_ns;
			CHECK(departure_ns >= now_ns, "in the past");
			CHECK(departure_ns <= now_ns + 4 * MP_NS_PER_S, "beyond the horizon");
			CHECK(departure_ns >= last_ns, "overtakes");
			if (due_ns >= now_ns && due_ns <= now_ns + 4 * MP_NS_PER_S)
				CHECK_EQUAL(departure_ns, due_ns);
			else
				CHECK_EQUAL(departure_ns, due_ns < now_ns ? now_ns
									  : now_ns + 4 * MP_NS_PER_S);
			last_ns = departure_ns;
			mp_departed(&pacer, departure_ns);
		}
	}
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	test_spacing();
	test_super_packet();
	test_random_departures();
	return check_end();
}
