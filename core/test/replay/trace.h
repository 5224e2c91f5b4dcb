/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads a trace: one event a line, as ../traces/README.md describes it. What a line's event is to bring about
 * stands behind a bar, and is not read here: a replayer writes each line again with what came out.
 */
#ifndef MESHPACE_REPLAY_TRACE_H
#define MESHPACE_REPLAY_TRACE_H

#include <meshpace/meshpace.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRACE_LINE_MAX 512
#define TRACE_WORDS_MAX 24
#define TRACE_FIN 0x01u
#define TRACE_SYN 0x02u
#define TRACE_RST 0x04u
#define TRACE_ACK 0x10u

enum trace_kind {
	TRACE_SET,    /* what the daemon sets for all */
	TRACE_HOST,   /* what it knows of a host's path */
	TRACE_CAP,    /* what a host may get, in one direction */
	TRACE_FLOOR,  /* goodput control's least interval of a download */
	TRACE_ALIAS,  /* another address of a host */
	TRACE_UNSENT, /* a segment that was to be sent again and was not */
	TRACE_MARK,   /* the next packet of a download is to be marked */
	TRACE_FORGET, /* a flow has been idle for long, or has ended */
	TRACE_DOWN,   /* a packet to the mesh */
	TRACE_UP,     /* a packet from the mesh */
	TRACE_AGAIN,  /* a segment from the retransmit cache leaves to the mesh */
};

/* Numbers stand for addresses: no trace tells whose it is. */
struct trace_flow {
	uint32_t host, wired;
	uint16_t mesh_port, wired_port;
	bool v6;
};

struct trace_settings {
	struct mp_law law;
	uint32_t hops, kbps;
	uint64_t unanswered_bytes_per_s;
	bool pace, stamp, copies, shared;
	uint32_t option; /* 0: never, 1: to who asked, 2: always */
};

struct trace_packet {
	struct trace_flow flow;
	uint64_t own_ns; /* so much later a socket of the gateway's own wants it to leave */
	uint32_t seq, ack, len, window, segments;
	uint8_t flags, ttl, ecn;
	bool udp;
	uint8_t options[MP_TCP_OPTIONS_MAX];
	uint32_t option_bytes;
	/* What the options say. */
	bool asks, has_signature, mptcp, dsack;
	uint32_t sack_at, sack_bytes; /* in options */
	uint32_t window_scale; /* one more than the shift; 0: none */
};

struct trace_event {
	uint64_t now_ns;
	enum trace_kind kind;
	struct trace_settings settings; /* as of now */
	struct trace_packet packet;     /* its flow also of floor, unsent, mark; its host of host, cap, alias */
	bool upwards;                   /* cap, forget */
	uint32_t hops, kbps, outside, of;
	uint64_t number, each;
};

struct trace_reader {
	FILE *file;
	const char *name;
	unsigned line;
	uint64_t now_ns;
	char text[TRACE_LINE_MAX]; /* without what is expected */
	struct trace_settings settings;
	char *word[TRACE_WORDS_MAX];
	unsigned words, used;
};

static inline void trace_refuse(const struct trace_reader *reader, const char *what,
				const char *word)
{
	fprintf(stderr, "%s:%u: %s: %s (core/test/traces/README.md says what is)\n", reader->name,
		reader->line, what, word);
	exit(2);
}

static inline uint64_t trace_number(const struct trace_reader *reader, const char *text)
{
	char *end;
	uint64_t number = strtoull(text, &end, 0);

	if (*text < '0' || *text > '9' || *end)
		trace_refuse(reader, "no number", text);
	return number;
}

static inline const char *trace_next(struct trace_reader *reader, const char *what)
{
	if (reader->used >= reader->words)
		trace_refuse(reader, "the line ends before", what);
	return reader->word[reader->used++];
}

#include "options.h"

/* 1:5001-2:80, with 6. before it for IPv6: host and port in the mesh, host and port beyond. */
static inline void trace_read_flow(struct trace_reader *reader, struct trace_flow *flow)
{
	const char *text = trace_next(reader, "a flow");
	unsigned host, wired, mesh_port, wired_port;
	int used = 0;

	flow->v6 = strncmp(text, "6.", 2) == 0;
	if (sscanf(text + 2 * flow->v6, "%u:%u-%u:%u%n", &host, &mesh_port, &wired, &wired_port,
		   &used) != 4 || text[2 * flow->v6 + used] || host > 65534 || wired > 65534 ||
	    mesh_port > 65535 || wired_port > 65535)
		trace_refuse(reader, "no flow", text);
	flow->host = host;
	flow->wired = wired;
	flow->mesh_port = (uint16_t)mesh_port;
	flow->wired_port = (uint16_t)wired_port;
}

