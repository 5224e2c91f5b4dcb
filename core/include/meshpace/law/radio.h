/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How far a sender is sensed, in hops: H_cs (MAP eq. 2 to 7). The node H_cs hops away is the first
 * that does not sense the sender, and so may transmit into its transmissions: a hidden terminal.
 */
#ifndef MESHPACE_RADIO_H
#define MESHPACE_RADIO_H

#include "../arith/decibel.h"

/* What the sender's own driver and configuration tell; powers at the terminals of its radio. */
struct mp_radio {
	int16_t tx_power_dbm_q8;  /* P_tx */
	int16_t antenna_db_q8;    /* G_ant, dBi */
	int16_t cable_db_q8;      /* A_cab */
	int16_t attenuator_db_q8; /* A_v */
	int16_t signal_dbm_q8;    /* P_rx of the next hop; 0: unknown */
	int16_t sense_dbm_q8;     /* T_cs, carrier-sense threshold; 0: unknown */
	uint16_t exponent_q8;     /* p, path-loss exponent; 0: unknown, 3 */
	uint32_t frequency_mhz;   /* f_c; needed only where signal_dbm_q8 is unknown; 0: unknown */
};

/* The papers' exponent, "due to findings from extensive measurements". */
#define MP_EXPONENT_Q8 (3u << 8)

/*
 * Before the driver and the operator have told anything: no antenna gain, cables or attenuators,
 * and the threshold at which IEEE 802.11 has a receiver sense an OFDM frame.
 */
MP_INLINE struct mp_radio mp_radio_default(void)
{
	struct mp_radio radio = {
		.tx_power_dbm_q8 = 0,
		.antenna_db_q8 = 0,
		.cable_db_q8 = 0,
		.attenuator_db_q8 = 0,
		.signal_dbm_q8 = 0,
		.sense_dbm_q8 = MP_DB_Q8(-82),
		.exponent_q8 = MP_EXPONENT_Q8,
		.frequency_mhz = 0,
	};
	return radio;
}

/* So many hops are looked at: who is sensed further interferes with any path worth having. */
#define MP_REACH_HOPS 32u
#define MP_REACH_CM (0xffffffffu / MP_REACH_HOPS) /* 1342 km */

/* Distances from the sender to the nodes of its path, next hop first, as far as they are known. */
struct mp_reach {
	uint32_t known; /* at most MP_REACH_HOPS; 0: none, hops are taken to be of equal length */
	uint32_t cm[MP_REACH_HOPS];
};

/* The next node is hop_cm from the latest: the sum of eq. (6). Ignored when there is no room. */
MP_INLINE void mp_reach_add_hop(struct mp_reach *reach, uint32_t hop_cm)
{
	uint32_t at = reach->known;
	uint64_t before_cm;

	if (at >= MP_REACH_HOPS)
		return;
	before_cm = at > 0 ? reach->cm[at - 1] : 0;
	reach->cm[at] = (uint32_t)mp_min_u64(before_cm + hop_cm, 0xffffffffu);
	reach->known = at + 1;
}

/* The next node lies east_cm and north_cm from the sender: a straight line, not along the path. */
MP_INLINE void mp_reach_add_position(struct mp_reach *reach, int32_t east_cm, int32_t north_cm)
{
	uint32_t at = reach->known;

	if (at >= MP_REACH_HOPS)
		return;
	reach->cm[at] = mp_isqrt((uint64_t)((int64_t)east_cm * east_cm) +
				 (uint64_t)((int64_t)north_cm * north_cm));
	reach->known = at + 1;
}

/*
 * The distances of all nodes that are looked at. Beyond what is known hops are as long as those
 * before on average; where nothing is known each is 1, and eq. (6) has no epsilon.
 */
MP_INLINE struct mp_reach mp_reach_whole(const struct mp_reach *reach)
{
	uint32_t known = reach->known < MP_REACH_HOPS ? reach->known : MP_REACH_HOPS;
	uint64_t latest_cm = known > 0 ? reach->cm[(known - 1) % MP_REACH_HOPS] : 1;
	uint64_t of_hops = known > 0 ? known : 1;
	struct mp_reach whole = { .known = MP_REACH_HOPS, .cm = { 0 } };
	uint32_t i;

	latest_cm = mp_min_u64(latest_cm, MP_REACH_CM);
	for (i = 0; i < MP_REACH_HOPS; i++)
		whole.cm[i] = i < known ? reach->cm[i] : (uint32_t)(latest_cm * (i + 1) / of_hops);
	return whole;
}

