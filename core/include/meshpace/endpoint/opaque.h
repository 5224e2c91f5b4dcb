/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A host that gets or sends many datagrams, of which a gateway reads nothing but whose they are: QUIC, most of all. Nothing
 * that passes tells what waits for them in the mesh. So the host is asked a few times a second, by a small packet that it answers
 * at once (ICMP echo, RFC 792, RFC 4443):
 *
 *   T   the least round trip of the latest MP_OPAQUE_PATH_NS, of the empty path
 *   d   an answer's round trip; once so many asks in a row have none, each further one counts as T + 2 D*, for a queue that
 *       overflows tells of itself no other way
 *   D*  what may wait for a small packet: half of law->hop_wait_ns a hop, which is for large ones. It passes what flows'
 *       own queues hold (RFC 8290), and waits for what is in the air and what the card has taken.
 *   e = (T + D* - d) / D*, cut to [-1, 1]
 *   D   the mean of d over about MP_OPAQUE_MEAN answers, each cut to 2 D, or to T + D* where that is more; at first T
 *
 * As long as no share of the air bounds it (airtime.h), a host that gets them is held to a rate of its own. That begins once
 * half of D* has waited (D), at what the host gets then, the more of its latest step and its latest second; not in its first
 * second, for what it gets is not known before, and slow start hides what it could get. From then on the rate changes with
 * each answer by e/16 of it. Where queues are of one flow each,
 * d answers a rate at once, and the rate comes to rest where e is 0 in the mean. Where a small packet waits behind large ones,
 * what waits gathers and d tells of it a quarter of a second later: meanwhile a rate that is a sixteenth too high has a
 * sixty-fourth of a second wait, hop_wait_ns, so d swings between nothing and what may wait for a large packet, and the path
 * is not empty for longer than it takes to be full. The rate grows only where it bounds the host, who then gets three
 * quarters of it. Where a share ends, D begins anew at T: what waited was of others, too, who have gone. What is held so has D*
 * wait all the time, by which T would grow from window to window; so where a window has not seen T the host is held to half at
 * its end, for MP_OPAQUE_LOOK_NS or until an answer shows T. That costs a thousandth of the rate.
 *
 * A host that sends many is asked, too, for what its shares go by. Alone it is held to nothing meanwhile: uploads are not, and
 * what waits may be of what it sends, by which it would have less and less of what it gets.
 */
#ifndef MESHPACE_OPAQUE_H
#define MESHPACE_OPAQUE_H

#include "../arith/least.h"
#include "../law/air.h"
#include "../law/search.h"

#define MP_OPAQUE_MEAN MP_SEARCH_LEAST /* answers, of a second */
#define MP_OPAQUE_GAIN_Q16 4096 /* of e, 1/16: hop_wait_ns by the time between two asks */
#define MP_OPAQUE_PART 2u       /* of what waits for a large packet a small one waits for half */
#define MP_OPAQUE_BYTES 1500u   /* of a datagram, at most */
#define MP_OPAQUE_PACKETS 2u    /* on the path at the least, as search.h has it: who gets fewer does not fill it */
#define MP_OPAQUE_MOST_NS MP_NS_PER_S /* an answer that is later is of no path that carries anything */
#define MP_OPAQUE_PATH_NS MP_LEAST_NS
#define MP_OPAQUE_LOOK_NS (MP_NS_PER_S / 2) /* in half of it half the rate empties D* of eight hops; then one answer comes */
/*
 * Who has not answered so many in a row, ten seconds of asks, does not any more, and is not asked for as long as a path
 * lasts. Of eight asks seven may be lost meanwhile.
 */
#define MP_OPAQUE_MUTE 40u

/*
 * Acknowledgements are no transfer: of datagrams one for each takes a fifteenth of what they acknowledge (endpoint/excess.h),
 * usually half of that. Who sends an eighth of what he gets, or gets an eighth of what he sends, does more than acknowledge.
 */
#define MP_OPAQUE_BESIDE 8u

/* What a caller knows of a host when it steps. */
struct mp_opaque_counts {
	uint64_t datagram_bytes[2]; /* so far, by enum mp_air_direction */
	uint64_t delivered_bytes;   /* and all that the host got */
	bool shared;                /* what it gets is bounded by its share of the air */
};

