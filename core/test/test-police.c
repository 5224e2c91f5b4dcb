/* SPDX-License-Identifier: GPL-2.0-only */
/* How a host is held to its cap by what it loses, on model connections that answer losses as TCP does. */
#include "check.h"

#include <string.h>

#include <meshpace/endpoint/hostpace.h>
#include <meshpace/law/air.h>

#define MOST 8
#define BYTES 1448u
#define MS 1000000ull
#define CAP_BYTES_PER_S 300000u

/* A window of packets each round trip, which a loss cuts to 0.7 a round trip later, and the law's part. */
struct connection {
	double window, next_ns;
	uint64_t hears_ns;  /* of the latest loss; 0: it has, or there was none */
	uint64_t answer_ns; /* when what was sent again is acknowledged */
	uint32_t losses;
	struct mp_notification notified;
};

static struct connection connection[MOST];
static struct mp_police police;
static uint64_t now_ns;

static void begin(uint32_t n, double window)
{
	uint32_t i;

	memset(&police, 0, sizeof(police));
	memset(connection, 0, sizeof(connection));
	now_ns = 1000 * MP_NS_PER_S;
	for (i = 0; i < n; i++) {
		connection[i].window = window * (0.8 + 0.4 * random_unit());
		connection[i].next_ns = (double)now_ns;
	}
}

/* A packet of a connection comes. Sequence numbers do not matter here: all of it is new. */
static void come(struct connection *c, uint64_t round_ns)
{
	if (c->hears_ns && now_ns >= c->hears_ns) {
		c->window = fmax(2, c->window * 0.7);
		c->hears_ns = 0;
	}
	if (now_ns >= c->answer_ns)
		mp_notification_answered(&c->notified, c->notified.end);
	if (mp_police_exceeds(&police, CAP_BYTES_PER_S, BYTES, now_ns) &&
	    mp_notification_may(&c->notified, 0, 0)) {
		CHECK_EQUAL(c->hears_ns, 0);
		mp_notified_by(&c->notified, 1);
		c->hears_ns = now_ns + round_ns;
		c->answer_ns = now_ns + 2 * round_ns;
		c->losses++;
	}
	c->window += 1 / c->window;
	c->next_ns = (double)now_ns + (double)round_ns / c->window * (0.9 + 0.2 * random_unit());
}

/* So many seconds of n connections; returns bytes/s. Losses count anew. */
static double run(uint32_t n, uint64_t round_ns, uint32_t seconds)
{
	uint64_t end_ns = now_ns + seconds * MP_NS_PER_S;
	uint32_t i, first, packets = 0;

	for (i = 0; i < n; i++)
		connection[i].losses = 0;
	while (now_ns < end_ns) {
		for (i = 1, first = 0; i < n; i++)
			if (connection[i].next_ns < connection[first].next_ns)
				first = i;
		now_ns = mp_max_u64(now_ns, (uint64_t)connection[first].next_ns);
		come(&connection[first], round_ns);
		packets++;
	}
	return (double)packets * BYTES / seconds;
}

/* However many connections, however long their round trips: together they get what they are held to. */
static void test_gets_its_cap(void)
{
	static const uint64_t rounds[] = { 60 * MS, 120 * MS, 300 * MS };
	uint32_t n, r;

	for (n = 1; n <= MOST; n *= 2)
		for (r = 0; r < 3; r++) {
			double bytes_per_s, held_bytes_per_s = (double)mp_police_bytes_per_s(CAP_BYTES_PER_S);

			/* Of a window of six packets, cut to 0.7, two round trips make six again. */
			if (CAP_BYTES_PER_S * (rounds[r] / MS) < 7 * n * BYTES * 1000)
				continue;
			begin(n, 40);
			run(n, rounds[r], 20);
			bytes_per_s = run(n, rounds[r], 60);
			CHECK(bytes_per_s > 0.85 * held_bytes_per_s && bytes_per_s < 1.02 * held_bytes_per_s,
			      "%u, %u ms: %.0f", n, (uint32_t)(rounds[r] / MS), bytes_per_s);
		}
}

/* Who keeps to a cap, however low, is never told, though a window comes at once. */
static void test_leaves_who_keeps_to_it(void)
{
	uint64_t cap_bytes_per_s;
	uint32_t i, k;

	for (cap_bytes_per_s = MP_AIR_LEAST_BYTES_PER_S; cap_bytes_per_s < 100000000; cap_bytes_per_s *= 3) {
		begin(0, 0);
		for (i = 0; i < 1000; i++) {
			uint32_t burst = random_between(1, 16);

			for (k = 0; k < burst; k++)
				CHECK_EQUAL(mp_police_exceeds(&police, cap_bytes_per_s, BYTES, now_ns),
					    false);
			now_ns += burst * mp_rate_interval_ns(cap_bytes_per_s, BYTES);
		}
	}
}

