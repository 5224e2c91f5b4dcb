/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls every function of the law that BPF may call, on global state, so that no input is known to
 * the compiler: must compile as C11 and C++20 without warnings, and as BPF programs.
 */
#include <meshpace/meshpace.h>

#define FLOWS 4u

struct call {
	uint64_t now_ns, rtt_ns, number;
	uint32_t seq, len, ack, ticks, us, bytes, options_len;
	struct mp_sent sent;
	struct mp_estimate estimate;
	struct mp_path path;
	struct mp_radio radio;
	struct mp_reach reach;
	struct mp_pacer pacer;
	struct mp_yang yang;
	uint32_t links[4];
	uint8_t rates[MP_LINK_RATES_BYTES];
	struct mp_dupack dupack;
	struct mp_sack sack;
	struct mp_asks wants;
	struct mp_range again;
	struct mp_goodput control;
	struct mp_goodput_flow flow[FLOWS];
	struct mp_wait wait;
	struct mp_waits_for waits_for;
	struct mp_host_pace pace;
	struct mp_police police;
	struct mp_demand demand;
	struct mp_handshake handshake;
	struct mp_progress progress;
	struct mp_notification notified;
	struct mp_feedback feedback;
	struct mp_signalled signalled;
	struct mp_turns turns;
	struct mp_turn turn;
	struct mp_probe asked;
	struct mp_budget host, all;
	struct mp_credit copies;
	struct mp_unanswered unanswered;
	struct mp_unanswered_queue queue[2];
	struct mp_unanswered_rate rate;
	uint8_t option[MP_TCP_OPTIONS_MAX];
	uint64_t out[16];
};

struct call call;

