/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "link-rates-option.h"

#include "meshpace/meshpace.h"

#include <algorithm>
#include <array>

namespace ns3
{

namespace
{

constexpr uint32_t MIN_HEADER_BYTES = 20;

} // namespace

std::optional<uint32_t>
FindLinkRates(const TcpSegment& segment)
{
    const auto optionsBytes = segment.headerBytes - MIN_HEADER_BYTES;
    const auto at = mp_link_rates_find(&segment.bytes[MIN_HEADER_BYTES], optionsBytes);
    return at < optionsBytes ? std::optional(MIN_HEADER_BYTES + at) : std::nullopt;
}

std::vector<uint32_t>
ReadLinkRates(const TcpSegment& segment)
{
    const auto at = FindLinkRates(segment);
    if (!at)
    {
        return {};
    }
    std::array<uint32_t, MP_LINK_RATES_MAX> kbps;
    const auto links = mp_link_rates_read(&segment.bytes[*at], kbps.data());
    return {kbps.begin(), kbps.begin() + links};
}

Ptr<QueueDiscItem>
EraseLinkRates(Ptr<QueueDiscItem> item)
{
    auto segment = TcpSegment::Read(item);
    const auto at = segment ? FindLinkRates(*segment) : std::nullopt;
    if (!at)
    {
        return item;
    }
    std::fill_n(segment->bytes.begin() + *at, MP_LINK_RATES_BYTES, MP_TCPOPT_NOP);
    return ReplaceHeader(item, *segment);
}

} // namespace ns3
