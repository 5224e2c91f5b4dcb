/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an event brings about, as a replayer's gateway has it, and how it is written. Every replayer includes
 * this: so two of them differ in what they did, never in how they say it.
 */
#ifndef MESHPACE_REPLAY_OUTCOME_H
#define MESHPACE_REPLAY_OUTCOME_H

#include "trace.h"

/* Numbers of an endpoint that are written beside those of its parts. */
#define REPLAY_NUMBERS(X)                                                                          \
	X(interval_ns) X(last_ns) X(data_ns) X(heard_ns) X(packets) X(bytes) X(first_ns)           \
	X(paused_ns) X(floor_ns) X(retransmits) X(local_retransmits) X(pure_acks)              \
	X(segment_bytes) X(rtt_wired_us) X(ttl) X(asked) X(pushed) X(two_way)                      \
	X(storing) X(stored_from) X(ahead_ns) X(window_scale)

/* A flow as a gateway has it. */
struct replay_flow {
	bool known;
	struct mp_endpoint at;
};

/* Of a host. */
struct replay_host {
	uint64_t heard_ns, other_bytes[2], unanswered_ns;
	uint64_t cap_bytes_per_s[2], cap_last_ns[2], police_ns; /* down and up */
	uint64_t ended[2];
};

enum replay_verdict { REPLAY_PASSES, REPLAY_DROPPED, REPLAY_WITHHELD, REPLAY_PLAIN };

struct replay_outcome {
	enum replay_verdict verdict;
	bool marked;
	bool copy;               /* the retransmit cache is ordered to send it again */
	uint64_t wait_ns;
	uint8_t feedback[MP_OPTION_BYTES]; /* written into the packet; all zero: nothing */
};

static inline void replay_write_feedback(const uint8_t feedback[MP_OPTION_BYTES])
{
	struct mp_feedback heard;
	uint32_t rtt_wired_us;

	if (mp_option_read(feedback, &rtt_wired_us))
		printf(" wired=%" PRIu32 "us", rtt_wired_us);
	else if (mp_feedback_read(feedback, &heard))
		printf(" rate=%" PRIu64, heard.bytes_per_s);
}

/* The latest sample, where there is one more than before. */
static inline void replay_write_sample(const struct replay_flow *before,
				       const struct replay_flow *after, bool upload)
{
	const struct mp_window *window = &after->at.estimate.window;
	uint32_t latest = (window->next ? window->next : window->count) + MP_WINDOW_MAX - 1;

	if (after->at.estimate.discarded != before->at.estimate.discarded)
		printf(" discarded");
	if (after->at.echo.base_ns != before->at.echo.base_ns)
		printf(" empty=%" PRIu64, after->at.echo.base_ns);
	if (after->at.echo.heard_ns != before->at.echo.heard_ns)
		printf(" mesh=%" PRIu64, after->at.echo.rtt_ns);
	if (after->at.estimate.samples == before->at.estimate.samples)
		return;
	if (upload)
		printf(" sample=%" PRIu32 "us", after->at.rtt_wired_us);
	else
		printf(" sample=%" PRIu32, window->rtt_ticks[latest % MP_WINDOW_MAX]);
}

static inline void replay_write_flow(const struct replay_flow *before,
				     const struct replay_flow *after, bool upload)
{
	if (before->known != after->known)
		printf(after->known ? " new%s" : " ended%s", upload ? "-up" : "");
	if (!after->known)
		return;
	replay_write_sample(before, after, upload);
	if (after->at.interval_ns != before->at.interval_ns)
		printf(" interval=%" PRIu64, after->at.interval_ns);
	if (after->at.retransmits != before->at.retransmits)
		printf(" again");
	if (after->at.progress.fin && !before->at.progress.fin)
		printf(" fin%s", upload ? "-up" : "");
}

static inline void replay_write(const struct replay_outcome *outcome)
{
	static const char *const verdicts[] = { "passes", "dropped", "withheld", "plain" };

	printf(" | %s", verdicts[outcome->verdict]);
	if (outcome->marked)
		printf(" marked");
	if (outcome->copy)
		printf(" copy");
	if (outcome->wait_ns)
		printf(" wait=%" PRIu64, outcome->wait_ns);
	replay_write_feedback(outcome->feedback);
}

