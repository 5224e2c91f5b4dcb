/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How far one direction of a connection has come, as its headers tell: up to where its data is acknowledged, and
 * whether its sender has finished. Anybody can write a header with these ports; so what does not fit the numbers
 * that both ends use, which a third party does not know, counts for nothing (RFC 5961).
 *
 * max_end, here and there, is where the data ends that was sent so far (mp_sent.max_end).
 */
#ifndef MESHPACE_PROGRESS_H
#define MESHPACE_PROGRESS_H

#include "../arith/seq.h"

/* The largest window that TCP can have (RFC 7323): so far back an ACK may come late. */
#define MP_TCP_WINDOW_MAX (1u << 30)
#define MP_TCP_SHIFT_MAX 14u /* of its 16 bits in a header (section 2.3) */

struct mp_progress {
	uint64_t acked_bytes; /* newly acknowledged, ever */
	uint32_t ack;         /* highest acknowledgement of this direction's data */
	uint8_t seen;         /* data has been seen: ack is valid */
	uint8_t fin;          /* its sender has finished */
};

/* Whether all of the data ends here, or the FIN behind it, which takes a number. */
MP_INLINE bool mp_progress_ends_at(const struct mp_progress *progress, uint32_t max_end, uint32_t seq)
{
	return seq == max_end || (progress->fin && seq == max_end + 1);
}

/* Data passes: from the first on, acknowledgements count. new_data: it was not sent before; fin: with a FIN. */
MP_INLINE void mp_progress_data(struct mp_progress *progress, uint32_t max_end, uint32_t seq,
				uint32_t bytes, bool fin, bool new_data)
{
	if (!progress->seen) { /* seen from here on */
		progress->seen = 1;
		progress->ack = seq;
	}
	/* Who sends on has not finished, whatever was said. */
	if (fin && seq + bytes == max_end)
		progress->fin = 1;
	else if (new_data)
		progress->fin = 0;
}

/* A FIN without data passes. One that does not fit is another's. */
MP_INLINE void mp_progress_fin(struct mp_progress *progress, uint32_t max_end, uint32_t seq)
{
	if (progress->seen && mp_progress_ends_at(progress, max_end, seq))
		progress->fin = 1;
}

/*
 * A RST from the sender passes. It counts where its receiver takes it: exactly where the data goes on, as its
 * sender or its receiver sees it. Returns whether it did; then the connection is finished.
 */
MP_INLINE bool mp_progress_reset(struct mp_progress *progress, uint32_t max_end, uint32_t seq)
{
	if (!progress->seen ||
	    !(mp_progress_ends_at(progress, max_end, seq) || seq == progress->ack))
		return false;
	progress->fin = 1;
	return true;
}

/*
 * Whether an ACK is for data that was sent, or for the FIN behind it, and not older than any window: what
 * its receiver would take (RFC 5961, section 5).
 */
MP_INLINE bool mp_progress_fits(const struct mp_progress *progress, uint32_t max_end, uint32_t ack)
{
	return progress->seen && mp_seq_up_to(ack, max_end + 1) &&
	       mp_seq_up_to(progress->ack - MP_TCP_WINDOW_MAX, ack);
}

/*
 * Whether an ACK is of data that was not seen to leave. Unless it went past unread its receiver makes that up (optimistic
 * ACKs: Savage and others 1999, section 2.3).
 */
MP_INLINE bool mp_progress_is_ahead(const struct mp_progress *progress, uint32_t max_end, uint32_t ack)
{
	return progress->seen & mp_seq_before(max_end + 1, ack);
}

/* Bytes that an ACK which fits is the first to acknowledge; a FIN, which takes a number, is no data. */
MP_INLINE uint32_t mp_progress_news(const struct mp_progress *progress, uint32_t max_end, uint32_t ack)
{
	if (mp_seq_before(max_end, ack))
		ack = max_end;
	return mp_seq_before(progress->ack, ack) ? ack - progress->ack : 0;
}

/* An ACK passes. One that does not fit counts for nothing: returns false. */
MP_INLINE bool mp_progress_ack(struct mp_progress *progress, uint32_t max_end, uint32_t ack)
{
	uint32_t bytes = mp_progress_news(progress, max_end, ack);

	if (!mp_progress_fits(progress, max_end, ack))
		return false;
	progress->acked_bytes += bytes;
	progress->ack += bytes;
	return true;
}

#endif
