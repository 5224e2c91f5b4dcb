/* SPDX-License-Identifier: GPL-2.0-only */
#include "reference.h"

#include <math.h>
#include <string.h>

/* Equations (1) to (5). */

double ref_queueing_delay(const struct ref_path *path, double rtt)
{
	double transmission = path->b > 0 ? (path->s_data + path->s_ack) / path->b : 0;

	return 0.5 * (rtt / path->h - transmission);
}

double ref_hop_delay(const struct ref_path *path, double rtt)
{
	double data = path->b > 0 ? path->s_data / path->b : 0;

	return fmax(ref_queueing_delay(path, rtt) + data, 0);
}

double ref_reuse_delay(const struct ref_path *path, double rtt)
{
	return fmin(path->h, 4) * ref_hop_delay(path, rtt);
}

double ref_mean(const double *x, int n)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		sum += x[i];
	return sum / n;
}

double ref_cov(const double *x, int n)
{
	double mean = ref_mean(x, n), squares = 0;

	if (n < 2)
		return 0;
	for (int i = 0; i < n; i++)
		squares += (x[i] - mean) * (x[i] - mean);
	return sqrt(squares / (n - 1)) / mean;
}

double ref_mean_absolute_cov(const double *x, int n)
{
	double mean = ref_mean(x, n), sum = 0;

	if (n < 2)
		return 0;
	for (int i = 0; i < n; i++)
		sum += fabs(x[i] - mean);
	return sum / n / mean;
}

void ref_estimate_add(struct ref_estimate *estimate, const struct ref_law *law,
		      const struct ref_path *path, double rtt)
{
	double fhd;

	if (law->bound > 0 && rtt > law->bound)
		return;
	if (law->means > 0 && estimate->samples > 0)
		rtt = fmin(rtt, law->means * ref_mean(estimate->rtt, estimate->samples));
	fhd = law->one_hop && path->h < 4 ? ref_hop_delay(path, rtt) : ref_reuse_delay(path, rtt);
	if (estimate->samples == law->n) {
		memmove(estimate->rtt, estimate->rtt + 1, sizeof(double) * (size_t)(law->n - 1));
		estimate->samples--;
	}
	estimate->rtt[estimate->samples++] = rtt;
	estimate->fhd = estimate->started ? law->alpha * estimate->fhd + (1 - law->alpha) * fhd : fhd;
	estimate->started = true;
}

double ref_interval(const struct ref_estimate *estimate, const struct ref_law *law)
{
	double cov = law->mean_absolute ? ref_mean_absolute_cov(estimate->rtt, estimate->samples)
					: ref_cov(estimate->rtt, estimate->samples);

	return estimate->fhd * (1 + 2 * cov);
}

/* T1, T2 and Karn's rule. */

#define REF_IDLE_NS 120000000000u

void ref_sent_record(struct ref_sent *sent, uint64_t seq, uint64_t end, uint64_t now_ns)
{
	struct ref_transmission *new = &sent->list[sent->n];

	for (int i = 0; i < sent->n; i++)
		if (now_ns > new[-1].t1_ns + REF_IDLE_NS)
			sent->list[i].forgotten = true;
	new->seq = seq;
	new->end = end;
	new->t1_ns = now_ns;
	new->again = sent->max < end ? sent->max : end;
	new->forgotten = false;
	sent->max = sent->max < end ? end : sent->max;
	sent->n++;
}

uint64_t ref_sent_ack(struct ref_sent *sent, uint64_t ack, uint64_t now_ns)
{
	bool idle = sent->n && now_ns > sent->list[sent->n - 1].t1_ns + REF_IDLE_NS;
	uint64_t una = sent->una, newest = 0, rtt_ns = 0;

	if (ack <= una)
		return 0;
	sent->una = ack;
	for (int i = 0; i < sent->n; i++) {
		const struct ref_transmission *old = &sent->list[i];

		if (old->seq < ack && old->again > una && old->again > old->seq)
			return 0; /* bytes sent more than once among those now acknowledged */
		if (old->end <= ack && old->end > una && old->end > newest && !old->forgotten && !idle) {
			newest = old->end;
			rtt_ns = now_ns - old->t1_ns;
		}
	}
	return rtt_ns;
}

/* Goodput control. */

#define REF_S 1.1
#define REF_AGING 1.1
#define REF_GAIN 1.05

static bool ref_above(struct ref_control *control, double value, double threshold)
{
	double scale = fmax(fabs(threshold), 1e-9);

	control->margin = fmin(control->margin, fabs(value - threshold) / scale);
	return value > threshold;
}

static double ref_slow_goodput(const struct ref_flow *flows, int n)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		sum += flows[i].slow ? flows[i].g : 0;
	return sum;
}

static void ref_throttling_on(struct ref_control *control, struct ref_flow *flows, int n,
			      double g_avg)
{
	for (int i = 0; i < n; i++)
		flows[i].slow = ref_above(control, g_avg, flows[i].g);
	control->slow_before = ref_slow_goodput(flows, n);
	control->throttling = true;
}

int ref_goodput_step(struct ref_control *control, struct ref_flow *flows, int n, double elapsed_s)
{
	double g_avg = 0;
	int throttled = 0;

	control->margin = 1;
	for (int i = 0; i < n; i++) {
		flows[i].g = flows[i].delivered / elapsed_s;
		flows[i].delivered = 0;
		g_avg += flows[i].g / n;
	}
	/* No improvement for the slow flows: throttling is off. An idle network improves nobody. */
	if (control->throttling && (g_avg < 1 || !ref_above(control, ref_slow_goodput(flows, n),
							    REF_GAIN * control->slow_before))) {
		for (int i = 0; i < n; i++)
			flows[i].rate = 0;
		control->throttling = false;
		return 0;
	}
	if (g_avg < 1)
		return 0;
	for (int i = 0; i < n; i++) {
		double deviation = flows[i].g / g_avg;

		if (ref_above(control, deviation, REF_S) && flows[i].paced_here) {
			if (!control->throttling)
				ref_throttling_on(control, flows, n, g_avg);
			flows[i].rate = flows[i].segment > 0 ? g_avg / flows[i].segment : 0;
		}
		if (flows[i].rate > 0) {
			flows[i].rate = fmax(flows[i].rate + REF_AGING * deviation,
					     g_avg / flows[i].segment);
			throttled++;
		}
	}
	control->throttling = throttled > 0;
	return throttled;
}
