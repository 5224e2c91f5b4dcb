/* SPDX-License-Identifier: GPL-2.0-only */
/* From powers, losses and distances to H_cs, against MAP's eq. (2) to (7) in floating point. */
#include "check.h"
#include "reference-map.h"

#include <meshpace/law/radio.h>

static double worst_db; /* error of an attenuation */
static uint64_t too_close; /* H_cs not compared: a node at the edge of the range */

/* What rounding of inputs to 1/256 dB and of the logarithm may come to, in dB. */
#define DB_OFF 0.01

static void test_log2(void)
{
	uint64_t v;
	int i;

	CHECK_EQUAL(mp_log2_q16(0), 0);
	for (i = 0; i < 64; i++)
		CHECK_EQUAL(mp_log2_q16(1ull << i), (uint64_t)i << 16);
	CHECK_EQUAL(mp_log2_q16(UINT64_MAX), (64u << 16) - 1);
	for (i = 0; i < 400000; i++) {
		double want;

		v = random_one_in(2) ? (uint64_t)i + 1 : random_extreme_u64() | 1;
		want = log2((double)v) * 65536;
		CHECK(mp_log2_q16(v) <= want + 1e-4 && mp_log2_q16(v) >= want - 1.001,
		      "log2(%" PRIu64 ") = %u / 65536, expected %.3f", v, mp_log2_q16(v), want);
	}
}

static void test_loss(void)
{
	int i;

	CHECK_EQUAL(mp_loss_db_q8(3 << 8, 0), 0);
	for (i = 0; i < 300000; i++) {
		double p = random_between(1, 0xffff) / 256.0;
		double log2_of = (random_unit() - 0.5) * 126;

		/* Both arguments as given: no error but the rounding's and the constant's. */
		int32_t q16 = (int32_t)(log2_of * 65536);
		double want = 10 * p * q16 / 65536 * log10(2);

		CHECK_NEAR(mp_loss_db_q8((uint32_t)(p * 256), q16) / 256.0, want, 2e-7, 1 / 511.0);
	}
}

/* Drivers count in 1/100 dB. */
static void test_centi(void)
{
	int32_t centi;

	for (centi = -12700; centi <= 12700; centi++)
		CHECK_NEAR(mp_db_q8_of_centi(centi) / 256.0, centi / 100.0, 0, 0.501 / 256);
	CHECK_EQUAL(mp_db_q8_of_centi(0), 0);
	CHECK_NEAR(mp_db_q8_of_centi(INT32_MAX), 127 * 256, 0, 0);
	CHECK_NEAR(mp_db_q8_of_centi(INT32_MIN), -127 * 256, 0, 0);
	CHECK_NEAR(MP_DB_Q8(-82), -82 * 256, 0, 0);
	CHECK_NEAR(MP_DB_Q8(2.1), 538, 0, 0);
}

static int16_t q8(double db)
{
	return (int16_t)lrint(db * 256);
}

static struct ref_radio random_radio(void)
{
	struct ref_radio radio = {
		.p_tx = 30 * random_unit(), .g_ant = 24 * random_unit() - 2,
		.a_cab = 5 * random_unit(),
		.a_v = random_one_in(2) ? 0 : 30 * random_unit(), .p_rx = -30 - 65 * random_unit(),
		.t_cs = -62 - 38 * random_unit(), .p = random_between(2 << 8, 5 << 8) / 256.0,
	};
	return radio;
}

static struct mp_radio radio_of(const struct ref_radio *ref)
{
	struct mp_radio radio = {
		.tx_power_dbm_q8 = q8(ref->p_tx), .antenna_db_q8 = q8(ref->g_ant),
		.cable_db_q8 = q8(ref->a_cab), .attenuator_db_q8 = q8(ref->a_v),
		.signal_dbm_q8 = q8(ref->p_rx), .sense_dbm_q8 = q8(ref->t_cs),
		.exponent_q8 = (uint16_t)(ref->p * 256),
	};
	return radio;
}

/* Attenuations and H_cs agree, but where a node lies within rounding of the range's edge. */
static void check_radio(const struct mp_radio *radio, const struct mp_reach *reach,
			const struct ref_radio *ref)
{
	uint32_t h_cs = mp_h_cs(radio, reach);
	double margin;
	int want = ref_h_cs(ref, MP_REACH_HOPS, &margin);
	uint32_t n = random_between(1, MP_REACH_HOPS);
	double got_db = mp_hops_db_q8(radio, reach, n) / 256.0;

	CHECK_NEAR(mp_outgoing_dbm_q8(radio) / 256.0, ref_outgoing(ref), 0, DB_OFF);
	CHECK_NEAR(mp_first_hop_db_q8(radio, reach) / 256.0, ref_first_hop(ref), 0, DB_OFF);
	CHECK_NEAR(got_db, ref_hops_attenuation(ref, (int)n), 0, 2 * DB_OFF);
	worst_db = fmax(worst_db, fabs(got_db - ref_hops_attenuation(ref, (int)n)));
	if (margin < DB_OFF)
		too_close++;
	else
		CHECK(h_cs == (uint32_t)want, "H_cs %u, expected %d, margin %.4f dB", h_cs, want,
		      margin);
}

