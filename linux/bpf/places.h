/* SPDX-License-Identifier: GPL-2.0-only */
/* How a packet takes its place in a line (lines.h): whether the line lets anything go, and behind what it would stand. */
#ifndef MESHPACE_BPF_PLACES_H
#define MESHPACE_BPF_PLACES_H

#include "lines.h"

/* When a packet came back last that had waited, a millisecond more or less. */
uint64_t mp_returned_ns;

/* Until when none may come back, since busy hosts are silent (core's silence.h). Set by the daemon. */
uint64_t mp_silent_ns SEC(".data.silent");

/* Whether its class lets anything go, under the class's lock. If not, the packet does not wait there, and is counted. */
MP_INLINE bool mp_lets_go(struct mp_class *class, struct mp_packet *p)
{
	struct mp_hold_others others = { mp_returned_ns, mp_silent_ns };
	uint64_t apart_ns = mp_hold_apart_ns(class->told.interval_ns, p->held_bytes_per_s);

	p->unheld = mp_hold_is_stuck(&class->hold, apart_ns, others, p->segment.now_ns);
	return !p->unheld;
}

/* A packet takes its place in line; under the class's lock. */
MP_INLINE void mp_take_place_in_line(struct mp_class *class, struct mp_packet *p, uint32_t units)
{
	uint64_t apart_ns = mp_hold_apart_ns(class->told.interval_ns, p->held_bytes_per_s);

	p->before = class->hold.came;
	p->stood = mp_hold_comes(&class->hold, units, apart_ns, p->segment.now_ns);
	p->number = MP_HTB_MAJOR | class->minor;
}

/* The units of a packet in its line: packets where that has an interval, else bytes, as they leave in segments. */
MP_INLINE uint32_t mp_units(const struct mp_packet *p)
{
	uint32_t headers = (uint32_t)(p->l4 - p->l3) + (p->line == MP_LINE_NEW ? p->tcp_bytes : sizeof(struct udphdr));

	if (p->line == MP_LINE_FLOW || p->line == MP_LINE_ACKS)
		return p->segment.segments;
	return p->segment.ip_bytes + (p->segment.segments - 1) * headers;
}

/* Only what would overtake waits: what carries no data, and all where pacing ends or the daemon hangs. */
MP_INLINE enum mp_hold_verdict mp_follows(struct mp_class *class, struct mp_packet *p)
{
	bool given_up = mp_beat_given_up(mp_beat_ns, p->segment.now_ns) && !mp_is_pure_ack(p);
	enum mp_hold_verdict verdict = MP_HOLD_PASSES;

	bpf_spin_lock(&class->lock);
	if (mp_hold_waiting(&class->hold) && mp_lets_go(class, p)) {
		verdict = given_up ? MP_HOLD_LOSES : MP_HOLD_WAITS;
		if (!given_up)
			mp_take_place_in_line(class, p, mp_units(p));
	}
	bpf_spin_unlock(&class->lock);
	return verdict;
}

/* Whether what waits by its host's cap alone may come to its line. */
MP_INLINE enum mp_hold_verdict mp_judge_other(struct mp_hold *hold, const struct mp_packet *p)
{
	if (p->line == MP_LINE_NEW && !p->answered)
		return mp_hold_has_room(hold, p->held_bytes_per_s) ? MP_HOLD_WAITS : MP_HOLD_LOSES;
	return mp_hold_judge_datagram(hold, p->held_bytes_per_s, mp_units(p), mp_ecn_capable(p), p->segment.now_ns);
}

/* What waits in a line of its host, by the host's cap alone. judged: what becomes of it; MP_HOLD_PASSES: that is not known. */
MP_INLINE enum mp_hold_verdict mp_hold_other(struct mp_class *class, struct mp_packet *p, enum mp_hold_verdict judged)
{
	enum mp_hold_verdict verdict = MP_HOLD_PASSES;

	bpf_spin_lock(&class->lock);
	if (mp_lets_go(class, p)) {
		verdict = judged != MP_HOLD_PASSES ? judged : mp_judge_other(&class->hold, p);
		if (verdict != MP_HOLD_LOSES)
			mp_take_place_in_line(class, p, mp_units(p));
	}
	bpf_spin_unlock(&class->lock);
	return verdict;
}

/* So many more of its bucket wait in a host's line: a super packet leaves in its segments, each of which is one less. */
MP_INLINE void mp_joins_bucket(struct mp_class *class, const struct mp_packet *p)
{
	__sync_fetch_and_add(mp_of_bucket(class, p), p->segment.segments);
}

#endif
