/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "gateway-aodv.h"

#include "ns3/arp-cache.h"
#include "ns3/ipv4-interface.h"
#include "ns3/ipv4-l3-protocol.h"
#include "ns3/ipv4-route.h"
#include "ns3/loopback-net-device.h"
#include "ns3/simulator.h"
#include "ns3/udp-header.h"
#include "ns3/udp-l4-protocol.h"
#include "ns3/wifi-mac-queue.h"
#include "ns3/wifi-mac.h"
#include "ns3/wifi-mpdu.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(GatewayAodv);

namespace
{

/**
 * @param header a header
 * @param destination another destination
 * @return the header with it
 */
Ipv4Header
Redirected(Ipv4Header header, Ipv4Address destination)
{
    header.SetDestination(destination);
    return header;
}

/**
 * Forwards a packet between its own addresses: it was routed as if for the gateway, or kept
 * during a discovery, after which AODV takes it for the node's own.
 */
void
ForwardBetween(Ipv4RoutingProtocol::UnicastForwardCallback forward,
               Ipv4Address source,
               Ipv4Address destination,
               Ptr<Ipv4Route> route,
               Ptr<const Packet> packet,
               const Ipv4Header& header)
{
    auto own = Redirected(header, destination);
    own.SetSource(source);
    forward(route, packet, own);
}

/** Takes a packet that nobody waits for. */
void
Ignore(Ptr<const Packet>, const Ipv4Header&, uint32_t)
{
}

} // namespace

TypeId
GatewayAodv::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::GatewayAodv")
            .SetParent<aodv::RoutingProtocol>()
            .SetGroupName("Meshpace")
            .AddConstructor<GatewayAodv>()
            .AddAttribute("Gateway",
                          "The gateway's address in the mesh.",
                          Ipv4AddressValue("10.1.0.1"),
                          MakeIpv4AddressAccessor(&GatewayAodv::m_gateway),
                          MakeIpv4AddressChecker())
            .AddAttribute("SearchPause",
                          "How long a node waits, after a search for a route that failed, before "
                          "the next for the same destination (ns-2's MAX_RREQ_TIMEOUT: 10 s).",
                          TimeValue(Seconds(0)),
                          MakeTimeAccessor(&GatewayAodv::m_searchPause),
                          MakeTimeChecker(Seconds(0)))
            .AddAttribute("MeshNetwork",
                          "Network address of the mesh's hosts.",
                          Ipv4AddressValue("10.1.0.0"),
                          MakeIpv4AddressAccessor(&GatewayAodv::m_meshNetwork),
                          MakeIpv4AddressChecker())
            .AddAttribute("MeshMask",
                          "Network mask of the mesh's hosts.",
                          Ipv4MaskValue("255.255.0.0"),
                          MakeIpv4MaskAccessor(&GatewayAodv::m_meshMask),
                          MakeIpv4MaskChecker());
    return tid;
}

void
GatewayAodv::SetWired(Ptr<NetDevice> device, Ipv4Address nextHop)
{
    m_wired = device;
    m_wiredNextHop = nextHop;
}

void
GatewayAodv::SetHost(HostCallback host)
{
    m_host = host;
}

void
GatewayAodv::SendFromHost(Ptr<Packet> packet, const Ipv4Header& header)
{
    Socket::SocketErrno sockerr;
    if (const auto route = RouteOutput(packet, header, nullptr, sockerr))
    {
        m_stack->SendWithHeader(packet, header, route);
    }
}

/** Delivers a packet to the host, AODV's own and broadcast ones to the node's stack. */
void
GatewayAodv::DeliverToHost(LocalDeliverCallback local,
                           Ptr<const Packet> packet,
                           const Ipv4Header& header,
                           uint32_t interface)
{
    UdpHeader udp;
    const bool isAodv = header.GetProtocol() == UdpL4Protocol::PROT_NUMBER &&
                        packet->PeekHeader(udp) &&
                        udp.GetDestinationPort() == aodv::RoutingProtocol::AODV_PORT;
    const auto destination = header.GetDestination();
    if (isAodv || destination != m_stack->GetAddress(interface, 0).GetLocal())
    {
        local(packet, header, interface);
    }
    else
    {
        m_host(packet, header);
    }
}

