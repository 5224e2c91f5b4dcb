/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_LINK_RATES_OPTION_H
#define MESHPACE_LINK_RATES_OPTION_H

#include "tcp-wire.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace ns3
{

/**
 * @param segment a segment
 * @return where the option with the bit rates of links begins in its header; nothing when it is not there
 */
std::optional<uint32_t> FindLinkRates(const TcpSegment& segment);

/**
 * @ingroup meshpace
 *
 * @param segment a segment
 * @return the bit rates of links that its option tells, kbit/s, in the order in which it passed
 *         them; none when it has no such option or the path was too long for it
 */
std::vector<uint32_t> ReadLinkRates(const TcpSegment& segment);

/**
 * @ingroup meshpace
 *
 * Overwrites the option with NOPs: what leaves the mesh is as it came.
 *
 * @param item a segment
 * @return the packet to send instead; the item itself when it has no such option
 */
Ptr<QueueDiscItem> EraseLinkRates(Ptr<QueueDiscItem> item);

} // namespace ns3

#endif // MESHPACE_LINK_RATES_OPTION_H
