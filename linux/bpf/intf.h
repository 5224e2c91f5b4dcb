/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the BPF programs and the daemon share: a flow's state, keys, settings, events, counters.
 * Compiled for BPF, and through bindgen into Rust; so plain types of fixed size only.
 */
#ifndef MESHPACE_INTF_H
#define MESHPACE_INTF_H

#include <meshpace/meshpace.h>

/*
 * The heartbeat: when the daemon's threads had all made progress last. The daemon renews it each
 * MP_BEAT_EVERY_NS; older than MP_BEAT_STALE_NS, nothing is held and all packets pass. A TCP sender whose
 * packets are stuck in a daemon that hangs sends again after 200 ms and a round trip, then after twice and four
 * times that (RFC 6298, Linux's least): the second of these, at 0.6 s and later, has to find the way open.
 * Nine beats may be missed until then; a daemon that was only late has some packets go unpaced, no more.
 */
#define MP_BEAT_EVERY_NS (MP_NS_PER_S / 20)
#define MP_BEAT_STALE_NS (MP_NS_PER_S / 2)

/*
 * Whether a heartbeat is younger than old_ns. Another processor may have written it a moment after this one read its clock:
 * such a heartbeat is young, too; but none from farther ahead than it may lie back, or a daemon that is gone would seem
 * well until then.
 */
MP_INLINE bool mp_beat_younger(uint64_t beat_ns, uint64_t old_ns, uint64_t now_ns)
{
	return now_ns - beat_ns + MP_BEAT_STALE_NS < old_ns + MP_BEAT_STALE_NS;
}

/* Whether the daemon was well lately. */
MP_INLINE bool mp_beat_fresh(uint64_t beat_ns, uint64_t now_ns)
{
	return mp_beat_younger(beat_ns, MP_BEAT_STALE_NS, now_ns);
}

/*
 * The kernel holds packets by itself, at the rates that it has: those that come behind them follow, or they would overtake.
 * A line that has not become empty by a second after the heartbeat was stale takes no more: its sender is told by losses,
 * and a moment later nothing is held.
 */
MP_INLINE bool mp_beat_given_up(uint64_t beat_ns, uint64_t now_ns)
{
	return !mp_beat_younger(beat_ns, MP_BEAT_STALE_NS + MP_NS_PER_S, now_ns);
}

/* The heartbeat as far as one thread goes, that may be at work for patience_ns without a sign of progress. */
MP_INLINE uint64_t mp_beat_of(uint64_t progress_ns, uint64_t patience_ns, uint64_t now_ns)
{
	return mp_min_u64(progress_ns + patience_ns, now_ns);
}

/* skb->mark of what the daemon sends again: segments from its cache, and latest ACKs. */
#define MP_MARK_LOCAL 0x6d707274u

/* skb->mark of the daemon's heartbeats where nftables decides what is held, and in its lower half the mesh interface's
 * number (crates/meshpace/src/setup/nftables.rs). */
#define MP_MARK_BEAT 0x6d620000u

/* Packets above this are not stored for local retransmission. */
#define MP_CACHED_MAX 1664u

/* A pure ACK with all the options that TCP has room for, over IPv6, behind two VLAN tags. */
#define MP_PURE_ACK_MAX 128u

/* A flow is one direction of a TCP connection's data. */
enum mp_direction {
	MP_DOWN, /* wired to wireless: paced here */
	MP_UP,   /* wireless to wired: paced at its sender, which is told RTT_wired and what it shares */
};

/* Addresses in network order, IPv4 as ::ffff:a.b.c.d, as seen on the mesh side (after NAT). */
struct mp_flow_key {
	uint8_t mesh[16];
	uint8_t wired[16];
	uint16_t mesh_port;  /* network order */
	uint16_t wired_port; /* network order */
	uint32_t direction;  /* enum mp_direction */
};

#ifndef __bpf__
struct bpf_spin_lock {
	uint32_t val;
};
#endif

/* One of a host's addresses, as in mp_flow_key. */
struct mp_address {
	uint8_t bytes[16];
};

/* A mesh host by one of its addresses, and which way. */
struct mp_host_key {
	uint8_t address[16]; /* as in mp_flow_key */
	uint32_t direction;  /* enum mp_direction */
};

/*
 * What a host may get (core's airtime.h); key: the host by the address that stands for all of its addresses
 * (mp_aliases). What is sent to it waits in the kernel's HTB or in the daemon. Its own data does not wait: that it is too
 * much its senders are told here, always.
 */
struct mp_cap {
	struct bpf_spin_lock lock;
	uint64_t cap_bytes_per_s;
	uint64_t flow_bytes_per_s; /* what is signalled to each of its flows (up) */
	struct mp_host_pace pace; /* of what nobody holds (down) */
	struct mp_police police;  /* up */
	uint32_t ack_bytes;      /* up: that an acknowledgement of its data is of, on average; 0: not known */
};

/* So late a thread may be woken up: a tick of a kernel of 250 Hz, while another thread has the processor. */
#define MP_CLOCK_LATE_NS (MP_NS_PER_S / 250)

