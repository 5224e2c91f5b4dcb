/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "outages.h"

#include "ns3/mobility-model.h"
#include "ns3/simulator.h"

#include <algorithm>

namespace ns3
{

namespace
{

/** Farther than any radio reaches, and apart by as much, if several nodes are out. */
constexpr double AWAY_M = 1e7;

/**
 * @param scenario the scenario
 * @param node a node's name
 * @param now time since the run began
 * @return whether its radios are out then; outages may overlap
 */
bool
IsOut(const Scenario& scenario, const std::string& node, Time now)
{
    return std::any_of(scenario.outages.begin(),
                       scenario.outages.end(),
                       [&](const OutageConfig& outage) {
                           return outage.node == node && now >= Seconds(outage.at_s) &&
                                  now < Seconds(outage.at_s + outage.for_s);
                       });
}

/** An outage of a node begins or ends, so long after the run began. */
void
Switch(const Scenario& scenario, const MeshNetwork& network, uint32_t index, Time now)
{
    const auto& node = scenario.nodes[index];
    const auto place = IsOut(scenario, node.name, now) ? Vector((index + 1) * AWAY_M, AWAY_M, 0)
                                                       : Vector(node.x_m, node.y_m, 0);
    network.GetNode(node.name)->GetObject<MobilityModel>()->SetPosition(place);
}

} // namespace

void
ScheduleOutages(const Scenario& scenario, const MeshNetwork& network)
{
    for (uint32_t index = 0; index < scenario.nodes.size(); index++)
    {
        for (const auto& outage : scenario.outages)
        {
            if (outage.node != scenario.nodes[index].name)
            {
                continue;
            }
            for (const auto& at : {Seconds(outage.at_s), Seconds(outage.at_s + outage.for_s)})
            {
                Simulator::Schedule(at, [&scenario, &network, index, at] {
                    Switch(scenario, network, index, at);
                });
            }
        }
    }
}

} // namespace ns3
