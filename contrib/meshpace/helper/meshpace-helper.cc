/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "meshpace-helper.h"

#include "../model/gateway/host-echo.h"
#include "../model/gateway/meshpace-queue-disc.h"
#include "../model/sender/tcp-wake-up.h"

#include "ns3/abort.h"
#include "ns3/enum.h"
#include "ns3/ipv4-routing-helper.h"
#include "ns3/ipv4.h"
#include "ns3/olsr-routing-protocol.h"
#include "ns3/traffic-control-layer.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <memory>

namespace ns3
{

namespace
{

/**
 * Puts a queue disc on a device, in place of the one that it has, such as that of the address helper.
 * @param device the device
 * @param disc the queue disc
 */
void
SetRootQueueDisc(Ptr<NetDevice> device, Ptr<QueueDisc> disc)
{
    auto layer = device->GetNode()->GetObject<TrafficControlLayer>();
    NS_ABORT_MSG_UNLESS(layer, "no traffic control: install the internet stack on the gateway first");
    if (layer->GetRootQueueDiscOnDevice(device))
    {
        layer->DeleteRootQueueDiscOnDevice(device);
    }
    layer->SetRootQueueDiscOnDevice(device, disc);
}

/**
 * @param node a node
 * @return its OLSR
 */
Ptr<olsr::RoutingProtocol>
OlsrOf(Ptr<Node> node)
{
    auto olsr = Ipv4RoutingHelper::GetRouting<olsr::RoutingProtocol>(
        node->GetObject<Ipv4>()->GetRoutingProtocol());
    NS_ABORT_MSG_UNLESS(olsr, "no OLSR on the gateway: state hops by MeshpaceGateway::SetHops");
    return olsr;
}

/** OLSR has computed a gateway's routes anew. */
void
TellHops(Ptr<MeshpaceGateway> gateway, Ptr<olsr::RoutingProtocol> olsr, uint32_t /* size */)
{
    for (const auto& entry : olsr->GetRoutingTableEntries())
    {
        gateway->SetHops(entry.destAddr, entry.distance);
    }
}

} // namespace

MeshpaceHelper::MeshpaceHelper()
{
    m_gateway.SetTypeId(MeshpaceGateway::GetTypeId());
}

void
MeshpaceHelper::SetAttribute(const std::string& name, const AttributeValue& value)
{
    m_gateway.Set(name, value);
}

Ptr<MeshpaceGateway>
MeshpaceHelper::Install(const NetDeviceContainer& mesh, Ptr<NetDevice> wired) const
{
    auto gateway = m_gateway.Create<MeshpaceGateway>();
    Install(gateway, mesh, wired);
    return gateway;
}

void
MeshpaceHelper::Install(Ptr<MeshpaceGateway> gateway,
                        const NetDeviceContainer& mesh,
                        Ptr<NetDevice> wired)
{
    for (uint32_t radio = 0; radio < mesh.GetN(); radio++)
    {
        auto disc = CreateObject<MeshpaceMeshQueueDisc>();
        disc->SetGateway(gateway, radio);
        SetRootQueueDisc(mesh.Get(radio), disc);
    }
    auto disc = CreateObject<MeshpaceWiredQueueDisc>();
    disc->SetGateway(gateway);
    SetRootQueueDisc(wired, disc);
    // What sends messages lives as long as the gateway, which calls it.
    auto wakeUp = std::make_shared<TcpWakeUp>(wired->GetNode());
    gateway->SetWakeUpCallback(Callback<void, const MeshpaceKey&, uint32_t>(
        [wakeUp](const MeshpaceKey& key, uint32_t seq) { wakeUp->Send(key, seq); }));
    auto answered = MakeCallback(&MeshpaceGateway::Answered, PeekPointer(gateway));
    auto echo = std::make_shared<HostEcho>(wired->GetNode(), answered);
    gateway->SetAskCallback(Callback<void, uint32_t>([echo](uint32_t host) { echo->Ask(host); }));
}

void
MeshpaceHelper::FollowOlsr(Ptr<MeshpaceGateway> gateway, Ptr<Node> node)
{
    auto olsr = OlsrOf(node);
    olsr->TraceConnectWithoutContext("RoutingTableChanged",
                                     MakeBoundCallback(&TellHops, gateway, olsr));
}

Ptr<TcpMeshpace>
MeshpaceHelper::Pace(Ptr<Socket> socket, TcpMeshpace::Law law, uint32_t hops)
{
    auto tcp = DynamicCast<TcpSocketBase>(socket);
    NS_ABORT_MSG_UNLESS(tcp, "only a TCP socket can be paced");
    auto control = CreateObjectWithAttributes<TcpMeshpace>("Law",
                                                           EnumValue(law),
                                                           "Hops",
                                                           UintegerValue(std::max(hops, 1U)));
    control->Attach(tcp);
    return control;
}

} // namespace ns3
