/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A path that has fallen silent is asked (law `even`). When a route breaks, all of a flow's packets are
 * lost, and its sender tries again after a second, two, four, eight: long after the mesh has found
 * another way, whoever kept his has all. The gateway still has what is unacknowledged, and sends the
 * first of it again once a second; its acknowledgement sets the sender going. Of an upload it has
 * the latest ACK. It prompts the sender: by that ACK, and by telling that the host was unreachable, so
 * that a time-out was the path's fault and is not to be doubled (RFC 6069).
 */
#ifndef MESHPACE_PROBE_H
#define MESHPACE_PROBE_H

#include "base.h"

#define MP_PROBE_NS (MP_NS_PER_S * 3 / 4) /* looked at once a second */
#define MP_PROBES 60u /* who does not answer for a minute is gone */
#define MP_PROMPT_BYTES 65536u /* of an upload; most that are silent after less, and a push, have said all */

struct mp_probe {
	uint32_t ack;   /* up to which everything was acknowledged at the latest probe */
	uint32_t count; /* probes since then */
};

/*
 * Whether a flow that has something unacknowledged, the first of it at ack, and of which nothing has
 * been sent for silent_ns, is to be probed with it.
 */
MP_INLINE bool mp_probe_due(struct mp_probe *probe, uint32_t ack, uint64_t silent_ns)
{
	if (ack != probe->ack)
		probe->count = 0;
	probe->ack = ack;
	if (silent_ns < MP_PROBE_NS || probe->count >= MP_PROBES)
		return false;
	probe->count++;
	return true;
}

/*
 * Whether the sender of an upload of so many bytes, acknowledged up to ack, is to be prompted. pushed: its latest
 * data came with TCP's push flag, by which a sender says that it has no more at the time. Whether it has by now
 * it alone knows; if not, a prompt says nothing to it.
 */
MP_INLINE bool mp_prompt_due(struct mp_probe *probe, uint32_t ack, uint64_t silent_ns, uint64_t bytes,
			     bool pushed)
{
	return (!pushed || bytes >= MP_PROMPT_BYTES) && mp_probe_due(probe, ack, silent_ns);
}

#endif