/* What came too much is made up for, but for no longer than what is owed. */
static void test_forgets(void)
{
	uint32_t i;

	begin(0, 0);
	for (i = 0; i < 10000; i++)
		mp_police_exceeds(&police, CAP_BYTES_PER_S, BYTES, now_ns);
	now_ns += MP_POLICE_OWED_NS;
	CHECK_EQUAL(mp_police_exceeds(&police, CAP_BYTES_PER_S, 0, now_ns), true);
	CHECK_EQUAL(mp_police_exceeds(&police, CAP_BYTES_PER_S, 0, now_ns + 1), false);
	/* A cap so low, and so many bytes: nothing overflows. */
	CHECK_EQUAL(mp_police_exceeds(&police, MP_AIR_LEAST_BYTES_PER_S, ~0u, now_ns), false);
	CHECK_EQUAL(police.empty_ns,
		    now_ns + mp_police_depth_ns(mp_police_bytes_per_s(MP_AIR_LEAST_BYTES_PER_S)) +
			    MP_POLICE_OWED_NS);
}

/* The 32 bits of a sequence number. */
static uint32_t wrapped(uint64_t seq)
{
	return (uint32_t)seq;
}

/* Who is told is not again before it has answered, and not with what it sends again. */
static void test_notified_once(void)
{
	struct mp_notification notified = { 0 };
	uint32_t i;

	for (i = 0; i < 1000; i++) {
		uint64_t seq = random_u64() >> 8, end = seq + random_between(1, 65535);

		CHECK_EQUAL(mp_notification_may(&notified, wrapped(seq), wrapped(seq)), true);
		CHECK_EQUAL(mp_notification_may(&notified, wrapped(seq), wrapped(seq + 1)), false);
		mp_notified_by(&notified, wrapped(end));
		mp_notification_answered(&notified, wrapped(seq));
		CHECK_EQUAL(mp_notification_may(&notified, wrapped(end), wrapped(end)), false);
		mp_notification_answered(&notified, wrapped(end - 1));
		CHECK_EQUAL(mp_notification_may(&notified, wrapped(end), wrapped(end)), false);
		mp_notification_answered(&notified, wrapped(end + random_below(1000000)));
	}
}

/* Nobody is told with its first data, nor again before it has answered, nor with what is sent again. */
static void test_who_is_told(void)
{
	struct mp_notification notified = { 0 };
	struct mp_progress progress = { 0 };

	mp_progress_data(&progress, 11000, 1000, 10000, false, true);
	CHECK_EQUAL(mp_police_notifies(&notified, &progress, 11000, 11000, 1000), false);
	mp_progress_ack(&progress, 11000, 2000);
	CHECK_EQUAL(mp_police_notifies(&notified, &progress, 11000, 5000, 1000), false);
	CHECK_EQUAL(mp_police_notifies(&notified, &progress, 11000, 11000, 1000), true);
	CHECK_EQUAL(mp_police_notifies(&notified, &progress, 12000, 12000, 1000), false);
	mp_progress_ack(&progress, 12000, 12000);
	mp_notification_answered(&notified, progress.ack);
	CHECK_EQUAL(mp_police_notifies(&notified, &progress, 13000, 13000, 1000), true);
}

/* A second of datagrams that come as fast as this, whatever is lost; returns what passes, bytes/s. */
static double flood(double bytes_per_s, uint32_t bytes, bool ecn, uint32_t *marked)
{
	uint64_t end_ns = now_ns + MP_NS_PER_S;
	double passed = 0;

	while (now_ns < end_ns) {
		enum mp_hold_verdict verdict = mp_police_datagram(&police, CAP_BYTES_PER_S, bytes, ecn, now_ns);

		passed += verdict == MP_HOLD_LOSES ? 0 : bytes;
		*marked += verdict == MP_HOLD_MARKS;
		now_ns += (uint64_t)(bytes / bytes_per_s * 1e9);
	}
	return passed;
}