/* Datagrams to a host, or from it. */
struct mp_opaque_way {
	uint64_t bytes;       /* so far, as of the latest step */
	uint64_t bytes_per_s; /* a mean over a second */
	uint32_t few;         /* steps in a row in which few came */
	uint32_t age;         /* steps since many come */
	bool many;            /* enough to fill the path, and more than acknowledge the other way's */
};

struct mp_opaque {
	uint64_t before_ns;          /* the latest step; 0: none yet */
	struct mp_opaque_way way[2]; /* by enum mp_air_direction */
	uint64_t delivered_bytes;    /* all that the host got, as of the latest step */
	uint64_t rate_bytes_per_s;   /* of that, a mean over a second, or since many datagrams come */
	uint64_t latest_bytes_per_s; /* in the latest step */
	bool shared;                 /* a share of the air bounds it */
	uint64_t held_bytes_per_s;   /* what the host is held to; 0: nothing */
	bool looks;                  /* to half of that now, for T */
	uint64_t base_ns;            /* T; 0: nothing was answered lately */
	uint64_t latest_base_ns;     /* the least since base_since_ns; 0: none */
	uint64_t base_since_ns;
	uint64_t mean_ns;            /* D; 0: no answer yet since many come, or since a share ended */
	uint64_t heard_ns;           /* the latest answer */
	uint32_t unanswered;         /* asks in a row, so far */
	uint64_t mute_ns;            /* since when they are MP_OPAQUE_MUTE; 0: they are not */
	uint64_t waited_ns;          /* when datagrams for it waited here last; 0: never */
};

/* D* of a small packet, in ns; hops 0: unknown, taken for 1. */
MP_INLINE uint64_t mp_opaque_wait_ns(uint32_t hops, uint64_t hop_wait_ns)
{
	return (hops ? hops : 1) * (hop_wait_ns / MP_OPAQUE_PART);
}

/* MP_OPAQUE_PACKETS in a round trip of so long, in bytes/s. */
MP_INLINE uint64_t mp_opaque_least_bytes_per_s(uint64_t round_ns)
{
	return MP_OPAQUE_PACKETS * MP_OPAQUE_BYTES * MP_NS_PER_S / mp_max_u64(round_ns, MP_NS_PER_US);
}

/* The rate of what came in a step of so long. */
MP_INLINE uint64_t mp_opaque_rate(uint64_t before, uint64_t now, uint64_t elapsed_us)
{
	uint64_t bytes = mp_min_u64(mp_max_u64(now, before) - before, 1ull << 44);

	return mp_min_u64(bytes * 1000000 / elapsed_us, MP_AIR_MAX_BYTES_PER_S);
}

/* Whether nothing more is to be hoped for from asking, for the time being. */
MP_INLINE bool mp_opaque_is_mute(struct mp_opaque *opaque, uint64_t now_ns)
{
	if (opaque->unanswered < MP_OPAQUE_MUTE) {
		opaque->mute_ns = 0;
		return false;
	}
	if (!opaque->mute_ns)
		opaque->mute_ns = mp_max_u64(now_ns, 1);
	if (now_ns > opaque->mute_ns + MP_OPAQUE_PATH_NS)
		opaque->unanswered = 0;
	return true;
}

/* Who gets few datagrams is not asked while T is known, and hours later the path may be another. */
MP_INLINE void mp_opaque_window(struct mp_opaque *opaque, uint64_t now_ns)
{
	mp_least_window(&opaque->base_ns, &opaque->latest_base_ns, &opaque->base_since_ns, now_ns);
}

/* What has come one way; returns what came in this step, bytes/s. */
MP_INLINE uint64_t mp_opaque_came(struct mp_opaque_way *way, uint64_t bytes, uint64_t elapsed_us)
{
	uint64_t latest = mp_opaque_rate(way->bytes, bytes, elapsed_us);

	way->bytes = bytes;
	way->bytes_per_s = mp_air_smoothed(way->bytes_per_s, latest, mp_air_steps(elapsed_us));
	return latest;
}

