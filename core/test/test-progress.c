/* SPDX-License-Identifier: GPL-2.0-only */
/* What headers tell of a connection's progress: of everything that both ends send, of nothing that others forge. */
#include "check.h"

#include <meshpace/endpoint/progress.h>

/* Sums of sequence numbers that wrap on purpose. */
static uint32_t wrapped(uint32_t a, uint32_t b)
{
	return a + b;
}

/* Each byte counts once, whatever is lost, sent again or acknowledged late; a FIN is no byte. */
static void test_what_both_ends_send(void)
{
	uint32_t run;

	for (run = 0; run < 1000; run++) {
		uint32_t first = (uint32_t)random_u64(), sent = 0, acked = 0, step;
		struct mp_progress progress = { 0 };

		for (step = 0; step < 200; step++) {
			uint32_t bytes = random_between(1, 3000), again = random_below(sent - acked + 1);
			uint32_t seq = wrapped(first, sent);

			if (random_one_in(4) && again) { /* sent again */
				seq = wrapped(first, sent - again);
				mp_progress_data(&progress, wrapped(first, sent), seq, again, false, false);
			} else {
				sent += bytes;
				mp_progress_data(&progress, wrapped(first, sent), seq, bytes, false, true);
			}
			acked += random_below(sent - acked + 1);
			CHECK(mp_progress_ack(&progress, wrapped(first, sent), wrapped(first, acked)), "fits");
			CHECK_EQUAL(progress.acked_bytes, acked);
			CHECK_EQUAL(progress.ack, wrapped(first, acked));
			/* An older one, overtaken. */
			CHECK(mp_progress_ack(&progress, wrapped(first, sent),
					      wrapped(first, random_below(acked + 1))),
			      "late");
			CHECK_EQUAL(progress.acked_bytes, acked);
		}
		mp_progress_fin(&progress, wrapped(first, sent), wrapped(first, sent));
		CHECK_EQUAL(progress.fin, 1);
		CHECK(mp_progress_ack(&progress, wrapped(first, sent), wrapped(first, sent + 1)), "of the FIN");
		CHECK_EQUAL(progress.acked_bytes, sent);
		CHECK(mp_progress_reset(&progress, wrapped(first, sent), wrapped(first, sent + 1)), "behind it");
	}
}

/* Of a download of 100 to 5000, acknowledged up to 2000. */
static struct mp_progress known(void)
{
	struct mp_progress progress = { 0 };

	mp_progress_data(&progress, 5000, 100, 4900, false, true);
	CHECK(mp_progress_ack(&progress, 5000, 2000), "fits");
	return progress;
}

static void test_what_others_forge(void)
{
	struct mp_progress progress = { 0 };

	CHECK_EQUAL(mp_progress_ack(&progress, 0, 0), false); /* nothing is known yet */
	CHECK_EQUAL(mp_progress_reset(&progress, 0, 0), false);
	mp_progress_fin(&progress, 0, 0);
	CHECK_EQUAL(progress.fin, 0);
	progress = known();
	CHECK_EQUAL(mp_progress_ack(&progress, 5000, 5002), false); /* of what was not sent */
	CHECK_EQUAL(mp_progress_ack(&progress, 5000, wrapped(1999, UINT32_MAX - MP_TCP_WINDOW_MAX + 1)), false);
	CHECK_EQUAL(mp_progress_reset(&progress, 5000, 3000), false);
	mp_progress_fin(&progress, 5000, 4999);
	CHECK_EQUAL(progress.fin, 0);
	CHECK_EQUAL(progress.ack, 2000);
	CHECK_EQUAL(progress.acked_bytes, 1900);
	CHECK(mp_progress_reset(&progress, 5000, 2000), "as its receiver sees it");
	/* Who sends on has not finished; a FIN in the middle of what is sent again says nothing. */
	mp_progress_data(&progress, 6000, 5000, 1000, false, true);
	CHECK_EQUAL(progress.fin, 0);
	mp_progress_data(&progress, 6000, 2000, 1000, true, false);
	CHECK_EQUAL(progress.fin, 0);
	mp_progress_data(&progress, 7000, 6000, 1000, true, true);
	CHECK_EQUAL(progress.fin, 1);
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	test_what_both_ends_send();
	test_what_others_forge();
	return check_end();
}
