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
constexpr uint32_t DATA_BYTES = 16;     // a time stamp, and what proves it
constexpr uint16_t MOST_OPEN = 64;      // older ones are lost

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
    asked.open[++asked.sequence] = Simulator::Now();
    asked.open.erase(static_cast<uint16_t>(asked.sequence - MOST_OPEN));
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
    if (found == m_asked.end())
    {
        return;
    }
    auto& open = found->second.open;
    if (const auto asked = open.find(sequence); asked != open.end())
    {
        const auto rtt = Simulator::Now() - asked->second;
        open.erase(asked);
        m_answered(host, rtt);
    }
}

} // namespace ns3
