/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "wired-part.h"

#include "addresses.h"

#include "../model/routing/gateway-aodv.h"

#include "ns3/data-rate.h"
#include "ns3/nstime.h"
#include "ns3/string.h"

namespace ns3
{

namespace
{

const Ipv4Mask LINK_MASK("255.255.255.0");
constexpr uint32_t WIRED_BASE = 0x0a020000; // 10.2.n.0
constexpr const char* WIRED_QUEUE = "1000p";

} // namespace

WiredLinks::WiredLinks(const WiredConfig& config)
{
    m_helper.SetDeviceAttribute("DataRate", DataRateValue(DataRate(config.mbps * 1e6)));
    m_helper.SetChannelAttribute("Delay", TimeValue(Seconds(config.delay_ms / 1e3)));
    m_helper.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue(WIRED_QUEUE));
}

NetDeviceContainer
WiredLinks::Lay(Ptr<Node> one, Ptr<Node> other)
{
    return m_helper.Install(one, other);
}

void
WiredLinks::Number(const NetDeviceContainer& ends)
{
    AssignAddress(ends.Get(0), NextAddress(0), LINK_MASK);
    AssignAddress(ends.Get(1), NextAddress(1), LINK_MASK);
    m_next++;
}

Ipv4Address
WiredLinks::NextAddress(uint32_t end) const
{
    return Ipv4Address(WIRED_BASE + (m_next << 8) + 1 + end);
}

WiredPart::WiredPart(Ptr<Node> gateway, Ptr<Node> first, Ptr<Node> second, WiredLinks& links)
    : m_uplink(links.Lay(gateway, first)),
      m_backbone(links.Lay(first, second))
{
    if (auto aodv = gateway->GetObject<GatewayAodv>())
    {
        aodv->SetWired(m_uplink.Get(0), links.NextAddress(1));
    }
    links.Number(m_uplink);
    links.Number(m_backbone);
}

void
WiredPart::AddHost(const std::string& name, Ptr<Node> host, WiredLinks& links)
{
    const auto& ends = m_hosts[name] = links.Lay(m_backbone.Get(1)->GetNode(), host);
    links.Number(ends);
}

void
WiredPart::AddRoutes() const
{
    const auto first = StaticRoutesOf(m_backbone.Get(0)->GetNode());
    first->AddNetworkRouteTo(MeshNetworkAddress(),
                             MeshNetworkMask(),
                             AddressOf(m_uplink.Get(0)),
                             InterfaceOf(m_uplink.Get(1)));
    first->SetDefaultRoute(AddressOf(m_backbone.Get(1)), InterfaceOf(m_backbone.Get(0)));
    StaticRoutesOf(m_backbone.Get(1)->GetNode())
        ->SetDefaultRoute(AddressOf(m_backbone.Get(0)), InterfaceOf(m_backbone.Get(1)));
    for (const auto& [name, ends] : m_hosts)
    {
        StaticRoutesOf(ends.Get(1)->GetNode())
            ->SetDefaultRoute(AddressOf(ends.Get(0)), InterfaceOf(ends.Get(1)));
    }
}

Ptr<NetDevice>
WiredPart::Uplink() const
{
    return m_uplink.Get(0);
}

Ipv4Address
WiredPart::UplinkRouter() const
{
    return AddressOf(m_uplink.Get(1));
}

Ptr<NetDevice>
WiredPart::LastRouterDevice() const
{
    return m_backbone.Get(1);
}

const std::map<std::string, NetDeviceContainer>&
WiredPart::Hosts() const
{
    return m_hosts;
}

} // namespace ns3