static inline void trace_read_host(struct trace_reader *reader, struct trace_flow *flow)
{
	const char *text = trace_next(reader, "a host");

	flow->v6 = strncmp(text, "6.", 2) == 0;
	flow->host = (uint32_t)trace_number(reader, text + 2 * flow->v6);
}

static inline void trace_read_flags(struct trace_reader *reader, struct trace_packet *p)
{
	const char *text = trace_next(reader, "flags"), *at;
	static const char letters[] = "FSRPA";

	p->udp = strcmp(text, "udp") == 0;
	if (p->udp || strcmp(text, "-") == 0)
		return;
	for (at = text; *at; at++) {
		const char *letter = strchr(letters, *at);

		if (!letter)
			trace_refuse(reader, "no flags of TCP", text);
		p->flags |= (uint8_t)(1u << (letter - letters));
	}
}

/* Splits key=value in two; the value. */
static inline char *trace_split(const struct trace_reader *reader, char *word)
{
	char *value = strchr(word, '=');

	if (!value)
		trace_refuse(reader, "no key=value", word);
	*value = 0;
	return value + 1;
}

static inline void trace_read_packet(struct trace_reader *reader, struct trace_event *event)
{
	struct trace_packet *p = &event->packet;
	char *options = NULL;

	p->ttl = 64;
	p->window = 1000;
	p->segments = 1;
	trace_read_flow(reader, &p->flow);
	if (event->kind != TRACE_AGAIN)
		trace_read_flags(reader, p);
	while (reader->used < reader->words) {
		char *key = reader->word[reader->used++], *value = trace_split(reader, key);

		if (strcmp(key, "opt") == 0)
			options = value;
		else if (strcmp(key, "seq") == 0)
			p->seq = (uint32_t)trace_number(reader, value);
		else if (strcmp(key, "ack") == 0)
			p->ack = (uint32_t)trace_number(reader, value);
		else if (strcmp(key, "len") == 0)
			p->len = (uint32_t)trace_number(reader, value);
		else if (strcmp(key, "win") == 0)
			p->window = (uint16_t)trace_number(reader, value);
		else if (strcmp(key, "ttl") == 0)
			p->ttl = (uint8_t)trace_number(reader, value);
		else if (strcmp(key, "ecn") == 0)
			p->ecn = trace_number(reader, value) & 3;
		else if (strcmp(key, "segs") == 0)
			p->segments = (uint32_t)trace_number(reader, value);
		else if (strcmp(key, "own") == 0)
			p->own_ns = trace_number(reader, value);
		else
			trace_refuse(reader, "no field of a packet", key);
	}
	if (options) /* a SACK is read after the ACK */
		trace_read_options(reader, p, options);
}

static inline struct mp_law trace_law(const struct trace_reader *reader, const char *name)
{
	static const char *const names[] = { "even", "gap", "ap", "map" };
	struct mp_law (*const laws[])(void) = { mp_law_even, mp_law_gap, mp_law_ap, mp_law_map };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(name, names[i]) == 0)
			return laws[i]();
	trace_refuse(reader, "no law", name);
	return mp_law_even();
}

static inline void trace_read_settings(struct trace_reader *reader)
{
	struct trace_settings *s = &reader->settings;

	while (reader->used < reader->words) {
		char *key = reader->word[reader->used++], *value = trace_split(reader, key);

		if (strcmp(key, "law") == 0)
			s->law = trace_law(reader, value);
		else if (strcmp(key, "bound") == 0)
			s->law.delay_bound_ns = trace_number(reader, value);
		else if (strcmp(key, "means") == 0)
			s->law.delay_bound_means = (uint32_t)trace_number(reader, value);
		else if (strcmp(key, "hops") == 0)
			s->hops = (uint32_t)trace_number(reader, value);
		else if (strcmp(key, "kbps") == 0)
			s->kbps = (uint32_t)trace_number(reader, value);
		else if (strcmp(key, "shared") == 0)
			s->shared = trace_number(reader, value);
		else if (strcmp(key, "unanswered") == 0)
			s->unanswered_bytes_per_s = trace_number(reader, value);
		else if (strcmp(key, "pace") == 0)
			s->pace = trace_number(reader, value);
		else if (strcmp(key, "stamp") == 0)
			s->stamp = trace_number(reader, value);
		else if (strcmp(key, "copies") == 0)
			s->copies = trace_number(reader, value);
		else if (strcmp(key, "option") == 0)
			s->option = (uint32_t)trace_number(reader, value) % 3;
		else
			trace_refuse(reader, "no setting", key);
	}
}

