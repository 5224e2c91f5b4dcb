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
 * @param device a device
 * @return which it is, for who reads of it
 */
std::string
Named(Ptr<const NetDevice> device)
{
    return "device " + std::to_string(device->GetIfIndex()) + " of node " +
           std::to_string(device->GetNode()->GetId());
}

/** Ends the program where a law cannot be put on these devices, and says why. */
void
CheckDevices(const NetDeviceContainer& mesh, Ptr<NetDevice> wired)
{
    NS_ABORT_MSG_UNLESS(wired,
                        "MeshpaceHelper::Install without an uplink: give it the gateway's device "
                        "towards the Internet");
    NS_ABORT_MSG_IF(mesh.GetN() == 0,
                    "MeshpaceHelper::Install with no radio: give it the radios of node "
                        << wired->GetNode()->GetId());
    for (uint32_t radio = 0; radio < mesh.GetN(); radio++)
    {
        const auto device = mesh.Get(radio);
        NS_ABORT_MSG_IF(device == wired,
                        "MeshpaceHelper::Install: the uplink, "
                            << Named(wired) << ", is a radio of the mesh, too;"
                            << " give it the device towards the Internet");
        NS_ABORT_MSG_IF(device->GetNode() != wired->GetNode(),
                        "MeshpaceHelper::Install: the uplink is "
                            << Named(wired) << ", and " << Named(device)
                            << " is of another node; give it devices of one gateway");
    }
}

/**
 * Puts a queue disc on a device, in place of the one that it has, such as that of the address helper.
 * @param device the device
 * @param disc the queue disc
 */
void
SetRootQueueDisc(Ptr<NetDevice> device, Ptr<QueueDisc> disc)
{
    auto layer = device->GetNode()->GetObject<TrafficControlLayer>();
    NS_ABORT_MSG_UNLESS(layer,
                        "MeshpaceHelper::Install: "
                            << Named(device)
                            << " has no traffic control; install the internet stack on its node first");
    NS_ABORT_MSG_IF(layer->IsInitialized(),
                    "MeshpaceHelper::Install: the simulation of " << Named(device)
                        << " has begun; install before Simulator::Run()");
    const auto before = layer->GetRootQueueDiscOnDevice(device);
    NS_ABORT_MSG_IF(DynamicCast<MeshpaceMeshQueueDisc>(before) || DynamicCast<MeshpaceWiredQueueDisc>(before),
                    "MeshpaceHelper::Install: " << Named(device)
                        << " has a law already. Install each gateway once, with all its radios");
    if (before)
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

/** OLSR, whose the callback is, has computed a gateway's routes anew. */
void
TellHops(Ptr<MeshpaceGateway> gateway, olsr::RoutingProtocol* olsr, uint32_t /* size */)
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
    CheckDevices(mesh, wired);
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
    const auto olsr = OlsrOf(node);
    TellHops(gateway, PeekPointer(olsr), 0); // it may have its routes, which then do not change
    olsr->TraceConnectWithoutContext("RoutingTableChanged",
                                     MakeBoundCallback(&TellHops, gateway, PeekPointer(olsr)));
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
