/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "link-drops.h"

#include "ns3/wifi-mpdu.h"
#include "ns3/wifi-net-device.h"

#include <array>

namespace ns3
{

void
LinkDropMeter::Watch(const NetDeviceContainer& devices)
{
    for (uint32_t i = 0; i < devices.GetN(); i++)
    {
        auto mac = DynamicCast<WifiNetDevice>(devices.Get(i))->GetMac();
        m_byMac[mac->GetAddress()] = i;
        mac->TraceConnectWithoutContext("DroppedMpdu",
                                        MakeCallback(&LinkDropMeter::Dropped, this).Bind(i));
    }
}

void
LinkDropMeter::Dropped(uint32_t node, WifiMacDropReason reason, Ptr<const WifiMpdu> mpdu)
{
    const auto to = m_byMac.find(mpdu->GetHeader().GetAddr1());
    if (reason != WIFI_MAC_DROP_REACHED_RETRY_LIMIT || to == m_byMac.end())
    {
        return;
    }
    constexpr uint32_t LLC_BYTES = 8;
    constexpr uint32_t IP_BYTES = 20;
    constexpr uint8_t TCP = 6;
    std::array<uint8_t, LLC_BYTES + IP_BYTES + 20> bytes{};
    const auto packet = mpdu->GetPacket();
    const bool tcp = packet->CopyData(bytes.data(), bytes.size()) == bytes.size() &&
                     bytes[LLC_BYTES + 9] == TCP;
    const uint32_t tcpHeaderBytes = (bytes[LLC_BYTES + IP_BYTES + 12] >> 4) * 4;
    auto& drops = m_drops[std::make_pair(node, to->second)];
    if (!tcp)
    {
        drops.otherDrops++;
    }
    else if (packet->GetSize() > LLC_BYTES + IP_BYTES + tcpHeaderBytes)
    {
        drops.dataDrops++;
    }
    else
    {
        drops.ackDrops++;
    }
}

std::vector<LinkDrops>
LinkDropMeter::Links(const std::vector<std::string>& names) const
{
    std::vector<LinkDrops> links;
    for (auto [ends, drops] : m_drops)
    {
        drops.from = names[ends.first];
        drops.to = names[ends.second];
        links.push_back(drops);
    }
    return links;
}

void
LinkDropMeter::Reset()
{
    m_drops.clear();
}

} // namespace ns3
