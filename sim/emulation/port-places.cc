/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "port-places.h"

#include "../runner/host-gateways.h"

#include <algorithm>

namespace ns3
{

namespace
{

bool
IsMesh(const Scenario& scenario, const std::string& name)
{
    return std::any_of(scenario.nodes.begin(),
                       scenario.nodes.end(),
                       [&name](const NodeConfig& node) { return node.name == name; });
}

bool
IsWired(const Scenario& scenario, const std::string& name)
{
    const auto& hosts = scenario.wired_hosts;
    return std::find(hosts.begin(), hosts.end(), name) != hosts.end();
}

void
Need(const PortPlaces& places, const std::string& name, const std::string& what)
{
    if (places.nodes.count(name) == 0)
    {
        throw ScenarioError("node \"" + name + "\" needs a --port: it is " + what);
    }
}

} // namespace

std::string
GatewayName(const Scenario& scenario)
{
    return std::find_if(scenario.nodes.begin(),
                        scenario.nodes.end(),
                        [](const NodeConfig& node) { return node.gateway; })
        ->name;
}

void
CheckPlaces(const Scenario& scenario, const PortPlaces& places)
{
    if (GatewayIndices(scenario.nodes).size() > 1 || scenario.radio.radios > 1)
    {
        throw ScenarioError("several gateways, or radios, are not emulated; give one of each");
    }
    for (const auto& [name, place] : places.nodes)
    {
        if (!IsMesh(scenario, name) && !IsWired(scenario, name))
        {
            throw ScenarioError("--port " + name + ": no node of the scenario has this name");
        }
    }
    const auto gateway = GatewayName(scenario);
    Need(places, gateway, "the gateway");
    for (const auto& flow : scenario.flows)
    {
        Need(places, flow.from, "the end of a flow");
        Need(places, flow.to, "the end of a flow");
    }
    for (const auto& host : scenario.wired_hosts)
    {
        Need(places, host, "a wired host");
    }
    if (!scenario.wired_hosts.empty() && !places.wired)
    {
        throw ScenarioError("gateway \"" + gateway +
                            "\" needs a --wired: the scenario has wired hosts");
    }
}

} // namespace ns3
