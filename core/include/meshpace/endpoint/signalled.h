/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a sender has heard from the gateway, and how long it holds: RTT_wired (option.h), and what the flow may have
 * (feedback.h). Everything expires by time, whatever else is or is not heard: who once was told a limit, by a gateway that
 * is gone or by somebody who lied, is free again.
 */
#ifndef MESHPACE_SIGNALLED_H
#define MESHPACE_SIGNALLED_H

#include "../arith/seq.h"
#include "../law/law.h"
#include "feedback.h"

/*
 * A flow hears its limit by one ACK in four (MP_FEEDBACK_TURNS): with an ACK for two packets of 1500 bytes that is twice in
 * three seconds from 64 kbit/s on, so that one may be lost before anything is forgotten. Below that a limit may lapse for a
 * moment, and the gateway's own police, which needs no sender's help, has to do.
 */
#define MP_SIGNAL_LIFE_NS (3 * MP_NS_PER_S)

/*
 * A limit makes a packet wait no longer than a second: TCP has ordered the next departure before it can hear that the
 * limit holds no longer.
 */
#define MP_SIGNAL_WAIT_NS MP_NS_PER_S

struct mp_signalled {
	struct mp_feedback feedback;
	uint64_t feedback_ns;    /* when it was heard last */
	uint64_t wired_ns;     /* when RTT_wired was heard last; 0: never */
	uint32_t rtt_wired_us; /* 0: not known, the whole RTT is used */
	uint32_t fresh;        /* RTT_wired is of the ACK that is being processed */
	uint32_t ack;          /* highest acknowledgement; acked: there was one */
	uint32_t acked;
};

/* Takes the 8 bytes of one option of an ACK; false, and nothing changed, when it tells nothing of others. */
MP_INLINE bool mp_signalled_hear_feedback(struct mp_signalled *heard,
					const uint8_t option[MP_OPTION_BYTES], uint64_t now_ns)
{
	if (!mp_feedback_read(option, &heard->feedback))
		return false;
	heard->feedback_ns = now_ns;
	return true;
}

/* The same for RTT_wired. Until now samples were of the whole RTT, the SYN's first: they hold no longer. */
MP_INLINE bool mp_signalled_hear_wired(struct mp_signalled *heard, struct mp_estimate *estimate,
				       const uint8_t option[MP_OPTION_BYTES], uint64_t now_ns)
{
	uint32_t rtt_wired_us = 0;

	if (!mp_option_read(option, &rtt_wired_us))
		return false;
	if (heard->rtt_wired_us == 0)
		mp_estimate_forget(estimate);
	heard->rtt_wired_us = rtt_wired_us;
	heard->wired_ns = now_ns;
	heard->fresh = true;
	return true;
}

/*
 * Forgets what is too old, and tells the estimate what is left. To be called before each use. Who is told its part keeps to
 * that, and not to its own search, as flows from the gateway do (airtime.h): else it yields to others who have more.
 */
MP_INLINE void mp_signalled_expire(struct mp_signalled *heard, struct mp_estimate *estimate,
				   uint64_t now_ns)
{
	if (now_ns - heard->feedback_ns > MP_SIGNAL_LIFE_NS)
		heard->feedback.bytes_per_s = 0;
	if (heard->rtt_wired_us && now_ns - heard->wired_ns > MP_SIGNAL_LIFE_NS) {
		heard->rtt_wired_us = 0;
		mp_estimate_forget(estimate);
	}
	mp_estimate_set_late(estimate, heard->rtt_wired_us);
	mp_estimate_set_shared(estimate, heard->feedback.bytes_per_s > 0);
}

/*
 * The sample, in ticks, that the law takes of an ACK of everything before ack, of which TCP measured the whole RTT
 * (0: it could not); 0: none. To be called for each ACK. RTT and RTT_wired have to be of the same ACK, since a
 * receiver that delays one lengthens both: an ACK without RTT_wired gives no sample as long as one is known.
 * And what an ACK tells by SACK alone (RFC 2018) gives none, though TCP measures it, here as at the gateway
 * (sent.h): nothing new is acknowledged, so that a round would end in which nothing seems to have arrived.
 */
MP_INLINE uint32_t mp_signalled_sample_ticks(struct mp_signalled *heard, uint32_t rtt_ticks,
					     uint32_t ack)
{
	bool fresh = heard->fresh, news = !heard->acked || mp_seq_before(heard->ack, ack);

	heard->fresh = false;
	if (!news)
		return 0;
	heard->ack = ack;
	heard->acked = true;
	if (heard->rtt_wired_us == 0)
		return rtt_ticks;
	return fresh ? mp_rtt_wireless_ticks(rtt_ticks, heard->rtt_wired_us) : 0;
}

/* The interval of packets of so many bytes that the limit leaves, in ns; 0: any. */
MP_INLINE uint64_t mp_signalled_interval_ns(const struct mp_signalled *heard, uint32_t bytes)
{
	return mp_min_u64(mp_feedback_interval_ns(&heard->feedback, bytes), MP_SIGNAL_WAIT_NS);
}

#endif