/** Sends a packet from the gateway to the wired network. */
void
GatewayAodv::LeaveMesh(UnicastForwardCallback forward,
                       Ptr<const Packet> packet,
                       const Ipv4Header& header) const
{
    if (m_host.IsNull())
    {
        forward(WiredRoute(header), packet, header);
    }
    else
    {
        m_host(packet, header);
    }
}

void
GatewayAodv::SetIpv4(Ptr<Ipv4> ipv4)
{
    m_stack = ipv4;
    aodv::RoutingProtocol::SetIpv4(ipv4);
}

void
GatewayAodv::DoDispose()
{
    m_stack = nullptr;
    m_wired = nullptr;
    m_radio = nullptr;
    m_host = HostCallback();
    aodv::RoutingProtocol::DoDispose();
}

bool
GatewayAodv::IsGateway() const
{
    return m_wired != nullptr;
}

bool
GatewayAodv::IsOutside(Ipv4Address address) const
{
    return !m_meshMask.IsMatch(address, m_meshNetwork) && !address.IsBroadcast() &&
           !address.IsMulticast() && !address.IsLocalhost();
}

bool
GatewayAodv::IsWired(uint32_t interface) const
{
    return m_wired && m_stack->GetNetDevice(interface) == m_wired;
}

Ptr<Ipv4Route>
GatewayAodv::WiredRoute(const Ipv4Header& header) const
{
    auto route = Create<Ipv4Route>();
    route->SetDestination(header.GetDestination());
    route->SetSource(header.GetSource());
    route->SetGateway(m_wiredNextHop);
    route->SetOutputDevice(m_wired);
    return route;
}

Ptr<Ipv4Route>
GatewayAodv::RouteOutput(Ptr<Packet> packet,
                         const Ipv4Header& header,
                         Ptr<NetDevice> oif,
                         Socket::SocketErrno& sockerr)
{
    if (!IsOutside(header.GetDestination()))
    {
        return aodv::RoutingProtocol::RouteOutput(packet, header, oif, sockerr);
    }
    if (IsGateway())
    {
        sockerr = Socket::ERROR_NOTERROR;
        return WiredRoute(header);
    }
    return aodv::RoutingProtocol::RouteOutput(packet,
                                              Redirected(header, m_gateway),
                                              oif,
                                              sockerr);
}

bool
GatewayAodv::RouteInput(Ptr<const Packet> packet,
                        const Ipv4Header& header,
                        Ptr<const NetDevice> idev,
                        const UnicastForwardCallback& ucb,
                        const MulticastForwardCallback& mcb,
                        const LocalDeliverCallback& lcb,
                        const ErrorCallback& ecb)
{
    const auto destination = header.GetDestination();
    const bool fromWired = IsGateway() && idev == m_wired;
    const auto interface = m_stack->GetInterfaceForDevice(idev);
    if (fromWired && !m_stack->IsDestinationAddress(destination, interface))
    {
        // As if it began here: without a route AODV looks for one and keeps the packet.
        auto copy = packet->Copy();
        Socket::SocketErrno sockerr;
        auto route = aodv::RoutingProtocol::RouteOutput(copy, header, nullptr, sockerr);
        if (!route)
        {
            ecb(packet, header, sockerr);
            return false;
        }
        ucb(route, copy, header);
        return true;
    }
    if (IsOutside(destination) && IsGateway())
    {
        LeaveMesh(ucb, packet, header);
        return true;
    }
    const bool toHost = !m_host.IsNull() && idev == m_radio;
    const auto deliver =
        toHost ? LocalDeliverCallback(MakeCallback(&GatewayAodv::DeliverToHost, this).Bind(lcb))
               : lcb;
    const auto towards = IsOutside(destination) ? Redirected(header, m_gateway) : header;
    // By way of the loopback device come packets that AODV is to keep during a search.
    const bool kept = m_searchPause.IsStrictlyPositive() &&
                      DynamicCast<const LoopbackNetDevice>(idev) != nullptr;
    if (kept && Simulator::Now() < m_pausedUntil[towards.GetDestination()])
    {
        ecb(packet, header, Socket::ERROR_NOROUTETOHOST);
        return true;
    }
    m_keeping = kept;
    const bool taken = aodv::RoutingProtocol::RouteInput(
        packet,
        towards,
        idev,
        MakeBoundCallback(&ForwardBetween, ucb, header.GetSource(), destination),
        mcb,
        deliver,
        kept ? ErrorCallback(MakeCallback(&GatewayAodv::SearchFailed, this).Bind(ecb)) : ecb);
    m_keeping = false;
    return taken;
}

