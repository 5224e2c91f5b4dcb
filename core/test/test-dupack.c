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

static uint32_t seq(uint64_t number)
{
	return (uint32_t)number;
}

/* What an ACK of one flow leads to, with the mean RTT_wireless of 50 ms. */
struct asked {
	enum mp_ack_verdict verdict;
	struct mp_range again;
};

static struct asked ask(struct mp_dupack *dup, uint32_t ack, struct mp_range top, bool bare, bool stored,
			uint64_t now_ms)
{
	struct mp_asks asks = { .ack = ack, .top = top, .now_ns = 1000 * MS + now_ms * MS, .rtt_ns = 50 * MS };
	struct asked is;

	asks.duplicate = mp_dupack_count(dup, ack, bare, 64, seq(ack + 100000ull));
	is.verdict = mp_dupack_verdict(dup, &asks, stored, &is.again);
	return is;
}

/* Without SACK. */
static struct asked ask_plainly(struct mp_dupack *dup, uint32_t ack, bool stored, uint64_t now_ms)
{
	return ask(dup, ack, (struct mp_range){ ack, ack }, true, stored, now_ms);
}

static bool copies(struct asked is)
{
	return is.again.from != is.again.to;
}

/* A loss answered by 64 duplicates within an RTT is filled once, and thrice in all. */
static void test_verdict_table(void)
{
	static const struct {
		uint64_t now_ms;
		bool stored, copy;
		enum mp_ack_verdict verdict;
	} row[] = {
		{ 0, false, false, MP_ACK_FORWARD },   { 0, true, true, MP_ACK_WITHHOLD },
		{ 1, true, false, MP_ACK_WITHHOLD },   { 1, false, false, MP_ACK_FORWARD },
		{ 99, true, false, MP_ACK_WITHHOLD },  { 100, true, true, MP_ACK_WITHHOLD },
		{ 199, true, false, MP_ACK_WITHHOLD }, { 250, true, true, MP_ACK_WITHHOLD },
		{ 349, true, false, MP_ACK_WITHHOLD }, { 350, true, false, MP_ACK_FORWARD },
		{ 9999, true, false, MP_ACK_FORWARD },
	};
	struct mp_dupack dup = { 0 };
	uint32_t i;

	CHECK_EQUAL(ask_plainly(&dup, 100, true, 0).verdict, MP_ACK_FORWARD); /* no duplicate */
	for (i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct asked is = ask_plainly(&dup, 100, row[i].stored, row[i].now_ms);

		CHECK_EQUAL(is.verdict, row[i].verdict);
		CHECK(copies(is) == row[i].copy, "row %u", i);
	}
	/* The next hole has its own tries, at once. */
	ask_plainly(&dup, 200, true, 0);
	CHECK(copies(ask_plainly(&dup, 200, true, 0)), "no copy");
}

/* ACKs of a receiver that tells by SACK what it has, and what is sent again; sent: up to where that is said to leave. */
static void test_sack_table(void)
{
	static const struct {
		uint64_t now_ms;
		uint32_t ack;
		struct mp_range top;
		bool bare;
		enum mp_ack_verdict verdict;
		struct mp_range again;
		uint32_t sent;
		const char *what;
	} row[] = {
		{ 0, 100, { 100, 100 }, true, MP_ACK_FORWARD, { 0 }, 0, "nothing is missing" },
		{ 1, 200, { 300, 400 }, true, MP_ACK_PLAIN, { 200, 300 }, 300, "news, and a hole" },
		{ 1, 200, { 300, 500 }, true, MP_ACK_WITHHOLD, { 0 }, 0, "a duplicate: no other hole" },
		{ 2, 200, { 300, 500 }, true, MP_ACK_WITHHOLD, { 0 }, 0, "another" },
		{ 2, 200, { 300, 500 }, false, MP_ACK_PLAIN, { 0 }, 0, "one that carries something" },
		{ 3, 200, { 800, 900 }, true, MP_ACK_WITHHOLD, { 500, 800 }, 800, "a second hole, higher" },
		{ 50, 300, { 800, 900 }, true, MP_ACK_PLAIN, { 0 }, 0, "the first is filled; the second waits" },
		{ 60, 250, { 800, 900 }, true, MP_ACK_FORWARD, { 0 }, 0, "an old ACK, overtaken" },
		{ 101, 300, { 800, 900 }, true, MP_ACK_WITHHOLD, { 300, 800 }, 800, "two round trips later: again" },
		{ 150, 800, { 850, 900 }, true, MP_ACK_PLAIN, { 800, 850 }, 850, "all is there; another hole, and its tries" },
		{ 250, 800, { 850, 900 }, true, MP_ACK_WITHHOLD, { 800, 850 }, 850, "its second" },
		{ 350, 800, { 850, 900 }, true, MP_ACK_WITHHOLD, { 800, 850 }, 850, "its third" },
		{ 449, 800, { 850, 900 }, true, MP_ACK_WITHHOLD, { 0 }, 0, "200 ms after the first was withheld" },
		{ 451, 800, { 850, 900 }, true, MP_ACK_FORWARD, { 0 }, 0, "its sender's timer is about to end" },
		{ 452, 800, { 850, 900 }, true, MP_ACK_FORWARD, { 0 }, 0, "and then it hears all" },
		{ 500, 900, { 900, 900 }, true, MP_ACK_FORWARD, { 0 }, 0, "filled" },
		{ 5000, 900, { 950, 990 }, true, MP_ACK_WITHHOLD, { 900, 950 }, 0, "however long nothing came before" },
		{ 6000, 1000, { 1100, 1200 }, true, MP_ACK_PLAIN, { 1000, 1100 }, 0, "the next" },
	};
	uint32_t across, i;

	for (across = 0; across < 2; across++) { /* the second time across the wrap */
		uint64_t base = across ? UINT32_MAX - 450 : 0;
		struct mp_dupack dup = { 0 };

		for (i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
			struct mp_range top = { seq(base + row[i].top.from), seq(base + row[i].top.to) };
			struct asked is = ask(&dup, seq(base + row[i].ack), top, row[i].bare, true, row[i].now_ms);
			uint32_t bytes = seq((1ull << 32) + is.again.to - is.again.from);

			CHECK(is.verdict == row[i].verdict, "%s: %d", row[i].what, is.verdict);
			CHECK(bytes == row[i].again.to - row[i].again.from, "%s: %u bytes", row[i].what, bytes);
			CHECK(!bytes || is.again.from == seq(base + row[i].again.from), "%s: elsewhere", row[i].what);
			if (row[i].sent)
				mp_dupack_sent(&dup, seq(base + row[i].sent));
		}
	}
}

