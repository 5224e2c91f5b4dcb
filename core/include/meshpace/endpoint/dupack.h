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
 */
#ifndef MESHPACE_DUPACK_H
#define MESHPACE_DUPACK_H

#include "../arith/seq.h"

#define MP_LOCAL_TRIES 3u

enum mp_ack_verdict {
	MP_ACK_FORWARD,    /* pass the ACK on */
	MP_ACK_RETRANSMIT, /* send the segment that starts at ack again, withhold the ACK */
	MP_ACK_WITHHOLD,   /* a retransmission is under way, withhold the ACK */
};

struct mp_dupack {
	uint32_t ack;        /* highest ACK seen */
	uint32_t window;     /* advertised with it, unscaled */
	uint32_t count;      /* duplicates of it */
	uint32_t tries;      /* local retransmissions of the segment it asks for, */
	uint32_t tried_end;  /* which ends here, as far as it is known */
	uint64_t retried_ns; /* the latest of them */
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

/*
 * What becomes of the duplicate ACK just counted, and of no other: stored tells whether the gateway
 * still holds the segment, rtt_ns is the mean RTT_wireless.
 */
MP_INLINE enum mp_ack_verdict mp_dupack_verdict(struct mp_dupack *dup, bool stored,
						uint64_t now_ns, uint64_t rtt_ns)
{
	bool waiting = dup->tries > 0 && now_ns - dup->retried_ns < 2 * rtt_ns;

	if (dup->count == 0 || !stored)
		return MP_ACK_FORWARD;
	if (waiting)
		return MP_ACK_WITHHOLD;
	if (dup->tries >= MP_LOCAL_TRIES)
		return MP_ACK_FORWARD;
	if (dup->tries++ == 0)
		dup->tried_end = dup->ack + 1; /* more is known when it is sent */
	dup->retried_ns = now_ns;
	return MP_ACK_RETRANSMIT;
}

#endif
