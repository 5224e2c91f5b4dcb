/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "network.h"

#include "addresses.h"
#include "aodv-stack.h"
#include "etx-stack.h"
#include "host-gateways.h"
#include "link-rates.h"
#include "mesh-links.h"
#include "mobility.h"
#include "olsr-stack.h"
#include "queueing.h"
#include "radio.h"

#include "ns3/arp-cache.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-interface.h"
#include "ns3/ipv4-l3-protocol.h"
#include "ns3/ipv4-static-routing-helper.h"

#include <algorithm>
#include <cmath>

namespace ns3
{

namespace
{

constexpr uint32_t MESH_BASE = 0x0a010001; // 10.1.0.1, the first gateway
constexpr uint32_t WIRED_HOPS = 3;         // gateway - router - router - host

} // namespace

MeshNetwork::MeshNetwork(const Scenario& scenario)
    : m_scenario(scenario),
      m_gateways(GatewayIndices(scenario.nodes))
{
    CreateNodes();
    FindRoutes();
    for (uint32_t radio = 0; radio < scenario.radio.radios; radio++)
    {
        m_meshDevices.push_back(InstallRadio(m_mesh, scenario.radio));
    }
    InstallStacks();
    ConnectWired();
    AssignMeshAddresses();
    if (Olsr())
    {
        for (uint32_t i = 0; i < m_mesh.GetN(); i++)
        {
            OlsrOf(m_mesh.Get(i))->SetMainInterface(InterfaceOf(m_meshDevices[0].Get(i)));
        }
    }
    else
    {
        for (const auto& part : m_wiredParts)
        {
            part.AddRoutes();
        }
    }
    if (scenario.routing.protocol == "static")
    {
        AddStaticMeshRoutes();
    }
    if (RoutedByEtx(scenario))
    {
        InstallEtx(scenario, m_meshDevices[0]);
        AddRoutesToHosts();
    }
    FillArpCaches();
    InstallQueueing(m_scenario, m_mesh, m_meshDevices);
    for (const auto& devices : m_meshDevices)
    {
        m_drops.Watch(devices);
    }
    SetLinkRates(scenario, *this);
}

void
MeshNetwork::CreateNodes()
{
    for (const auto& node : m_scenario.nodes)
    {
        m_meshIndex.emplace(node.name, m_meshIndex.size());
    }
    for (const auto& host : m_scenario.wired_hosts)
    {
        m_wiredIndex.emplace(host, m_wiredIndex.size());
    }
    m_mesh.Create(m_scenario.nodes.size());
    m_routers.Create(Olsr() ? m_gateways.size() + 1 : 2 * m_gateways.size());
    m_hosts.Create(m_scenario.wired_hosts.size());
    InstallMobility(m_mesh, m_scenario);
}

bool
MeshNetwork::Olsr() const
{
    return m_scenario.routing.protocol == "olsr" && !RoutedByEtx(m_scenario);
}

void
MeshNetwork::FindRoutes()
{
    const MeshLinks links(m_scenario);
    const auto find = [this, &links](uint32_t destination) {
        m_trees.try_emplace(destination, links.PathsTo(destination));
    };
    std::for_each(m_gateways.begin(), m_gateways.end(), find);
    std::vector<std::string> ends;
    for (const auto& flow : TrafficOf(m_scenario))
    {
        ends.insert(ends.end(), {flow.from, flow.to});
    }
    for (const auto& ping : m_scenario.pings)
    {
        ends.insert(ends.end(), {ping.from, ping.to});
    }
    for (const auto& end : ends)
    {
        if (!IsWired(end))
        {
            find(m_meshIndex.at(end));
        }
    }
    for (const auto& node : m_scenario.nodes)
    {
        if (m_trees.at(m_gateways.front()).hops[m_meshIndex.at(node.name)] ==
            MeshTree::UNREACHED)
        {
            throw ScenarioError("node \"" + node.name +
                                "\" cannot be reached from the gateway; links reach " +
                                std::to_string(std::lround(links.ReachM())) +
                                " m, place nodes nearer" +
                                (m_scenario.radio.shadowing_db > 0 ? ", or try another "
                                                                     "mesh.topology_seed"
                                                                   : ""));
        }
    }
    m_hostGateways = FindHostGateways(m_scenario, m_trees);
}

void
MeshNetwork::InstallStacks()
{
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.SetRoutingHelper(Ipv4StaticRoutingHelper());
    if (Olsr())
    {
        stack.SetRoutingHelper(CreateOlsrHelper(m_scenario));
    }
    stack.Install(m_routers);
    stack.Install(m_hosts);
    if (m_scenario.routing.protocol == "aodv")
    {
        stack.SetRoutingHelper(GatewayAodvHelper(m_scenario.routing.search_pause_s));
    }
    stack.Install(m_mesh);
}

void
MeshNetwork::ConnectWired()
{
    WiredLinks links(m_scenario.wired);
    const auto gateways = m_gateways.size();
    for (uint32_t i = 0; i < gateways; i++)
    {
        // With OLSR all gateways lead to the same second router, and so to all hosts.
        m_wiredParts.emplace_back(m_mesh.Get(m_gateways[i]),
                                  m_routers.Get(Olsr() ? i : 2 * i),
                                  m_routers.Get(Olsr() ? gateways : 2 * i + 1),
                                  links);
    }
    for (const auto& host : m_scenario.wired_hosts)
    {
        const auto part = PartOf(m_hostGateways.at(host));
        m_wiredParts[part].AddHost(host, m_hosts.Get(m_wiredIndex.at(host)), links);
    }
}

/** The first gateway is 10.1.0.1. A node has one address, whichever radio it is reached by. */
void
MeshNetwork::AssignMeshAddresses()
{
    auto next = MESH_BASE + 1;
    for (uint32_t i = 0; i < m_mesh.GetN(); i++)
    {
        const auto address = i == m_gateways.front() ? MESH_BASE : next++;
        for (const auto& devices : m_meshDevices)
        {
            AssignAddress(devices.Get(i), Ipv4Address(address), MeshNetworkMask());
        }
    }
}

uint32_t
MeshNetwork::RadioFor(uint32_t hopsLeft) const
{
    return (hopsLeft - 1) % m_scenario.radio.radios;
}

/** A wired host is reached by way of its gateway, everything else outside by the first one. */
void
MeshNetwork::AddStaticMeshRoutes()
{
    for (const auto& [destination, tree] : m_trees)
    {
        for (uint32_t i = 0; i < m_mesh.GetN(); i++)
        {
            if (i == destination)
            {
                continue;
            }
            const auto routes = StaticRoutesOf(m_mesh.Get(i));
            const auto nextHop = AddressOf(m_meshDevices[0].Get(tree.nextHop[i]));
            const auto interface = InterfaceOf(m_meshDevices[RadioFor(tree.hops[i])].Get(i));
            routes->AddHostRouteTo(AddressOf(m_meshDevices[0].Get(destination)),
                                   nextHop,
                                   interface);
            for (const auto& [host, gateway] : m_hostGateways)
            {
                if (gateway == destination)
                {
                    routes->AddHostRouteTo(Address(host), nextHop, interface);
                }
            }
            if (destination == m_gateways.front() && !m_scenario.nodes[i].gateway)
            {
                routes->SetDefaultRoute(nextHop, interface);
            }
        }
    }
    for (uint32_t i = 0; i < m_gateways.size(); i++)
    {
        StaticRoutesOf(m_mesh.Get(m_gateways[i]))
            ->SetDefaultRoute(m_wiredParts[i].UplinkRouter(),
                              InterfaceOf(m_wiredParts[i].Uplink()));
    }
}

/** By a default route what is for an unreachable mesh node would go out and back until its TTL ends. */
void
MeshNetwork::AddRoutesToHosts()
{
    for (const auto& host : m_scenario.wired_hosts)
    {
        const auto& part = m_wiredParts[PartOf(m_hostGateways.at(host))];
        StaticRoutesOf(part.Uplink()->GetNode())
            ->AddHostRouteTo(Address(host), part.UplinkRouter(), InterfaceOf(part.Uplink()));
    }
}

/**
 * Everybody knows everybody's hardware address, as in ns-2, and each node has a cache of its
 * own: AODV finds the neighbour that it lost in it.
 */
void
MeshNetwork::FillArpCaches()
{
    for (const auto& devices : m_meshDevices)
    {
        for (uint32_t i = 0; i < m_mesh.GetN(); i++)
        {
            auto ipv4 = m_mesh.Get(i)->GetObject<Ipv4L3Protocol>();
            auto cache = ipv4->GetInterface(InterfaceOf(devices.Get(i)))->GetArpCache();
            for (uint32_t j = 0; j < m_mesh.GetN(); j++)
            {
                if (j != i)
                {
                    auto* entry = cache->Add(AddressOf(devices.Get(j)));
                    entry->SetMacAddress(devices.Get(j)->GetAddress());
                    entry->MarkPermanent();
                }
            }
        }
    }
}

Ptr<Node>
MeshNetwork::GetNode(const std::string& name) const
{
    return IsWired(name) ? m_hosts.Get(m_wiredIndex.at(name)) : m_mesh.Get(m_meshIndex.at(name));
}

Ipv4Address
MeshNetwork::Address(const std::string& name) const
{
    return AddressOf(IsWired(name) ? WiredDevice(name) : MeshDevice(name));
}

bool
MeshNetwork::IsWired(const std::string& name) const
{
    return m_wiredIndex.count(name) > 0;
}

std::optional<uint32_t>
MeshNetwork::LiveHops(const std::string& from, const std::string& to) const
{
    if (const auto etx = EtxOf(GetNode(from)))
    {
        return etx->Hops(Address(to));
    }
    const auto distance = OlsrDistance(GetNode(from), Address(to));
    if (!distance || IsWired(from) || !IsWired(to))
    {
        return distance;
    }
    return *distance > WIRED_HOPS ? *distance - WIRED_HOPS : 0;
}

std::string
MeshNetwork::LiveGatewayOf(const std::string& name) const
{
    if (RoutedByEtx(m_scenario))
    {
        return LiveHops(Gateways().front(), name) ? Gateways().front() : "";
    }
    const auto device = OlsrDevice(LastRouter(), Address(name));
    for (uint32_t i = 0; i < m_gateways.size() && device; i++)
    {
        if (m_wiredParts[i].LastRouterDevice() == device)
        {
            return m_scenario.nodes[m_gateways[i]].name;
        }
    }
    return "";
}

Ptr<Node>
MeshNetwork::LastRouter() const
{
    return m_routers.Get(m_routers.GetN() - 1);
}

uint32_t
MeshNetwork::Hops(const std::string& name) const
{
    if (IsWired(name))
    {
        return 0;
    }
    auto least = MeshTree::UNREACHED;
    for (const auto gateway : m_gateways)
    {
        least = std::min(least, m_trees.at(gateway).hops[m_meshIndex.at(name)]);
    }
    return least;
}

uint32_t
MeshNetwork::HopsBetween(const std::string& from, const std::string& to) const
{
    if (IsWired(from))
    {
        return m_trees.at(m_hostGateways.at(from)).hops[m_meshIndex.at(to)];
    }
    const auto destination = IsWired(to) ? m_hostGateways.at(to) : m_meshIndex.at(to);
    return m_trees.at(destination).hops[m_meshIndex.at(from)];
}

uint32_t
MeshNetwork::Radios() const
{
    return m_meshDevices.size();
}

std::vector<std::string>
MeshNetwork::MeshPath(const std::string& from, const std::string& to) const
{
    const auto indexOf = [this](const std::string& name) {
        return IsWired(name) ? m_hostGateways.at(name) : m_meshIndex.at(name);
    };
    const auto& tree = m_trees.at(indexOf(to));
    std::vector<std::string> path{m_scenario.nodes[indexOf(from)].name};
    for (auto node = indexOf(from); node != indexOf(to);)
    {
        node = tree.nextHop[node];
        path.push_back(m_scenario.nodes[node].name);
    }
    return path;
}

Ptr<NetDevice>
MeshNetwork::MeshDevice(const std::string& name, uint32_t radio) const
{
    return m_meshDevices[radio].Get(m_meshIndex.at(name));
}

std::vector<std::string>
MeshNetwork::Gateways() const
{
    std::vector<std::string> names;
    for (const auto gateway : m_gateways)
    {
        names.push_back(m_scenario.nodes[gateway].name);
    }
    return names;
}

const std::string&
MeshNetwork::GatewayOf(const std::string& host) const
{
    return m_scenario.nodes[m_hostGateways.at(host)].name;
}

uint32_t
MeshNetwork::PartOf(uint32_t gateway) const
{
    return std::find(m_gateways.begin(), m_gateways.end(), gateway) - m_gateways.begin();
}

Ptr<NetDevice>
MeshNetwork::WiredDevice(const std::string& name) const
{
    if (IsWired(name))
    {
        return m_wiredParts[PartOf(m_hostGateways.at(name))].Hosts().at(name).Get(1);
    }
    return m_wiredParts[PartOf(m_meshIndex.at(name))].Uplink();
}

Ipv4Address
MeshNetwork::WiredRouter(const std::string& name) const
{
    if (IsWired(name))
    {
        return AddressOf(m_wiredParts[PartOf(m_hostGateways.at(name))].Hosts().at(name).Get(0));
    }
    return m_wiredParts[PartOf(m_meshIndex.at(name))].UplinkRouter();
}

std::vector<LinkDrops>
MeshNetwork::Links() const
{
    std::vector<std::string> names;
    for (const auto& node : m_scenario.nodes)
    {
        names.push_back(node.name);
    }
    return m_drops.Links(names);
}

void
MeshNetwork::ResetStatistics()
{
    m_drops.Reset();
}

} // namespace ns3