/* Over a long path the second try would come after its sender's timer has ended. */
static void test_late(void)
{
	struct mp_dupack dup = { 0 };
	struct mp_asks asks = { .ack = 100, .top = { 200, 300 }, .duplicate = 1, .rtt_ns = 300 * MS };
	struct mp_range again;
	uint32_t ms;

	mp_dupack_count(&dup, 100, true, 64, 1000);
	for (ms = 0; ms <= 200; ms += 50) {
		asks.now_ns = 5000 * MS + ms * MS;
		CHECK_EQUAL(mp_dupack_verdict(&dup, &asks, true, &again), MP_ACK_WITHHOLD);
		CHECK_EQUAL(again.to - again.from, ms ? 0 : 100);
	}
	asks.now_ns += MS;
	CHECK_EQUAL(mp_dupack_verdict(&dup, &asks, true, &again), MP_ACK_FORWARD);
	asks.now_ns += MS;
	CHECK_EQUAL(mp_dupack_verdict(&dup, &asks, true, &again), MP_ACK_FORWARD);
}

/* A receiver that takes a segment byte by byte, each twice, gets three copies of it like any other. */
static void test_byte_steps(void)
{
	struct mp_dupack dup = { 0 };
	uint64_t base = UINT32_MAX - 700;
	uint32_t count = 0, step;

	for (step = 0; step < 2 * 1448; step++) {
		uint32_t ack = (uint32_t)(base + step);
		uint32_t segment = (uint32_t)(base + (step < 1448 ? 1448 : 2 * 1448));

		ask_plainly(&dup, ack, true, step * 500ull);
		if (!copies(ask_plainly(&dup, ack, true, step * 500ull)))
			continue;
		count++;
		mp_dupack_sent(&dup, segment);
	}
	CHECK_EQUAL(count, 2 * MP_LOCAL_TRIES);
}

/* Everything that happened to a flow, to be counted from the beginning each time. */
#define EVENTS 120

/* Of a duplicate that is withheld and has a copy sent. */
#define COPY 3

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

/* What becomes of a duplicate without SACK; whether it has a copy sent. */
static enum mp_ack_verdict model_verdict(const struct history *history, bool stored, uint64_t now_ns,
					 uint64_t rtt_ns, bool *copy)
{
	uint64_t last_ns = 0, end = 0;
	int tries = 0;

	*copy = false;
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
	*copy = tries < 3;
	return *copy ? MP_ACK_WITHHOLD : MP_ACK_FORWARD;
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

/* An event of a history at a time; whether it has a copy sent. Counts verdicts. */
static void play(struct mp_dupack *dup, struct history *history, uint64_t base, uint64_t now_ns, uint64_t rtt_ns,
		 uint32_t verdicts[COPY + 1])
{
	struct event *event = &history->event[history->n - 1];
	struct mp_asks asks = { .ack = (uint32_t)(base + event->ack), .now_ns = now_ns, .rtt_ns = rtt_ns };
	bool stored = !random_one_in(6), copy;
	enum mp_ack_verdict want, is;
	struct mp_range again;

	asks.top.from = asks.top.to = asks.ack;
	asks.duplicate = mp_dupack_count(dup, asks.ack, event->bare, event->window, (uint32_t)(base + event->max_end));
	CHECK_EQUAL(asks.duplicate, model_count(history));
	is = mp_dupack_verdict(dup, &asks, stored, &again);
	if (!asks.duplicate) {
		CHECK_EQUAL(is, MP_ACK_FORWARD);
		return;
	}
	want = model_verdict(history, stored, now_ns, rtt_ns, &copy);
	CHECK_EQUAL(is, want);
	CHECK_EQUAL(again.from != again.to, copy);
	verdicts[copy ? COPY : is]++;
	if (!copy)
		return;
	event->sent_ns = now_ns;
	event->sent_end = event->ack + random_between(1, 1460);
	mp_dupack_sent(dup, (uint32_t)(base + event->sent_end));
}

static void test_random(void)
{
	static uint32_t verdicts[COPY + 1];

	for (int run = 0; run < 3000; run++) {
		struct mp_dupack dup = { 0 };
		struct history history = { .n = 0 };
		uint64_t base = UINT32_MAX - random_below(60000), ack = 1;
		uint64_t now_ns = 1 + random_below(1000), rtt_ns = random_below(100) * MS;

		while (history.n < EVENTS) {
			history.event[history.n++] = random_event(&ack);
			now_ns += random_below(60) * MS;
			play(&dup, &history, base, now_ns, rtt_ns, verdicts);
		}
	}
	for (int i = 0; i <= COPY; i++)
		CHECK(i == MP_ACK_PLAIN || verdicts[i] > 1000, "verdict %d only %u times", i, verdicts[i]);
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	test_count_table();
	test_verdict_table();
	test_sack_table();
	test_late();
	test_byte_steps();
	test_random();
	return check_end();
}