/* Datagrams of who heeds nothing pass at the cap; of who keeps to it, all; and marks come before losses. */
static void test_datagrams_keep_to_the_cap(void)
{
	double held_bytes_per_s = (double)mp_police_bytes_per_s(CAP_BYTES_PER_S);
	uint32_t i, bytes, marked = 0;

	for (bytes = 100; bytes <= 64000; bytes *= 2) {
		double passed = 0;

		begin(0, 0);
		flood(3e6, bytes, false, &marked); /* what waits at first may */
		for (i = 0; i < 20; i++)
			passed += flood(3e6, bytes, false, &marked) / 20;
		CHECK(passed > 0.9 * held_bytes_per_s && passed < 1.01 * held_bytes_per_s, "%u: %.0f", bytes, passed);
		CHECK_EQUAL(marked, 0);
		now_ns += MP_NS_PER_S;
		passed = 0;
		for (i = 0; i < 20; i++)
			passed += flood(CAP_BYTES_PER_S, bytes, false, &marked) / 20;
		CHECK(passed > CAP_BYTES_PER_S * 0.999, "%u: %.0f", bytes, passed);
	}
	begin(0, 0);
	flood(1.2 * held_bytes_per_s, 1200, true, &marked);
	CHECK(marked > 0, "%u", marked);
}

/* A cap that rises counts at once, also for what a datagram has left in the queue that took long at the low one. */
static void test_datagrams_when_the_cap_rises(void)
{
	uint32_t bytes, marked = 0;

	for (bytes = 1500; bytes <= 65000; bytes *= 6) {
		begin(0, 0);
		police = (struct mp_police){ 0 };
		mp_police_datagram(&police, 1000, bytes, false, now_ns);
		now_ns += 100 * MS;
		CHECK(flood(CAP_BYTES_PER_S / 2.0, 1200, false, &marked) > 0.3 * CAP_BYTES_PER_S, "%u", bytes);
		CHECK(flood(CAP_BYTES_PER_S / 2.0, 1200, false, &marked) > 0.49 * CAP_BYTES_PER_S, "%u", bytes);
	}
}

/*
 * A sender of datagrams that answers a loss as QUIC does gets its cap, and half of it beside TCP that has more, which then has
 * the other half; of round trips up to those that CoDel reckons with (RFC 8289).
 */
static void test_datagrams_beside_tcp(void)
{
	static const uint64_t rounds[] = { 60 * MS, 120 * MS };
	double held_bytes_per_s = (double)mp_police_bytes_per_s(CAP_BYTES_PER_S);
	uint32_t beside, r;

	for (r = 0; r < 2; r++)
		for (beside = 0; beside < 2; beside++) {
			double window = 40, next_ns, datagrams = 0, tcp = 0;
			uint64_t hears_ns = 0, end_ns;

			begin(beside, 20);
			next_ns = (double)now_ns;
			end_ns = now_ns + 80 * MP_NS_PER_S;
			while (now_ns < end_ns) {
				if (beside && connection[0].next_ns < next_ns) {
					now_ns = mp_max_u64(now_ns, (uint64_t)connection[0].next_ns);
					come(&connection[0], 120 * MS);
					tcp += now_ns > end_ns - 60 * MP_NS_PER_S ? BYTES / 60.0 : 0;
					continue;
				}
				now_ns = mp_max_u64(now_ns, (uint64_t)next_ns);
				if (hears_ns && now_ns >= hears_ns) {
					window = fmax(2, window * 0.7);
					hears_ns = 0;
				}
				if (mp_police_datagram(&police, CAP_BYTES_PER_S, BYTES, false, now_ns) != MP_HOLD_LOSES)
					datagrams += now_ns > end_ns - 60 * MP_NS_PER_S ? BYTES / 60.0 : 0;
				else if (!hears_ns)
					hears_ns = now_ns + rounds[r];
				window += 1 / window;
				next_ns = (double)now_ns + (double)rounds[r] / window;
			}
			CHECK(datagrams + tcp > 0.85 * held_bytes_per_s && datagrams + tcp < 1.05 * held_bytes_per_s,
			      "%u: %.0f and %.0f", beside, datagrams, tcp);
			if (beside)
				CHECK(datagrams > 0.35 * held_bytes_per_s && tcp > 0.35 * held_bytes_per_s,
				      "%.0f and %.0f", datagrams, tcp);
		}
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	test_gets_its_cap();
	test_leaves_who_keeps_to_it();
	test_forgets();
	test_notified_once();
	test_who_is_told();
	test_datagrams_keep_to_the_cap();
	test_datagrams_when_the_cap_rises();
	test_datagrams_beside_tcp();
	return check_end();
}
