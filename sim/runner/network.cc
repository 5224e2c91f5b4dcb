/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "network.h"

#include "radio.h"

#include "../model/gateway-aodv.h"

#include "ns3/arp-cache.h"
#include "ns3/boolean.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-interface.h"
#include "ns3/ipv4-l3-protocol.h"
#include "ns3/ipv4-static-routing-helper.h"
#include "ns3/mobility-helper.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/position-allocator.h"
#include "ns3/queue-disc.h"
#include "ns3/string.h"
#include "ns3/traffic-control-helper.h"
#include "ns3/uinteger.h"
#include "ns3/wifi-mpdu.h"
#include "ns3/wifi-net-device.h"

#include <array>

namespace ns3
{

namespace
{

const Ipv4Mask MESH_MASK("255.255.0.0");
const Ipv4Mask LINK_MASK("255.255.255.0");
const Ipv4Address MESH_NETWORK("10.1.0.0");
constexpr uint32_t MESH_BASE = 0x0a010001;  // 10.1.0.1, the gateway
constexpr uint32_t WIRED_BASE = 0x0a020000; // 10.2.n.0, the wired links
constexpr const char* WIRED_QUEUE = "1000p";

// ns-2's AODV and its constants: link breaks are noticed by the link layer, not by hellos.
// With hellos off, ns-3 takes a neighbour for lost that it has not *forwarded* to for the
// active route timeout, or has heard a route request from two hello intervals ago; that would
// break every route each few seconds, at the gateway and at both ends of a flow, which forward
// nothing. So neither routes nor neighbours age here; ns-2's last while they are used.
constexpr double ACTIVE_ROUTE_TIMEOUT_S = 1e6;
constexpr double HELLO_INTERVAL_S = ACTIVE_ROUTE_TIMEOUT_S;
constexpr double MY_ROUTE_TIMEOUT_S = 2 * ACTIVE_ROUTE_TIMEOUT_S;
constexpr double NODE_TRAVERSAL_TIME_S = 0.03;
constexpr uint32_t NETWORK_DIAMETER = 30;
constexpr double NETWORK_TRAVERSAL_TIME_S = 2 * NODE_TRAVERSAL_TIME_S * NETWORK_DIAMETER;
constexpr uint32_t RREQ_TTL_START = 5;
constexpr uint32_t RREQ_RETRIES = 3;

/** @return the address of one end (0 or 1) of a wired link */
Ipv4Address
WiredAddress(uint32_t link, uint32_t end)
{
    return Ipv4Address(WIRED_BASE + (link << 8) + 1 + end);
}

/** Makes an Internet stack's routing protocol GatewayAodv. */
class GatewayAodvHelper : public Ipv4RoutingHelper
{
  public:
    GatewayAodvHelper* Copy() const override
    {
        return new GatewayAodvHelper(*this);
    }

