/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Replays traces in the real BPF programs, each packet by BPF_PROG_TEST_RUN, at the trace's own time: the
 * programs were loaded with mp_limits.test_clock, so the heartbeat is the clock. What comes out is read from
 * the packet and from the maps.
 *
 * usage: replay-bpf PINS [-s] TRACE...    PINS: where bpftool has pinned programs, and maps in maps/
 *
 * With REPLAY_AT_TICKS one tick of the kernel's clock passes before each event. The maps' memory comes as flows do
 * (BPF_F_NO_PREALLOC): the kernel keeps a few elements ready and fetches more by an interrupt to itself. MIPS has
 * none, so the next tick does it, and a trace's seconds are over before that.
 */
#include "replay-frames.h"

#include <time.h>

#define PLACES 256u /* mp_limits.max_flows, as harness/replay.py sets it */

static int to_mesh, from_mesh;
static uint32_t changes;
static bool aliases;

static void wait_for_tick(void)
{
#ifdef REPLAY_AT_TICKS
	struct timespec before, now;

	/* This clock goes on at ticks only. */
	clock_gettime(CLOCK_MONOTONIC_COARSE, &before);
	do
		clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	while (now.tv_nsec == before.tv_nsec);
#endif
}

static void replay_packet(const struct trace_event *event, struct replay_outcome *outcome)
{
	static uint8_t frame[FRAME_MAX], left[FRAME_MAX];
	struct __sk_buff in = context_of(event);
	bool down = event->kind != TRACE_UP;
	uint32_t bytes = write_frame(frame, &event->packet, down);
	union bpf_attr attr = { 0 };

	wait_for_tick();
	*beat_ns = event->now_ns;
	attr.test.prog_fd = (uint32_t)(down ? to_mesh : from_mesh);
	attr.test.data_in = (uintptr_t)frame;
	attr.test.data_size_in = bytes;
	attr.test.data_out = (uintptr_t)left;
	attr.test.data_size_out = sizeof(left);
	attr.test.ctx_in = (uintptr_t)&in;
	attr.test.ctx_size_in = sizeof(in);
	if (bpf(BPF_PROG_TEST_RUN, &attr))
		fail("BPF_PROG_TEST_RUN");
	outcome->copy = take_events();
	if (attr.test.retval == 2) { /* TC_ACT_SHOT */
		outcome->verdict = down || event->packet.len ? REPLAY_DROPPED : REPLAY_WITHHELD;
		return;
	}
	if (!down && event->packet.sack_bytes && !has_sack(left, &event->packet))
		outcome->verdict = REPLAY_PLAIN;
	outcome->marked = is_marked(left, event->packet.flow.v6) && event->packet.ecn != 3;
	if (attr.test.data_size_out > bytes)
		memcpy(outcome->feedback, left + bytes, MP_OPTION_BYTES);
}

/* What the daemon does. */

static void set_cap(const struct trace_event *event)
{
	const struct trace_flow *id = &event->packet.flow;
	struct mp_host_key key = host_key_of(id, id->host, event->upwards);
	struct mp_cap cap = { 0 };

	if (event->number == 0) {
		drop(caps_map, &key);
		return;
	}
	lookup(caps_map, &key, &cap);
	cap.cap_bytes_per_s = event->number;
	cap.flow_bytes_per_s = event->each;
	update(caps_map, &key, &cap);
}

static void set_alias(const struct trace_event *event)
{
	const struct trace_flow *id = &event->packet.flow;
	struct mp_address address, standing;

	mesh_address(id, id->host, address.bytes);
	mesh_address(id, event->of, standing.bytes);
	update(aliases_map, &address, &standing);
	aliases = true;
}

static void set_host(const struct trace_event *event)
{
	const struct trace_flow *id = &event->packet.flow;
	struct mp_host host = { .hops = event->hops, .kbps = event->kbps, .outside = event->outside };
	struct mp_address address;

	mesh_address(id, id->host, address.bytes);
	update(hosts_map, &address, &host);
	changes++;
}

static void set_floor(const struct trace_event *event)
{
	struct mp_flow_key key = key_of(&event->packet.flow, false);

	if (event->number)
		update(floors_map, &key, &event->number);
	else
		drop(floors_map, &key);
	changes++;
}

