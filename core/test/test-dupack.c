/* SPDX-License-Identifier: GPL-2.0-only */
/* Duplicate ACKs: which count (RFC 5681), and what the gateway does with each. */
#include "check.h"

#include <meshpace/endpoint/dupack.h>

#define MS 1000000ull

/* ACKs of one flow in order; data is outstanding up to 1000. */
static void test_count_table(void)
{
	static const struct {
		uint32_t ack;
		bool bare;
		uint32_t window, max_end, count;
		const char *what;
	} row[] = {
		{ 100, true, 64, 1000, 0, "the first ACK" },
		{ 100, true, 64, 1000, 1, "a duplicate" },
		{ 100, true, 64, 1000, 2, "another" },
		{ 100, false, 64, 1000, 0, "data that repeats the ACK, or a D-SACK" },
		{ 100, true, 32, 1000, 0, "a window update" },
		{ 100, true, 32, 1000, 3, "a duplicate with the new window" },
		{ 50, true, 32, 1000, 0, "an old ACK, overtaken" },
		{ 100, true, 32, 1000, 4, "a duplicate after it" },
		{ 200, true, 32, 1000, 0, "a new ACK" },
		{ 200, true, 32, 1000, 1, "its duplicate: counting starts anew" },
		{ 1000, true, 32, 1000, 0, "everything acknowledged" },
		{ 1000, true, 32, 1000, 0, "a keep-alive's answer: nothing outstanding" },
		{ 1000, true, 32, 1001, 1, "data is outstanding again" },
	};
	uint32_t offset, i;

	for (offset = 0; offset < 2; offset++) { /* the second time across the wrap */
		struct mp_dupack dup = { 0 };
		uint32_t base = offset ? UINT32_MAX - 150 : 0;

		for (i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
			uint64_t ack = (uint64_t)base + row[i].ack;
			uint64_t max_end = (uint64_t)base + row[i].max_end;
			uint32_t count = mp_dupack_count(&dup, (uint32_t)ack, row[i].bare,
							 row[i].window, (uint32_t)max_end);

			CHECK(count == row[i].count, "%s: %u", row[i].what, count);
		}
	}
}

/* A loss answered by 64 duplicates within an RTT is filled once, and thrice in all. */
static void test_verdict_table(void)
{
	static const struct {
		uint64_t now_ms;
		bool stored;
		enum mp_ack_verdict verdict;
	} row[] = {
		{ 0, false, MP_ACK_FORWARD },    { 0, true, MP_ACK_RETRANSMIT },
		{ 1, true, MP_ACK_WITHHOLD },    { 1, false, MP_ACK_FORWARD },
		{ 99, true, MP_ACK_WITHHOLD },   { 100, true, MP_ACK_RETRANSMIT },
		{ 199, true, MP_ACK_WITHHOLD },  { 250, true, MP_ACK_RETRANSMIT },
		{ 349, true, MP_ACK_WITHHOLD },  { 350, true, MP_ACK_FORWARD },
		{ 9999, true, MP_ACK_FORWARD },
	};
	struct mp_dupack dup = { 0 };
	uint32_t i;

	mp_dupack_count(&dup, 100, true, 64, 1000);
	CHECK_EQUAL(mp_dupack_verdict(&dup, true, 0, 50 * MS), MP_ACK_FORWARD); /* no duplicate */
	for (i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		uint64_t now_ns = 1000 * MS + row[i].now_ms * MS;

		CHECK_EQUAL(mp_dupack_count(&dup, 100, true, 64, 1000), i + 1);
		CHECK_EQUAL(mp_dupack_verdict(&dup, row[i].stored, now_ns, 50 * MS), row[i].verdict);
	}
	/* The next hole has its own tries, at once. */
	mp_dupack_count(&dup, 200, true, 64, 1000);
	mp_dupack_count(&dup, 200, true, 64, 1000);
	CHECK_EQUAL(mp_dupack_verdict(&dup, true, 1000 * MS, 50 * MS), MP_ACK_RETRANSMIT);
}

/* A receiver that takes a segment byte by byte, each twice, gets three copies of it like any other. */
static void test_byte_steps(void)
{
	struct mp_dupack dup = { 0 };
	uint64_t base = UINT32_MAX - 700;
	uint32_t copies = 0, step;

	for (step = 0; step < 2 * 1448; step++) {
		uint32_t ack = (uint32_t)(base + step), max_end = (uint32_t)(base + 5000);
		uint32_t segment = (uint32_t)(base + (step < 1448 ? 1448 : 2 * 1448));

		mp_dupack_count(&dup, ack, true, 64, max_end);
		CHECK(mp_dupack_count(&dup, ack, true, 64, max_end) > 0, "no duplicate");
		if (mp_dupack_verdict(&dup, true, step * 500 * MS, 50 * MS) != MP_ACK_RETRANSMIT)
			continue;
		copies++;
		mp_dupack_sent(&dup, segment);
	}
	CHECK_EQUAL(copies, 2 * MP_LOCAL_TRIES);
}

