/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Replays traces in the real BPF programs, each packet by BPF_PROG_TEST_RUN, at the trace's own time: the
 * programs were loaded with mp_limits.test_clock, so the heartbeat is the clock. What comes out is read from
 * the packet and from the maps.
 *
 * usage: replay-bpf PINS [-s] TRACE...    PINS: where bpftool has pinned programs, and maps in maps/
 */
#include <linux/bpf.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "run.h"

/* The kernel's header has it, too; intf.h has one for those that do without. */
#define bpf_spin_lock mp_spin_lock
#include "../../bpf/intf.h"
#undef bpf_spin_lock

#define FRAME_MAX 4096
#define ETHERNET_BYTES 14
#define PLACES 256u /* mp_limits.max_flows, as harness/replay.py sets it */

static const char *pins;
static int to_mesh, from_mesh;
static int flows_map, hosts_map, caps_map, aliases_map, floors_map, marks_map, unsent_map, heard_map,
	ended_map, places_map, unanswered_map, handshakes_map, syns_map;
static struct mp_settings *settings;
static volatile uint64_t *beat_ns;
static uint32_t *next_place;
static volatile unsigned long *consumer, *producer;
static const uint8_t *ring;
static size_t ring_bytes;
static uint32_t changes;
static bool aliases;

static void fail(const char *what)
{
	fprintf(stderr, "replay-bpf: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int bpf(int command, union bpf_attr *attr)
{
	return (int)syscall(__NR_bpf, command, attr, sizeof(*attr));
}

static int pinned(const char *name)
{
	union bpf_attr attr = { 0 };
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", pins, name);
	attr.pathname = (uintptr_t)path;
	fd = bpf(BPF_OBJ_GET, &attr);
	if (fd < 0)
		fail(path);
	return fd;
}

static void *mapped(int fd, size_t bytes, int protection, off_t at)
{
	void *where = mmap(NULL, bytes, protection, MAP_SHARED, fd, at);

	if (where == MAP_FAILED)
		fail("mmap of a map");
	return where;
}

static bool lookup(int map, const void *key, void *value)
{
	union bpf_attr attr = { .map_fd = (uint32_t)map };

	attr.key = (uintptr_t)key;
	attr.value = (uintptr_t)value;
	return bpf(BPF_MAP_LOOKUP_ELEM, &attr) == 0;
}

static void update(int map, const void *key, const void *value)
{
	union bpf_attr attr = { .map_fd = (uint32_t)map };

	attr.key = (uintptr_t)key;
	attr.value = (uintptr_t)value;
	if (bpf(BPF_MAP_UPDATE_ELEM, &attr))
		fail("a map's update");
}

static bool drop(int map, const void *key)
{
	union bpf_attr attr = { .map_fd = (uint32_t)map };

	attr.key = (uintptr_t)key;
	return bpf(BPF_MAP_DELETE_ELEM, &attr) == 0;
}

static void empty(int map)
{
	union bpf_attr attr = { .map_fd = (uint32_t)map };
	uint8_t key[64];

	attr.next_key = (uintptr_t)key;
	while (bpf(BPF_MAP_GET_NEXT_KEY, &attr) == 0)
		if (!drop(map, key))
			fail("a map's deletion");
}

static void open_maps(void)
{
	int events = pinned("maps/mp_events");
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	union bpf_attr attr = { 0 };
	struct bpf_map_info info = { 0 };

	flows_map = pinned("maps/mp_flows");
	hosts_map = pinned("maps/mp_hosts");
	caps_map = pinned("maps/mp_caps");
	aliases_map = pinned("maps/mp_aliases");
	floors_map = pinned("maps/mp_floors");
	marks_map = pinned("maps/mp_marks");
	unsent_map = pinned("maps/mp_unsent");
	heard_map = pinned("maps/mp_heard");
	ended_map = pinned("maps/mp_ended");
	places_map = pinned("maps/mp_places");
	unanswered_map = pinned("maps/mp_unanswered");
	handshakes_map = pinned("maps/mp_handshakes");
	syns_map = pinned("maps/mp_syns");
	settings = mapped(pinned("maps/_data_settings"), page, PROT_READ | PROT_WRITE, 0);
	beat_ns = mapped(pinned("maps/_data_beat"), page, PROT_READ | PROT_WRITE, 0);
	next_place = mapped(pinned("maps/replay_bss"), page, PROT_READ | PROT_WRITE, 0);
	attr.info.bpf_fd = (uint32_t)events;
	attr.info.info_len = sizeof(info);
	attr.info.info = (uintptr_t)&info;
	if (bpf(BPF_OBJ_GET_INFO_BY_FD, &attr))
		fail("mp_events");
	ring_bytes = info.max_entries;
	consumer = mapped(events, page, PROT_READ | PROT_WRITE, 0);
	producer = mapped(events, page + 2 * ring_bytes, PROT_READ, (off_t)page);
	ring = (const uint8_t *)producer + page;
}

/* Takes what the programs wrote for the daemon; whether a segment was to be sent again. */
static bool take_events(void)
{
	bool ordered = false;

	while (*consumer < *producer) {
		const uint8_t *record = ring + (*consumer & (ring_bytes - 1));
		uint32_t head = *(const volatile uint32_t *)record, bytes = head & ~(3u << 30);
		const struct mp_event *event = (const void *)(record + BPF_RINGBUF_HDR_SZ);

		if (!(head & BPF_RINGBUF_DISCARD_BIT) && event->kind == MP_EVENT_RETRANSMIT)
			ordered = true;
		*consumer += (bytes + BPF_RINGBUF_HDR_SZ + 7) & ~7u;
	}
	return ordered;
}

/* Addresses. */

static void mesh_address(const struct trace_flow *id, uint32_t host, uint8_t address[16])
{
	static const uint8_t v4[16] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1 };
	static const uint8_t v6[16] = { 0xfd, 0, 0, 1 };

	memcpy(address, id->v6 ? v6 : v4, 16);
	address[14] = (uint8_t)(host >> 8);
	address[15] = (uint8_t)host;
}

static void wired_address(const struct trace_flow *id, uint8_t address[16])
{
	static const uint8_t v4[16] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 198, 18 };
	static const uint8_t v6[16] = { 0x20, 1, 0xd, 0xb8 };

	memcpy(address, id->v6 ? v6 : v4, 16);
	address[14] = (uint8_t)(id->wired >> 8);
	address[15] = (uint8_t)id->wired;
}

