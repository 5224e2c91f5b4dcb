/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Duplicate ACKs and local retransmission at the gateway (GAP figure 7, lines
 * 22-23): a duplicate ACK from the mesh is answered from the gateway's retransmit cache and
 * is not passed on, so that a loss on the radio does not look like congestion.
 *
 * The pseudocode retransmits on every duplicate ACK. A window of them follows a
 * single loss, so a hole is filled once, again only after two RTT_wireless
 * without effect, and after three tries the sender is let in on it. Those three are
 * for the whole segment: a receiver that acknowledges it byte by byte gets no more copies.
 *
 * Law `even`: a receiver that tells by SACK (sack.h) which segments it has lacks several at a time where a frame with many
 * was lost. All of them are sent again in one try. Its ACK tells of the loss even where it acknowledges something new;
 * so it goes on without its SACK. And its sender is let in before its timer ends.
 */
#ifndef MESHPACE_DUPACK_H
#define MESHPACE_DUPACK_H

#include "sack.h"

#define MP_LOCAL_TRIES 3u

/*
 * No longer are ACKs withheld at a stretch: it begins a round trip after one that passed, at most, and a sender's
 * timer leaves at least so much beyond its round trip (Linux's TCP_RTO_MIN; RFC 6298 asks for a second).
 */
#define MP_LOCAL_WAIT_NS (MP_NS_PER_S / 5)

enum mp_ack_verdict {
	MP_ACK_FORWARD,  /* pass the ACK on */
	MP_ACK_PLAIN,    /* pass it on without its SACK */
	MP_ACK_WITHHOLD,
};

struct mp_dupack {
	uint32_t ack;        /* highest ACK seen */
	uint32_t window;     /* advertised with it, unscaled */
	uint32_t count;      /* duplicates of it */
	uint32_t tries;      /* local retransmissions of what it asks for, */
	uint32_t tried_end;  /* which ends here, as far as it is known */
	uint32_t asked_end;  /* what is missing before was sent again in the latest of them */
	uint64_t retried_ns; /* the latest of them */
	uint64_t withheld_ns; /* the first ACK withheld since one passed; 0: none */
	bool started;
};

/*
 * Counts an ACK: returns how many duplicates of it there are by now, 0 when it is
 * none. Duplicate as in RFC 5681: it acknowledges nothing new while data is
 * outstanding (sent up to max_end), does not change the window, and is bare: it carries
 * neither payload nor a message of its own, by a D-SACK (RFC 2883) that nothing was lost
 * but something came twice, or of MPTCP's (RFC 8684).
 */
MP_INLINE uint32_t mp_dupack_count(struct mp_dupack *dup, uint32_t ack, bool bare, uint32_t window,
				   uint32_t max_end)
{
	if (dup->started && ack == dup->ack) {
		bool duplicate = bare && window == dup->window && mp_seq_before(ack, max_end);

		dup->window = window;
		if (!duplicate)
			return 0;
		return ++dup->count;
	}
	if (dup->started && mp_seq_before(ack, dup->ack))
		return 0; /* an old ACK, overtaken */
	dup->ack = ack;
	dup->window = window;
	dup->count = 0;
	if (mp_seq_up_to(dup->tried_end, ack))
		dup->tries = 0;
	dup->started = true;
	return 0;
}

/* Whether this ACK would be the same one again: only then it matters whether it is bare. */
MP_INLINE bool mp_dupack_repeats(const struct mp_dupack *dup, uint32_t ack)
{
	return dup->started && ack == dup->ack;
}

/* A segment that ends at end was sent again. */
MP_INLINE void mp_dupack_sent(struct mp_dupack *dup, uint32_t end)
{
	if (dup->tries > 0 && mp_seq_before(dup->tried_end, end))
		dup->tried_end = end;
}

/* An ACK that has been counted. */
struct mp_asks {
	uint32_t ack;
	struct mp_range top; /* of its SACK: the highest block (sack.h) */
	uint32_t duplicate;  /* of how many others; 0: it tells something else, and must go on */
	uint64_t now_ns;
	uint64_t rtt_ns;     /* the mean RTT_wireless */
};

MP_INLINE bool mp_asks_by_sack(const struct mp_asks *asks)
{
	return asks->top.to != asks->ack;
}

/* Whether a duplicate with SACK cannot be withheld any longer, or its sender's timer ends. */
MP_INLINE bool mp_dupack_is_late(const struct mp_dupack *dup, const struct mp_asks *asks)
{
	return asks->duplicate && mp_asks_by_sack(asks) && dup->withheld_ns &&
	       asks->now_ns - dup->withheld_ns > MP_LOCAL_WAIT_NS;
}

/* Another try. */
MP_INLINE void mp_dupack_tries(struct mp_dupack *dup, const struct mp_asks *asks)
{
	if (dup->tries++ == 0)
		dup->tried_end = asks->ack + 1; /* more is known when it is sent */
	dup->retried_ns = asks->now_ns;
	dup->asked_end = asks->ack;
}

/* What an ACK shows to be missing and was not sent again yet in this try, which begins with this ACK or began before it. */
MP_INLINE struct mp_range mp_dupack_again(struct mp_dupack *dup, const struct mp_asks *asks, bool begins)
{
	struct mp_range again = { .from = asks->ack, .to = asks->ack };

	if (mp_seq_before(asks->ack, dup->asked_end))
		again.from = again.to = dup->asked_end;
	if (mp_asks_by_sack(asks) && mp_seq_before(again.from, asks->top.from))
		again.to = asks->top.from;
	else if (!mp_asks_by_sack(asks) && begins)
		again.to = asks->ack + 1;
	dup->asked_end = mp_asks_by_sack(asks) ? asks->top.to : asks->ack + 1;
	return again;
}

/*
 * What becomes of an ACK that has been counted; stored tells whether the gateway still holds what it asks for.
 * What is missing in again, unless that is empty, is to be sent again.
 */
MP_INLINE enum mp_ack_verdict mp_dupack_verdict(struct mp_dupack *dup, const struct mp_asks *asks, bool stored,
						struct mp_range *again)
{
	bool overtaken = asks->ack != dup->ack, asking = asks->duplicate || mp_asks_by_sack(asks);
	bool late = mp_dupack_is_late(dup, asks);
	bool waiting = dup->tries > 0 && asks->now_ns - dup->retried_ns < 2 * asks->rtt_ns;

	again->from = again->to = asks->ack;
	if (late) { /* and from now on it hears all */
		dup->tries = MP_LOCAL_TRIES;
		dup->retried_ns = 0;
	}
	if (overtaken || !asking || !stored || late || (!waiting && dup->tries >= MP_LOCAL_TRIES)) {
		dup->withheld_ns = 0;
		return MP_ACK_FORWARD;
	}
	if (!waiting)
		mp_dupack_tries(dup, asks);
	*again = mp_dupack_again(dup, asks, !waiting);
	if (!asks->duplicate) {
		dup->withheld_ns = 0;
		return MP_ACK_PLAIN;
	}
	if (!dup->withheld_ns)
		dup->withheld_ns = asks->now_ns;
	return MP_ACK_WITHHOLD;
}

#endif
