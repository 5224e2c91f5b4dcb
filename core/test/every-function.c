/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls every function of the law from global state, so that no input is known to the compiler:
 * for C11 and C++20 without warnings, and for the kernel as a BPF program.
 */
#include <meshpace/meshpace.h>

#define FLOWS 4u

struct probe {
	uint64_t now_ns, rtt_ns, number;
	uint32_t seq, len, ack, ticks, us, bytes, alpha_q16, options_len;
	struct mp_sent sent;
	struct mp_estimate estimate;
	struct mp_path path;
	struct mp_pacer pacer;
	struct mp_dupack dupack;
	struct mp_goodput control;
	struct mp_goodput_flow flow[FLOWS];
	uint8_t option[MP_TCP_OPTIONS_MAX];
	uint64_t out[16];
};

struct probe probe;

MP_INLINE void probe_flow(struct probe *p)
{
	struct mp_law law = p->bytes & 1 ? mp_law_gap() : mp_law_ap();
	uint32_t ticks;

	p->out[0] = mp_sent_record(&p->sent, p->seq, p->len, p->now_ns);
	ticks = mp_sent_ack(&p->sent, p->ack, p->now_ns + p->rtt_ns);
	p->out[1] = ticks;
	mp_estimate_add(&p->estimate, &law, &p->path, mp_rtt_wireless_ticks(ticks, p->us));
	p->out[2] = mp_interval_ns(&p->estimate, &law, p->flow[0].floor_ns);
	p->out[3] = mp_departure_ns(&p->pacer, p->now_ns, p->out[2]);
	mp_departed(&p->pacer, p->out[3]);
	p->out[4] = mp_rate_mpps(p->out[2]);
	p->out[5] = mp_window_mean_ns(&p->estimate.window);
}

MP_INLINE void probe_acks(struct probe *p)
{
	uint32_t us = 0;

	p->out[6] = mp_dupack_count(&p->dupack, p->ack, p->len, p->us, p->sent.max_end);
	p->out[7] = mp_dupack_verdict(&p->dupack, p->bytes & 2, p->now_ns, p->rtt_ns);
	mp_option_write(p->option, mp_rtt_wired_us(p->ticks));
	p->out[8] = mp_option_find(p->option, p->options_len, &us);
	p->out[9] = us;
}

MP_INLINE void probe_goodput(struct probe *p)
{
	struct mp_goodput_law law = mp_goodput_law_gap();

	if (p->bytes & 4)
		mp_goodput_reset(&p->control, p->flow, FLOWS, p->now_ns);
	p->out[10] = mp_goodput_step(&p->control, &law, p->flow, FLOWS, p->now_ns);
}

#ifdef __bpf__
__attribute__((section("tc"), used))
#endif
int probe_run(void *context);

int probe_run(void *context)
{
	struct probe *p = &probe;

	(void)context;
	p->out[11] = mp_isqrt(p->number);
	mp_ewma_add(&p->estimate.delay_ns, p->alpha_q16 & 0xffff, p->number >> 17);
	probe_flow(p);
	probe_acks(p);
	probe_goodput(p);
	return 0;
}