/* Everything that happened to a flow, to be counted from the beginning each time. */
#define EVENTS 120

struct event {
	uint64_t ack, max_end, sent_ns, sent_end; /* a segment sent again; 0: none */
	uint32_t window;
	bool bare;
};

struct history {
	struct event event[EVENTS];
	int n;
};

static uint64_t highest_ack(const struct history *history)
{
	uint64_t highest = 0;

	for (int i = 0; i < history->n; i++)
		highest = history->event[i].ack > highest ? history->event[i].ack : highest;
	return highest;
}

/* Duplicates of the highest ACK; 0 when the latest event is none. */
static uint32_t model_count(const struct history *history)
{
	uint64_t highest = highest_ack(history);
	const struct event *before = NULL;
	uint32_t count = 0;
	bool latest = false;

	for (int i = 0; i < history->n; i++) {
		const struct event *event = &history->event[i];

		latest = false;
		if (event->ack != highest)
			continue;
		latest = before && event->bare && event->window == before->window &&
			 event->ack < event->max_end;
		count += latest;
		before = event;
	}
	return latest ? count : 0;
}

static enum mp_ack_verdict model_verdict(const struct history *history, bool stored,
					 uint64_t now_ns, uint64_t rtt_ns)
{
	uint64_t last_ns = 0, end = 0;
	int tries = 0;

	for (int i = 0; i < history->n; i++) {
		const struct event *event = &history->event[i];

		if (event->ack >= end)
			tries = 0;
		if (event->sent_ns == 0)
			continue;
		end = tries++ && end > event->sent_end ? end : event->sent_end;
		last_ns = event->sent_ns;
	}
	if (!stored)
		return MP_ACK_FORWARD;
	if (tries > 0 && now_ns < last_ns + 2 * rtt_ns)
		return MP_ACK_WITHHOLD;
	return tries < 3 ? MP_ACK_RETRANSMIT : MP_ACK_FORWARD;
}

/* Mostly repeated ACKs, some overtaken, some with data, a new window, or nothing outstanding. */
static struct event random_event(uint64_t *ack)
{
	struct event event = { 0 };

	if (random_one_in(6))
		*ack += random_one_in(2) ? random_between(1, 3000) : 1;
	event.ack = *ack - (random_one_in(8) && *ack > 5000 ? random_below(3000) : 0);
	event.bare = !random_one_in(10);
	event.window = random_one_in(10) ? 63 : 64;
	event.max_end = *ack + (random_one_in(10) ? 0 : 5000);
	return event;
}

static void test_random(void)
{
	static uint32_t verdicts[3];

	for (int run = 0; run < 3000; run++) {
		struct mp_dupack dup = { 0 };
		struct history history = { .n = 0 };
		uint64_t base = UINT32_MAX - random_below(60000), ack = 1;
		uint64_t now_ns = 1 + random_below(1000), rtt_ns = random_below(100) * MS;

		while (history.n < EVENTS) {
			struct event *event = &history.event[history.n++];
			uint32_t count;

			*event = random_event(&ack);
			now_ns += random_below(60) * MS;
			count = mp_dupack_count(&dup, (uint32_t)(base + event->ack), event->bare,
						event->window, (uint32_t)(base + event->max_end));
			CHECK_EQUAL(count, model_count(&history));
			if (count > 0) {
				bool stored = !random_one_in(6);
				enum mp_ack_verdict want =
					model_verdict(&history, stored, now_ns, rtt_ns);

				CHECK_EQUAL(mp_dupack_verdict(&dup, stored, now_ns, rtt_ns), want);
				verdicts[want]++;
				if (want != MP_ACK_RETRANSMIT)
					continue;
				event->sent_ns = now_ns;
				event->sent_end = event->ack + random_between(1, 1460);
				mp_dupack_sent(&dup, (uint32_t)(base + event->sent_end));
			}
		}
	}
	for (int i = 0; i < 3; i++)
		CHECK(verdicts[i] > 1000, "verdict %d only %u times", i, verdicts[i]);
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	test_count_table();
	test_verdict_table();
	test_byte_steps();
	test_random();
	return check_end();
}
