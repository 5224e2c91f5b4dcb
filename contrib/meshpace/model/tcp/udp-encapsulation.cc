/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "udp-encapsulation.h"

#include "ns3/ipv4-header.h"
#include "ns3/ipv4-interface.h"
#include "ns3/ipv4-l3-protocol.h"
#include "ns3/ipv4-route.h"
#include "ns3/ipv6-interface.h"
#include "ns3/tcp-l4-protocol.h"
#include "ns3/udp-header.h"
#include "ns3/udp-l4-protocol.h"

#include <array>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(UdpEncapsulation);

TypeId
UdpEncapsulation::GetTypeId()
{
    static TypeId tid = TypeId("ns3::UdpEncapsulation")
                            .SetParent<IpL4Protocol>()
                            .SetGroupName("Meshpace")
                            .AddConstructor<UdpEncapsulation>();
    return tid;
}

Ptr<UdpEncapsulation>
UdpEncapsulation::On(Ptr<Node> node)
{
    auto one = node->GetObject<UdpEncapsulation>();
    if (!one)
    {
        one = CreateObject<UdpEncapsulation>();
        one->Install(node);
        node->AggregateObject(one);
    }
    return one;
}

void
UdpEncapsulation::Install(Ptr<Node> node)
{
    auto tcp = node->GetObject<TcpL4Protocol>();
    m_tcp = tcp;
    m_udp = node->GetObject<UdpL4Protocol>();
    m_plain = tcp->GetDownTarget();
    tcp->SetDownTarget(MakeCallback(&UdpEncapsulation::Send, this));
    // IP hands datagrams to who was inserted last.
    node->GetObject<Ipv4L3Protocol>()->Insert(this);
}

void
UdpEncapsulation::DoDispose()
{
    m_tcp = nullptr;
    m_udp = nullptr;
    m_plain = DownTargetCallback();
    IpL4Protocol::DoDispose();
}

void
UdpEncapsulation::Encapsulate(uint16_t port)
{
    m_ports.insert(port);
}

bool
UdpEncapsulation::IsEncapsulated(Ptr<const Packet> packet) const
{
    std::array<uint8_t, 4> bytes{}; // both ports, at one place in TCP's header and in UDP's
    packet->CopyData(bytes.data(), bytes.size());
    return m_ports.count(bytes[0] << 8 | bytes[1]) || m_ports.count(bytes[2] << 8 | bytes[3]);
}

void
UdpEncapsulation::Send(Ptr<Packet> packet,
                       Ipv4Address source,
                       Ipv4Address destination,
                       uint8_t protocol,
                       Ptr<Ipv4Route> route)
{
    if (!IsEncapsulated(packet))
    {
        m_plain(packet, source, destination, protocol, route);
        return;
    }
    std::array<uint8_t, 4> ports{};
    packet->CopyData(ports.data(), ports.size());
    UdpHeader header;
    header.SetSourcePort(ports[0] << 8 | ports[1]);
    header.SetDestinationPort(ports[2] << 8 | ports[3]);
    packet->AddPaddingAtEnd(TAG_BYTES);
    packet->AddHeader(header);
    m_udp->GetDownTarget()(packet, source, destination, UdpL4Protocol::PROT_NUMBER, route);
}

int
UdpEncapsulation::GetProtocolNumber() const
{
    return UdpL4Protocol::PROT_NUMBER;
}

IpL4Protocol::RxStatus
UdpEncapsulation::Receive(Ptr<Packet> packet,
                          const Ipv4Header& header,
                          Ptr<Ipv4Interface> interface)
{
    if (!IsEncapsulated(packet))
    {
        return m_udp->Receive(packet, header, interface);
    }
    UdpHeader udp;
    packet->RemoveHeader(udp);
    packet->RemoveAtEnd(TAG_BYTES);
    return m_tcp->Receive(packet, header, interface);
}

IpL4Protocol::RxStatus
UdpEncapsulation::Receive(Ptr<Packet> packet,
                          const Ipv6Header& header,
                          Ptr<Ipv6Interface> interface)
{
    return m_udp->Receive(packet, header, interface);
}

void
UdpEncapsulation::ReceiveIcmp(Ipv4Address source,
                              uint8_t ttl,
                              uint8_t type,
                              uint8_t code,
                              uint32_t info,
                              Ipv4Address payloadSource,
                              Ipv4Address payloadDestination,
                              const uint8_t payload[8])
{
    // Of an encapsulated connection, too: its sender has no UDP socket, and QUIC does not act on
    // what ICMP says but for the size of packets (RFC 9000, 14.2.1).
    m_udp->ReceiveIcmp(source,
                       ttl,
                       type,
                       code,
                       info,
                       payloadSource,
                       payloadDestination,
                       payload);
}

void
UdpEncapsulation::SetDownTarget(DownTargetCallback target)
{
    m_udp->SetDownTarget(target);
}

void
UdpEncapsulation::SetDownTarget6(DownTargetCallback6 target)
{
    m_udp->SetDownTarget6(target);
}

IpL4Protocol::DownTargetCallback
UdpEncapsulation::GetDownTarget() const
{
    return m_udp->GetDownTarget();
}

IpL4Protocol::DownTargetCallback6
UdpEncapsulation::GetDownTarget6() const
{
    return m_udp->GetDownTarget6();
}

} // namespace ns3
