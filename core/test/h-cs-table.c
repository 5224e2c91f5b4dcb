/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * H_cs as the law estimates it, against the truth of the geometry: over spacings of 50 to 240 m and
 * path-loss exponents of 2 to 5, right and wrong. Prints tables in Markdown; given docs/understand/law.md as
 * its argument, checks that it shows them as they come out.
 */
#include "check.h"

#include <meshpace/law/radio.h>
#include <string.h>

/* A node senses the sender up to here: at 550 m it does, at 551 m it does not. */
#define SENSE_M 550.5
#define SPACING_LEAST 50
#define SPACING_MOST 240

static FILE *out;

/* Power at distance m over that at the edge of the sensing range, in dB. */
typedef double (*propagation)(double m, double p);

static double log_distance_db(double m, double p)
{
	return 10 * p * log10(SENSE_M / m);
}

/* Two-ray ground at 914 MHz, antennas at 1.5 m: below the crossover distance as in free space. */
static double two_ray_db(double m, double p)
{
	double crossover_m = 4 * M_PI * 1.5 * 1.5 * 914e6 / 299792458;

	(void)p;
	if (m >= crossover_m)
		return log_distance_db(m, 4);
	return log_distance_db(crossover_m, 4) + 20 * log10(crossover_m / m);
}

/* H_cs from the signal of the first hop, over the sensing threshold, an exponent and distances. */
static uint32_t estimate(double over_db, double p, const struct mp_reach *reach)
{
	struct mp_radio radio = mp_radio_default();

	radio.tx_power_dbm_q8 = MP_DB_Q8(24.5);
	radio.sense_dbm_q8 = MP_DB_Q8(-78);
	radio.signal_dbm_q8 = (int16_t)lrint((over_db - 78) * 256);
	radio.exponent_q8 = (uint16_t)lrint(p * 256);
	return mp_h_cs(&radio, reach);
}

static uint32_t estimate_equal(double over_db, double p)
{
	struct mp_reach none = { 0 };

	return estimate(over_db, p, &none);
}

/* The first node of an evenly spaced, straight chain that does not sense the sender. */
static uint32_t truth(double spacing_m)
{
	return (uint32_t)floor(SENSE_M / spacing_m) + 1;
}

