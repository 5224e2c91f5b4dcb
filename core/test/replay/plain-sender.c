/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Replays traces of a sender over core/ alone, in plain C. It does in order what linux/bpf/sender.bpf.c does at
 * an ACK, but measures the round trip by itself, as ns-3's sender does, where Linux's TCP has measured it.
 *
 * usage: core-replay-sender TRACE...
 */
#include "sender.h"

#define HEADER_BYTES 40u /* IPv4 and TCP, without options */

static struct sender_settings settings;
static struct mp_sent sent;
static struct mp_path path;
static struct sender_state at;

static void rate(void)
{
	at.interval_ns = mp_interval_ns(&at.estimate, &settings.law,
					mp_signalled_interval_ns(&at.signalled, settings.mss));
	at.rate_bytes_per_s = mp_rate_bytes_per_s(at.interval_ns, settings.mss);
}

static void sender_begin(const struct sender_settings *told)
{
	settings = *told;
	memset(&sent, 0, sizeof(sent));
	memset(&path, 0, sizeof(path));
	memset(&at, 0, sizeof(at));
	mp_path_set_rate(&path, settings.hops, settings.kbps);
	path.data_bytes = settings.mss + HEADER_BYTES;
	rate();
}

static void sender_sends(uint64_t now_ns, uint32_t seq, uint32_t bytes)
{
	mp_sent_record(&sent, seq, bytes, now_ns);
}

/* Whether an option of the list is one by which the gateway tells something; it is taken. */
static bool takes(const uint8_t *option, uint64_t now_ns)
{
	return mp_signalled_hear_feedback(&at.signalled, option, now_ns) ||
	       mp_signalled_hear_wired(&at.signalled, &at.estimate, option, now_ns);
}

/* The first option of the gateway's counts: an ACK carries one. */
static void hear(const struct trace_packet *options, uint64_t now_ns)
{
	uint32_t i = 0;

	while (i + 1 < options->option_bytes && options->options[i] != MP_TCPOPT_END) {
		const uint8_t *option = options->options + i;
		uint32_t bytes = option[0] == MP_TCPOPT_NOP ? 1 : option[1];

		if (bytes == 0 || (bytes == MP_OPTION_BYTES && takes(option, now_ns)))
			return;
		i += bytes;
	}
}

static void sender_hears(const struct sender_ack *ack)
{
	uint32_t ticks;

	path.ack_bytes = HEADER_BYTES + ack->options.option_bytes;
	hear(&ack->options, ack->now_ns);
	mp_signalled_expire(&at.signalled, &at.estimate, ack->now_ns);
	ticks = mp_signalled_sample_ticks(&at.signalled, mp_sent_ack(&sent, ack->ack, ack->now_ns),
					  ack->ack);
	if (ticks)
		mp_estimate_add(&at.estimate, &settings.law, &path, ticks, ack->now_ns, ack->ack);
	rate();
}

static void sender_look(struct sender_state *state)
{
	*state = at;
}

int main(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		sender_trace(argv[i]);
	return fflush(stdout) ? 1 : 0;
}