    Ptr<Ipv4RoutingProtocol> Create(Ptr<Node> node) const override
    {
        auto aodv = CreateObjectWithAttributes<GatewayAodv>(
            "EnableHello",
            BooleanValue(false),
            "HelloInterval",
            TimeValue(Seconds(HELLO_INTERVAL_S)),
            "ActiveRouteTimeout",
            TimeValue(Seconds(ACTIVE_ROUTE_TIMEOUT_S)),
            "MyRouteTimeout",
            TimeValue(Seconds(MY_ROUTE_TIMEOUT_S)),
            "NodeTraversalTime",
            TimeValue(Seconds(NODE_TRAVERSAL_TIME_S)),
            "NetDiameter",
            UintegerValue(NETWORK_DIAMETER),
            "NetTraversalTime",
            TimeValue(Seconds(NETWORK_TRAVERSAL_TIME_S)),
            "TtlStart",
            UintegerValue(RREQ_TTL_START),
            "RreqRetries",
            UintegerValue(RREQ_RETRIES));
        node->AggregateObject(aodv);
        return aodv;
    }
};

/**
 * Gives a device an address; unlike Ipv4AddressHelper without a queue disc that nobody
 * asked for.
 */
void
Assign(Ptr<NetDevice> device, Ipv4Address address, Ipv4Mask mask)
{
    auto ipv4 = device->GetNode()->GetObject<Ipv4>();
    const auto interface = ipv4->AddInterface(device);
    ipv4->AddAddress(interface, Ipv4InterfaceAddress(address, mask));
    ipv4->SetMetric(interface, 1);
    ipv4->SetUp(interface);
}

Ptr<Ipv4StaticRouting>
StaticRouting(Ptr<Node> node)
{
    return Ipv4StaticRoutingHelper().GetStaticRouting(node->GetObject<Ipv4>());
}

uint32_t
InterfaceOf(Ptr<NetDevice> device)
{
    return device->GetNode()->GetObject<Ipv4>()->GetInterfaceForDevice(device);
}

} // namespace

MeshNetwork::MeshNetwork(const Scenario& scenario)
    : m_scenario(scenario)
{
    CreateNodes();
    FindRoutes();
    m_meshDevices = InstallRangeRadio(m_mesh, scenario.radio);
    InstallStacks();
    ConnectWired();
    AssignMeshAddresses();
    AddWiredRoutes();
    if (scenario.routing.protocol == "static")
    {
        AddStaticMeshRoutes();
    }
    FillArpCaches();
    InstallQueueDiscs();
    TraceDrops();
}

void
MeshNetwork::CreateNodes()
{
    auto positions = CreateObject<ListPositionAllocator>();
    for (const auto& node : m_scenario.nodes)
    {
        const auto index = static_cast<uint32_t>(m_meshIndex.size());
        m_meshIndex[node.name] = index;
        m_gatewayIndex = node.gateway ? index : m_gatewayIndex;
        positions->Add(Vector(node.x_m, node.y_m, 0));
    }
    for (const auto& host : m_scenario.wired_hosts)
    {
        m_wiredIndex.emplace(host, m_wiredIndex.size());
    }
    m_mesh.Create(m_scenario.nodes.size());
    m_routers.Create(2);
    m_hosts.Create(m_scenario.wired_hosts.size());
    MobilityHelper mobility;
    mobility.SetPositionAllocator(positions);
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(m_mesh);
}

void
MeshNetwork::FindRoutes()
{
    const auto find = [this](uint32_t destination) {
        m_trees.try_emplace(destination,
                            FindShortestPaths(m_scenario.nodes,
                                              destination,
                                              m_scenario.radio.tx_range_m));
    };
    find(m_gatewayIndex);
    for (const auto& flow : m_scenario.flows)
    {
        for (const auto& end : {flow.from, flow.to})
        {
            if (!IsWired(end))
            {
                find(m_meshIndex.at(end));
            }
        }
    }
    for (const auto& node : m_scenario.nodes)
    {
        if (Hops(node.name) == MeshTree::UNREACHED)
        {
            throw ScenarioError("node \"" + node.name + "\" cannot be reached from the gateway");
        }
    }
}

void
MeshNetwork::InstallStacks()
{
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.SetRoutingHelper(Ipv4StaticRoutingHelper());
    stack.Install(m_routers);
    stack.Install(m_hosts);
    if (m_scenario.routing.protocol == "aodv")
    {
        stack.SetRoutingHelper(GatewayAodvHelper());
    }
    stack.Install(m_mesh);
}

void
MeshNetwork::ConnectWired()
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(m_scenario.wired.mbps * 1e6)));
    link.SetChannelAttribute("Delay", TimeValue(Seconds(m_scenario.wired.delay_ms / 1e3)));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue(WIRED_QUEUE));
    m_uplink = link.Install(Gateway(), m_routers.Get(0));
    m_backbone = link.Install(m_routers.Get(0), m_routers.Get(1));
    if (auto aodv = Gateway()->GetObject<GatewayAodv>())
    {
        aodv->SetWired(m_uplink.Get(0), WiredAddress(0, 1));
    }
    uint32_t number = 0;
    const auto assign = [&number](const NetDeviceContainer& ends) {
        Assign(ends.Get(0), WiredAddress(number, 0), LINK_MASK);
        Assign(ends.Get(1), WiredAddress(number, 1), LINK_MASK);
        number++;
    };
    assign(m_uplink);
    assign(m_backbone);
    for (uint32_t i = 0; i < m_hosts.GetN(); i++)
    {
        m_access.push_back(link.Install(m_routers.Get(1), m_hosts.Get(i)));
        assign(m_access.back());
    }
}