static void print_papers_radio(void)
{
	static const double p[] = { 2, 2.5, 3, 3.5, 4, 4.5, 5 };
	uint32_t spacing_m, i;

	fprintf(out, "| spacing | truth | p = 2 | 2.5 | 3 | 3.5 | 4 | 4.5 | 5 |\n");
	fprintf(out, "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
	for (spacing_m = SPACING_LEAST; spacing_m <= SPACING_MOST; spacing_m += 10) {
		uint32_t want = truth(spacing_m);

		fprintf(out, "| %u m | %u |", spacing_m, want);
		for (i = 0; i < sizeof(p) / sizeof(p[0]); i++) {
			uint32_t got = estimate_equal(two_ray_db(spacing_m, 0), p[i]);

			if (got > MP_REACH_HOPS)
				fprintf(out, " > %u |", MP_REACH_HOPS);
			else if (got == want)
				fprintf(out, " %u |", got);
			else
				fprintf(out, " %u (%+d) |", got, (int)got - (int)want);
		}
		fprintf(out, "\n");
	}
	fprintf(out, "\n");
}

/* Errors of H_cs in hops, and of an interval on a long path: H_cs + 1 over the truth's. */
struct errors {
	int n, right, least, most;
	double sum, absolute, interval;
};

static void count(struct errors *errors, uint32_t got, uint32_t want)
{
	int error = (int)got - (int)want;

	errors->least = errors->n && errors->least < error ? errors->least : error;
	errors->most = errors->n && errors->most > error ? errors->most : error;
	errors->n++;
	errors->right += error == 0;
	errors->sum += error;
	errors->absolute += abs(error);
	errors->interval += (got + 1.0) / (want + 1.0);
}

/* Evenly spaced, every metre. */
static struct errors over_spacings(double p_true, double p, double off_db)
{
	struct errors errors = { .n = 0 };
	uint32_t spacing_m;

	for (spacing_m = SPACING_LEAST; spacing_m <= SPACING_MOST; spacing_m++)
		count(&errors, estimate_equal(log_distance_db(spacing_m, p_true) + off_db, p),
		      truth(spacing_m));
	return errors;
}

static void print_cell(const struct errors *errors)
{
	fprintf(out, " %+.1f (%d..%d), %.2f |", errors->sum / errors->n, errors->least,
		errors->most, errors->interval / errors->n);
}

static void print_wrong_exponents(void)
{
	int p_true, p;

	fprintf(out, "| the radio's p | law's p = 2 | 3 | 4 | 5 |\n");
	fprintf(out, "| --- | --- | --- | --- | --- |\n");
	for (p_true = 2; p_true <= 5; p_true++) {
		fprintf(out, "| %d |", p_true);
		for (p = 2; p <= 5; p++) {
			struct errors errors = over_spacings(p_true, p, 0);

			print_cell(&errors);
		}
		fprintf(out, "\n");
	}
	fprintf(out, "\n");
}

static void print_wrong_signal(void)
{
	static const double off_db[] = { -6, -3, -1, 1, 3, 6 };
	int p;
	uint32_t i;

	fprintf(out, "| p, known | signal -6 dB | -3 dB | -1 dB | +1 dB | +3 dB | +6 dB |\n");
	fprintf(out, "| --- | --- | --- | --- | --- | --- | --- |\n");
	for (p = 2; p <= 5; p++) {
		fprintf(out, "| %d |", p);
		for (i = 0; i < sizeof(off_db) / sizeof(off_db[0]); i++) {
			struct errors errors = over_spacings(p, p, off_db[i]);

			print_cell(&errors);
		}
		fprintf(out, "\n");
	}
	fprintf(out, "\n");
}

/* A chain whose hops differ in length and direction. */
struct crooked {
	struct mp_reach hops, positions;
	double first_m;
	uint32_t truth; /* H_cs */
};

static struct crooked crooked_chain(void)
{
	struct crooked chain = { .truth = 0 };
	double spacing_m = SPACING_LEAST + (SPACING_MOST - SPACING_LEAST) * random_unit();
	double x = 0, y = 0, heading = 0;
	uint32_t k;

	for (k = 1; k <= MP_REACH_HOPS; k++) {
		double hop_m = fmin(spacing_m * (0.7 + 0.6 * random_unit()), 250);

		heading += M_PI / 2 * (random_unit() - 0.5);
		x += hop_m * cos(heading);
		y += hop_m * sin(heading);
		mp_reach_add_hop(&chain.hops, (uint32_t)lrint(hop_m * 100));
		mp_reach_add_position(&chain.positions, (int32_t)lrint(x * 100),
				      (int32_t)lrint(y * 100));
		if (k == 1)
			chain.first_m = hop_m;
		if (chain.truth == 0 && hypot(x, y) > SENSE_M)
			chain.truth = k;
	}
	chain.truth = chain.truth ? chain.truth : MP_REACH_HOPS + 1;
	return chain;
}

static void print_shares(const struct errors *errors)
{
	fprintf(out, " %.0f%%, %.1f, %.2f |", 100.0 * errors->right / errors->n,
		errors->absolute / errors->n, errors->interval / errors->n);
}

static void print_crooked(void)
{
	static const struct mp_reach none;
	int p, run, way;

	fprintf(out, "| law's p | hops equal | hops' lengths known | positions known |\n");
	fprintf(out, "| --- | --- | --- | --- |\n");
	for (p = 2; p <= 5; p++) {
		struct errors errors[3] = { { .n = 0 } };

		check_state = 1; /* the same chains for each */
		for (run = 0; run < 5000; run++) {
			struct crooked chain = crooked_chain();
			double over_db = log_distance_db(chain.first_m, 3);

			count(&errors[0], estimate(over_db, p, &none), chain.truth);
			count(&errors[1], estimate(over_db, p, &chain.hops), chain.truth);
			count(&errors[2], estimate(over_db, p, &chain.positions), chain.truth);
		}
		fprintf(out, "| %d |", p);
		for (way = 0; way < 3; way++)
			print_shares(&errors[way]);
		fprintf(out, "\n");
	}
}

/* The tables, one after the other, separated by empty lines. */
static char *tables(void)
{
	char *text = NULL;
	size_t bytes = 0;

	out = open_memstream(&text, &bytes);
	CHECK(out, "no memory");
	print_papers_radio();
	print_wrong_exponents();
	print_wrong_signal();
	print_crooked();
	fclose(out);
	return text;
}

static char *file_text(const char *path)
{
	enum { MOST = 1 << 20 };
	char *text = calloc(1, MOST);
	FILE *file = fopen(path, "r");

	CHECK(file && text, "cannot read %s", path);
	CHECK(fread(text, 1, MOST - 1, file) > 0, "%s is empty", path);
	fclose(file);
	return text;
}

/* Each table stands in the text, whole. */
static void check_shown(char *table, const char *text, const char *path)
{
	while (table) {
		char *end = strstr(table, "\n\n");

		if (end)
			end[1] = 0;
		CHECK(strstr(text, table), "%s shows another table; it comes out as\n%s", path,
		      table);
		table = end ? end + 2 : NULL;
	}
}

int main(int argc, char **argv)
{
	char *text = tables();

	if (argc < 2) {
		fputs(text, stdout);
		return 0;
	}
	check_shown(text, file_text(argv[1]), argv[1]);
	return check_end();
}