/* Whether many come one way, beside what goes the other way, where so many bytes/s fill the path. */
MP_INLINE void mp_opaque_count(struct mp_opaque_way *way, const struct mp_opaque_way *beside, uint64_t least, uint32_t steps)
{
	/* Half keeps it: who is held to the least is not taken for one who gets few. */
	bool enough = way->bytes_per_s >= (way->many ? least / 2 : least) &&
		      way->bytes_per_s >= beside->bytes_per_s / MP_OPAQUE_BESIDE;

	way->few = enough ? 0 : (uint32_t)mp_min_u64((uint64_t)way->few + steps, MP_AIR_PRESENT);
	way->age = way->many ? (uint32_t)mp_min_u64((uint64_t)way->age + steps, MP_AIR_PRESENT) : 0;
	way->many = enough || (way->many && way->few < MP_AIR_PRESENT);
}

MP_INLINE bool mp_opaque_many(const struct mp_opaque *opaque)
{
	return opaque->way[MP_AIR_DOWN].many || opaque->way[MP_AIR_UP].many;
}

MP_INLINE bool mp_opaque_only_gets(const struct mp_opaque *opaque)
{
	return opaque->way[MP_AIR_DOWN].many && !opaque->way[MP_AIR_UP].many;
}

/* What the host got. */
MP_INLINE void mp_opaque_got(struct mp_opaque *opaque, uint64_t delivered_bytes, uint64_t elapsed_us)
{
	opaque->latest_bytes_per_s = mp_opaque_rate(opaque->delivered_bytes, delivered_bytes, elapsed_us);
	opaque->delivered_bytes = delivered_bytes;
	opaque->rate_bytes_per_s = mp_air_mean(opaque->rate_bytes_per_s, opaque->latest_bytes_per_s,
					       opaque->way[MP_AIR_DOWN].age, mp_air_steps(elapsed_us));
}

/* What is not known any more, or does not hold the host any more. */
MP_INLINE void mp_opaque_forget(struct mp_opaque *opaque, bool shared)
{
	bool known = mp_opaque_many(opaque) && opaque->unanswered < MP_OPAQUE_MUTE && opaque->base_ns;

	if (!known || (opaque->shared && !shared))
		opaque->mean_ns = 0;
	if (!known || shared || !mp_opaque_only_gets(opaque))
		opaque->held_bytes_per_s = 0;
	opaque->shared = shared;
}

/*
 * A step, MP_AIR_STEP_NS after the one before, or later.
 * Returns whether the host is to be asked, as its budget allows (budget.h): with the first burst already, for when its mean
 * shows it the path is not empty any more; and with any datagram to it, as long as T is not known. Who gets few for as long as
 * somebody who is not there any more (MP_AIR_PRESENT), or does not answer any more, is held no longer, nor who
 * has no T any more; T is of the path, and stays as long as that may be as it was.
 */
MP_INLINE bool mp_opaque_step(struct mp_opaque *opaque, const struct mp_opaque_counts *counts, uint64_t wait_ns,
			      uint64_t now_ns)
{
	uint64_t elapsed_us = mp_max_u64((mp_max_u64(now_ns, opaque->before_ns) - opaque->before_ns) / MP_NS_PER_US, 1);
	uint64_t least = mp_opaque_least_bytes_per_s(wait_ns), latest[2];
	struct mp_opaque_way *down = &opaque->way[MP_AIR_DOWN], *up = &opaque->way[MP_AIR_UP];

	if (!opaque->before_ns) {
		down->bytes = counts->datagram_bytes[MP_AIR_DOWN];
		up->bytes = counts->datagram_bytes[MP_AIR_UP];
		opaque->delivered_bytes = counts->delivered_bytes;
	}
	opaque->before_ns = now_ns;
	latest[0] = mp_opaque_came(down, counts->datagram_bytes[MP_AIR_DOWN], elapsed_us);
	latest[1] = mp_opaque_came(up, counts->datagram_bytes[MP_AIR_UP], elapsed_us);
	mp_opaque_count(down, up, least, mp_air_steps(elapsed_us));
	mp_opaque_count(up, down, least, mp_air_steps(elapsed_us));
	mp_opaque_got(opaque, counts->delivered_bytes, elapsed_us);
	mp_opaque_window(opaque, now_ns);
	opaque->looks = now_ns + MP_OPAQUE_LOOK_NS >= opaque->base_since_ns + MP_OPAQUE_PATH_NS &&
			opaque->latest_base_ns > opaque->base_ns;
	mp_opaque_forget(opaque, counts->shared);
	if (mp_opaque_is_mute(opaque, now_ns))
		return false;
	return mp_opaque_many(opaque) || mp_max_u64(latest[0], latest[1]) >= least || (latest[0] && !opaque->base_ns);
}

