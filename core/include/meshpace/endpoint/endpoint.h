/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A gateway's endpoint of one direction of a TCP connection: all that the law has to know of it, and what every
 * packet changes. A host finds the endpoint, locks it, calls down.h for data to the mesh and its ACKs, up.h for
 * data from the mesh and its ACKs, and moves packets as it is told.
 */
#ifndef MESHPACE_ENDPOINT_H
#define MESHPACE_ENDPOINT_H

#include "../law/active.h"
#include "dupack.h"
#include "echo.h"
#include "police.h"
#include "progress.h"
#include "sack.h"
#include "sent.h"
#include "feedback.h"
#include "unanswered.h"
#include "wait.h"

/* Flags of the TCP header (RFC 9293). */
#define MP_TCP_FIN 0x01u
#define MP_TCP_SYN 0x02u
#define MP_TCP_RST 0x04u
#define MP_TCP_PSH 0x08u
#define MP_TCP_ACK 0x10u

/* A packet of TCP, as far as an endpoint looks at it; segments in it, if it is a super packet. */
struct mp_segment {
	uint64_t now_ns;        /* when it comes */
	uint32_t seq, ack, window;
	uint32_t payload_bytes; /* of all its segments */
	uint32_t ip_bytes;      /* likewise, from the IP header to the payload's end */
	uint32_t segments;
	uint32_t segment_bytes; /* payload of each */
	uint32_t stamp, echo;   /* TSval and TSecr (RFC 7323), if looked for; 0: none */
	uint8_t flags, ttl;
};

/* Carries nothing but an acknowledgement. */
MP_INLINE bool mp_segment_is_pure_ack(const struct mp_segment *segment)
{
	return segment->payload_bytes == 0 &&
	       (segment->flags & (MP_TCP_ACK | MP_TCP_SYN | MP_TCP_FIN | MP_TCP_RST)) == MP_TCP_ACK;
}

/*
 * All zero: nothing has come yet. What every data packet touches comes first, in few cache lines: they travel between
 * the processors that serve the two sides of a gateway.
 */
struct mp_endpoint {
	struct mp_progress progress;
	uint64_t interval_ns;   /* down: in force; 0: unpaced */
	struct mp_pacer pacer;
	uint64_t last_ns;       /* latest packet, and latest data */
	uint64_t data_ns;
	struct mp_unanswered unanswered;
	uint64_t heard_ns;      /* its mesh host was noted as heard */
	uint64_t packets;       /* of data */
	uint64_t bytes;         /* of payload, retransmissions included */
	struct mp_path path;    /* as used for the latest sample */
	uint32_t segment_bytes; /* payload of the largest data packet */
	uint32_t stored_from;   /* down: all segments from here on are in the retransmit cache */
	uint8_t ttl;            /* of the latest packet from the mesh, 0: none yet */
	uint8_t storing;        /* stored_from is valid */
	uint8_t asked;          /* up: its sender asked for RTT_wired */
	uint8_t pushed;         /* up: its sender had no more after the latest data */
	uint8_t two_way;        /* there is, or was, a flow in the other direction too */
	uint8_t window_scale;   /* down: one more than the shift of its receiver's windows; 0: not known */
	uint32_t edge;          /* up to there its receiver has room */
	struct mp_range told;   /* likewise, from where it was to where, by the latest ACK that was astray; empty: none */
	uint64_t first_ns;      /* first packet */
	uint64_t ahead_ns;      /* down: until then it gets no copies (mp_endpoint_down_unfit) */
	uint64_t paused_ns;     /* down: latest data that came when nothing was under way (mp_endpoint_paused_ns) */
	struct mp_sent sent;    /* T1: at the radio (down), at the wired side (up) */
	struct mp_dupack dupack;
	uint64_t floor_ns;      /* down: by goodput control; 0: not throttled */
	uint64_t retransmits;   /* packets seen again */
	uint64_t local_retransmits;
	uint64_t pure_acks;     /* down: of its receiver */
	uint32_t rtt_wired_us;           /* up: latest; down: of the handshake; 0: none yet */
	struct mp_estimate estimate;     /* down: of RTT_wireless */
	struct mp_wait wait;             /* down */
	struct mp_notification notified; /* up: that its host sends too much */
	struct mp_echo echo;             /* up: of RTT_wireless */
	struct mp_feedback feedback;     /* up: what its sender is told of others */
};

/* Whether nothing of its data is under way, that is known of: so it is before the first, too. */
MP_INLINE bool mp_endpoint_is_idle(const struct mp_endpoint *endpoint)
{
	return endpoint->progress.ack == endpoint->sent.max_end;
}

/* Whether its data counts as answered (unanswered.h). */
MP_INLINE bool mp_endpoint_is_answered(const struct mp_endpoint *endpoint, uint64_t now_ns)
{
	return mp_is_answered(&endpoint->unanswered, now_ns);
}

MP_INLINE void mp_endpoint_touch(struct mp_endpoint *endpoint, uint64_t now_ns)
{
	if (endpoint->first_ns == 0)
		endpoint->first_ns = now_ns;
	endpoint->last_ns = now_ns;
}

/* Up to where the sender of an ACK has room. Where the shift of its windows is not known: the largest (RFC 7323, 2.3). */
MP_INLINE uint32_t mp_endpoint_edge(const struct mp_endpoint *endpoint, const struct mp_segment *segment)
{
	uint32_t shift = endpoint->window_scale ? endpoint->window_scale - 1u : MP_TCP_SHIFT_MAX;

	return segment->ack + (segment->window << (shift & 15));
}

