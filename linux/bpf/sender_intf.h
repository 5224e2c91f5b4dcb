/* SPDX-License-Identifier: GPL-2.0-only */
/* What the sender's BPF programs and `meshpace sender` share. */
#ifndef MESHPACE_SENDER_INTF_H
#define MESHPACE_SENDER_INTF_H

#include <meshpace/meshpace.h>

/* RTT_wired heard longer ago than this is of another path: the whole RTT is used. */
#define MP_TOLD_STALE_NS (3 * MP_NS_PER_S)

/* While RTT_wired is not heard the sender asks after 1, 2, 4 .. 64 s: a firewall may drop what asks. */
#define MP_ASK_FIRST_NS MP_NS_PER_S
#define MP_ASK_DOUBLINGS 6u

/* What told a figure, for `sender status`. */
enum mp_told_by { MP_TOLD_BY_NOBODY, MP_TOLD_BY_CONFIGURATION, MP_TOLD_BY_DRIVER };

/* What `meshpace sender` sets, at any time. */
struct mp_sender_settings {
	struct mp_law law;
	uint32_t hops; /* wireless, to the gateway; 0 counts as 1 */
	uint32_t kbps; /* of the wireless links; 0: unknown */
	struct mp_link link;   /* of the first hop, for the law `map`; else all zero */
	struct mp_radio radio; /* what its H_cs comes from, for who looks */
	int64_t uneven_q16;    /* as mp_path has it, of links at different bit rates; else 0 */
	uint8_t ask;           /* for RTT_wired */
	uint8_t signal_told_by; /* enum mp_told_by */
};

/* What is known of one socket. */
struct mp_sender {
	struct mp_estimate estimate;
	struct mp_shared shared; /* what the gateway says of others */
	uint64_t interval_ns;  /* 0: unpaced */
	uint64_t told_ns;      /* when RTT_wired was heard last; 0: never */
	uint64_t asked_ns;     /* when it was asked for last */
	uint32_t rtt_wired_us; /* 0: not known, the whole RTT is used */
	uint32_t rtt_us;       /* latest sample */
	uint32_t rate_bps;     /* bytes/s as set in the socket */
	uint32_t told;         /* times that RTT_wired was heard */
	uint32_t asks;         /* without an answer, at most MP_ASK_DOUBLINGS */
	uint32_t failed;       /* rates that could not be set */
	uint32_t fresh;        /* RTT_wired is of the ACK that is being processed */
};

/* One socket as the iterator shows it. */
struct mp_sender_row {
	uint8_t local[16], remote[16]; /* network order, IPv4 as ::ffff:a.b.c.d */
	uint16_t local_port;           /* host order */
	uint16_t remote_port;          /* network order */
	uint32_t cwnd;
	uint32_t mss;
	uint32_t retransmits;
	uint64_t acked_bytes;
	struct mp_sender sender;
};

#endif
