/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "mobility.h"

#include "ns3/mobility-helper.h"
#include "ns3/nstime.h"
#include "ns3/position-allocator.h"
#include "ns3/waypoint-mobility-model.h"

#include <algorithm>
#include <cmath>

namespace ns3
{

namespace
{

/** From where it stands to the other end and back, over and over, from start_s on. */
Ptr<MobilityModel>
Walking(const NodeConfig& node, const ClientConfig& client, double untilS)
{
    const Vector ends[] = {{node.x_m, node.y_m, 0}, {client.to_x_m, client.to_y_m, 0}};
    const auto legS = CalculateDistance(ends[0], ends[1]) / client.speed_mps;
    auto model = CreateObject<WaypointMobilityModel>();
    model->AddWaypoint({Seconds(0), ends[0]});
    if (client.start_s > 0)
    {
        model->AddWaypoint({Seconds(client.start_s), ends[0]});
    }
    for (uint32_t leg = 0; client.start_s + leg * legS < untilS; leg++)
    {
        model->AddWaypoint({Seconds(client.start_s + (leg + 1) * legS), ends[(leg + 1) % 2]});
    }
    return model;
}

} // namespace

void
InstallMobility(const NodeContainer& mesh, const Scenario& scenario)
{
    auto positions = CreateObject<ListPositionAllocator>();
    NodeContainer standing;
    for (uint32_t i = 0; i < mesh.GetN(); i++)
    {
        const auto& node = scenario.nodes[i];
        const auto client =
            std::find_if(scenario.clients.begin(),
                         scenario.clients.end(),
                         [&node](const ClientConfig& one) { return one.name == node.name; });
        const bool walks = client != scenario.clients.end() && client->speed_mps > 0 &&
                           (client->to_x_m != node.x_m || client->to_y_m != node.y_m);
        if (walks)
        {
            mesh.Get(i)->AggregateObject(Walking(node, *client, scenario.duration_s));
        }
        else
        {
            positions->Add(Vector(node.x_m, node.y_m, 0));
            standing.Add(mesh.Get(i));
        }
    }
    MobilityHelper mobility;
    mobility.SetPositionAllocator(positions);
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(standing);
}

} // namespace ns3
