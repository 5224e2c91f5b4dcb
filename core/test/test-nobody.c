/* SPDX-License-Identifier: GPL-2.0-only */
/* Shares of the air beside what nothing holds: what is sent of nobody, and who does not heed what he is held to. */
#include "air-model.h"

/*
 * Each of the others may have its part, however little room is left: who had less would leave more to what nothing holds. When
 * it is over nobody is bound by it any more. L (1 - p) is in force meanwhile, .9; and until it shows who does not heed, three
 * seconds, those who lack for it are taken to be worse off than they are.
 */
static void beside_what_nothing_holds(uint32_t others, bool nobody)
{
	double mean[HOSTS];
	uint32_t i;

	begin();
	for (i = 0; i < others; i++) {
		place(i, 1 + i, one_hop / (1 + i));
		wants[i] = ALL;
	}
	run(others, 20, mean);
	place(others, nobody ? 0 : 2, one_hop / 2);
	host[others].nobody = nobody;
	floods[others] = true;
	direction[others] = MP_AIR_UP;
	wants[others] = ALL;
	run(others + 1, 60, mean);
	CHECK((host[others].way[MP_AIR_UP].cap_bytes_per_s == 0) == nobody, "a host is told all the same");
	for (i = 0; i < others; i++) {
		double cap = (double)host[i].way[MP_AIR_DOWN].cap_bytes_per_s;

		CHECK(cap > .85 * truth[i] / (others + 1), "host %u of %u is held to %.2f", i, others, cap / truth[i]);
	}
	floods[others] = false;
	if (!nobody) {
		run(others + 1, 20, mean);
		run(others + 1, 20, mean);
		check_parts(others + 1, mean, .85);
	}
	wants[others] = 0;
	run(others + 1, 10, mean);
	run(others + 1, 20, mean);
	check_parts(others, mean, .9);
}

/*
 * A flood that both begin with, and that pauses for a second each three: it does not heed what it is held to by that. Who lacks
 * for it is not taken to be worse off than he is, and when it is silent he has what it leaves.
 */
static void beside_a_flood_that_pauses(void)
{
	double mean[HOSTS], sum = 0;
	uint32_t second;

	begin();
	place(0, 1, one_hop);
	place(1, 2, one_hop / 2);
	wants[0] = ALL;
	floods[1] = true;
	direction[1] = MP_AIR_UP;
	for (second = 0; second < 60; second++) {
		wants[1] = second % 3 < 2 ? ALL : 0;
		run(2, 1, mean);
		sum += second < 30 ? 0 : mean[0] / truth[0] / 30;
	}
	CHECK(sum > .4, "a download beside a flood that pauses has %.2f", sum);
	CHECK((double)host[0].way[MP_AIR_DOWN].alone_bytes_per_s > .9 * truth[0], "C is %.2f",
	      (double)host[0].way[MP_AIR_DOWN].alone_bytes_per_s / truth[0]);
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
	uint32_t others;

	check_begin(argc, argv);
	for (others = 1; others <= 3; others += 2) {
		beside_what_nothing_holds(others, true);
		beside_what_nothing_holds(others, false);
	}
	beside_a_flood_that_pauses();
	after_what_nothing_holds();
	return check_end();
}
