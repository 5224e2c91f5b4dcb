/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "host-echo.h"

#include "ns3/icmpv4-l4-protocol.h"
#include "ns3/icmpv4.h"
#include "ns3/inet-socket-address.h"
#include "ns3/ipv4-header.h"
#include "ns3/ipv4-raw-socket-factory.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

namespace ns3
{

namespace
{

constexpr uint16_t IDENTIFIER = 0x6d70; // "mp"
constexpr uint32_t DATA_BYTES = 8;      // as many as a time stamp takes

} // namespace

HostEcho::HostEcho(Ptr<Node> node, Callback<void, uint32_t, Time> answered)
    : m_node(node),
      m_answered(answered)
{
}

HostEcho::~HostEcho()
{
    if (m_socket)
    {
        m_socket->SetRecvCallback(MakeNullCallback<void, Ptr<Socket>>());
    }
}

void
HostEcho::Ask(uint32_t host)
{
    if (!m_socket)
    {
        m_socket = Socket::CreateSocket(m_node, Ipv4RawSocketFactory::GetTypeId());
        m_socket->SetAttribute("Protocol", UintegerValue(Icmpv4L4Protocol::PROT_NUMBER));
        m_socket->SetRecvCallback(MakeCallback(&HostEcho::Receive, this));
        m_socket->Bind();
    }
    auto& asked = m_asked[host];
    asked = {static_cast<uint16_t>(asked.sequence + 1), Simulator::Now(), true};
    Icmpv4Echo echo;
    echo.SetIdentifier(IDENTIFIER);
    echo.SetSequenceNumber(asked.sequence);
    echo.SetData(Create<Packet>(DATA_BYTES));
    Icmpv4Header header;
    header.SetType(Icmpv4Header::ICMPV4_ECHO);
    auto packet = Create<Packet>();
    packet->AddHeader(echo);
    packet->AddHeader(header);
    // One that finds no route is lost like any other.
    m_socket->SendTo(packet, 0, InetSocketAddress(Ipv4Address(host), 0));
}

/** A raw socket gets all of the node's ICMP, answers to others too. */
void
HostEcho::Receive(Ptr<Socket> socket)
{
    while (auto packet = socket->Recv())
    {
        Ipv4Header ip;
        Icmpv4Header header;
        Icmpv4Echo echo;
        packet->RemoveHeader(ip);
        packet->RemoveHeader(header);
        if (header.GetType() != Icmpv4Header::ICMPV4_ECHO_REPLY)
        {
            continue;
        }
        packet->RemoveHeader(echo);
        if (echo.GetIdentifier() == IDENTIFIER)
        {
            Answered(ip.GetSource().Get(), echo.GetSequenceNumber());
        }
    }
}

void
HostEcho::Answered(uint32_t host, uint16_t sequence)
{
    const auto found = m_asked.find(host);
    if (found != m_asked.end() && found->second.open && found->second.sequence == sequence)
    {
        found->second.open = false;
        m_answered(host, Simulator::Now() - found->second.at);
    }
}

} // namespace ns3