/**
 * AODV drops a packet that it kept. While it takes another one it does so for lack of room, or
 * because the packet is too old; else a search has ended without an answer.
 */
void
GatewayAodv::SearchFailed(ErrorCallback error,
                          Ptr<const Packet> packet,
                          const Ipv4Header& header,
                          Socket::SocketErrno reason)
{
    if (!m_keeping)
    {
        m_pausedUntil[header.GetDestination()] = Simulator::Now() + m_searchPause;
    }
    error(packet, header, reason);
}

void
GatewayAodv::NotifyInterfaceUp(uint32_t interface)
{
    if (IsWired(interface))
    {
        return;
    }
    if (auto radio = DynamicCast<WifiNetDevice>(m_stack->GetNetDevice(interface)))
    {
        m_radio = radio;
        // Ahead of AODV's own callback, which breaks the routes over neighbours it remembers.
        radio->GetMac()->TraceConnectWithoutContext("DroppedMpdu",
                                                    MakeCallback(&GatewayAodv::LinkFailed, this));
    }
    aodv::RoutingProtocol::NotifyInterfaceUp(interface);
}

void
GatewayAodv::LinkFailed(WifiMacDropReason reason, Ptr<const WifiMpdu> mpdu)
{
    if (reason == WIFI_MAC_DROP_REACHED_RETRY_LIMIT)
    {
        const auto neighbour = mpdu->GetHeader().GetAddr1();
        Remember(neighbour);
        // Not now: the MAC is still about the frame that it has just given up.
        Simulator::ScheduleNow(&GatewayAodv::DropQueued, this, neighbour);
    }
}

/**
 * AODV puts a neighbour on its list when a packet arrives over it: let one arrive. A node
 * that only sends, and a gateway, would otherwise not have its next hop there.
 */
void
GatewayAodv::Remember(Mac48Address neighbour)
{
    const auto interface = m_stack->GetInterfaceForDevice(m_radio);
    Ipv4Header header;
    header.SetDestination(m_stack->GetAddress(interface, 0).GetLocal());
    const auto cache = m_stack->GetObject<Ipv4L3Protocol>()->GetInterface(interface)->GetArpCache();
    for (const auto* entry : cache->LookupInverse(neighbour))
    {
        header.SetSource(entry->GetIpv4Address());
        aodv::RoutingProtocol::RouteInput(Create<Packet>(),
                                          header,
                                          m_radio,
                                          UnicastForwardCallback(),
                                          MulticastForwardCallback(),
                                          MakeCallback(&Ignore),
                                          ErrorCallback());
    }
}

void
GatewayAodv::DropQueued(Mac48Address neighbour)
{
    auto queue = m_radio->GetMac()->GetTxopQueue(AC_BE_NQOS);
    const WifiContainerQueueId id{WIFI_DATA_QUEUE,
                                  WIFI_UNICAST,
                                  neighbour,
                                  std::nullopt};
    auto mpdu = queue->PeekByQueueId(id);
    while (mpdu)
    {
        const auto next = queue->PeekByQueueId(id, mpdu);
        if (!mpdu->IsInFlight())
        {
            queue->Remove(mpdu);
        }
        mpdu = next;
    }
}

void
GatewayAodv::NotifyAddAddress(uint32_t interface, Ipv4InterfaceAddress address)
{
    if (!IsWired(interface))
    {
        aodv::RoutingProtocol::NotifyAddAddress(interface, address);
    }
}

} // namespace ns3