/*
 * A step of what is sent of nobody: by addresses that nothing ever answers, and that may be invented. It takes the air of others,
 * so all of it is one host's, that wants more and is never asked, as long as it fills a path; one host's, so that nobody gains by
 * inventing addresses. bytes: so far. Returns how many count as sent in this step.
 */
MP_INLINE uint64_t mp_opaque_nobody_step(struct mp_opaque *nobody, uint64_t bytes, uint64_t hop_wait_ns, uint64_t now_ns)
{
	const struct mp_opaque_counts counts = { { 0, bytes }, 0, false };
	uint64_t before = nobody->before_ns ? mp_min_u64(nobody->way[MP_AIR_UP].bytes, bytes) : bytes;

	mp_opaque_step(nobody, &counts, mp_opaque_wait_ns(0, hop_wait_ns), now_ns);
	return nobody->way[MP_AIR_UP].many ? bytes - before : 0;
}

/* e of a round trip. */
MP_INLINE int64_t mp_opaque_error_q16(const struct mp_opaque *opaque, uint64_t wait_ns, uint64_t rtt_ns)
{
	return mp_search_error_q16(opaque->base_ns + wait_ns, rtt_ns, wait_ns);
}

/* Whether half of what may wait does, in the mean. */
MP_INLINE bool mp_opaque_is_full(const struct mp_opaque *opaque, uint64_t wait_ns)
{
	return opaque->mean_ns && mp_opaque_error_q16(opaque, wait_ns, opaque->mean_ns) < (int64_t)(MP_ONE_Q16 / 2);
}

/*
 * Whether there is more for a host than it gets, now that datagrams for it wait here or not: where they do, or did as lately as
 * makes a host present. What it is held to by its answers lets go of it as soon as it has a share, and nothing waits for that
 * then, though others still have the air.
 */
MP_INLINE bool mp_opaque_has_more(struct mp_opaque *opaque, bool waits, uint64_t now_ns)
{
	if (waits)
		opaque->waited_ns = now_ns;
	return opaque->waited_ns && now_ns < opaque->waited_ns + MP_AIR_PRESENT * MP_AIR_STEP_NS;
}

/*
 * Whether a way would get more if the mesh carried more: a download where it has_more, or half of what may wait does. What
 * waits at a sender in the mesh is not seen, so an upload of many datagrams may always, as one by TCP (active.h).
 */
MP_INLINE bool mp_opaque_wants(const struct mp_opaque *opaque, enum mp_air_direction way, bool has_more, uint64_t wait_ns)
{
	return opaque->way[way].many && (way == MP_AIR_UP || has_more || mp_opaque_is_full(opaque, wait_ns));
}

/* rate (1 + e / 16), of a rate of at most MP_AIR_MAX_BYTES_PER_S. */
MP_INLINE uint64_t mp_opaque_changed(uint64_t bytes_per_s, int64_t error_q16)
{
	int64_t bytes = (int64_t)mp_min_u64(bytes_per_s, MP_AIR_MAX_BYTES_PER_S);

	return (uint64_t)(bytes + (bytes * (error_q16 * MP_OPAQUE_GAIN_Q16 >> 16) >> 16));
}

/* T, with one round trip more. */
MP_INLINE void mp_opaque_base(struct mp_opaque *opaque, uint64_t rtt_ns, uint64_t now_ns)
{
	mp_least_add(&opaque->base_ns, &opaque->latest_base_ns, &opaque->base_since_ns, rtt_ns, now_ns);
}