/* A mesh host of which a packet has come; key: its address. */
struct mp_heard {
	uint64_t heard_ns;       /* the latest, a second more or less */
	uint64_t other_bytes[2]; /* not read as TCP, by enum mp_direction, IP header included */
	struct mp_unanswered_queue unanswered;
	struct mp_begins begins; /* of its UDP */
};

/* What the daemon knows of a mesh host's path; key: its address. */
struct mp_host {
	uint32_t hops;    /* 0: unknown */
	uint32_t kbps;    /* 0: unknown */
	uint32_t outside; /* of the mesh, on another port of this box: not paced */
	struct mp_link link; /* of its first hop, for the law `map`; else all zero */
	int64_t uneven_q16;  /* as mp_path has it, of links at different bit rates; else 0 */
};

struct mp_flow {
	struct bpf_spin_lock lock;
	struct mp_endpoint at;
	uint32_t known_changes; /* host and floor_ns are as of so many mp_settings.changes */
	struct mp_host host;    /* what the daemon knows of its path */
	uint8_t pure_ack[MP_PURE_ACK_MAX]; /* up, law even: the latest, a frame to be sent again */
	uint16_t pure_ack_bytes; /* 0: none */
	uint8_t pure_ack_l3;     /* offset of the IP header in it */
	uint8_t pure_ack_l4;     /* offset of the TCP header in it */
};

_Static_assert(sizeof(struct mp_flow) <= 2048, "docs/operate/operator.md promises 2 KiB a flow");

/* Whose ACKs carry RTT_wired. */
enum mp_option_policy { MP_OPTION_NEVER, MP_OPTION_ASKED, MP_OPTION_ALWAYS };

/* What the daemon sets before loading. */
struct mp_limits {
	uint32_t l2_bytes;  /* before the network header: 14, 0 without a link-layer header */
	uint32_t max_flows;
	uint32_t test_clock; /* time stands still between heartbeats: for tests */
	uint32_t records;    /* what comes is told to the daemon, which writes a trace */
};

/* Ring buffer: a packet as it comes, for a trace (core/test/traces). No payload. */
struct mp_record {
	uint64_t now_ns;
	uint64_t own_ns;        /* to the mesh: so much later its socket on this host wants it to leave; 0: none does */
	struct mp_flow_key key; /* its direction: to the mesh or from it */
	uint32_t seq, ack;
	uint32_t bytes;         /* from the IP header to the end */
	uint32_t payload_bytes; /* of TCP */
	uint32_t segments;
	uint16_t window;
	uint8_t protocol;       /* above IP, as it is read: not of TCP in a fragment */
	uint8_t flags;
	uint8_t ttl;
	uint8_t ecn;
	uint8_t again;          /* sent by the daemon */
	uint8_t option_bytes;
	uint8_t options[MP_TCP_OPTIONS_MAX];
};

/* What the daemon sets, at any time. */
struct mp_settings {
	struct mp_law law;
	uint32_t default_hops;        /* where neither the daemon nor TTL tells; 0 counts as 1 */
	uint32_t default_kbps;
	struct mp_link default_link;  /* of hosts that the daemon has not looked up yet */
	uint8_t pace;                 /* the law is on */
	uint8_t option;               /* enum mp_option_policy */
	uint8_t local_retransmission;
	uint8_t aliases;                 /* hosts have caps, and some have several addresses */
	uint8_t udp_waits;               /* some host has a cap: UDP is held, too */
	uint8_t silences;                /* when a flow begins, busy hosts are to be silent: the daemon is told */
	uint8_t blanks;                  /* what senders are told is the gateway's alone: others' is blanked */
	uint8_t holds;                   /* enum mp_holds */
	uint8_t host_lines;              /* some host has a cap, or had one a moment ago: packets wait in its lines */
	uint8_t shared;                  /* hosts are held to their shares of the air (law even) */
	uint64_t unanswered_bytes_per_s; /* of each virtual queue of what nobody answers; 0: nothing bounds */
	uint32_t held_at;                /* the interface behind which packets wait; 0: none */
	uint32_t changes;                /* of paths and floors so far, from 1; flows then look them up */
};

/* The handle of HTB, of which a class's number is the rest. */
#define MP_HTB_MAJOR 0x00010000u

/* Where packets wait that the kernel holds: each line has a class of HTB. */
enum mp_line {
	MP_LINE_FLOW,   /* a flow's data to the mesh, and what must not overtake it */
	MP_LINE_NEW,    /* a host's: data of flows that nobody has answered */
	MP_LINE_SPARSE, /* a host's: what is not TCP, of buckets of which nothing waits and that had no turn; served first */
	MP_LINE_BULK,   /* likewise, of the others */
	MP_LINE_ACKS,   /* a host's: acknowledgements of its own data */
};

/*
 * A line that has a class, which the daemon made. Key: the flow's; of a host's lines its standing address, and the
 * line as port of the mesh: no flow has a wired address of zeros.
 */
struct mp_class {
	struct bpf_spin_lock lock;
	uint32_t minor;
	struct mp_hold hold;
	struct mp_hold_told told;            /* what the daemon was told last */
	uint32_t of_bucket[MP_UDP_BUCKETS];  /* of a host's lines: packets that wait */
	uint32_t turn_ends[MP_UDP_BUCKETS];  /* of the sparse line: when who went first may go first again */
};