/* P_out = P_tx + G_ant - A_cab - A_v (MAP eq. 2), in dBm. */
MP_INLINE int32_t mp_outgoing_dbm_q8(const struct mp_radio *radio)
{
	return radio->tx_power_dbm_q8 + radio->antenna_db_q8 - radio->cable_db_q8 -
	       radio->attenuator_db_q8;
}

MP_INLINE uint32_t mp_exponent_q8(const struct mp_radio *radio)
{
	return radio->exponent_q8 ? radio->exponent_q8 : MP_EXPONENT_Q8;
}

/* The constant of the ITU-R's model for f_c in MHz, which MAP omits: it cancels in eq. (6). */
#define MP_ITU_DB_Q8 (28 * 256)

/* L = 20 log10(f_c) + 10 p log10(d) (MAP eq. 4), minus 28 dB, for f_c in MHz and d in m. */
MP_INLINE int32_t mp_attenuation_db_q8(const struct mp_radio *radio, uint64_t cm)
{
	int32_t of_frequency = mp_loss_db_q8(2u << 8, (int32_t)mp_log2_q16(radio->frequency_mhz));
	int32_t metres_log2_q16 = (int32_t)mp_log2_q16(cm) - (int32_t)mp_log2_q16(100);

	return of_frequency + mp_loss_db_q8(mp_exponent_q8(radio), metres_log2_q16) - MP_ITU_DB_Q8;
}

/*
 * Attenuation of the first hop, L_1 = P_out - P_rx (MAP eq. 3), in dB; where P_rx is unknown, what
 * eq. (5) makes of the first distance and the frequency.
 */
MP_INLINE int32_t mp_first_hop_db_q8(const struct mp_radio *radio, const struct mp_reach *reach)
{
	if (radio->signal_dbm_q8)
		return mp_outgoing_dbm_q8(radio) - radio->signal_dbm_q8;
	return mp_attenuation_db_q8(radio, reach->cm[0]);
}

/* L_n - L_1 = 10 p log10(d_n / d_1) (MAP eq. 6), in dB, for n = 1..MP_REACH_HOPS. */
MP_INLINE int32_t mp_more_db_q8(const struct mp_radio *radio, const struct mp_reach *whole,
				uint32_t n)
{
	return mp_loss_db_q8(mp_exponent_q8(radio),
			     (int32_t)mp_log2_q16(whole->cm[(n - 1) % MP_REACH_HOPS]) -
				     (int32_t)mp_log2_q16(whole->cm[0]));
}

/* Attenuation after n hops, L_n (MAP eq. 6), in dB; hops are equally long where none is known. */
MP_INLINE int32_t mp_hops_db_q8(const struct mp_radio *radio, const struct mp_reach *reach,
				uint32_t n)
{
	struct mp_reach whole = mp_reach_whole(reach);

	return mp_first_hop_db_q8(radio, reach) + mp_more_db_q8(radio, &whole, n);
}

/* Whether there is enough to tell H_cs from. */
MP_INLINE bool mp_radio_known(const struct mp_radio *radio, const struct mp_reach *reach)
{
	bool attenuation = radio->signal_dbm_q8 || (radio->frequency_mhz && reach->known);

	return radio->sense_dbm_q8 && attenuation;
}

/*
 * H_cs = min { k | P_out - L_k < T_cs } (MAP eq. 7), hops; MP_REACH_HOPS + 1 when all that are
 * looked at sense the sender, 0 when it cannot be told. That k is at most h is seen to in oid.h, so
 * that one H_cs serves all paths over the same next hop. P_out cancels where P_rx is known.
 */
MP_INLINE uint32_t mp_h_cs(const struct mp_radio *radio, const struct mp_reach *reach)
{
	struct mp_reach whole = mp_reach_whole(reach);
	uint32_t h_cs = 1, sensed = 1, k;
	int32_t margin_db_q8;

	if (!mp_radio_known(radio, reach))
		return 0;
	margin_db_q8 = mp_outgoing_dbm_q8(radio) - mp_first_hop_db_q8(radio, reach) -
		       radio->sense_dbm_q8;
	for (k = 1; k <= MP_REACH_HOPS; k++) {
		int32_t left_db_q8 = margin_db_q8 - mp_more_db_q8(radio, &whole, k);

		sensed &= ~(uint32_t)left_db_q8 >> 31;
		h_cs += sensed;
	}
	return h_cs;
}

#endif
