/* SPDX-License-Identifier: GPL-2.0-only */
#include "reference-map.h"

#include <math.h>
#include <string.h>

double ref_outgoing(const struct ref_radio *radio)
{
	return radio->p_tx + radio->g_ant - radio->a_cab - radio->a_v;
}

double ref_first_hop(const struct ref_radio *radio)
{
	return ref_outgoing(radio) - radio->p_rx;
}

double ref_attenuation(double f_mhz, double p, double d)
{
	return 20 * log10(f_mhz) + 10 * p * log10(d) - 28;
}

/* Distance of the node n hops away in first hops. */
static double ref_ratio(const struct ref_radio *radio, int n)
{
	if (!radio->d || radio->known == 0)
		return n;
	if (n <= radio->known)
		return radio->d[n - 1] / radio->d[0];
	return radio->d[radio->known - 1] / radio->known * n / radio->d[0];
}

double ref_hops_attenuation(const struct ref_radio *radio, int n)
{
	return ref_first_hop(radio) + 10 * radio->p * log10(ref_ratio(radio, n));
}

int ref_h_cs(const struct ref_radio *radio, int h, double *margin)
{
	*margin = INFINITY;
	for (int k = 1; k <= h; k++) {
		double sensed = ref_outgoing(radio) - ref_hops_attenuation(radio, k);

		*margin = fmin(*margin, fabs(sensed - radio->t_cs));
		if (sensed < radio->t_cs)
			return k;
	}
	return h + 1;
}

/* 14 bytes of ACK; 20 of RTS and 14 of CTS are sent at the base rate too. */
double ref_link_least(const struct ref_link *link)
{
	double bits = 14 * 8;

	if (link->rts_cts)
		bits += 20 * 8 + 14 * 8;
	return bits / link->b_base;
}

double ref_link_most(const struct ref_link *link, double bits, double b)
{
	return ref_link_least(link) + 3 * (bits / b + link->cw * link->t_slot);
}

static double ref_link_median(const struct ref_link *link, double bits, double b)
{
	return ref_link_least(link) + (ref_link_most(link, bits, b) - ref_link_least(link)) / 2;
}

struct ref_layer ref_layer_of(const struct ref_path *path, const struct ref_link *link, double least)
{
	double half = fmax(least / path->h - (path->s_data + path->s_ack) / path->b, 0) / 2;
	struct ref_layer learnt = { half, half };
	struct ref_layer middle = { ref_link_median(link, path->s_data, path->b),
				    ref_link_median(link, path->s_ack, path->b) };

	return least > 0 ? learnt : middle;
}

double ref_map_queueing(const struct ref_path *path, struct ref_layer layer, double rtt)
{
	return 0.5 * (rtt / path->h - (path->s_data + path->s_ack) / path->b - layer.t_lld - layer.t_lla);
}

double ref_oid(const struct ref_path *path, struct ref_layer layer, int hops, bool with_link, double rtt)
{
	double t_q = fmax(ref_map_queueing(path, layer, rtt), 0);

	return hops * (t_q + path->s_data / path->b + (with_link ? layer.t_lld : 0));
}

void ref_map_add(struct ref_map *map, double rtt, double oid)
{
	map->oid = map->samples ? 0.7 * map->oid + 0.3 * oid : oid;
	if (map->samples == REF_N)
		memmove(map->rtt, map->rtt + 1, sizeof(double) * (REF_N - 1));
	else
		map->samples++;
	map->rtt[map->samples - 1] = rtt;
}

double ref_map_interval(const struct ref_map *map)
{
	return map->oid * (1 + 2 * ref_cov(map->rtt, map->samples));
}
