/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "etx-stack.h"

#include "addresses.h"

#include "ns3/boolean.h"
#include "ns3/nstime.h"
#include "ns3/object-factory.h"

namespace ns3
{

bool
RoutedByEtx(const Scenario& scenario)
{
    return scenario.routing.protocol == "olsr" && scenario.routing.metric == "etx";
}

void
InstallEtx(const Scenario& scenario, const NetDeviceContainer& radios)
{
    for (uint32_t i = 0; i < radios.GetN(); i++)
    {
        const auto routing = CreateObjectWithAttributes<EtxRouting>(
            "HelloInterval",
            TimeValue(Seconds(scenario.routing.hello_s)),
            "TcInterval",
            TimeValue(Seconds(scenario.routing.tc_s)),
            "Gateway",
            BooleanValue(scenario.nodes[i].gateway));
        const auto node = radios.Get(i)->GetNode();
        routing->SetUp(radios.Get(i), StaticRoutesOf(node));
        node->AddApplication(routing);
    }
}

Ptr<EtxRouting>
EtxOf(Ptr<Node> node)
{
    for (uint32_t i = 0; i < node->GetNApplications(); i++)
    {
        if (const auto routing = DynamicCast<EtxRouting>(node->GetApplication(i)))
        {
            return routing;
        }
    }
    return nullptr;
}

} // namespace ns3
