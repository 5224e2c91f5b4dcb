/* SPDX-License-Identifier: GPL-2.0-only */
/* A host's packets leave at its cap, whatever wakes its gateway up late, and whenever the cap changes. */
#include "check.h"

#include <string.h>

#include <meshpace/law/law.h>
#include <meshpace/endpoint/hostpace.h>

#define MS 1000000ull
#define CAP_BYTES_PER_S 100000u /* 1000 bytes in 10 ms */

/* A packet of 1000 bytes that was ready then leaves as soon as it may, or when its host wakes up so much later. */
static uint64_t leave(struct mp_host_pace *pace, uint64_t cap_bytes_per_s, uint64_t ready_ns, uint64_t later_ns)
{
	uint64_t now_ns = mp_host_due_ns(pace, cap_bytes_per_s, ready_ns) + later_ns;

	mp_host_leaves(pace, cap_bytes_per_s, ready_ns, now_ns, 1000, 4 * MS);
	return now_ns;
}

/* The cap of the moment counts, not that of the moment at which the packet before left. */
static void test_a_new_cap_counts_at_once(void)
{
	struct mp_host_pace pace = { 0 };

	CHECK_EQUAL(leave(&pace, CAP_BYTES_PER_S, 5 * MS, 0), 5 * MS);
	CHECK_EQUAL(leave(&pace, CAP_BYTES_PER_S, 5 * MS, 0), 15 * MS);
	CHECK_EQUAL(mp_host_due_ns(&pace, CAP_BYTES_PER_S / 10, 5 * MS), 115 * MS);
	CHECK_EQUAL(mp_host_due_ns(&pace, CAP_BYTES_PER_S * 10, 5 * MS), 16 * MS);
	CHECK_EQUAL(mp_host_due_ns(&pace, 0, 5 * MS), 15 * MS); /* none: but none overtakes */
	CHECK_EQUAL(mp_host_due_ns(&pace, CAP_BYTES_PER_S, 99 * MS), 99 * MS);
}

/* Wake-ups up to 4 ms late cost nothing; what is later is lost, or what follows would be a burst. */
static void test_lateness(void)
{
	struct mp_host_pace pace = { 0 };
	uint64_t last_ns = 0, i;

	for (i = 0; i <= 1000; i++)
		last_ns = leave(&pace, CAP_BYTES_PER_S, MS, random_below(4 * MS));
	CHECK(last_ns >= 10001 * MS && last_ns < 10005 * MS, "%" PRIu64, last_ns);
	last_ns = leave(&pace, CAP_BYTES_PER_S, MS, 1000 * MS);
	CHECK_EQUAL(mp_host_due_ns(&pace, CAP_BYTES_PER_S, MS), last_ns + 6 * MS);
	/* Nobody was late for what was not there. */
	memset(&pace, 0, sizeof(pace));
	leave(&pace, CAP_BYTES_PER_S, MS, 0);
	leave(&pace, CAP_BYTES_PER_S, 500 * MS, 0);
	CHECK_EQUAL(mp_host_due_ns(&pace, CAP_BYTES_PER_S, 500 * MS), 510 * MS);
}

/* Where departures are fixed on arrival nothing waits longer than it may, and a host owes no more than that. */
static void test_fixed_on_arrival(void)
{
	struct mp_host_pace pace = { 0 }, before;
	uint64_t at_ns, i;

	for (i = 0; i < 100; i++) {
		at_ns = mp_host_departure_ns(&pace, CAP_BYTES_PER_S, MS, 1000, MP_CAP_WAIT_NS, MP_TOO_LONG_LEAVES);
		CHECK_EQUAL(at_ns, MS + (i < 20 ? i * 10 * MS : MP_CAP_WAIT_NS));
	}
	before = pace;
	at_ns = mp_host_departure_ns(&pace, CAP_BYTES_PER_S, MS, 1000, MP_CAP_WAIT_NS, MP_TOO_LONG_IS_REFUSED);
	CHECK_EQUAL(at_ns, 0);
	CHECK_EQUAL(memcmp(&before, &pace, sizeof(pace)), 0);
	/* The same of one that is held, and leaves before it is due. */
	memset(&pace, 0, sizeof(pace));
	mp_host_leaves(&pace, CAP_BYTES_PER_S, MS, MS, 1000000, 0);
	mp_host_leaves(&pace, CAP_BYTES_PER_S, MS, MS + MP_CAP_WAIT_NS, 1000, 0);
	CHECK_EQUAL(mp_host_due_ns(&pace, CAP_BYTES_PER_S, MS), 211 * MS);
	CHECK_EQUAL(mp_host_ack_due_ns(&pace, CAP_BYTES_PER_S, MS), MS + MP_CAP_WAIT_NS);
	CHECK_EQUAL(mp_host_ack_due_ns(&pace, CAP_BYTES_PER_S, 100 * MS), 211 * MS);
}

static void test_what_hosts_are_held_to(void)
{
	CHECK_EQUAL(mp_held_bytes_per_s(16000, false), 16000);
	CHECK_EQUAL(mp_held_bytes_per_s(16000, true), 17000);
	CHECK_EQUAL(mp_held_bytes_per_s(0, true), 0);
	CHECK_EQUAL(mp_turn_interval_ns(CAP_BYTES_PER_S, 1000, 0), 10 * MS);
	CHECK_EQUAL(mp_turn_interval_ns(CAP_BYTES_PER_S, 1000, 7), 70 * MS);
	CHECK_EQUAL(mp_turn_interval_ns(0, 1000, 7), 0);
	CHECK_EQUAL(mp_turn_interval_ns(1, UINT32_MAX, UINT32_MAX), UINT32_MAX * MP_NS_PER_S);
}

