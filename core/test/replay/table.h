/* SPDX-License-Identifier: GPL-2.0-only */
/* The tables of the plain gateway: flows, hosts, what is known before a flow begins. Small, and searched through. */
#ifndef MESHPACE_REPLAY_TABLE_H
#define MESHPACE_REPLAY_TABLE_H

#include "run.h"

#define TABLE_FLOWS 512
#define TABLE_HOSTS 256
#define TABLE_SYNS 64

struct flow {
	struct trace_flow id;
	bool upload;
	struct replay_flow state;
	uint32_t known_changes;
	uint32_t hops, kbps, outside; /* what the daemon knows, as of known_changes */
	bool unsent;
	uint32_t unsent_seq;
	bool mark;
};

struct cap {
	bool set;
	uint64_t cap_bytes_per_s, flow_bytes_per_s;
	struct mp_host_pace pace;
	struct mp_police police;
};

struct host {
	uint32_t number;
	bool v6;
	uint32_t hops, kbps, outside;
	bool heard;
	uint64_t heard_ns, other_bytes[2], ended[2];
	struct mp_unanswered_queue unanswered;
	struct cap cap[2];
	bool has_alias;
	uint32_t alias_of;
};

/* Of a connection before its first data. */
struct handshake {
	struct trace_flow id;
	struct mp_handshake known;
};

struct syn {
	struct trace_flow id;
	bool upload;
	uint32_t seq;
};

static struct flow flows[TABLE_FLOWS];
static struct host hosts[TABLE_HOSTS];
static struct handshake handshakes[TABLE_FLOWS];
static struct syn syns[TABLE_SYNS];
static uint32_t flow_count, host_count, handshake_count, syn_count;
static uint32_t changes;                          /* of paths and floors, from 1 */
static uint64_t floors[TABLE_FLOWS];              /* by the place of a flow's identity */
static struct trace_flow floor_of[TABLE_FLOWS];
static uint32_t floor_count;
static struct mp_unanswered_queue of_strangers, of_hosts;

static inline bool same_flow(const struct trace_flow *a, const struct trace_flow *b)
{
	return a->host == b->host && a->wired == b->wired && a->v6 == b->v6 &&
	       a->mesh_port == b->mesh_port && a->wired_port == b->wired_port;
}

static inline void table_full(const char *what)
{
	fprintf(stderr, "too many %s for the plain gateway\n", what);
	exit(2);
}

static inline struct flow *find_place(const struct trace_flow *id, bool upload)
{
	uint32_t i;

	for (i = 0; i < flow_count; i++)
		if (flows[i].upload == upload && same_flow(&flows[i].id, id))
			return &flows[i];
	return NULL;
}

static inline struct flow *find_flow(const struct trace_flow *id, bool upload)
{
	struct flow *flow = find_place(id, upload);

	return flow && flow->state.known ? flow : NULL;
}

/* Also of a flow that has not begun. */
static inline struct flow *place_of(const struct trace_flow *id, bool upload)
{
	struct flow *flow = find_place(id, upload);

	if (flow)
		return flow;
	if (flow_count == TABLE_FLOWS)
		table_full("flows");
	flow = &flows[flow_count++];
	flow->id = *id;
	flow->upload = upload;
	return flow;
}

static inline struct flow *find_or_create_flow(const struct trace_flow *id, bool upload)
{
	struct flow *flow = place_of(id, upload), *other;

	if (flow->state.known)
		return flow;
	memset(&flow->state, 0, sizeof(flow->state));
	flow->known_changes = flow->hops = flow->kbps = flow->outside = 0;
	flow->state.known = true;
	other = find_flow(id, !upload);
	if (other)
		flow->state.at.two_way = other->state.at.two_way = 1;
	return flow;
}

static inline struct host *host_of(bool v6, uint32_t number)
{
	uint32_t i;

	for (i = 0; i < host_count; i++)
		if (hosts[i].number == number && hosts[i].v6 == v6)
			return &hosts[i];
	if (host_count == TABLE_HOSTS)
		table_full("hosts");
	hosts[host_count].number = number;
	hosts[host_count].v6 = v6;
	return &hosts[host_count++];
}

/* The host of which the address is one. */
static inline struct host *standing_host(const struct trace_flow *id)
{
	struct host *host = host_of(id->v6, id->host);

	return host->has_alias ? host_of(id->v6, host->alias_of) : host;
}

static inline void end_flow(const struct trace_flow *id, bool upload)
{
	struct flow *flow = find_flow(id, upload);

	if (!flow)
		return;
	flow->state.known = false;
	host_of(id->v6, id->host)->ended[upload] += flow->state.at.progress.acked_bytes;
}

static inline struct handshake *find_handshake(const struct trace_flow *id)
{
	uint32_t i;

	for (i = 0; i < handshake_count; i++)
		if (same_flow(&handshakes[i].id, id))
			return &handshakes[i];
	return NULL;
}

static inline struct handshake *handshake_of(const struct trace_flow *id)
{
	struct handshake *handshake = find_handshake(id);

	if (handshake)
		return handshake;
	if (handshake_count == TABLE_FLOWS)
		table_full("handshakes");
	handshakes[handshake_count] = (struct handshake){ .id = *id };
	return &handshakes[handshake_count++];
}

static inline uint64_t *floor_for(const struct trace_flow *id)
{
	uint32_t i;

	for (i = 0; i < floor_count; i++)
		if (same_flow(&floor_of[i], id))
			return &floors[i];
	if (floor_count == TABLE_FLOWS)
		table_full("floors");
	floor_of[floor_count] = *id;
	floors[floor_count] = 0;
	return &floors[floor_count++];
}

static inline void forget_all(void)
{
	memset(flows, 0, sizeof(flows));
	memset(hosts, 0, sizeof(hosts));
	flow_count = host_count = handshake_count = syn_count = floor_count = 0;
	changes = 1;
	of_strangers.empty_ns = of_hosts.empty_ns = 0;
}

#endif
