/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The law in floating point and plain lists, written from the papers' equations
 * (TCP-GAP, MSWiM 2006): what the fixed-point code is judged by. Seconds, bytes, bit/s.
 */
#ifndef MESHPACE_REFERENCE_H
#define MESHPACE_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

struct ref_path {
	double h;      /* hops */
	double b;      /* bit/s; 0: transmission times ignored */
	double s_data; /* bits */
	double s_ack;  /* bits */
};

double ref_queueing_delay(const struct ref_path *path, double rtt); /* t_q, eq. (3) */
double ref_hop_delay(const struct ref_path *path, double rtt);      /* t_q + s_data / b */
double ref_reuse_delay(const struct ref_path *path, double rtt);    /* FHD, eq. (4) */

double ref_mean(const double *x, int n);
double ref_cov(const double *x, int n);                /* eq. (5) */
double ref_mean_absolute_cov(const double *x, int n);  /* the authors' ns-2 agent */

#define REF_N 50

struct ref_law {
	int n;               /* N */
	double alpha;
	bool mean_absolute;  /* spread as in the authors' agent */
	bool one_hop;        /* one-hop delay below four hops */
	double bound;        /* s, 0: none */
	double means;        /* a sample is cut to so many means of those held; 0: it is not */
};

struct ref_estimate {
	double rtt[REF_N]; /* latest last */
	int samples;       /* in rtt */
	double fhd;        /* smoothed, eq. (2) */
	bool started;
};

void ref_estimate_add(struct ref_estimate *estimate, const struct ref_law *law,
		      const struct ref_path *path, double rtt);
/* 1 / R, eq. (1). */
double ref_interval(const struct ref_estimate *estimate, const struct ref_law *law);

/* Every transmission of a flow, with sequence numbers that do not wrap. */
struct ref_transmission {
	uint64_t seq, end, t1_ns;
	uint64_t again; /* bytes before this had been sent already */
	bool forgotten; /* before an idle time that clears T1 */
};

#define REF_TRANSMISSIONS 1024

struct ref_sent {
	struct ref_transmission list[REF_TRANSMISSIONS];
	int n;
	uint64_t una; /* highest ACK */
	uint64_t max; /* highest byte sent */
};

void ref_sent_record(struct ref_sent *sent, uint64_t seq, uint64_t end, uint64_t now_ns);
/* Karn's rule: RTT in ns of the newest segment that ack is the first to cover; 0 when it is no sample. */
uint64_t ref_sent_ack(struct ref_sent *sent, uint64_t ack, uint64_t now_ns);

/* Goodput control, figure 6 of MSWiM (figure 7 of the journal). */
struct ref_flow {
	double delivered;   /* bytes since the previous step */
	double segment;     /* bytes */
	bool paced_here;
	double g;           /* G(i), bytes/s */
	double rate;        /* R(i), packets/s; 0: not throttled */
	bool slow;
};

struct ref_control {
	bool throttling;
	double slow_before; /* bytes/s */
	double margin;      /* smallest relative distance of a decision from its threshold */
};

/* A step after elapsed_s; returns how many are throttled. */
int ref_goodput_step(struct ref_control *control, struct ref_flow *flows, int n, double elapsed_s);

#endif