static void test_equal_hops(void)
{
	int i;

	for (i = 0; i < 60000; i++) {
		struct ref_radio ref = random_radio();
		struct mp_radio radio = radio_of(&ref);
		struct mp_reach reach = { 0 };

		check_radio(&radio, &reach, &ref);
	}
}

/* Known distances, of hop after hop, and positions; of the whole path or of its beginning. */
static void test_known_distances(void)
{
	int i;

	for (i = 0; i < 60000; i++) {
		struct ref_radio ref = random_radio();
		struct mp_radio radio = radio_of(&ref);
		struct mp_reach reach = { 0 };
		double d[MP_REACH_HOPS], x = 0, y = 0, along = 0;
		bool positions = random_one_in(2);
		uint32_t n = random_between(1, MP_REACH_HOPS), k;

		for (k = 0; k < n; k++) {
			double hop = 50 + 190 * random_unit(), angle = 3 * (random_unit() - 0.5);

			hop = round(hop * 100) / 100;
			x = round((x + hop * cos(angle)) * 100) / 100;
			y = round((y + hop * sin(angle)) * 100) / 100;
			along += hop;
			d[k] = positions ? hypot(x, y) : along;
			if (positions)
				mp_reach_add_position(&reach, (int32_t)lrint(x * 100),
						      (int32_t)lrint(y * 100));
			else
				mp_reach_add_hop(&reach, (uint32_t)lrint(hop * 100));
			CHECK_NEAR(reach.cm[k], d[k] * 100, 0, 1.01);
		}
		ref.d = d;
		ref.known = (int)n;
		check_radio(&radio, &reach, &ref);
	}
}

/* Eq. (7) read off by hand: the signal less 30 log10(k) against -80 dBm. */
static void test_by_hand(void)
{
	struct mp_radio radio = mp_radio_default();
	struct mp_reach reach = { 0 };

	radio.sense_dbm_q8 = MP_DB_Q8(-80);
	radio.signal_dbm_q8 = MP_DB_Q8(-70); /* 30 log10: 9.03 at 2, 14.3 at 3 */
	CHECK_EQUAL(mp_h_cs(&radio, &reach), 3);
	radio.signal_dbm_q8 = MP_DB_Q8(-65); /* 14.3 at 3, 18.06 at 4 */
	CHECK_EQUAL(mp_h_cs(&radio, &reach), 4);
	radio.signal_dbm_q8 = MP_DB_Q8(-80); /* the neighbour: not below */
	CHECK_EQUAL(mp_h_cs(&radio, &reach), 2);
	radio.signal_dbm_q8 = MP_DB_Q8(-80.5); /* the neighbour itself does not sense */
	CHECK_EQUAL(mp_h_cs(&radio, &reach), 1);
	radio.signal_dbm_q8 = MP_DB_Q8(-10); /* 45 dB at 32 hops: all sense */
	CHECK_EQUAL(mp_h_cs(&radio, &reach), MP_REACH_HOPS + 1);
	/* With a wrong exponent: -70 less 20 log10(k), less 50 log10(k). */
	radio.signal_dbm_q8 = MP_DB_Q8(-70);
	radio.exponent_q8 = 2 << 8;
	CHECK_EQUAL(mp_h_cs(&radio, &reach), 4);
	radio.exponent_q8 = 5 << 8;
	CHECK_EQUAL(mp_h_cs(&radio, &reach), 2);
	/* No exponent: the papers' 3. */
	radio.exponent_q8 = 0;
	CHECK_EQUAL(mp_h_cs(&radio, &reach), 3);
}

/* Transmit power, gains and losses cancel: the signal counts. 0 dBm is a power like others. */
static void test_power_cancels(void)
{
	struct mp_reach reach = { 0 };
	int i;

	for (i = 0; i < 20000; i++) {
		struct ref_radio ref = random_radio();
		struct mp_radio radio = radio_of(&ref), other = radio;

		other.tx_power_dbm_q8 = random_one_in(2) ? 0 : (int16_t)random_u64();
		other.antenna_db_q8 = (int16_t)random_u64();
		other.cable_db_q8 = (int16_t)random_u64();
		other.attenuator_db_q8 = (int16_t)random_u64();
		CHECK_EQUAL(mp_h_cs(&radio, &reach), mp_h_cs(&other, &reach));
	}
}