static void set_settings(const struct trace_settings *s)
{
	*settings = (struct mp_settings){
		.law = s->law,
		.default_hops = s->hops,
		.default_kbps = s->kbps,
		.pace = s->pace,
		.option = (uint8_t)s->option,
		.local_retransmission = s->copies,
		.aliases = aliases,
		.shared = s->shared,
		.unanswered_bytes_per_s = s->unanswered_bytes_per_s,
		.changes = changes,
	};
}

static void replay_configure(const struct trace_event *event)
{
	struct mp_flow_key key = key_of(&event->packet.flow, false);
	uint32_t number = (uint32_t)event->number;

	wait_for_tick();
	switch (event->kind) {
	case TRACE_HOST:
		set_host(event);
		break;
	case TRACE_CAP:
		set_cap(event);
		break;
	case TRACE_FLOOR:
		set_floor(event);
		break;
	case TRACE_ALIAS:
		set_alias(event);
		break;
	case TRACE_UNSENT:
		update(unsent_map, &key, &number);
		break;
	case TRACE_FORGET:
		key.direction = event->upwards ? MP_UP : MP_DOWN;
		drop(flows_map, &key);
		drop(floors_map, &key);
		break;
	case TRACE_MARK:
		update(marks_map, &key, &number);
		break;
	default:
		break;
	}
	set_settings(&event->settings);
}

static void replay_begin(void)
{
	static const struct mp_flow_key nobody;
	const int hashes[] = { flows_map,  hosts_map, caps_map,	 aliases_map,	 floors_map, marks_map,
			       unsent_map, heard_map, ended_map, handshakes_map, syns_map };
	uint64_t none[2] = { 0, 0 };
	struct trace_reader defaults = { 0 };
	uint32_t i;

	for (i = 0; i < sizeof(hashes) / sizeof(*hashes); i++)
		empty(hashes[i]);
	for (i = 0; i < PLACES; i++)
		update(places_map, &i, &nobody);
	for (i = 0; i < 2; i++)
		update(unanswered_map, &i, none);
	*next_place = 0;
	changes = 1;
	aliases = false;
	trace_defaults(&defaults.settings);
	set_settings(&defaults.settings);
	take_events();
}

static void replay_look(const struct trace_flow *id, bool upload, struct replay_flow *state)
{
	struct mp_flow_key key = key_of(id, upload);
	static struct mp_flow flow;

	memset(state, 0, sizeof(*state));
	state->known = lookup(flows_map, &key, &flow);
	if (state->known)
		state->at = flow.at;
}

static void look_at_cap(const struct trace_flow *id, bool up, struct replay_host *state)
{
	struct mp_host_key key = host_key_of(id, id->host, up);
	struct mp_address standing;
	struct mp_cap cap = { 0 };

	lookup(ended_map, &key, &state->ended[up]);
	if (lookup(aliases_map, key.address, &standing))
		memcpy(key.address, standing.bytes, sizeof(standing));
	lookup(caps_map, &key, &cap);
	state->cap_bytes_per_s[up] = cap.cap_bytes_per_s;
	state->cap_last_ns[up] = cap.pace.pacer.last_ns;
	if (up)
		state->police_ns = cap.police.empty_ns;
}

static void replay_look_at_host(const struct trace_flow *id, struct replay_host *state)
{
	struct mp_heard heard = { 0 };
	struct mp_address address;

	memset(state, 0, sizeof(*state));
	mesh_address(id, id->host, address.bytes);
	lookup(heard_map, &address, &heard);
	state->heard_ns = heard.heard_ns;
	state->unanswered_ns = heard.unanswered.empty_ns;
	state->other_bytes[0] = heard.other_bytes[MP_DOWN];
	state->other_bytes[1] = heard.other_bytes[MP_UP];
	look_at_cap(id, false, state);
	look_at_cap(id, true, state);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: replay-bpf PINS [-s] TRACE...\n");
		return 2;
	}
	pins = argv[1];
	to_mesh = pinned("mp_to_mesh");
	from_mesh = pinned("mp_from_mesh");
	open_maps();
	return replay_arguments(argc, argv, 2);
}