/* A BPF program each, in a section of its name; elsewhere a function. */
#ifdef __bpf__
#define CALL(name)                                                                            \
	__attribute__((section("tc/" #name), used)) int call_##name(void *context)
#else
#define CALL(name) int call_##name(void *context)
#endif

CALL(record);
CALL(ack);
CALL(estimate);
CALL(interval);
CALL(dupack);
CALL(option);
CALL(goodput);
CALL(radio);
CALL(links);
CALL(shaper);
CALL(reach);
CALL(even);
CALL(police);
CALL(hostpace);
CALL(progress);
CALL(signalled);
CALL(asks);
CALL(unanswered);

/* Each law, as the input has it. */
MP_INLINE struct mp_law call_law(uint32_t which)
{
	struct mp_law law = which & 1 ? mp_law_gap() : which & 4 ? mp_law_map() : mp_law_ap();

	law.past_end = which & 8;
	law.link_in_oid = which & 1;
	law.link_learnt = which & 2;
	if (which == 3)
		law = mp_law_shaper(mp_shaper_interval_ns(1460, 500000), which);
	return law;
}

CALL(record)
{
	struct call *p = &call;

	(void)context;
	p->out[0] = mp_sent_record(&p->sent, p->seq, p->len, p->now_ns);
	return 0;
}

CALL(ack)
{
	struct call *p = &call;

	(void)context;
	p->out[1] = mp_sent_ack(&p->sent, p->ack, p->now_ns + p->rtt_ns);
	return 0;
}

CALL(estimate)
{
	struct call *p = &call;
	struct mp_law law = call_law(p->bytes);
	uint32_t ticks = mp_rtt_wireless_ticks((uint32_t)p->out[1], p->us);

	(void)context;
	if (p->bytes & 2)
		mp_estimate_forget(&p->estimate);
	p->out[2] = mp_estimate_add(&p->estimate, &law, &p->path, ticks, p->now_ns, p->ack);
	return 0;
}

CALL(interval)
{
	struct call *p = &call;
	struct mp_law law = call_law(p->bytes);

	(void)context;
	p->out[3] = mp_interval_ns(&p->estimate, &law, p->flow[0].floor_ns);
	p->out[4] = mp_departure_ns(&p->pacer, p->now_ns, p->out[3]);
	mp_departed_together(&p->pacer, p->out[4], p->out[3], p->bytes);
	p->out[5] = mp_rate_mpps(p->out[3]) + mp_hops_of_ttl((uint8_t)p->bytes);
	p->out[6] = mp_window_mean_ns(&p->estimate.window);
	p->out[7] = mp_isqrt(p->number);
	return 0;
}

CALL(dupack)
{
	struct call *p = &call;

	(void)context;
	p->out[8] = mp_dupack_count(&p->dupack, p->ack, p->len == 0, p->us, p->sent.max_end);
	p->wants = (struct mp_asks){ p->ack, mp_sack_top(p->sack.option, p->sack.bytes, p->ack), p->len, p->now_ns,
				     p->rtt_ns };
	p->out[9] = mp_dupack_verdict(&p->dupack, &p->wants, p->bytes & 2, &p->again);
	if (mp_dupack_repeats(&p->dupack, p->ack))
		mp_dupack_sent(&p->dupack, p->ack + p->len);
	return 0;
}

CALL(option)
{
	struct call *p = &call;
	uint32_t us = 0;

	(void)context;
	mp_option_write(&p->option[p->bytes & 1], mp_rtt_wired_us(p->ticks));
	p->out[10] = mp_option_read(&p->option[p->options_len & 1], &us);
	p->out[11] = us;
	if (p->bytes & 2)
		mp_ask_write(&p->option[p->bytes & 1]);
	p->out[13] = mp_ask_read(&p->option[p->options_len & 1]);
	if (mp_feedback_turn(&p->feedback))
		mp_feedback_write(&p->option[p->bytes & 1], &p->feedback);
	p->out[14] = mp_feedback_read(&p->option[p->options_len & 1], &p->feedback);
	p->out[15] = mp_feedback_interval_ns(&p->feedback, p->len);
	return 0;
}

CALL(goodput)
{
	struct call *p = &call;
	struct mp_goodput_law law = mp_goodput_law_gap();

	(void)context;
	if (p->bytes & 4)
		mp_goodput_reset(&p->control, p->flow, FLOWS, p->now_ns);
	p->out[12] = mp_goodput_step(&p->control, &law, p->flow, FLOWS, p->now_ns);
	return 0;
}

CALL(radio)
{
	struct call *p = &call;
	struct mp_link link = mp_link_80211b();

	(void)context;
	if (p->bytes & 2)
		p->radio = mp_radio_default();
	if (p->bytes & 4)
		mp_reach_add_hop(&p->reach, p->us);
	if (p->bytes & 8)
		mp_reach_add_position(&p->reach, (int32_t)p->seq, (int32_t)p->ack);
	p->radio.tx_power_dbm_q8 = mp_db_q8_of_centi((int32_t)p->ticks);
	p->out[14] = (uint64_t)mp_hops_db_q8(&p->radio, &p->reach, 1 + p->bytes % MP_REACH_HOPS);
	p->path.link = link;
	return 0;
}

CALL(links)
{
	struct call *p = &call;
	struct mp_law law = call_law(p->bytes);

	(void)context;
	mp_law_set_links(&law, &p->path, p->links, 4);
	if (!mp_link_rates_is(p->rates))
		mp_link_rates_write(p->rates);
	mp_link_rates_add(p->rates, p->links[0]);
	return 0;
}

CALL(shaper)
{
	struct call *p = &call;
	struct mp_law law = call_law(p->bytes);

	(void)context;
	p->out[15] = mp_bucket_departure_ns(&p->pacer, p->now_ns, p->rtt_ns, p->bytes);
	mp_bucket_departed(&p->pacer, p->out[15], p->rtt_ns);
	p->out[15] += mp_law_due_ns(&law, &p->pacer, p->now_ns, p->rtt_ns);
	mp_law_departed(&law, &p->pacer, p->out[15], p->out[15], p->rtt_ns, 0,
			MP_DEVICE_UNSEEN);
	mp_yang_took(&p->yang, p->rtt_ns);
	p->out[15] += mp_yang_delay_ns(&p->yang, p->us);
	return 0;
}

CALL(reach)
{
	struct call *p = &call;

	(void)context;
	p->path.link.h_cs = (uint16_t)mp_h_cs(&p->radio, &p->reach);
	return 0;
}

CALL(even)
{
	struct call *p = &call;
	struct mp_law law = mp_law_even();

	(void)context;
	mp_estimate_set_late(&p->estimate, p->us);
	p->out[2] = mp_estimate_add(&p->estimate, &law, &p->path, p->ticks, p->now_ns, p->ack);
	p->out[3] = mp_interval_ns(&p->estimate, &law, 0);
	p->waits_for.mesh_ns = p->rtt_ns;
	p->waits_for.interval_ns = p->out[3];
	p->out[4] = mp_wait_behind_ns(&p->waits_for, p->len);
	p->out[4] = mp_wait_too_long(&p->wait, &law, &p->waits_for, p->out[4], p->now_ns);
	p->out[4] += mp_wait_beyond(&p->waits_for, p->bytes);
	p->waits_for = mp_waits_for_of(&p->estimate, p->out[3], p->us);
	p->out[4] += mp_follow_ns(&p->pacer, p->now_ns);
	p->out[5] = mp_rate_interval_ns(p->us, p->len);
	p->out[8] = mp_turn_tag(&p->turns, &p->turn);
	mp_turn_take(&p->turn, p->out[8], p->bytes);
	p->out[9] = mp_turns_ahead(&p->turns, p->out[8], p->us);
	mp_turns_pass(&p->turns, p->out[8]);
	return 0;
}

CALL(hostpace)
{
	struct call *p = &call;
	uint64_t held_bytes_per_s = mp_held_bytes_per_s(p->us, p->len & 1);

	(void)context;
	p->out[12] = mp_datagram_waits_ns(&p->pace, &p->turns, &p->turn, held_bytes_per_s, p->bytes, p->now_ns);
	p->out[12] += mp_datagram_judge(&p->wait, p->out[12], p->us, p->len & 1, p->now_ns);
	mp_host_leaves(&p->pace, held_bytes_per_s, p->now_ns, p->now_ns + p->rtt_ns, p->len, p->number);
	p->out[13] = mp_host_departure_ns(&p->pace, held_bytes_per_s, p->now_ns, p->len, MP_CAP_WAIT_NS,
					  MP_TOO_LONG_IS_REFUSED);
	p->out[13] += mp_host_ack_due_ns(&p->pace, held_bytes_per_s, p->now_ns);
	p->out[14] = mp_turn_interval_ns(held_bytes_per_s, p->len, p->bytes);
	p->out[14] += mp_udp_bucket(p->seq, (uint16_t)p->len, (uint16_t)p->bytes);
	return 0;
}

CALL(progress)
{
	struct call *p = &call;

	(void)context;
	mp_progress_data(&p->progress, p->len, p->seq, p->bytes, p->us & 1, p->us & 2);
	mp_progress_fin(&p->progress, p->len, p->ack);
	p->out[12] = mp_progress_reset(&p->progress, p->len, p->seq);
	p->out[13] = mp_progress_ack(&p->progress, p->len, p->ack);
	p->out[14] = mp_flow_wants(&p->demand);
	p->out[15] = mp_excess_bytes(p->number, p->us, p->len);
	p->demand = mp_demand_of(&p->progress, p->len, p->us & 1, p->us & 2, p->number, p->now_ns);
	return 0;
}

CALL(signalled)
{
	struct call *p = &call;
	const uint8_t *option = &p->option[p->options_len & 1];

	(void)context;
	if (!mp_signalled_hear_wired(&p->signalled, &p->estimate, option, p->now_ns))
		mp_signalled_hear_feedback(&p->signalled, option, p->now_ns);
	mp_signalled_expire(&p->signalled, &p->estimate, p->now_ns + p->rtt_ns);
	p->out[10] = mp_signalled_sample_ticks(&p->signalled, p->ticks, p->ack);
	p->out[11] = mp_signalled_interval_ns(&p->signalled, p->len);
	return 0;
}

CALL(police)
{
	struct call *p = &call;

	(void)context;
	p->out[6] = mp_police_exceeds(&p->police, p->us, p->len, p->now_ns);
	p->out[7] = mp_police_notifies(&p->notified, &p->progress, p->len, p->seq, p->bytes);
	return 0;
}

CALL(asks)
{
	struct call *p = &call;

	(void)context;
	p->out[8] = mp_wake_up_due(&p->asked, p->ack, p->rtt_ns, p->number, p->bytes & 1, p->now_ns);
	p->out[9] = mp_ask_spend(&p->host, &p->all, p->now_ns);
	if (p->out[8] && p->out[9])
		mp_probe_sent(&p->asked, p->now_ns);
	if (p->bytes & 2)
		mp_credit_earn(&p->copies);
	p->out[10] = mp_credit_spend(&p->copies);
	return 0;
}

CALL(unanswered)
{
	struct call *p = &call;
	uint64_t bytes_per_s = mp_unanswered_step(&p->rate, p->number);

	(void)context;
	p->out[8] = mp_is_answered(&p->unanswered, p->now_ns);
	p->out[8] += mp_heard_lately(p->rtt_ns, p->now_ns) + mp_heard_to_note(p->rtt_ns, p->now_ns);
	p->out[8] += mp_handshake_answered(&p->handshake, p->now_ns);
	p->handshake = mp_handshake_of(&p->handshake, p->us & 1, p->bytes, p->now_ns);
	p->out[8] += mp_unanswered_in_window(&p->unanswered, p->number, p->bytes);
	p->out[9] = mp_unanswered_judge(&p->unanswered, p->number, p->bytes, p->len & 1, p->now_ns);
	if (p->us & 1)
		mp_unanswered_ends(&p->unanswered, p->number, p->now_ns);
	if (bytes_per_s == 0)
		return 0;
	p->out[10] = mp_unanswered_fits(&p->queue[0], &p->queue[1], p->us & 1, bytes_per_s, p->bytes, p->now_ns);
	mp_unanswered_take_back(&p->queue[0], &p->queue[1], bytes_per_s, p->len, p->now_ns);
	return 0;
}
