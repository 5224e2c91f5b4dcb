/* SPDX-License-Identifier: GPL-2.0-only */
/* The pinned maps of the BPF programs that replay traces: found, read, written and emptied. Included by replay.c. */
#ifndef MESHPACE_REPLAY_MAPS_H
#define MESHPACE_REPLAY_MAPS_H

#include <linux/bpf.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's header has it, too; intf.h has one for those that do without. */
#define bpf_spin_lock mp_spin_lock
#include "../../bpf/intf.h"
#undef bpf_spin_lock

static const char *pins;
static int flows_map, hosts_map, caps_map, aliases_map, floors_map, marks_map, unsent_map, heard_map,
	ended_map, places_map, unanswered_map, handshakes_map, syns_map;
static struct mp_settings *settings;
static volatile uint64_t *beat_ns;
static uint32_t *next_place;
static volatile unsigned long *consumer, *producer;
static const uint8_t *ring;
static size_t ring_bytes;

static inline void fail(const char *what)
{
	fprintf(stderr, "replay-bpf: %s: %s\n", what, strerror(errno));
	exit(1);
}

static inline int bpf(int command, union bpf_attr *attr)
{
	return (int)syscall(__NR_bpf, command, attr, sizeof(*attr));
}

static inline int pinned(const char *name)
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

static inline void *mapped(int fd, size_t bytes, int protection, off_t at)
{
	void *where = mmap(NULL, bytes, protection, MAP_SHARED, fd, at);

	if (where == MAP_FAILED)
		fail("mmap of a map");
	return where;
}

static inline bool lookup(int map, const void *key, void *value)
{
	union bpf_attr attr = { .map_fd = (uint32_t)map };

	attr.key = (uintptr_t)key;
	attr.value = (uintptr_t)value;
	return bpf(BPF_MAP_LOOKUP_ELEM, &attr) == 0;
}

static inline void update(int map, const void *key, const void *value)
{
	union bpf_attr attr = { .map_fd = (uint32_t)map };

	attr.key = (uintptr_t)key;
	attr.value = (uintptr_t)value;
	if (bpf(BPF_MAP_UPDATE_ELEM, &attr))
		fail("a map's update");
}

static inline bool drop(int map, const void *key)
{
	union bpf_attr attr = { .map_fd = (uint32_t)map };

	attr.key = (uintptr_t)key;
	return bpf(BPF_MAP_DELETE_ELEM, &attr) == 0;
}

static inline void empty(int map)
{
	union bpf_attr attr = { .map_fd = (uint32_t)map };
	uint8_t key[64];

	attr.next_key = (uintptr_t)key;
	while (bpf(BPF_MAP_GET_NEXT_KEY, &attr) == 0)
		if (!drop(map, key))
			fail("a map's deletion");
}

static inline void open_maps(void)
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
static inline bool take_events(void)
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

#endif
