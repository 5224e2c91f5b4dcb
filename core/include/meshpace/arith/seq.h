/* SPDX-License-Identifier: GPL-2.0-only */
/* TCP sequence numbers: 32 bits that wrap (RFC 9293, section 3.4). */
#ifndef MESHPACE_SEQ_H
#define MESHPACE_SEQ_H

#include "base.h"

/* a lies before b, when they are less than 2^31 apart. */
MP_INLINE bool mp_seq_before(uint32_t a, uint32_t b)
{
	return ((a - b) & 0x80000000u) != 0;
}

/* a lies before b or is b. */
MP_INLINE bool mp_seq_up_to(uint32_t a, uint32_t b)
{
	return !mp_seq_before(b, a);
}

#endif
