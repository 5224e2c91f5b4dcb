/* SPDX-License-Identifier: GPL-2.0-only */
/* What the sender's BPF programs and `meshpace sender` share. */
#ifndef MESHPACE_SENDER_INTF_H
#define MESHPACE_SENDER_INTF_H

#include <meshpace/meshpace.h>

/* While RTT_wired is not heard the sender asks after 1, 2, 4 .. 64 s: a firewall may drop what asks. */
#define MP_ASK_FIRST_NS MP_NS_PER_S
#define MP_ASK_DOUBLINGS 6u

/* What told a figure, for `sender status`. */
enum mp_signal_source { MP_SIGNAL_SOURCE_NOBODY, MP_SIGNAL_SOURCE_CONFIGURATION, MP_SIGNAL_SOURCE_DRIVER };

/* Where a socket's packets go. */
enum mp_way { MP_WAY_UNKNOWN, MP_WAY_MESH, MP_WAY_OTHER };

/* What `meshpace sender` sets, at any time. */
struct mp_sender_settings {
	struct mp_law law;
	uint32_t hops;         /* wireless, to the gateway; 0 counts as 1 */
	uint32_t kbps;         /* of the wireless links; 0: unknown */
	struct mp_link link;   /* of the first hop, for the law `map`; else all zero */
	struct mp_radio radio; /* what its H_cs comes from, for who looks */
	int64_t uneven_q16;    /* as mp_path has it, of links at different bit rates; else 0 */
	uint32_t mesh_ifindex; /* only what leaves by this interface is paced; 0: nothing */
	uint32_t mesh_netns;   /* the inode of its network namespace, in which alone it has this number; 0: unknown */
	uint8_t by_gateway;    /* and only what goes to a next hop; 0: the mesh has none */
	uint8_t ask;           /* for RTT_wired */
	uint8_t signal_source; /* enum mp_signal_source */
};

/* What is known of one socket: its storage, which sock_diag hands to `sender status`. */
struct mp_sender {
	struct mp_estimate estimate;
	struct mp_signalled signalled; /* what the gateway has said of the path and of others */
	uint64_t interval_ns;          /* 0: unpaced */
	uint64_t asked_ns;             /* when RTT_wired was asked for last */
	uint64_t own_rate;             /* SO_MAX_PACING_RATE as the application has it, bytes/s; all ones: none */
	uint64_t set_rate;             /* as these programs have set it; 0: they have not */
	uint32_t rtt_us;               /* latest sample */
	uint32_t signals;              /* times that RTT_wired was heard */
	uint32_t asks;                 /* without an answer, at most MP_ASK_DOUBLINGS */
	uint32_t failed;               /* rates that could not be set */
	uint32_t listens_for;          /* the callbacks of sock_ops that these programs have asked for */
	uint8_t way;                   /* enum mp_way */
	uint8_t asking;                /* the next packet carries the question */
};

#endif
