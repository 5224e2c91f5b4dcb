/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "echo-socket.h"

#include "ns3/icmpv4-l4-protocol.h"
#include "ns3/icmpv4.h"
#include "ns3/inet-socket-address.h"
#include "ns3/ipv4-header.h"
#include "ns3/ipv4-raw-socket-factory.h"
#include "ns3/uinteger.h"

namespace ns3
{

EchoSocket::EchoSocket(Ptr<Node> node,
                       uint16_t identifier,
                       Callback<void, Ipv4Address, uint16_t> answered)
    : m_identifier(identifier),
      m_answered(answered),
      m_socket(Socket::CreateSocket(node, Ipv4RawSocketFactory::GetTypeId()))
{
    m_socket->SetAttribute("Protocol", UintegerValue(Icmpv4L4Protocol::PROT_NUMBER));
    m_socket->SetRecvCallback(MakeCallback(&EchoSocket::Receive, this));
    m_socket->Bind();
}

EchoSocket::~EchoSocket()
{
    m_socket->SetRecvCallback(MakeNullCallback<void, Ptr<Socket>>());
}

void
EchoSocket::Ask(Ipv4Address receiver, uint16_t sequence, uint32_t dataBytes)
{
    Icmpv4Echo echo;
    echo.SetIdentifier(m_identifier);
    echo.SetSequenceNumber(sequence);
    echo.SetData(Create<Packet>(dataBytes));
    Icmpv4Header header;
    header.SetType(Icmpv4Header::ICMPV4_ECHO);
    auto packet = Create<Packet>();
    packet->AddHeader(echo);
    packet->AddHeader(header);
    m_socket->SendTo(packet, 0, InetSocketAddress(receiver, 0));
}

void
EchoSocket::Receive(Ptr<Socket> socket)
{
    while (auto packet = socket->Recv())
    {
        Ipv4Header ip;
        Icmpv4Header header;
        packet->RemoveHeader(ip);
        packet->RemoveHeader(header);
        if (header.GetType() != Icmpv4Header::ICMPV4_ECHO_REPLY)
        {
            continue;
        }
        Icmpv4Echo echo;
        packet->RemoveHeader(echo);
        if (echo.GetIdentifier() == m_identifier)
        {
            m_answered(ip.GetSource(), echo.GetSequenceNumber());
        }
    }
}

} // namespace ns3
