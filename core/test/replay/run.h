/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Replays traces: each event goes to the gateway that the including file has, and its line is written again with
 * what came out. The file defines the functions that are declared here.
 */
#ifndef MESHPACE_REPLAY_RUN_H
#define MESHPACE_REPLAY_RUN_H

#include "outcome.h"

/* Everything is forgotten. */
static void replay_begin(void);
/* What the daemon does: set, host, cap, floor, alias, unsent, mark. */
static void replay_configure(const struct trace_event *event);
/* down, up, again. */
static void replay_packet(const struct trace_event *event, struct replay_outcome *outcome);
static void replay_look(const struct trace_flow *id, bool upload, struct replay_flow *flow);
static void replay_look_at_host(const struct trace_flow *id, struct replay_host *host);

static inline void replay_line(const struct trace_reader *reader, const struct trace_event *event,
			       bool states)
{
	const struct trace_flow *id = &event->packet.flow;
	struct replay_outcome outcome = { .verdict = REPLAY_PASSES };
	static struct replay_flow before[2], after[2];
	struct replay_host host;
	int upload;

	for (upload = 0; upload < 2; upload++)
		replay_look(id, upload, &before[upload]);
	replay_packet(event, &outcome);
	fputs(reader->text, stdout);
	replay_write(&outcome);
	for (upload = 0; upload < 2; upload++) {
		replay_look(id, upload, &after[upload]);
		replay_write_flow(&before[upload], &after[upload], upload);
	}
	putchar('\n');
	if (!states)
		return;
	replay_write_state("down", &after[0]);
	replay_write_state("up", &after[1]);
	replay_look_at_host(id, &host);
	replay_write_host(&host);
}

static inline void replay_trace(const char *name, bool states)
{
	struct trace_reader reader = trace_open(name);
	struct trace_event event;

	replay_begin();
	while (trace_read(&reader, &event)) {
		if (event.kind >= TRACE_DOWN) {
			replay_line(&reader, &event, states);
			continue;
		}
		replay_configure(&event);
		puts(reader.text);
	}
	if (reader.file != stdin)
		fclose(reader.file);
}

/* Arguments from the first one on: -s for all states, then traces; - is the standard input, answered line by line. */
static inline int replay_arguments(int argc, char **argv, int first)
{
	bool states = argc > first && strcmp(argv[first], "-s") == 0;
	int i;

	setvbuf(stdout, NULL, strcmp(argv[argc - 1], "-") == 0 ? _IOLBF : _IOFBF, 1 << 16);

	for (i = first + states; i < argc; i++)
		replay_trace(argv[i], states);
	return fflush(stdout) ? 1 : 0;
}

#endif
