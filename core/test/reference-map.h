/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * MAP in floating point, written from the paper's equations (2) to (15): what the fixed-point code
 * is judged by. dB, dBm, m, Hz, seconds, bits, bit/s.
 */
#ifndef MESHPACE_REFERENCE_MAP_H
#define MESHPACE_REFERENCE_MAP_H

#include "reference.h"

struct ref_radio {
	double p_tx, g_ant, a_cab, a_v;
	double p_rx;          /* of the next hop */
	double t_cs;
	double p;             /* path-loss exponent */
	const double *d;      /* d[n - 1]: distance of the node n hops away; NULL: hops are equal */
	int known;            /* entries of d */
};

double ref_outgoing(const struct ref_radio *radio);              /* P_out, eq. (2) */
double ref_first_hop(const struct ref_radio *radio);             /* L_1, eq. (3) */
double ref_attenuation(double f_mhz, double p, double d);        /* L, eq. (4), ITU-R's -28 dB */
double ref_hops_attenuation(const struct ref_radio *radio, int n); /* L_n, eq. (6) */

/* H_cs, eq. (7), of 1 .. h; h + 1 when none is. margin: dB by which the nearest decision fell. */
int ref_h_cs(const struct ref_radio *radio, int h, double *margin);

struct ref_link {
	double b_base;        /* bit/s */
	double cw, t_slot;    /* slots, s */
	bool rts_cts;
};

double ref_link_least(const struct ref_link *link);              /* eq. (9), (10), left */
double ref_link_most(const struct ref_link *link, double bits, double b); /* right */

/* t_LLD and t_LLA: the middle of the bounds, or half each of what the least RTT leaves at a hop (least > 0). */
struct ref_layer {
	double t_lld, t_lla;
};

struct ref_layer ref_layer_of(const struct ref_path *path, const struct ref_link *link, double least);
/* t_q, eq. (11), before it is cut off at 0. */
double ref_map_queueing(const struct ref_path *path, struct ref_layer layer, double rtt);
/* OID, eq. (12), over so many hops, with t_q cut off; with_link: each has t_LLD. */
double ref_oid(const struct ref_path *path, struct ref_layer layer, int hops, bool with_link, double rtt);

struct ref_map {
	double rtt[REF_N]; /* latest last */
	int samples;
	double oid;        /* smoothed, eq. (15) */
};

void ref_map_add(struct ref_map *map, double rtt, double oid);
double ref_map_interval(const struct ref_map *map);              /* 1 / R, eq. (14) */

#endif
