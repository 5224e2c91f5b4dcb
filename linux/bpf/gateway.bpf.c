// SPDX-License-Identifier: GPL-2.0-only
/*
 * The law at the gateway's mesh interface (TCP-GAP, journal 2008, figure 7): every packet to and
 * from the mesh passes here once, after NAT, with the mesh side's addresses.
 *
 * What is not TCP, or not understood, passes unchanged; and everything does when the daemon is gone.
 * Attached to tc egress and ingress; needs nothing but UAPI headers and no BTF of the kernel's.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_helpers.h>

#include "intf.h"

#include "begins.h"
#include "caps.h"
#include "connection.h"
#include "down.h"
#include "gate.h"
#include "hold.h"
#include "option.h"
#include "others.h"
#include "police.h"
#include "record.h"
#include "strangers.h"
#include "up.h"

char LICENSE[] SEC("license") = "GPL";

/*
 * A SYN or RST from the end whose data goes this way. Returns whether it does nothing else: it waits for
 * nothing and acknowledges no data.
 */
MP_INLINE bool mp_begins_or_breaks(struct mp_packet *p, uint32_t direction)
{
	if (p->segment.flags & MP_TCP_RST) {
		mp_connection_breaks(p, direction);
		return true;
	}
	if (!(p->segment.flags & MP_TCP_SYN))
		return false;
	mp_connection_begins(p, direction);
	return direction == MP_UP || !(p->segment.flags & MP_TCP_ACK);
}

/* From the mesh back into the mesh: no flow of the gateway's. */
MP_INLINE bool mp_hairpin(const struct __sk_buff *skb)
{
	if (skb->ingress_ifindex != skb->ifindex)
		return false;
	mp_count(MP_COUNT_HAIRPIN);
	return true;
}

/* TCP of this host's own may pace itself, as BBR does: it is ready when its socket says. */
MP_INLINE void mp_respect_own_pacing(const struct __sk_buff *skb, struct mp_packet *p)
{
	if (p->own && skb->tstamp > p->segment.now_ns &&
	    skb->tstamp < p->segment.now_ns + MP_HORIZON_NS)
		p->ready_ns = skb->tstamp;
}

/* To the mesh. */
SEC("tc")
int mp_to_mesh(struct __sk_buff *skb)
{
	struct mp_packet p = { .segment.now_ns = mp_now(), .came_by = skb->ingress_ifindex };
	int held = MP_HOLD_PASSES;
	uint32_t rtt_wired_us = 0;
	bool tcp;

	if (!mp_comes_back(skb, &p)) {
		mp_see(skb, MP_COUNT_SEEN_LEAVE);
		if ((!mp_alive(p.segment.now_ns) && !mp_settings.held_at) || mp_hairpin(skb))
			return TC_ACT_UNSPEC;
	}
	p.own = !p.came_by;
	tcp = mp_read_packet(skb, &p, true);
	if (mp_settings.held_at)
		held = mp_hold(skb, &p, tcp);
	if (held == MP_HOLD_LOSES)
		return TC_ACT_SHOT;
	if (held != MP_HOLD_PASSES || !mp_alive(p.segment.now_ns))
		return TC_ACT_UNSPEC;
	if (!tcp) {
		/* What the daemon asks a host (core's opaque.h) is nobody's traffic, and has to tell what waits beyond here. */
		if (skb->mark == MP_MARK_LOCAL)
			return TC_ACT_UNSPEC;
		mp_record(skb, &p, MP_DOWN, false);
		return mp_other_to_mesh(skb, &p) ? TC_ACT_UNSPEC : TC_ACT_SHOT;
	}
	mp_record(skb, &p, MP_DOWN, true);
	if (!p.own)
		mp_count(p.v6 ? MP_COUNT_LEFT6 : MP_COUNT_LEFT4);
	if (mp_settings.blanks)
		mp_blank_feedback(skb, &p);
	if (mp_begins_or_breaks(&p, MP_DOWN))
		return mp_stranger_passes(skb, &p) ? TC_ACT_UNSPEC : TC_ACT_SHOT;
	if (skb->mark == MP_MARK_LOCAL) {
		if (p.segment.payload_bytes > 0)
			mp_down_again(&p);
		return TC_ACT_UNSPEC;
	}
	mp_respect_own_pacing(skb, &p);
	if (p.segment.segments > 1)
		mp_count(MP_COUNT_SUPER_PACKETS);
	if (p.segment.payload_bytes > 0 && !(p.segment.flags & MP_TCP_SYN)) {
		if (!mp_host_takes(&p) || !mp_down_data(skb, &p))
			return TC_ACT_SHOT;
		if (!p.one_way && (p.segment.flags & MP_TCP_ACK)) {
			mp_read_timestamps(skb, &p);
			mp_up_ack(skb, &p);
		}
	} else {
		if (p.segment.flags & MP_TCP_ACK) {
			mp_read_timestamps(skb, &p);
			rtt_wired_us = mp_up_ack(skb, &p);
			if (mp_settings.held_at && mp_settings.host_lines && p.fits && mp_is_pure_ack(&p))
				mp_note_ack_bytes(&p);
		}
		if (!p.one_way)
			mp_down_no_data(&p);
		if (!p.met && !mp_stranger_passes(skb, &p))
			return TC_ACT_SHOT;
	}
	if (rtt_wired_us && mp_is_pure_ack(&p)) {
		mp_up_tell(&p);
		if (!mp_append_option(skb, &p, rtt_wired_us))
			return TC_ACT_SHOT;
	}
	return TC_ACT_UNSPEC;
}

