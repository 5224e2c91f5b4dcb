/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "olsr-stack.h"

#include "ns3/ipv4.h"
#include "ns3/nstime.h"

namespace ns3
{

namespace
{

std::optional<olsr::RoutingTableEntry>
Find(Ptr<Node> node, Ipv4Address destination)
{
    for (const auto& entry : OlsrOf(node)->GetRoutingTableEntries())
    {
        if (entry.destAddr == destination)
        {
            return entry;
        }
    }
    return std::nullopt;
}

} // namespace

OlsrHelper
CreateOlsrHelper(const Scenario& scenario)
{
    OlsrHelper olsr;
    olsr.Set("HelloInterval", TimeValue(Seconds(scenario.routing.hello_s)));
    olsr.Set("TcInterval", TimeValue(Seconds(scenario.routing.tc_s)));
    return olsr;
}

Ptr<olsr::RoutingProtocol>
OlsrOf(Ptr<Node> node)
{
    return DynamicCast<olsr::RoutingProtocol>(node->GetObject<Ipv4>()->GetRoutingProtocol());
}

std::optional<uint32_t>
OlsrDistance(Ptr<Node> node, Ipv4Address destination)
{
    const auto entry = Find(node, destination);
    return entry ? std::optional(entry->distance) : std::nullopt;
}

Ptr<NetDevice>
OlsrDevice(Ptr<Node> node, Ipv4Address destination)
{
    const auto entry = Find(node, destination);
    return entry ? node->GetObject<Ipv4>()->GetNetDevice(entry->interface) : nullptr;
}

} // namespace ns3
