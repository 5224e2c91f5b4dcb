/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "link-rates-layer.h"

#include "range-mac.h"

#include "meshpace/meshpace.h"

#include "ns3/ipv4-interface.h"
#include "ns3/ipv4-l3-protocol.h"
#include "ns3/link-rates-option.h"
#include "ns3/mac48-address.h"
#include "ns3/simulator.h"
#include "ns3/wifi-net-device.h"

#include <array>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(LinkRatesLayer);

namespace
{

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
    if (!FindLinkRates(*segment) && IsDue(StaticCast<Ipv4QueueDiscItem>(item)->GetHeader(), *segment))
    {
        std::array<uint8_t, MP_LINK_RATES_BYTES> option;
        mp_link_rates_write(option.data());
        item = InsertOption(item, *segment, option.data(), option.size());
        segment = TcpSegment::Read(item);
    }
    if (const auto at = FindLinkRates(*segment))
    {
        mp_link_rates_add(&segment->bytes[*at], KbpsTo(device, item->GetAddress()));
        item = ReplaceHeader(item, *segment);
    }
    m_below->Send(device, item);
}

} // namespace ns3