/* A flood gets what leaves in 200 ms, and another flow its turn before that. */
static void test_datagrams(void)
{
	struct mp_host_pace pace = { 0 };
	struct mp_turns turns = { 0 };
	struct mp_turn flood = { 0 }, call = { 0 };
	uint32_t taken;

	for (taken = 0; mp_datagram_waits_ns(&pace, &turns, &flood, CAP_BYTES_PER_S, 1, MS) <= MP_CAP_WAIT_NS; taken++)
		mp_turn_take(&flood, mp_turn_tag(&turns, &flood), 1000);
	CHECK_EQUAL(taken, 21);
	CHECK_EQUAL(mp_datagram_waits_ns(&pace, &turns, &call, CAP_BYTES_PER_S, 2, MS), 0);
	CHECK_EQUAL(mp_datagram_waits_ns(&pace, &turns, &flood, 0, 1, MS), 0);
	mp_host_departed(&pace, 500 * MS, 1000);
	CHECK_EQUAL(mp_datagram_waits_ns(&pace, &turns, &call, CAP_BYTES_PER_S, 2, MS), 509 * MS);
}

/* A queue of a sender's, in packets of a millisecond. */
struct queue {
	struct mp_wait wait;
	double window; /* packets under way, with those that wait */
	double waiting;
	double wait_ns; /* mean of the second half */
	uint32_t told;
	uint32_t least; /* packets in a round trip that left, of 1000 */
};

/*
 * So many ms of a sender whose path takes 100 ms: it sends what its window allows, one packet more each round trip, and
 * 0.7 of it when told (RFC 9438), once a round trip; heeds: else it goes on.
 */
static void send(struct queue *queue, uint32_t ms, bool ecn, bool heeds)
{
	double heard_ms = 0, sum = 0;
	uint64_t now_ns;
	uint32_t i;

	for (i = 0; i < ms; i++) {
		double arrivals = queue->window / (100 + queue->waiting);

		now_ns = MS * (i + 1);
		queue->waiting += arrivals;
		switch (mp_datagram_judge(&queue->wait, (uint64_t)(queue->waiting * (double)MS), MS, ecn, now_ns)) {
		case MP_HOLD_LOSES:
			queue->waiting -= arrivals;
			/* fall through */
		case MP_HOLD_MARKS:
			queue->told++;
			if (heeds && i > heard_ms + 100 + queue->waiting) {
				queue->window *= 0.7;
				heard_ms = i;
			}
			break;
		default:
			break;
		}
		queue->window += 1 / (100 + queue->waiting);
		queue->least += queue->waiting < 1 && i >= ms / 2;
		queue->waiting = queue->waiting > 1 ? queue->waiting - 1 : 0;
		sum += i >= ms / 2 ? queue->waiting : 0;
	}
	queue->wait_ns = sum / (ms - ms / 2) * (double)MS;
}

/* By marks and by losses alike who heeds them waits for about the target, and keeps the line busy; who does not, 200 ms. */
static void test_codel(void)
{
	struct queue told = { .window = 300 }, lost = { .window = 300 }, deaf = { .window = 2000 };

	send(&told, 100000, true, true);
	CHECK(told.wait_ns < 1.5 * MP_DATAGRAM_TARGET_NS, "%.0f ms", told.wait_ns / (double)MS);
	CHECK(told.least < 50000 / 20, "%u ms of nothing", told.least);
	send(&lost, 100000, false, true);
	CHECK(lost.wait_ns < 1.5 * MP_DATAGRAM_TARGET_NS, "%.0f ms", lost.wait_ns / (double)MS);
	CHECK(lost.least < 50000 / 20, "%u ms of nothing", lost.least);
	send(&deaf, 20000, true, false);
	CHECK(deaf.wait_ns <= (double)MP_CAP_WAIT_NS, "%.0f ms", deaf.wait_ns / (double)MS);
	CHECK(deaf.told > 1000, "%u", deaf.told);
}

/* Less than a call brings waits, and nothing is told: one burst of a tenth of a second is no queue. */
static void test_bursts(void)
{
	struct mp_wait wait = { 0 };
	uint32_t burst, i;

	for (burst = 0; burst < 100; burst++)
		for (i = 0; i < 100; i++)
			CHECK_EQUAL(mp_datagram_judge(&wait, i * MS, MS, false, (burst * 1000 + i) * MS), MP_HOLD_WAITS);
	/* Of a slow host eight packets wait in any case. */
	for (i = 0; i < 1000; i++)
		CHECK_EQUAL(mp_datagram_judge(&wait, 150 * MS, 20 * MS, false, (200000 + i) * MS), MP_HOLD_WAITS);
}

/* Flows are spread over all buckets, also those of one port to many, and of many to one. */
static void test_buckets(void)
{
	uint32_t which, i, count[3][MP_UDP_BUCKETS] = { { 0 } };

	for (i = 0; i < 4096; i++) {
		count[0][mp_udp_bucket(0xc0000201, (uint16_t)i, 5000)]++;
		count[1][mp_udp_bucket(0xc0000201, 53, (uint16_t)i)]++;
		count[2][mp_udp_bucket(0xc0000200 + i, 53, 5000)]++;
	}
	for (which = 0; which < 3; which++)
		for (i = 0; i < MP_UDP_BUCKETS; i++)
			CHECK(count[which][i] > 128 && count[which][i] < 512, "%u", count[which][i]);
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	test_a_new_cap_counts_at_once();
	test_lateness();
	test_fixed_on_arrival();
	test_what_hosts_are_held_to();
	test_datagrams();
	test_codel();
	test_bursts();
	test_buckets();
	return check_end();
}