void
MeshNetwork::AssignMeshAddresses()
{
    auto next = MESH_BASE + 1;
    for (uint32_t i = 0; i < m_mesh.GetN(); i++)
    {
        const auto address = i == m_gatewayIndex ? MESH_BASE : next++;
        Assign(m_meshDevices.Get(i), Ipv4Address(address), MESH_MASK);
    }
}

void
MeshNetwork::AddWiredRoutes()
{
    const auto first = StaticRouting(m_routers.Get(0));
    first->AddNetworkRouteTo(MESH_NETWORK,
                             MESH_MASK,
                             WiredAddress(0, 0),
                             InterfaceOf(m_uplink.Get(1)));
    first->SetDefaultRoute(WiredAddress(1, 1), InterfaceOf(m_backbone.Get(0)));
    StaticRouting(m_routers.Get(1))
        ->SetDefaultRoute(WiredAddress(1, 0), InterfaceOf(m_backbone.Get(1)));
    for (uint32_t i = 0; i < m_hosts.GetN(); i++)
    {
        StaticRouting(m_hosts.Get(i))
            ->SetDefaultRoute(WiredAddress(2 + i, 0), InterfaceOf(m_access[i].Get(1)));
    }
}

void
MeshNetwork::AddStaticMeshRoutes()
{
    const auto addressOf = [this](uint32_t index) {
        return Address(m_scenario.nodes[index].name);
    };
    for (const auto& [destination, tree] : m_trees)
    {
        for (uint32_t i = 0; i < m_mesh.GetN(); i++)
        {
            if (i == destination || tree.hops[i] == MeshTree::UNREACHED)
            {
                continue;
            }
            const auto routing = StaticRouting(m_mesh.Get(i));
            const auto nextHop = addressOf(tree.nextHop[i]);
            const auto interface = InterfaceOf(m_meshDevices.Get(i));
            routing->AddHostRouteTo(addressOf(destination), nextHop, interface);
            if (destination == m_gatewayIndex)
            {
                routing->SetDefaultRoute(nextHop, interface);
            }
        }
    }
    StaticRouting(Gateway())->SetDefaultRoute(WiredAddress(0, 1), InterfaceOf(m_uplink.Get(0)));
}

/**
 * Everybody knows everybody's hardware address, as in ns-2, and each node has a cache of its
 * own: AODV finds the neighbour that it lost in it.
 */
void
MeshNetwork::FillArpCaches()
{
    for (uint32_t i = 0; i < m_mesh.GetN(); i++)
    {
        auto ipv4 = m_mesh.Get(i)->GetObject<Ipv4L3Protocol>();
        auto cache = ipv4->GetInterface(InterfaceOf(m_meshDevices.Get(i)))->GetArpCache();
        for (uint32_t j = 0; j < m_mesh.GetN(); j++)
        {
            if (j != i)
            {
                auto* entry = cache->Add(Address(m_scenario.nodes[j].name));
                entry->SetMacAddress(m_meshDevices.Get(j)->GetAddress());
                entry->MarkPermanent();
            }
        }
    }
}

void
MeshNetwork::InstallQueueDiscs()
{
    if (m_scenario.radio.queueing == "fifo")
    {
        return;
    }
    TrafficControlHelper helper;
    helper.SetRootQueueDisc(m_scenario.radio.queueing == "codel" ? "ns3::CoDelQueueDisc"
                                                                 : "ns3::FqCoDelQueueDisc");
    for (uint32_t i = 0; i < m_mesh.GetN(); i++)
    {
        const bool lawHere = i == m_gatewayIndex && m_scenario.gateway.law != "off";
        if (!lawHere)
        {
            helper.Install(m_meshDevices.Get(i));
        }
    }
}