/* Ring buffer: a line needs a class, or its class another rate. */
struct mp_line_news {
	struct mp_flow_key key;
	uint64_t interval_ns;
};

/* Whether the kernel holds packets: not, no more than must not overtake what waits, or all that the law paces. */
enum mp_holds { MP_HOLDS_NOTHING, MP_HOLDS_ORDER, MP_HOLDS_ALL };

/* Ring buffer: a segment to be kept, or what is to be sent again. */
enum mp_event_kind {
	MP_EVENT_CACHE,
	MP_EVENT_CACHE_FIRST,      /* of a new flow: what is kept under its key is another connection's */
	MP_EVENT_CACHE_UNANSWERED, /* of a flow of which nothing has been acknowledged yet */
	MP_EVENT_RETRANSMIT,
};

struct mp_event {
	uint32_t kind; /* enum mp_event_kind */
	uint32_t seq;  /* first byte */
	uint32_t end;  /* after the last byte */
	uint32_t ack;  /* all before is acknowledged (cache) */
	struct mp_flow_key key;
};

/* What is missing in [seq, end), as the ACK's SACK tells, is to be sent again. */
struct mp_order {
	struct mp_event event;
	struct mp_sack sack;
};

struct mp_cache_event {
	struct mp_event event;
	uint32_t bytes;    /* of the frame, link-layer header included */
	uint16_t l3;       /* offset of the IP header in it */
	uint16_t l4;       /* offset of the TCP header in it */
	uint8_t frame[MP_CACHED_MAX];
};

/* Counters, per CPU. Every packet at either hook counts once in the first group. */
enum mp_counter {
	MP_COUNT_TCP,           /* read as TCP */
	MP_COUNT_OTHER,         /* not TCP, or behind extension headers */
	MP_COUNT_FRAGMENTS,     /* of IPv4 */
	MP_COUNT_MALFORMED,     /* contradicting lengths; passed untouched */
	MP_COUNT_HAIRPIN,       /* from the mesh to the mesh; not looked into */
	MP_COUNT_FLOWS_CREATED,
	MP_COUNT_FLOWS_EVICTED, /* to make room for new ones */
	MP_COUNT_PACED,         /* made to wait in the kernel */
	MP_COUNT_ASKS,          /* for RTT_wired, by senders */
	MP_COUNT_OPTIONS,       /* written */
	MP_COUNT_OPTIONS_NO_ROOM,
	MP_COUNT_OPTIONS_FAILED,
	MP_COUNT_SUPER_PACKETS,      /* several segments in one: they leave together */
	MP_COUNT_CACHED,             /* segments copied to the daemon */
	MP_COUNT_CACHE_MISSED,       /* not copied: too large, or the ring buffer was full */
	MP_COUNT_WITHHELD,           /* duplicate ACKs withheld */
	MP_COUNT_SACKS_BLANKED,      /* of ACKs that went on: what they ask for was sent again from here */
	MP_COUNT_UNHELD,             /* not made to wait in the kernel, since their line let nothing go */
	MP_COUNT_UDP_DROPPED,        /* UDP and all that is not TCP, to hosts whose cap it exceeded */
	MP_COUNT_WAIT_DROPPED,       /* data, since all of its flow's waited too long */
	MP_COUNT_WAIT_MARKED,        /* likewise, by ECN instead */
	MP_COUNT_UP_DROPPED,         /* data from hosts whose cap it exceeded */
	MP_COUNT_UP_MARKED,          /* likewise, by ECN instead */
	MP_COUNT_OPTIONS_SIGNED,     /* not written, since the ACK is signed (TCP-MD5, TCP-AO) */
	MP_COUNT_OPTIONS_BLANKED,    /* of ours, but from the wires: forged, or another gateway's */
	MP_COUNT_RESETS_IGNORED,     /* RSTs that do not fit the sequence, or of which none is known */
	MP_COUNT_ACKS_IGNORED,       /* ACKs that do not fit the sequence */
	MP_COUNT_DUPACKS_MPTCP,      /* repeated ACKs that carry a message of MPTCP's, not taken for duplicates */
	MP_COUNT_DUPACKS_DSACK,      /* likewise, that tell that something came twice */
	MP_COUNT_LEFT4,              /* TCP to the mesh that came from elsewhere, IPv4; without this box's own */
	MP_COUNT_LEFT6,              /* likewise, IPv6 */
	MP_COUNT_UNANSWERED_DROPPED, /* to strangers, and of flows that nobody acknowledges */
	MP_COUNT_NOBODYS_BYTES,      /* from the mesh, of addresses or flows that nothing ever answered */
	MP_COUNT_RECORDS_LOST,       /* packets that the trace lacks, for the daemon was slow */
	MP_COUNT_SEEN_LEAVE,         /* whatever is at the hook to the mesh, super packets by their segments */
	MP_COUNT_SEEN_COME,          /* likewise, from the mesh */
	MP_COUNTERS
};

#endif
