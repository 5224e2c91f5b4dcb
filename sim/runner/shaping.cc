/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "shaping.h"

#include "ns3/enum.h"
#include "ns3/ingress-queue.h"
#include "ns3/traffic-control-layer.h"

#include <cmath>

namespace ns3
{

namespace
{

uint64_t
BitsPerS(double kbps)
{
    return std::llround(kbps * 1e3);
}

Ptr<RatedQueueDisc>
CreateRated(const Scenario& scenario, const MeshNetwork& network, PacketEnd host)
{
    const auto& config = scenario.gateway;
    auto disc = CreateObjectWithAttributes<RatedQueueDisc>("HostIs", EnumValue(host));
    if (config.law == "cake")
    {
        disc->SetRate(BitsPerS(config.rate_kbps));
    }
    for (const auto& [name, kbps] : config.host_kbps)
    {
        disc->SetHostRate(network.Address(name), BitsPerS(kbps));
    }
    return disc;
}

} // namespace

bool
IsShaping(const std::string& law)
{
    return law == "cake" || law == "hosts";
}

Shaping
InstallShaping(const Scenario& scenario, const MeshNetwork& network, const std::string& gateway)
{
    const Shaping shaping{CreateRated(scenario, network, PacketEnd::DESTINATION),
                          CreateRated(scenario, network, PacketEnd::SOURCE)};
    const auto node = network.GetNode(gateway);
    const auto uplink = network.WiredDevice(gateway);
    CreateObject<IngressQueue>()->Install(node, uplink, shaping.down);
    node->GetObject<TrafficControlLayer>()->SetRootQueueDiscOnDevice(uplink, shaping.up);
    return shaping;
}

} // namespace ns3
