/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "host-gateways.h"

#include <algorithm>

namespace ns3
{

namespace
{

/** Finds the gateways of one scenario's hosts. */
class HostGateways
{
  public:
    HostGateways(const Scenario& scenario, const std::map<uint32_t, MeshTree>& trees)
        : m_scenario(scenario),
          m_traffic(TrafficOf(scenario)),
          m_trees(trees),
          m_gateways(GatewayIndices(scenario.nodes))
    {
    }

    /** @return the gateway of a host */
    uint32_t Find(const std::string& host) const
    {
        if (m_scenario.routing.protocol == "olsr")
        {
            return m_gateways.front(); // behind all of them
        }
        // What flows say goes before what the mesh suggests.
        for (const bool stated : {true, false})
        {
            const FlowConfig* decisive = nullptr;
            for (const auto& flow : m_traffic)
            {
                if ((flow.from != host && flow.to != host) || flow.via.empty() == stated)
                {
                    continue;
                }
                decisive = decisive ? decisive : &flow;
                if (GatewayOf(flow, host) != GatewayOf(*decisive, host))
                {
                    throw Conflict(host, *decisive, flow);
                }
            }
            if (decisive)
            {
                return GatewayOf(*decisive, host);
            }
        }
        for (const auto& ping : m_scenario.pings)
        {
            if (ping.from == host || ping.to == host)
            {
                return Nearest(ping.from == host ? ping.to : ping.from);
            }
        }
        return m_gateways.front(); // a host without flows
    }

  private:
    uint32_t GatewayOf(const FlowConfig& flow, const std::string& host) const
    {
        return flow.via.empty() ? Nearest(flow.from == host ? flow.to : flow.from)
                                : IndexOf(flow.via);
    }

    uint32_t Nearest(const std::string& node) const
    {
        const auto index = IndexOf(node);
        return *std::min_element(m_gateways.begin(),
                                 m_gateways.end(),
                                 [&](uint32_t one, uint32_t other) {
                                     return m_trees.at(one).hops[index] <
                                            m_trees.at(other).hops[index];
                                 });
    }

    uint32_t IndexOf(const std::string& node) const
    {
        const auto found = std::find_if(m_scenario.nodes.begin(),
                                        m_scenario.nodes.end(),
                                        [&](const NodeConfig& one) { return one.name == node; });
        return found - m_scenario.nodes.begin();
    }

    ScenarioError Conflict(const std::string& host,
                           const FlowConfig& one,
                           const FlowConfig& other) const
    {
        const auto part = [&](const FlowConfig& flow) {
            return "\"" + m_scenario.nodes[GatewayOf(flow, host)].name + "\" (flow \"" +
                   flow.name + "\")";
        };
        return ScenarioError("wired host \"" + host + "\" would hang behind two gateways, " +
                             part(one) + " and " + part(other) +
                             "; give both flows the same via, or two hosts");
    }

    const Scenario& m_scenario;
    const std::vector<FlowConfig> m_traffic;
    const std::map<uint32_t, MeshTree>& m_trees;
    const std::vector<uint32_t> m_gateways;
};

} // namespace

std::vector<uint32_t>
GatewayIndices(const std::vector<NodeConfig>& nodes)
{
    std::vector<uint32_t> indices;
    for (uint32_t i = 0; i < nodes.size(); i++)
    {
        if (nodes[i].gateway)
        {
            indices.push_back(i);
        }
    }
    return indices;
}

std::map<std::string, uint32_t>
FindHostGateways(const Scenario& scenario, const std::map<uint32_t, MeshTree>& trees)
{
    const HostGateways finder(scenario, trees);
    std::map<std::string, uint32_t> gateways;
    for (const auto& host : scenario.wired_hosts)
    {
        gateways[host] = finder.Find(host);
    }
    return gateways;
}

} // namespace ns3