static inline uint32_t replay_hash(const struct mp_sent *sent)
{
	uint32_t hash = 2166136261u, i; /* FNV-1a */

	for (i = 0; i < sent->count && i < MP_SENT_SLOTS; i++) {
		const struct mp_sent_slot *slot = &sent->slot[(sent->oldest + i) % MP_SENT_SLOTS];

		hash = (hash ^ slot->end) * 16777619u;
		hash = (hash ^ slot->t1_tick) * 16777619u;
	}
	return hash;
}

/* Everything of a flow, in a comment: where a sample or a departure will differ, this differs before. */
static inline void replay_write_state(const char *way, const struct replay_flow *flow)
{
	const struct mp_search *search = &flow->at.estimate.search;

	if (!flow->known)
		return;
	printf("# %s", way);
#define REPLAY_PRINT(name) printf(" " #name "=%" PRIu64, (uint64_t)flow->at.name);
	REPLAY_NUMBERS(REPLAY_PRINT)
	REPLAY_PRINT(progress.ack)
	REPLAY_PRINT(progress.acked_bytes)
	REPLAY_PRINT(progress.seen)
	REPLAY_PRINT(progress.fin)
	REPLAY_PRINT(pacer.last_ns)
	REPLAY_PRINT(pacer.started)
	REPLAY_PRINT(unanswered.since_ns)
	REPLAY_PRINT(unanswered.from_bytes)
	REPLAY_PRINT(unanswered.tried_ns)
	REPLAY_PRINT(unanswered.charged)
	REPLAY_PRINT(path.hops)
	REPLAY_PRINT(path.kbps)
	REPLAY_PRINT(path.data_bytes)
	REPLAY_PRINT(path.ack_bytes)
	REPLAY_PRINT(sent.last_ns)
	REPLAY_PRINT(sent.max_end)
	REPLAY_PRINT(sent.oldest)
	REPLAY_PRINT(sent.count)
	REPLAY_PRINT(sent.barred)
	REPLAY_PRINT(sent.barred_end)
	REPLAY_PRINT(dupack.ack)
	REPLAY_PRINT(dupack.window)
	REPLAY_PRINT(dupack.count)
	REPLAY_PRINT(dupack.tries)
	REPLAY_PRINT(dupack.tried_end)
	REPLAY_PRINT(dupack.retried_ns)
	REPLAY_PRINT(dupack.asked_end)
	REPLAY_PRINT(dupack.withheld_ns)
	REPLAY_PRINT(estimate.delay_ns.value)
	REPLAY_PRINT(estimate.cov_q16)
	REPLAY_PRINT(estimate.samples)
	REPLAY_PRINT(estimate.discarded)
	REPLAY_PRINT(estimate.window.sum)
	REPLAY_PRINT(wait.above_ns)
	REPLAY_PRINT(wait.next_ns)
	REPLAY_PRINT(wait.count)
	REPLAY_PRINT(notified.end)
	REPLAY_PRINT(notified.waits)
	REPLAY_PRINT(feedback.bytes_per_s)
	REPLAY_PRINT(feedback.acks)
	REPLAY_PRINT(echo.asked_ns)
	REPLAY_PRINT(echo.asked)
	REPLAY_PRINT(echo.latest)
	REPLAY_PRINT(echo.base_ns)
#undef REPLAY_PRINT
	printf(" base=%" PRIu64 " mean=%" PRIu64 " round=%" PRIu64 " sought=%" PRIu64
	       " found=%d slots=%08" PRIx32 "\n",
	       search->base_ns, search->mean_ns, search->round_ns, search->interval_ns,
	       search->found, replay_hash(&flow->at.sent));
}

static inline void replay_write_host(const struct replay_host *host)
{
	printf("# host heard=%" PRIu64 " other=%" PRIu64 ",%" PRIu64 " unanswered=%" PRIu64
	       " cap=%" PRIu64 ",%" PRIu64 " last=%" PRIu64 ",%" PRIu64 " police=%" PRIu64
	       " ended=%" PRIu64 ",%" PRIu64 "\n",
	       host->heard_ns, host->other_bytes[0], host->other_bytes[1], host->unanswered_ns,
	       host->cap_bytes_per_s[0], host->cap_bytes_per_s[1], host->cap_last_ns[0], host->cap_last_ns[1],
	       host->police_ns, host->ended[0], host->ended[1]);
}

#endif