static inline void trace_read_path(struct trace_reader *reader, struct trace_event *event)
{
	trace_read_host(reader, &event->packet.flow);
	while (reader->used < reader->words) {
		char *key = reader->word[reader->used++], *value = trace_split(reader, key);

		if (strcmp(key, "hops") == 0)
			event->hops = (uint32_t)trace_number(reader, value);
		else if (strcmp(key, "kbps") == 0)
			event->kbps = (uint32_t)trace_number(reader, value);
		else if (strcmp(key, "outside") == 0)
			event->outside = (uint32_t)trace_number(reader, value);
		else
			trace_refuse(reader, "nothing of a path", key);
	}
}

static inline void trace_read_event(struct trace_reader *reader, struct trace_event *event)
{
	static const char *const kinds[] = { "set",  "host", "cap",  "floor", "alias", "unsent",
					     "mark", "forget", "down", "up",  "again" };
	const char *kind = trace_next(reader, "what happens");
	unsigned i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds) && strcmp(kind, kinds[i]); i++)
		;
	if (i == sizeof(kinds) / sizeof(*kinds))
		trace_refuse(reader, "no event", kind);
	event->kind = (enum trace_kind)i;
	switch (event->kind) {
	case TRACE_SET:
		trace_read_settings(reader);
		break;
	case TRACE_HOST:
		trace_read_path(reader, event);
		break;
	case TRACE_CAP:
		trace_read_host(reader, &event->packet.flow);
		event->upwards = strcmp(trace_next(reader, "up or down"), "up") == 0;
		event->number = trace_number(reader, trace_next(reader, "bytes/s"));
		event->each = trace_number(reader, trace_next(reader, "bytes/s of each flow"));
		break;
	case TRACE_ALIAS:
		trace_read_host(reader, &event->packet.flow);
		event->of = (uint32_t)trace_number(reader, trace_next(reader, "a host"));
		break;
	case TRACE_FLOOR:
	case TRACE_UNSENT:
		trace_read_flow(reader, &event->packet.flow);
		event->number = trace_number(reader, trace_next(reader, "a number"));
		break;
	case TRACE_MARK:
		trace_read_flow(reader, &event->packet.flow);
		break;
	case TRACE_FORGET:
		trace_read_flow(reader, &event->packet.flow);
		event->upwards = strcmp(trace_next(reader, "up or down"), "up") == 0;
		break;
	default:
		trace_read_packet(reader, event);
	}
	event->settings = reader->settings;
}

/* The next line's words, of which the first is its time; false at the end. Lines that are empty or begin with # are none. */
static inline bool trace_read_words(struct trace_reader *reader)
{
	static char words[TRACE_LINE_MAX];
	uint64_t now_ns;
	char *rest, *word, *bar;

	while (fgets(reader->text, sizeof(reader->text), reader->file)) {
		reader->line++;
		if (!strchr(reader->text, '\n'))
			trace_refuse(reader, "too long a line", reader->text);
		bar = strpbrk(reader->text, "|\n");
		while (bar > reader->text && bar[-1] == ' ')
			bar--;
		*bar = 0;
		if (reader->text[0] == 0 || reader->text[0] == '#') {
			puts(reader->text);
			continue;
		}
		strcpy(words, reader->text);
		reader->words = reader->used = 0;
		for (word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
			if (reader->words == TRACE_WORDS_MAX)
				trace_refuse(reader, "too many words", word);
			reader->word[reader->words++] = word;
		}
		now_ns = trace_number(reader, trace_next(reader, "a time"));
		if (now_ns < reader->now_ns)
			trace_refuse(reader, "time falls", reader->word[0]);
		reader->now_ns = now_ns;
		return true;
	}
	return false;
}

/* The next event; false at the end. */
static inline bool trace_read(struct trace_reader *reader, struct trace_event *event)
{
	if (!trace_read_words(reader))
		return false;
	memset(event, 0, sizeof(*event));
	event->now_ns = reader->now_ns;
	trace_read_event(reader, event);
	return true;
}

static inline void trace_defaults(struct trace_settings *settings)
{
	*settings = (struct trace_settings){ .law = mp_law_even(), .hops = 4, .kbps = 11000,
					     .pace = true, .stamp = true, .option = 1 };
}

static inline struct trace_reader trace_open(const char *name)
{
	struct trace_reader reader = { .name = name };

	reader.file = strcmp(name, "-") ? fopen(name, "r") : stdin;
	if (!reader.file) {
		fprintf(stderr, "%s: cannot be opened\n", name);
		exit(2);
	}
	trace_defaults(&reader.settings);
	return reader;
}

#endif