void
MeshNetwork::TraceDrops()
{
    for (uint32_t i = 0; i < m_mesh.GetN(); i++)
    {
        auto mac = DynamicCast<WifiNetDevice>(m_meshDevices.Get(i))->GetMac();
        m_byMac[mac->GetAddress()] = i;
        mac->TraceConnectWithoutContext("DroppedMpdu",
                                        MakeCallback(&MeshNetwork::Dropped, this).Bind(i));
    }
}

void
MeshNetwork::Dropped(uint32_t node, WifiMacDropReason reason, Ptr<const WifiMpdu> mpdu)
{
    const auto to = m_byMac.find(mpdu->GetHeader().GetAddr1());
    if (reason != WIFI_MAC_DROP_REACHED_RETRY_LIMIT || to == m_byMac.end())
    {
        return;
    }
    constexpr uint32_t LLC_BYTES = 8;
    constexpr uint32_t IP_BYTES = 20;
    constexpr uint8_t TCP = 6;
    std::array<uint8_t, LLC_BYTES + IP_BYTES + 20> bytes{};
    const auto packet = mpdu->GetPacket();
    const bool tcp = packet->CopyData(bytes.data(), bytes.size()) == bytes.size() &&
                     bytes[LLC_BYTES + 9] == TCP;
    const uint32_t tcpHeaderBytes = (bytes[LLC_BYTES + IP_BYTES + 12] >> 4) * 4;
    auto& drops = m_drops[std::make_pair(node, to->second)];
    if (!tcp)
    {
        drops.otherDrops++;
    }
    else if (packet->GetSize() > LLC_BYTES + IP_BYTES + tcpHeaderBytes)
    {
        drops.dataDrops++;
    }
    else
    {
        drops.ackDrops++;
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
    const auto device =
        IsWired(name) ? m_access[m_wiredIndex.at(name)].Get(1) : MeshDevice(name);
    return device->GetNode()->GetObject<Ipv4>()->GetAddress(InterfaceOf(device), 0).GetLocal();
}

bool
MeshNetwork::IsWired(const std::string& name) const
{
    return m_wiredIndex.count(name) > 0;
}

uint32_t
MeshNetwork::Hops(const std::string& name) const
{
    return IsWired(name) ? 0 : m_trees.at(m_gatewayIndex).hops[m_meshIndex.at(name)];
}

uint32_t
MeshNetwork::HopsBetween(const std::string& from, const std::string& to) const
{
    if (IsWired(from) || IsWired(to))
    {
        return Hops(from) + Hops(to);
    }
    return m_trees.at(m_meshIndex.at(to)).hops[m_meshIndex.at(from)];
}

Ptr<NetDevice>
MeshNetwork::MeshDevice(const std::string& name) const
{
    return m_meshDevices.Get(m_meshIndex.at(name));
}

Ptr<Node>
MeshNetwork::Gateway() const
{
    return m_mesh.Get(m_gatewayIndex);
}

Ptr<NetDevice>
MeshNetwork::GatewayMeshDevice() const
{
    return m_meshDevices.Get(m_gatewayIndex);
}

Ptr<NetDevice>
MeshNetwork::GatewayWiredDevice() const
{
    return m_uplink.Get(0);
}

std::vector<LinkDrops>
MeshNetwork::Links() const
{
    std::vector<LinkDrops> links;
    for (auto [ends, drops] : m_drops)
    {
        drops.from = m_scenario.nodes[ends.first].name;
        drops.to = m_scenario.nodes[ends.second].name;
        links.push_back(drops);
    }
    return links;
}

void
MeshNetwork::ResetStatistics()
{
    m_drops.clear();
}

} // namespace ns3