/*
 * Whether a number lies where neither data nor an ACK of it can be by what is known of the flow: ahead, where its receiver
 * has no room; back, farther than that room is wide, of which its sender may not know yet that it is acknowledged. A window
 * that is not scaled is allowed for beside it, as it is at the beginning, before its receiver has said anything. So data is
 * astray that somebody forges who does not know the numbers, and data behind more than a window that went past unread.
 * Without a branch, as mp_endpoint_paused_ns.
 */
MP_INLINE bool mp_endpoint_strays(const struct mp_endpoint *endpoint, uint32_t seq)
{
	uint32_t room = endpoint->edge - endpoint->progress.ack + MP_UNANSWERED_WINDOW;
	uint32_t first = endpoint->progress.ack - room;

	return endpoint->progress.seen & (seq - first > 2 * room);
}

/* The flow begins anew at its receiver's latest ACK that was astray; what it was charged for still waits. */
MP_INLINE void mp_endpoint_begins_anew(struct mp_endpoint *endpoint)
{
	endpoint->progress.ack = endpoint->told.from;
	endpoint->sent.max_end = endpoint->told.from;
	endpoint->edge = endpoint->told.to;
	endpoint->told.to = endpoint->told.from;
	endpoint->sent.count = 0;
	endpoint->sent.barred = false;
	endpoint->dupack.started = false;
	endpoint->dupack.tries = 0;
	endpoint->storing = 0;
	endpoint->unanswered.since_ns = 0;
	endpoint->unanswered.from_bytes = endpoint->bytes;
	endpoint->notified.waits = 0;
}

/*
 * Whether data counts. Astray it does where its receiver has said that it has room for it, after the flow has begun anew: who
 * forges data at one end does not see what the other end says.
 */
MP_INLINE bool mp_endpoint_takes(struct mp_endpoint *endpoint, uint32_t seq)
{
	if (!mp_endpoint_strays(endpoint, seq))
		return true;
	if (seq - endpoint->told.from >= endpoint->told.to - endpoint->told.from)
		return false;
	mp_endpoint_begins_anew(endpoint);
	return true;
}

/* A packet comes from the mesh. Returns whether its host is to be noted as heard: not again so soon. */
MP_INLINE bool mp_endpoint_hears(struct mp_endpoint *endpoint, uint64_t now_ns)
{
	if (!mp_heard_to_note(endpoint->heard_ns, now_ns))
		return false;
	endpoint->heard_ns = now_ns;
	return true;
}

/* Data leaves at departure_ns (T1). Returns whether it is new: not sent before. */
MP_INLINE bool mp_endpoint_data(struct mp_endpoint *endpoint, const struct mp_segment *segment,
				uint64_t departure_ns)
{
	bool is_new = mp_sent_record(&endpoint->sent, segment->seq, segment->payload_bytes,
				     departure_ns);

	mp_endpoint_touch(endpoint, segment->now_ns);
	endpoint->edge = (uint32_t)mp_select_u64(endpoint->progress.seen, endpoint->edge, segment->seq);
	mp_progress_data(&endpoint->progress, endpoint->sent.max_end, segment->seq,
			 segment->payload_bytes, segment->flags & MP_TCP_FIN, is_new);
	endpoint->data_ns = segment->now_ns;
	endpoint->packets += segment->segments;
	endpoint->bytes += segment->payload_bytes;
	if (!is_new)
		endpoint->retransmits += segment->segments;
	if (segment->segment_bytes > endpoint->segment_bytes)
		endpoint->segment_bytes = segment->segment_bytes;
	return is_new;
}

/* A FIN without data passes. */
MP_INLINE void mp_endpoint_fin(struct mp_endpoint *endpoint, uint32_t seq)
{
	mp_progress_fin(&endpoint->progress, endpoint->sent.max_end, seq);
}

/* A RST from the sender passes. Returns whether it ends the connection. */
MP_INLINE bool mp_endpoint_reset(struct mp_endpoint *endpoint, uint32_t seq)
{
	return mp_progress_reset(&endpoint->progress, endpoint->sent.max_end, seq);
}

/* Where its receiver has room, as an ACK tells, which fits or is astray. */
MP_INLINE void mp_endpoint_note_room(struct mp_endpoint *endpoint, const struct mp_segment *segment, bool fits)
{
	uint32_t edge = mp_endpoint_edge(endpoint, segment);
	bool farther = fits & mp_seq_before(endpoint->edge, edge);

	endpoint->edge = (uint32_t)mp_select_u64(farther, edge, endpoint->edge);
	if (fits && !mp_endpoint_strays(endpoint, segment->ack))
		return;
	endpoint->told.from = segment->ack;
	endpoint->told.to = edge;
}

/* An ACK of its data passes. One that does not fit counts for nothing: returns false. */
MP_INLINE bool mp_endpoint_ack(struct mp_endpoint *endpoint, const struct mp_segment *segment)
{
	uint64_t acked_bytes = endpoint->progress.acked_bytes;
	bool fits = mp_progress_ack(&endpoint->progress, endpoint->sent.max_end, segment->ack);

	mp_endpoint_note_room(endpoint, segment, fits);
	if (!fits)
		return false;
	mp_endpoint_touch(endpoint, segment->now_ns);
	mp_notification_answered(&endpoint->notified, endpoint->progress.ack);
	if (endpoint->progress.acked_bytes != acked_bytes || !endpoint->unanswered.since_ns)
		mp_unanswered_ends(&endpoint->unanswered, endpoint->bytes, segment->now_ns);
	return true;
}

#endif
