/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "live-routes.h"

#include "etx-stack.h"
#include "olsr-stack.h"

#include "ns3/simulator.h"

#include <algorithm>

namespace ns3
{

namespace
{

/** What OLSR calls when it has computed its routes anew. */
void
Changed(const std::function<void()>* changed, uint32_t /* size */)
{
    (*changed)();
}

/** Likewise by ETX, where they have changed. */
void
ChangedByEtx(const std::function<void()>* changed)
{
    (*changed)();
}

} // namespace

LiveRoutes::LiveRoutes(const Scenario& scenario, const MeshNetwork& network)
    : m_scenario(scenario),
      m_traffic(TrafficOf(scenario)),
      m_network(network)
{
    for (const auto& client : scenario.clients)
    {
        Watch(network.LastRouter(), [this, name = client.name] { NoteGateway(name); });
    }
}

void
LiveRoutes::Watch(Ptr<Node> node, std::function<void()> changed)
{
    if (m_scenario.routing.protocol != "olsr")
    {
        return;
    }
    const std::function<void()>* kept = &m_watchers.emplace_back(std::move(changed));
    if (const auto etx = EtxOf(node))
    {
        etx->TraceConnectWithoutContext("Changed", MakeBoundCallback(&ChangedByEtx, kept));
    }
    else if (const auto olsr = OlsrOf(node)) // by ETX the wired part has none
    {
        olsr->TraceConnectWithoutContext("RoutingTableChanged",
                                         MakeBoundCallback(&Changed, kept));
    }
}

void
LiveRoutes::Tell(const std::string& name, Ptr<MeshpaceGateway> law)
{
    for (const auto& node : {m_network.GetNode(name), m_network.LastRouter()})
    {
        Watch(node, [this, name, law] { TellGateway(name, law); });
    }
}

void
LiveRoutes::TellGateway(const std::string& name, Ptr<MeshpaceGateway> law) const
{
    for (const auto& flow : m_traffic)
    {
        const auto down = m_network.IsWired(flow.from);
        if (!down && !m_network.IsWired(flow.to))
        {
            continue;
        }
        const auto& end = down ? flow.to : flow.from;
        const auto gateway = m_network.LiveGatewayOf(end);
        const auto hops = m_network.LiveHops(name, end);
        // A route that is lost for a moment says nothing.
        if (end != name && !gateway.empty() && hops)
        {
            law->SetHops(m_network.Address(end), gateway == name ? *hops : 0);
        }
    }
}

void
LiveRoutes::Tell(const FlowConfig& flow, Ptr<TcpMeshpace> law)
{
    if (!law)
    {
        return;
    }
    const auto [sender, isNew] = m_senders.try_emplace(flow.name);
    auto& laws = sender->second;
    // Nobody else has the law of a connection that is over.
    std::erase_if(laws, [](const auto& one) { return one->GetReferenceCount() == 1; });
    laws.push_back(law);
    TellSender(flow);
    if (isNew)
    {
        Watch(m_network.GetNode(flow.from), [this, flow] { TellSender(flow); });
    }
}

void
LiveRoutes::TellSender(const FlowConfig& flow) const
{
    const auto hops = m_scenario.routing.protocol == "olsr"
                          ? m_network.LiveHops(flow.from, flow.to)
                          : std::nullopt;
    if (!hops)
    {
        return;
    }
    for (const auto& law : m_senders.at(flow.name))
    {
        law->SetHops(std::max(*hops, 1U));
    }
}

void
LiveRoutes::NoteGateway(const std::string& client)
{
    const auto gateway = m_network.LiveGatewayOf(client);
    auto& current = m_gateways[client];
    if (!gateway.empty() && gateway != current)
    {
        current = gateway;
        m_handovers.push_back({client, gateway, Simulator::Now()});
    }
}

const std::vector<LiveRoutes::Handover>&
LiveRoutes::Handovers() const
{
    return m_handovers;
}

} // namespace ns3
