/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What waits on the path of an upload (airtime.h). An acknowledgement leaves for the mesh with the wired end's clock, TSval
 * (RFC 7323). The first data that echoes it, TSecr, was sent when the acknowledgement had arrived. So, as Kathleen Nichols's
 * pping measures it,
 *
 *   RTT_wireless = when the data comes by - when the acknowledgement left
 *
 * That has in it what the data waited in its host and at each hop, and not what the acknowledgement waited here for its
 * host's cap. One acknowledgement is timed at a time, so that there is a sample a round: the first with its TSval, for it is
 * the one that is echoed. It is one of all that is acknowledged: an older one may be forged, by somebody who need not know the
 * numbers exactly, and what it asks by a time that has long passed is answered at once.
 *
 * A sender that pauses answers late. But when the data before came by, its sender had not heard the acknowledgement yet: so
 * long the round trip has been at least. Where data waits in the mesh it comes here without a gap, and the two are one.
 */
#ifndef MESHPACE_ECHO_H
#define MESHPACE_ECHO_H

#include "../arith/seq.h"
#include "option.h"
#include "sack.h"

/* An acknowledgement that nothing has answered for so long was lost, or its sender has paused. */
#define MP_ECHO_LOST_NS MP_NS_PER_S

#define MP_TIMESTAMPS_KIND 8u
#define MP_TIMESTAMPS_BYTES 10u
#define MP_TIMESTAMPS_HEAD (MP_TIMESTAMPS_KIND << 8 | MP_TIMESTAMPS_BYTES)
/* Of a header's options, in which timestamps are looked for. */
#define MP_ECHO_LOOK_BYTES 12u

struct mp_echo {
	uint64_t asked_ns; /* when the acknowledgement left that is timed; 0: none is */
	uint32_t asked;    /* its TSval */
	uint32_t latest;   /* TSval of the latest that left */
	uint64_t base_ns;  /* the least sample; 0: none yet */
	uint64_t rtt_ns;   /* of the latest, how long the round trip was at least; at most twice the one before */
	uint64_t heard_ns; /* when that was */
};

/*
 * TSval and TSecr of a header, whose first options these bytes are: where RFC 7323, appendix A, has timestamps and everybody
 * writes them, behind two NOPs, or first of all, as ns-3 does. False, and nothing changed: they are not there.
 */
MP_INLINE bool mp_echo_read(const uint8_t options[MP_ECHO_LOOK_BYTES], uint32_t *stamp, uint32_t *echo)
{
	/* Of numbers, not of a pointer that moves, which verifiers refuse. */
	uint32_t first = mp_sack_number(options), second = mp_sack_number(options + 4), third = mp_sack_number(options + 8);

	if (first == (MP_TCPOPT_NOP << 24 | MP_TCPOPT_NOP << 16 | MP_TIMESTAMPS_HEAD)) {
		*stamp = second;
		*echo = third;
	} else if (first >> 16 == MP_TIMESTAMPS_HEAD) {
		*stamp = (first & 0xffffu) << 16 | second >> 16;
		*echo = (second & 0xffffu) << 16 | third >> 16;
	} else {
		return false;
	}
	return true;
}

/* An acknowledgement leaves for the mesh at departure_ns with this TSval; 0: without. */
MP_INLINE void mp_echo_ask(struct mp_echo *echo, uint32_t stamp, uint64_t departure_ns)
{
	bool is_first = stamp && stamp != echo->latest;
	bool is_free = !echo->asked_ns || departure_ns - echo->asked_ns > MP_ECHO_LOST_NS;

	if (stamp)
		echo->latest = stamp;
	if (!is_first || !is_free)
		return;
	echo->asked = stamp;
	echo->asked_ns = departure_ns;
}

/* Data comes from the mesh with this TSecr, and data before it came at before_ns; 0: without, none. */
MP_INLINE void mp_echo_answer(struct mp_echo *echo, uint32_t stamp, uint64_t before_ns, uint64_t now_ns)
{
	uint64_t least_ns, sample_ns;

	if (!echo->asked_ns || !stamp || !mp_seq_up_to(echo->asked, stamp) || now_ns <= echo->asked_ns)
		return;
	sample_ns = now_ns - echo->asked_ns;
	least_ns = mp_max_u64(before_ns, echo->asked_ns) - echo->asked_ns;
	echo->asked_ns = 0;
	if (sample_ns > MP_ECHO_LOST_NS)
		return;
	echo->base_ns = echo->base_ns ? mp_min_u64(echo->base_ns, sample_ns) : sample_ns;
	/* Data that came before any answer could says nothing of the round trip: its application pauses, as chats do. */
	if (2 * least_ns < echo->base_ns)
		return;
	echo->rtt_ns = mp_min_u64(least_ns, 2 * mp_max_u64(echo->rtt_ns, echo->base_ns));
	echo->heard_ns = now_ns;
}

/* What waited on the upload's path in its latest round, in ns. */
MP_INLINE uint64_t mp_echo_waits_ns(const struct mp_echo *echo)
{
	return echo->rtt_ns - mp_min_u64(echo->base_ns, echo->rtt_ns);
}

#endif
