/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "tcp-wake-up.h"

#include "ns3/icmpv4-l4-protocol.h"
#include "ns3/icmpv4.h"
#include "ns3/inet-socket-address.h"
#include "ns3/ipv4-raw-socket-factory.h"
#include "ns3/tcp-header.h"
#include "ns3/tcp-l4-protocol.h"
#include "ns3/uinteger.h"

namespace ns3
{

TcpWakeUp::TcpWakeUp(Ptr<Node> node)
    : m_socket(Socket::CreateSocket(node, Ipv4RawSocketFactory::GetTypeId()))
{
    m_socket->SetAttribute("Protocol", UintegerValue(Icmpv4L4Protocol::PROT_NUMBER));
    m_socket->ShutdownRecv();
}

void
TcpWakeUp::Send(const MeshpaceKey& key, uint32_t seq)
{
    TcpHeader tcp;
    tcp.SetSourcePort(key.meshPort);
    tcp.SetDestinationPort(key.wiredPort);
    tcp.SetSequenceNumber(SequenceNumber32(seq));
    auto segment = Create<Packet>();
    segment->AddHeader(tcp);
    Ipv4Header ip;
    ip.SetSource(Ipv4Address(key.meshAddress));
    ip.SetDestination(Ipv4Address(key.wiredAddress));
    ip.SetProtocol(TcpL4Protocol::PROT_NUMBER);
    ip.SetPayloadSize(segment->GetSize());

    Icmpv4DestinationUnreachable unreachable;
    unreachable.SetHeader(ip);
    unreachable.SetData(segment);
    unreachable.SetNextHopMtu(seq & 0xffff); // unused by this code; see TcpSocketPaced
    Icmpv4Header icmp;
    icmp.SetType(Icmpv4Header::ICMPV4_DEST_UNREACH);
    icmp.SetCode(Icmpv4DestinationUnreachable::ICMPV4_HOST_UNREACHABLE);
    icmp.EnableChecksum();
    auto message = Create<Packet>();
    message->AddHeader(unreachable);
    message->AddHeader(icmp);
    m_socket->SendTo(message, 0, InetSocketAddress(ip.GetSource(), 0));
}

} // namespace ns3
