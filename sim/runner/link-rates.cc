/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "link-rates.h"

#include "wifi-parts.h"

#include "../model/radio/link-rates-layer.h"
#include "../model/radio/range-mac.h"

#include "ns3/wifi-net-device.h"

#include <set>

namespace ns3
{

namespace
{

Ptr<RangeWifiManager>
StationsOf(const MeshNetwork& network, const std::string& node, uint32_t radio)
{
    const auto device = DynamicCast<WifiNetDevice>(network.MeshDevice(node, radio));
    return DynamicCast<RangeWifiManager>(device->GetRemoteStationManager());
}

Mac48Address
MacOf(const MeshNetwork& network, const std::string& node, uint32_t radio)
{
    return Mac48Address::ConvertFrom(network.MeshDevice(node, radio)->GetAddress());
}

} // namespace

void
SetLinkRates(const Scenario& scenario, const MeshNetwork& network)
{
    for (const auto& link : scenario.links)
    {
        const WifiMode mode(DataModeName(scenario.radio.standard, link.mbps));
        for (uint32_t radio = 0; radio < network.Radios(); radio++)
        {
            StationsOf(network, link.from, radio)
                ->SetDataMode(MacOf(network, link.to, radio), mode);
            StationsOf(network, link.to, radio)
                ->SetDataMode(MacOf(network, link.from, radio), mode);
        }
    }
}

std::vector<uint32_t>
PathRates(const MeshNetwork& network, const std::string& from, const std::string& to)
{
    const auto path = network.MeshPath(from, to);
    std::vector<uint32_t> kbps;
    for (std::size_t hop = 1; hop < path.size(); hop++)
    {
        const auto stations = StationsOf(network, path[hop - 1], 0);
        kbps.push_back(stations ? stations->KbpsTo(MacOf(network, path[hop], 0)) : 0);
    }
    return kbps;
}

void
InstallGathering(const Scenario& scenario, const MeshNetwork& network)
{
    for (const auto& node : scenario.nodes)
    {
        std::set<Ipv4Address> behind;
        for (const auto& host : scenario.wired_hosts)
        {
            if (network.GatewayOf(host) == node.name)
            {
                behind.insert(network.Address(host));
            }
        }
        for (uint32_t radio = 0; radio < network.Radios(); radio++)
        {
            CreateObject<LinkRatesLayer>()->Install(network.GetNode(node.name),
                                                    network.MeshDevice(node.name, radio),
                                                    behind);
        }
    }
}

} // namespace ns3
