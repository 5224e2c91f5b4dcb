/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "link-rates-layer.h"

#include "range-mac.h"

#include "meshpace/meshpace.h"

#include "ns3/ipv4-interface.h"
#include "ns3/ipv4-l3-protocol.h"
#include "ns3/mac48-address.h"
#include "ns3/simulator.h"
#include "ns3/wifi-net-device.h"

#include <algorithm>
#include <array>
#include <optional>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(LinkRatesLayer);

namespace
{

constexpr uint32_t MIN_HEADER_BYTES = 20;

/** @return where the option begins in a segment's header, nothing when it is not there */
std::optional<uint32_t>
FindLinks(const TcpSegment& segment)
{
    const auto optionsBytes = segment.headerBytes - MIN_HEADER_BYTES;
    const auto at = mp_link_rates_find(&segment.bytes[MIN_HEADER_BYTES], optionsBytes);
    return at < optionsBytes ? std::optional(MIN_HEADER_BYTES + at) : std::nullopt;
}

/** @return the bit rate at which a radio sends to a neighbour, kbit/s; 0: unknown */
uint32_t
KbpsTo(Ptr<NetDevice> device, const Address& neighbour)
{
    const auto stations = DynamicCast<RangeWifiManager>(
        StaticCast<WifiNetDevice>(device)->GetRemoteStationManager());
    return stations && Mac48Address::IsMatchingType(neighbour)
               ? stations->KbpsTo(Mac48Address::ConvertFrom(neighbour))
               : 0;
}

} // namespace

TypeId
LinkRatesLayer::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::LinkRatesLayer")
            .SetParent<TrafficControlLayer>()
            .SetGroupName("Meshpace")
            .AddConstructor<LinkRatesLayer>();
    return tid;
}

LinkRatesLayer::LinkRatesLayer() = default;

void
LinkRatesLayer::Install(Ptr<Node> node,
                        Ptr<NetDevice> device,
                        const std::set<Ipv4Address>& behind)
{
    m_below = node->GetObject<TrafficControlLayer>();
    auto ipv4 = node->GetObject<Ipv4L3Protocol>();
    const auto interface = ipv4->GetInterface(ipv4->GetInterfaceForDevice(device));
    interface->SetTrafficControl(this);
    m_sources = behind;
    m_sources.insert(interface->GetAddress(0).GetLocal());
}

void
LinkRatesLayer::DoDispose()
{
    m_below = nullptr;
    TrafficControlLayer::DoDispose();
}

bool
LinkRatesLayer::IsDue(const Ipv4Header& header, const TcpSegment& segment)
{
    if (m_sources.count(header.GetSource()) == 0 || !segment.IsPureAck())
    {
        return false;
    }
    auto& next = m_next[{header.GetSource().Get(),
                         header.GetDestination().Get(),
                         segment.SourcePort(),
                         segment.DestinationPort()}];
    if (Simulator::Now() < next)
    {
        return false;
    }
    next = Simulator::Now() + Seconds(EVERY_S);
    return true;
}

void
LinkRatesLayer::Send(Ptr<NetDevice> device, Ptr<QueueDiscItem> item)
{
    auto segment = TcpSegment::Read(item);
    if (!segment)
    {
        m_below->Send(device, item);
        return;
    }
    if (!FindLinks(*segment) && IsDue(StaticCast<Ipv4QueueDiscItem>(item)->GetHeader(), *segment))
    {
        std::array<uint8_t, MP_LINK_RATES_BYTES> option;
        mp_link_rates_write(option.data());
        item = InsertOption(item, *segment, option.data(), option.size());
        segment = TcpSegment::Read(item);
    }
    if (const auto at = FindLinks(*segment))
    {
        mp_link_rates_add(&segment->bytes[*at], KbpsTo(device, item->GetAddress()));
        item = ReplaceHeader(item, *segment);
    }
    m_below->Send(device, item);
}

std::vector<uint32_t>
ReadLinkRates(const TcpSegment& segment)
{
    const auto at = FindLinks(segment);
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
    const auto at = segment ? FindLinks(*segment) : std::nullopt;
    if (!at)
    {
        return item;
    }
    std::fill_n(segment->bytes.begin() + *at, MP_LINK_RATES_BYTES, MP_TCPOPT_NOP);
    return ReplaceHeader(item, *segment);
}

} // namespace ns3
