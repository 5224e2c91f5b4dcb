/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Replays traces of a sender in the mesh (../traces/sender): each event goes to the sender that the including file
 * has, and its line is written again with what came out. The file defines the functions that are declared here.
 */
#ifndef MESHPACE_REPLAY_SENDER_H
#define MESHPACE_REPLAY_SENDER_H

#include "trace.h"

/* What a sender is told before it begins. */
struct sender_settings {
	struct mp_law law;
	uint32_t hops, kbps, mss;
};

/* An ACK that comes, with TCP options as they are on the wire. */
struct sender_ack {
	uint64_t now_ns;
	uint32_t ack;
	struct trace_packet options; /* of it options and option_bytes */
};

/* What shows of a sender. */
struct sender_state {
	struct mp_estimate estimate;
	struct mp_signalled signalled;
	uint64_t interval_ns, rate_bytes_per_s; /* 0: unpaced */
};

/* Everything is forgotten; a sender begins. */
static void sender_begin(const struct sender_settings *settings);
/* A segment leaves, without TCP options. */
static void sender_sends(uint64_t now_ns, uint32_t seq, uint32_t bytes);
static void sender_hears(const struct sender_ack *ack);
static void sender_look(struct sender_state *state);

static inline void sender_read_settings(struct trace_reader *reader,
					struct sender_settings *settings)
{
	while (reader->used < reader->words) {
		char *key = reader->word[reader->used++], *value = trace_split(reader, key);

		if (strcmp(key, "law") == 0)
			settings->law = trace_law(reader, value);
		else if (strcmp(key, "hops") == 0)
			settings->hops = (uint32_t)trace_number(reader, value);
		else if (strcmp(key, "kbps") == 0)
			settings->kbps = (uint32_t)trace_number(reader, value);
		else if (strcmp(key, "mss") == 0)
			settings->mss = (uint32_t)trace_number(reader, value);
		else
			trace_refuse(reader, "no setting of a sender", key);
	}
}

/* What the gateway tells by an ACK stands as numbers, other options as in any trace. */
static inline void sender_read_ack(struct trace_reader *reader, struct sender_ack *ack)
{
	struct mp_feedback feedback;
	uint8_t option[MP_OPTION_BYTES];
	bool shares = false;

	memset(&feedback, 0, sizeof(feedback));
	while (reader->used < reader->words) {
		char *key = reader->word[reader->used++], *value = trace_split(reader, key);

		if (strcmp(key, "ack") == 0) {
			ack->ack = (uint32_t)trace_number(reader, value);
		} else if (strcmp(key, "wired") == 0) {
			mp_option_write(option, (uint32_t)trace_number(reader, value));
			trace_add_option(&ack->options, option, sizeof(option));
		} else if (strcmp(key, "rate") == 0) {
			feedback.bytes_per_s = trace_number(reader, value);
			shares = true;
		} else if (strcmp(key, "opt") == 0) {
			trace_read_options(reader, &ack->options, value);
		} else {
			trace_refuse(reader, "nothing of an ACK", key);
		}
	}
	if (!shares)
		return;
	mp_feedback_write(option, &feedback);
	trace_add_option(&ack->options, option, sizeof(option));
}

static inline void sender_write_sample(const struct sender_state *before,
				       const struct sender_state *after)
{
	const struct mp_window *window = &after->estimate.window;
	uint32_t latest = (window->next ? window->next : window->count) + MP_WINDOW_MAX - 1;

	if (after->estimate.discarded != before->estimate.discarded)
		printf(" discarded");
	if (after->estimate.samples != before->estimate.samples)
		printf(" sample=%" PRIu32, window->rtt_ticks[latest % MP_WINDOW_MAX]);
}

/* What is another than before. */
static inline void sender_write(const struct sender_state *before, const struct sender_state *after)
{
	printf(" |");
	sender_write_sample(before, after);
	if (after->signalled.rtt_wired_us != before->signalled.rtt_wired_us)
		printf(" wired=%" PRIu32 "us", after->signalled.rtt_wired_us);
	if (after->signalled.feedback.bytes_per_s != before->signalled.feedback.bytes_per_s)
		printf(" limit=%" PRIu64, after->signalled.feedback.bytes_per_s);
	if (after->interval_ns != before->interval_ns)
		printf(" interval=%" PRIu64, after->interval_ns);
	if (after->rate_bytes_per_s != before->rate_bytes_per_s)
		printf(" rate=%" PRIu64, after->rate_bytes_per_s);
	putchar('\n');
}

static inline void sender_event(struct trace_reader *reader, struct sender_settings *settings)
{
	const char *kind = trace_next(reader, "what happens");
	static struct sender_state before, after;
	struct sender_ack ack;
	uint32_t seq;

	if (strcmp(kind, "set") == 0) {
		sender_read_settings(reader, settings);
		puts(reader->text);
		sender_begin(settings);
	} else if (strcmp(kind, "send") == 0) {
		seq = (uint32_t)trace_number(reader, trace_next(reader, "a sequence number"));
		puts(reader->text);
		sender_sends(reader->now_ns, seq,
			     (uint32_t)trace_number(reader, trace_next(reader, "bytes")));
	} else if (strcmp(kind, "hear") == 0) {
		memset(&ack, 0, sizeof(ack));
		ack.now_ns = reader->now_ns;
		sender_read_ack(reader, &ack);
		sender_look(&before);
		sender_hears(&ack);
		sender_look(&after);
		fputs(reader->text, stdout);
		sender_write(&before, &after);
	} else {
		trace_refuse(reader, "no event of a sender", kind);
	}
}

static inline void sender_trace(const char *name)
{
	struct trace_reader reader = trace_open(name);
	struct sender_settings settings = { mp_law_even(), 4, 11000, 1000 };

	while (trace_read_words(&reader))
		sender_event(&reader, &settings);
	if (reader.file != stdin)
		fclose(reader.file);
}

#endif