/* A path that folds back: the first node that does not sense counts, though later ones do. */
static void test_folded(void)
{
	struct mp_radio radio = mp_radio_default();
	struct mp_reach reach = { 0 };

	radio.sense_dbm_q8 = MP_DB_Q8(-80);
	radio.signal_dbm_q8 = MP_DB_Q8(-70); /* senses to 2.15 first hops */
	mp_reach_add_position(&reach, 10000, 0);
	mp_reach_add_position(&reach, 25000, 0);
	mp_reach_add_position(&reach, 20000, 5000);
	CHECK_EQUAL(mp_h_cs(&radio, &reach), 2);
	/* Nearer than the first hop, or at the sender's own place: louder, not an overflow. */
	reach.cm[1] = 0;
	reach.cm[2] = 30000;
	CHECK_EQUAL(mp_h_cs(&radio, &reach), 3);
	reach.cm[0] = 0;
	CHECK_EQUAL(mp_h_cs(&radio, &reach), 3);
}

static void test_unknown(void)
{
	struct mp_radio radio = { 0 };
	struct mp_reach reach = { 0 };
	double want;

	CHECK_EQUAL(mp_h_cs(&radio, &reach), 0);
	radio = mp_radio_default();
	CHECK_EQUAL(mp_h_cs(&radio, &reach), 0); /* no signal */
	radio.signal_dbm_q8 = MP_DB_Q8(-70);
	CHECK_EQUAL(mp_h_cs(&radio, &reach), 3); /* 12 dB: 2.5 hops */
	radio.sense_dbm_q8 = 0;
	CHECK_EQUAL(mp_h_cs(&radio, &reach), 0);
	/* Without a signal: power, frequency and the first distance tell it, eq. (5). */
	radio = mp_radio_default();
	radio.tx_power_dbm_q8 = MP_DB_Q8(20);
	radio.frequency_mhz = 2437;
	CHECK_EQUAL(mp_h_cs(&radio, &reach), 0);
	mp_reach_add_hop(&reach, 2000);
	want = ref_attenuation(2437, 3, 20);
	CHECK_NEAR(mp_first_hop_db_q8(&radio, &reach) / 256.0, want, 0, DB_OFF);
	/* 20 dBm - 78.8 dB leaves 23.2 dB above -82 dBm: 5.9 hops of 20 m. */
	CHECK_EQUAL(mp_h_cs(&radio, &reach), 6);
	radio.frequency_mhz = 0;
	CHECK_EQUAL(mp_h_cs(&radio, &reach), 0);
}

/* The worst that a host can feed: no overflow (the sanitizers look), and no more than the range. */
static void test_extremes(void)
{
	struct mp_reach reach = { 0 };
	uint32_t k;
	int i;

	for (k = 0; k < MP_REACH_HOPS + 5; k++)
		mp_reach_add_hop(&reach, UINT32_MAX);
	CHECK_EQUAL(reach.known, MP_REACH_HOPS);
	CHECK_EQUAL(reach.cm[MP_REACH_HOPS - 1], UINT32_MAX);
	mp_reach_add_position(&reach, 1, 1);
	CHECK_EQUAL(reach.known, MP_REACH_HOPS);
	reach.known = 0;
	mp_reach_add_position(&reach, INT32_MIN, INT32_MIN);
	CHECK_NEAR(reach.cm[0], 2147483648.0 * sqrt(2), 0, 1);
	/* A first hop around the world: what is made of it for the others does not wrap. */
	reach.known = 1;
	reach.cm[0] = UINT32_MAX;
	CHECK_EQUAL(mp_reach_whole(&reach).cm[1], 2 * MP_REACH_CM);
	CHECK_EQUAL(mp_reach_whole(&reach).cm[31], 32 * MP_REACH_CM);
	for (i = 0; i < 20000; i++) {
		struct mp_radio radio;
		uint32_t h_cs;

		radio.tx_power_dbm_q8 = (int16_t)random_extreme_u64();
		radio.antenna_db_q8 = (int16_t)random_extreme_u64();
		radio.cable_db_q8 = (int16_t)random_extreme_u64();
		radio.attenuator_db_q8 = (int16_t)random_extreme_u64();
		radio.signal_dbm_q8 = (int16_t)random_extreme_u64();
		radio.sense_dbm_q8 = (int16_t)random_extreme_u64();
		radio.exponent_q8 = (uint16_t)random_extreme_u64();
		radio.frequency_mhz = (uint32_t)random_extreme_u64();
		reach.known = random_one_in(3) ? (uint32_t)random_extreme_u64() : random_below(33);
		for (k = 0; k < MP_REACH_HOPS; k++)
			reach.cm[k] = (uint32_t)random_extreme_u64();
		h_cs = mp_h_cs(&radio, &reach);
		CHECK(h_cs <= MP_REACH_HOPS + 1, "H_cs %u", h_cs);
	}
}

int main(int argc, char **argv)
{
	check_begin(argc, argv);
	test_log2();
	test_loss();
	test_centi();
	test_equal_hops();
	test_known_distances();
	test_by_hand();
	test_power_cancels();
	test_folded();
	test_unknown();
	test_extremes();
	printf("worst error of an attenuation: %.4f dB; %" PRIu64 " H_cs too close to tell\n",
	       worst_db, too_close);
	return check_end();
}
