/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether pacing has made things worse than what was observed before, so that it has to end.
 *
 *   what  A window is MP_RETREAT_WINDOW_NS long, and counts for a host that is at work in all of it: its flows want more
 *         at each look, and new data of it was acknowledged within the latest 3 s (active.h). So who wants nothing, has
 *         ended, left or died has no windows, and says nothing; neither do datagrams, which show no progress. The value of
 *         a window is what was acknowledged of the host, bytes/s, times the hosts at work meanwhile: what it would have
 *         alone if all had the same. So who comes or goes changes what each gets, and no value.
 *   how   Each window while pacing is paired with one of the same host from before, which is used once. It is worse if
 *         it has less than half of that one's value: a flow is "reasonably fair" as long as it is within a factor of two
 *         of what TCP has under the same conditions (RFC 5348, section 1), and hosts that had more than their part are
 *         to lose what is too much. It is not worse if nothing of the host was held here meanwhile: what slows it down
 *         then is elsewhere.
 *   when  If pacing changes nothing, windows of before and now are exchangeable, and the probability of "worse" is at
 *         most 1/2. A wealth that stakes half of itself on "worse" in each pair (times 3/2 or 1/2) then grows on average
 *         not at all, and the probability that it ever reaches a times what it began with is at most 1/a (Ville's
 *         inequality), however often one looks. Half of it is staked from the first pair on; the other half is spread
 *         over the MP_RETREAT_PAIRS pairs, so that harm which comes late is found too: still one stake in all. Half is
 *         what grows fastest where three of four windows are worse (Kelly). If all are, it takes 15 pairs.
 *   who   Each host has one vote, for its wealth has reached MP_RETREAT_ODDS or not; pacing ends when more than half of
 *         those that have been at work while pacing vote so. By Markov's inequality more than half of n hosts err with
 *         a probability below 2 / MP_RETREAT_ODDS, one of a hundred tries, however much they depend on each other.
 *         A host that stops says nothing; one that lies, by acknowledging slowly, gives its own vote and no other's. Who
 *         has more than half of the votes, as one who is alone or who has many identities, can end pacing: then
 *         everything is as it was without.
 *
 * What no statistic tells: whether something else changed at the moment when pacing began, for all at once.
 */
#ifndef MESHPACE_RETREAT_H
#define MESHPACE_RETREAT_H

#include "../law/air.h"

/* As long as a host without progress still counts as there: a shorter window may be empty of one who is. */
#define MP_RETREAT_WINDOW_NS (MP_AIR_PRESENT * MP_AIR_STEP_NS)
/* Looks come once a second, a little early or late; a window is over at the one that is nearest to its end. */
#define MP_RETREAT_LOOK_NS MP_NS_PER_S
/* A window is worse that has less than one of so many parts. */
#define MP_RETREAT_PARTS 2u
/* One host errs in one of so many cases, so that all together do in one of a hundred (Markov, above). */
#define MP_RETREAT_ODDS 200u
/*
 * Of a host, at most. Harm that begins after p pairs is found while 2^-p of the first half and the parts of the other
 * half go on: 1.5^k >= 2 * 128 * MP_RETREAT_ODDS, 27 pairs at the latest. 128 windows are 6 min of a host at work.
 */
#define MP_RETREAT_PAIRS 128u
/* So many pairs at least until there can be a verdict: 1.5^15 / 2 = 219 (core/test/test-retreat.c). */
#define MP_RETREAT_LEAST_PAIRS 15u

/* A window of one host that goes on. */
struct mp_retreat_window {
	uint64_t from_ns; /* 0: the host is not at work */
	uint64_t bytes;
	uint64_t peers;   /* sum of the hosts at work, over all looks */
	uint32_t looks;
	bool held;        /* something of the host was held here */
};

/* Hosts that are counted, as many as flows can be configured: products fit 64 bits. */
#define MP_RETREAT_HOSTS (1u << 20)

/* What speaks against pacing, of one host. */
struct mp_retreat {
	uint64_t wealth_q32; /* 0 before the first pair */
	uint32_t pairs;
	uint32_t worse;
};

/* What a host shows at a look. */
struct mp_retreat_look {
	uint64_t now_ns;
	uint64_t bytes; /* acknowledged of the host since the look before */
	uint32_t hosts; /* at work, this one included */
	bool at_work;
	bool held;
};

/* Whether a host that wants more, or not, is at work, of which new data was acknowledged at progress_ns; 0: never. */
MP_INLINE bool mp_retreat_at_work(bool wants, uint64_t progress_ns, uint64_t now_ns)
{
	return wants && progress_ns && now_ns < progress_ns + MP_RETREAT_WINDOW_NS;
}

/* A look at a host. Returns whether a window is over; then *value is its value, and *held whether something was held in it. */
MP_INLINE bool mp_retreat_look(struct mp_retreat_window *window, const struct mp_retreat_look *look, uint64_t *value,
			       bool *held)
{
	uint64_t bytes = mp_min_u64(look->bytes, MP_AIR_MAX_BYTES_PER_S), took_us;
	bool goes_on = look->at_work && window->from_ns, over;

	if (goes_on) {
		window->bytes += bytes;
		window->peers += mp_min_u64(look->hosts, MP_RETREAT_HOSTS);
		window->looks++;
		window->held |= look->held;
	}
	over = goes_on && look->now_ns + MP_RETREAT_LOOK_NS / 2 >= window->from_ns + MP_RETREAT_WINDOW_NS;
	if (over) {
		took_us = (look->now_ns - window->from_ns) / MP_NS_PER_US;
		*value = window->bytes * (MP_NS_PER_S / MP_NS_PER_US) / took_us * window->peers / window->looks;
		*held = window->held;
	}
	if (over || !goes_on)
		*window = (struct mp_retreat_window){
			.from_ns = look->at_work ? look->now_ns : 0,
			.bytes = 0,
			.peers = 0,
			.looks = 0,
			.held = false,
		};
	return over;
}

/* A window while pacing, beside one of before. */
MP_INLINE void mp_retreat_compare(struct mp_retreat *host, uint64_t before, uint64_t now, bool held)
{
	const uint64_t half_q32 = 1ull << 31, part_q32 = half_q32 / MP_RETREAT_PAIRS;
	bool worse = held && now < before / MP_RETREAT_PARTS;
	uint64_t stake_q32;

	if (host->pairs >= MP_RETREAT_PAIRS || host->wealth_q32 >= (uint64_t)MP_RETREAT_ODDS << 32)
		return;
	stake_q32 = (host->pairs ? host->wealth_q32 : half_q32) + part_q32;
	host->wealth_q32 = worse ? stake_q32 + stake_q32 / 2 : stake_q32 / 2;
	host->pairs++;
	host->worse += worse;
}

/* Whether a host's pairs say that pacing made it worse. It stays so. */
MP_INLINE bool mp_retreat_is_worse(const struct mp_retreat *host)
{
	return host->wealth_q32 >= (uint64_t)MP_RETREAT_ODDS << 32;
}

/* Whether there are so many windows on both sides that something can be said of a host. */
MP_INLINE bool mp_retreat_tells(uint32_t before, uint32_t now)
{
	return mp_min_u64(before, now) >= MP_RETREAT_LEAST_PAIRS;
}

/* Whether pacing has to end: so many hosts are worse of those that have been at work. */
MP_INLINE bool mp_retreat_due(uint32_t worse, uint32_t hosts)
{
	return (uint64_t)worse * 2 > hosts;
}

#endif
