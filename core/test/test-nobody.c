/* SPDX-License-Identifier: GPL-2.0-only */
/* Shares of the air beside what is sent of nobody, and held by nothing. */
#include "air-model.h"

/*
 * Beside what nothing holds (mp_opaque_nobody_step) each of the others may have its part, however little room it leaves: who had
 * less would leave it more. When it is over nobody is bound by it any more.
 */
static void beside_what_nothing_holds(uint32_t others)
{
	double mean[HOSTS];
	uint32_t i;

	begin();
	for (i = 0; i < others; i++) {
		place(i, 1 + i, one_hop / (1 + i));
		wants[i] = ALL;
	}
	run(others, 20, mean);
	place(others, 0, one_hop);
	host[others].nobody = true;
	direction[others] = MP_AIR_UP;
	wants[others] = ALL;
	run(others + 1, 60, mean);
	CHECK_EQUAL(host[others].way[MP_AIR_UP].cap_bytes_per_s, 0);
	for (i = 0; i < others; i++) {
		double cap = (double)host[i].way[MP_AIR_DOWN].cap_bytes_per_s;

		CHECK(cap > .8 * truth[i] / (others + 1), "host %u of %u is held to %.2f", i, others, cap / truth[i]);
	}
	wants[others] = 0;
	run(others + 1, 10, mean);
	run(others + 1, 20, mean);
	check_parts(others, mean, .9);
}

/* A camera whose packets nothing answers is all that is there: what it sends tells nothing of what others may have. */
static void after_what_nothing_holds(void)
{
	double mean[HOSTS];

	begin();
	place(0, 0, one_hop);
	host[0].nobody = true;
	direction[0] = MP_AIR_UP;
	wants[0] = .03 * one_hop;
	run(1, 30, mean);
	place(1, 4, one_hop / 4);
	wants[1] = ALL;
	run(2, 5, mean);
	CHECK(mean[1] > .8 * truth[1], "who comes has %.2f", mean[1] / truth[1]);
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	beside_what_nothing_holds(1);
	beside_what_nothing_holds(3);
	after_what_nothing_holds();
	return check_end();
}