static uint16_t swapped(uint32_t value)
{
	return __builtin_bswap16((uint16_t)value);
}

static struct mp_flow_key key_of(const struct trace_flow *id, bool upload)
{
	struct mp_flow_key key = { .direction = upload ? MP_UP : MP_DOWN,
				   .mesh_port = swapped(id->mesh_port),
				   .wired_port = swapped(id->wired_port) };

	mesh_address(id, id->host, key.mesh);
	wired_address(id, key.wired);
	return key;
}

static struct mp_host_key host_key_of(const struct trace_flow *id, uint32_t host, bool up)
{
	struct mp_host_key key = { .direction = up ? MP_UP : MP_DOWN };

	mesh_address(id, host, key.address);
	return key;
}

/* Packets. */

static uint8_t *put_u16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
	return at + 2;
}

/* The IP header; where what is above it begins. */
static uint8_t *write_ip(uint8_t *at, const struct trace_packet *p, bool down, uint32_t above)
{
	uint8_t protocol = p->udp ? 17 : 6, mesh[16], wired[16];

	mesh_address(&p->flow, p->flow.host, mesh);
	wired_address(&p->flow, wired);
	if (p->flow.v6) {
		at[0] = 0x60;
		at[1] = (uint8_t)(p->ecn << 4);
		put_u16(at + 4, above);
		at[6] = protocol;
		at[7] = p->ttl;
		memcpy(at + 8, down ? wired : mesh, 16);
		memcpy(at + 24, down ? mesh : wired, 16);
		return at + 40;
	}
	at[0] = 0x45;
	at[1] = p->ecn;
	put_u16(at + 2, 20 + above);
	at[8] = p->ttl;
	at[9] = protocol;
	memcpy(at + 12, (down ? wired : mesh) + 12, 4);
	memcpy(at + 16, (down ? mesh : wired) + 12, 4);
	return at + 20;
}