MP_INLINE int mp_ack_from_mesh(struct __sk_buff *skb, struct mp_packet *p)
{
	int verdict;

	mp_read_ack_options(skb, p);
	verdict = mp_down_ack(skb, p);
	if (p->acked.counts)
		mp_down_learn(p);
	if (p->acked.charged)
		mp_unanswered_end(p);
	if (verdict == MP_ACK_PLAIN)
		mp_blank_sack(skb, p);
	if (verdict != MP_ACK_WITHHOLD)
		return TC_ACT_UNSPEC;
	mp_count(MP_COUNT_WITHHELD);
	return TC_ACT_SHOT;
}

/* What waits in the kernel goes there, by the action of this filter; it is asked after the gateway's. */
SEC("tc")
int mp_wait(struct __sk_buff *skb)
{
	return mp_is_kept(skb) ? -1 : 0;
}

/* From the mesh. */
SEC("tc")
int mp_from_mesh(struct __sk_buff *skb)
{
	struct mp_packet p = { .segment.now_ns = mp_now() };
	int verdict = TC_ACT_UNSPEC;

	mp_see(skb, MP_COUNT_SEEN_COME);
	if (!mp_alive(p.segment.now_ns))
		return TC_ACT_UNSPEC;
	if (!mp_read_packet(skb, &p, false)) {
		mp_record(skb, &p, MP_UP, false);
		return mp_other_from_mesh(skb, &p) ? TC_ACT_UNSPEC : TC_ACT_SHOT;
	}
	mp_record(skb, &p, MP_UP, true);
	if (mp_settings.option == MP_OPTION_ASKED)
		mp_take_question(skb, &p);
	if (p.segment.flags & MP_TCP_SYN && !(p.segment.flags & MP_TCP_RST)) {
		mp_handshake_begins(skb, &p);
		mp_tell_begins(&p);
	}
	if (mp_begins_or_breaks(&p, MP_UP)) {
		mp_hear(&p);
		return TC_ACT_UNSPEC;
	}
	if (p.segment.payload_bytes > 0 && !mp_police_passes(skb, &p))
		return TC_ACT_SHOT;
	if (p.segment.payload_bytes > 0) {
		mp_read_timestamps(skb, &p);
		mp_up_data(&p);
	} else if (p.segment.flags & MP_TCP_FIN) {
		mp_up_fin(&p);
	}
	if (p.segment.flags & MP_TCP_ACK && !p.one_way)
		verdict = mp_ack_from_mesh(skb, &p);
	if (!p.heard)
		mp_hear(&p);
	return verdict;
}