/* D, with one round trip more. From an empty path it takes three answers to half of D*: one that is late is no load. */
MP_INLINE uint64_t mp_opaque_mean(const struct mp_opaque *opaque, uint64_t wait_ns, uint64_t rtt_ns)
{
	uint64_t mean_ns = opaque->mean_ns ? opaque->mean_ns : opaque->base_ns;
	uint64_t most_ns = mp_max_u64(2 * mean_ns, opaque->base_ns + wait_ns);

	return (mean_ns * (MP_OPAQUE_MEAN - 1) + mp_min_u64(rtt_ns, most_ns)) / MP_OPAQUE_MEAN;
}

/*
 * What the host is held to by one round trip more. Who gets less than that is bound by something else, and it falls to what
 * he gets only where the mean says so.
 */
MP_INLINE void mp_opaque_hold(struct mp_opaque *opaque, uint64_t wait_ns, uint64_t rtt_ns)
{
	uint64_t held = opaque->held_bytes_per_s, rate = opaque->rate_bytes_per_s;
	bool binds = held && rate >= held / 4 * 3;
	int64_t error_q16 = mp_opaque_error_q16(opaque, wait_ns, binds ? rtt_ns : opaque->mean_ns);

	if (!held && (opaque->way[MP_AIR_DOWN].age < MP_AIR_STEPS_PER_S || !mp_opaque_is_full(opaque, wait_ns)))
		return;
	if (held && !binds && error_q16 >= 0)
		return;
	if (!held)
		rate = mp_max_u64(rate, opaque->latest_bytes_per_s);
	held = mp_opaque_changed(binds ? held : rate, error_q16);
	opaque->held_bytes_per_s = mp_max_u64(held, mp_opaque_least_bytes_per_s(wait_ns));
}

/* One round trip more. */
MP_INLINE void mp_opaque_sample(struct mp_opaque *opaque, uint64_t wait_ns, uint64_t rtt_ns)
{
	opaque->mean_ns = mp_opaque_mean(opaque, wait_ns, rtt_ns);
	if (mp_opaque_only_gets(opaque) && !opaque->shared && !opaque->looks)
		mp_opaque_hold(opaque, wait_ns, rtt_ns);
}

/* The host is asked once more. */
MP_INLINE void mp_opaque_asked(struct mp_opaque *opaque, uint64_t wait_ns)
{
	opaque->unanswered = (uint32_t)mp_min_u64(opaque->unanswered + 1ull, MP_OPAQUE_MUTE);
	if (mp_opaque_many(opaque) && opaque->base_ns && opaque->unanswered > MP_OPAQUE_MEAN &&
	    opaque->unanswered < MP_OPAQUE_MUTE)
		mp_opaque_sample(opaque, wait_ns, mp_min_u64(opaque->base_ns + 2 * wait_ns, MP_OPAQUE_MOST_NS));
}

/* The host has answered after rtt_ns. */
MP_INLINE void mp_opaque_answered(struct mp_opaque *opaque, uint64_t wait_ns, uint64_t rtt_ns, uint64_t now_ns)
{
	if (!rtt_ns || rtt_ns > MP_OPAQUE_MOST_NS)
		return;
	mp_opaque_base(opaque, rtt_ns, now_ns);
	opaque->unanswered = 0;
	opaque->heard_ns = now_ns;
	if (mp_opaque_many(opaque))
		mp_opaque_sample(opaque, wait_ns, rtt_ns);
}

/* When its answers last told of what waits; 0: they have told nothing yet. */
MP_INLINE uint64_t mp_opaque_heard_ns(const struct mp_opaque *opaque)
{
	return opaque->mean_ns ? opaque->heard_ns : 0;
}

/* What waits for a large packet, in ns. */
MP_INLINE uint64_t mp_opaque_waits_ns(const struct mp_opaque *opaque)
{
	return (opaque->mean_ns - mp_min_u64(opaque->base_ns, opaque->mean_ns)) * MP_OPAQUE_PART;
}

/* What the host is held to: its share of the air, else by what its answers say; bytes/s, 0: nothing. */
MP_INLINE uint64_t mp_opaque_cap(const struct mp_opaque *opaque, uint64_t share_bytes_per_s)
{
	return share_bytes_per_s ? share_bytes_per_s : opaque->looks ? opaque->held_bytes_per_s / 2 : opaque->held_bytes_per_s;
}

#endif