static uint32_t write_frame(uint8_t frame[FRAME_MAX], const struct trace_packet *p, bool down)
{
	uint32_t header = p->udp ? 8 : 20 + p->option_bytes;
	uint8_t *at;

	if (header + p->len + 60 > FRAME_MAX) {
		fprintf(stderr, "replay-bpf: no packet of %u bytes can be made\n", p->len);
		exit(2);
	}
	memset(frame, 0, FRAME_MAX);
	frame[5] = frame[11] = 2;
	put_u16(frame + 12, p->flow.v6 ? 0x86dd : 0x0800);
	at = write_ip(frame + ETHERNET_BYTES, p, down, header + p->len);
	put_u16(at, down ? p->flow.wired_port : p->flow.mesh_port);
	put_u16(at + 2, down ? p->flow.mesh_port : p->flow.wired_port);
	if (p->udp) {
		put_u16(at + 4, header + p->len);
	} else {
		trace_put_u32(at + 4, p->seq);
		trace_put_u32(at + 8, p->ack);
		at[12] = (uint8_t)(header / 4 << 4);
		at[13] = p->flags;
		put_u16(at + 14, p->window);
		memcpy(at + 20, p->options, p->option_bytes);
	}
	return (uint32_t)(at - frame) + header + p->len;
}

/* What the kernel says the packet is, before a program sees it. */
static struct __sk_buff context_of(const struct trace_event *event)
{
	const struct trace_packet *p = &event->packet;
	struct __sk_buff skb = { .ingress_ifindex = p->own_ns ? 0 : 2 };

	if (event->kind == TRACE_AGAIN)
		skb.mark = MP_MARK_LOCAL;
	if (p->own_ns)
		skb.tstamp = event->now_ns + p->own_ns;
	if (p->segments > 1) {
		skb.gso_segs = p->segments;
		skb.gso_size = p->len / p->segments;
	}
	return skb;
}

static bool is_marked(const uint8_t *frame, bool v6)
{
	return v6 ? (frame[ETHERNET_BYTES + 1] >> 4 & 3) == 3 : (frame[ETHERNET_BYTES + 1] & 3) == 3;
}

static void replay_packet(const struct trace_event *event, struct replay_outcome *outcome)
{
	static uint8_t frame[FRAME_MAX], left[FRAME_MAX];
	struct __sk_buff in = context_of(event), out = { 0 };
	bool down = event->kind != TRACE_UP;
	uint32_t bytes = write_frame(frame, &event->packet, down);
	union bpf_attr attr = { 0 };

	*beat_ns = event->now_ns;
	attr.test.prog_fd = (uint32_t)(down ? to_mesh : from_mesh);
	attr.test.data_in = (uintptr_t)frame;
	attr.test.data_size_in = bytes;
	attr.test.data_out = (uintptr_t)left;
	attr.test.data_size_out = sizeof(left);
	attr.test.ctx_in = (uintptr_t)&in;
	attr.test.ctx_size_in = sizeof(in);
	attr.test.ctx_out = (uintptr_t)&out;
	attr.test.ctx_size_out = sizeof(out);
	if (bpf(BPF_PROG_TEST_RUN, &attr))
		fail("BPF_PROG_TEST_RUN");
	outcome->copy = take_events();
	if (attr.test.retval == 2) { /* TC_ACT_SHOT */
		outcome->verdict = down || event->packet.len ? REPLAY_DROPPED : REPLAY_WITHHELD;
		return;
	}
	outcome->marked = is_marked(left, event->packet.flow.v6) && event->packet.ecn != 3;
	if (down && out.tstamp > event->now_ns && event->settings.stamp)
		outcome->wait_ns = out.tstamp - event->now_ns;
	if (attr.test.data_size_out > bytes)
		memcpy(outcome->told, left + bytes, MP_OPTION_BYTES);
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
	cap.cap_bps = event->number;
	cap.flow_bps = event->each;
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
		.stamp = s->stamp,
		.option = (uint8_t)s->option,
		.local_retransmission = s->copies,
		.aliases = aliases,
		.sharers = s->sharers,
		.unanswered_bps = s->unanswered_bps,
		.changes = changes,
	};
}

static void replay_configure(const struct trace_event *event)
{
	struct mp_flow_key key = key_of(&event->packet.flow, false);
	uint32_t number = (uint32_t)event->number;

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
	state->cap_bps[up] = cap.cap_bps;
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
