/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "pinger.h"

#include "ns3/icmpv4.h"
#include "ns3/icmpv4-l4-protocol.h"
#include "ns3/inet-socket-address.h"
#include "ns3/ipv4-header.h"
#include "ns3/ipv4-raw-socket-factory.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3
{

Pinger::Pinger(const PingConfig& config,
               Ptr<Node> sender,
               Ipv4Address receiver,
               uint16_t identifier,
               Time warmup)
    : m_config(config),
      m_node(sender),
      m_receiver(receiver),
      m_identifier(identifier),
      m_warmup(warmup)
{
}

void
Pinger::Install()
{
    Simulator::ScheduleWithContext(m_node->GetId(),
                                   Seconds(m_config.start_s),
                                   &Pinger::Start,
                                   this);
}

void
Pinger::Start()
{
    m_socket = Socket::CreateSocket(m_node, Ipv4RawSocketFactory::GetTypeId());
    m_socket->SetAttribute("Protocol", UintegerValue(Icmpv4L4Protocol::PROT_NUMBER));
    m_socket->SetRecvCallback(MakeCallback(&Pinger::Receive, this));
    m_socket->Bind();
    Send();
}

void
Pinger::Send()
{
    Icmpv4Echo echo;
    echo.SetIdentifier(m_identifier);
    echo.SetSequenceNumber(m_requests.size());
    echo.SetData(Create<Packet>(DATA_BYTES));
    Icmpv4Header header;
    header.SetType(Icmpv4Header::ICMPV4_ECHO);
    auto packet = Create<Packet>();
    packet->AddHeader(echo);
    packet->AddHeader(header);
    m_requests.push_back({Simulator::Now(), Time()});
    // One that finds no route is lost like any other.
    m_socket->SendTo(packet, 0, InetSocketAddress(m_receiver, 0));
    Simulator::Schedule(Seconds(m_config.interval_s), &Pinger::Send, this);
}

/** A raw socket gets all of the node's ICMP, answers to others too. */
void
Pinger::Receive(Ptr<Socket> socket)
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
            Answered(echo.GetSequenceNumber());
        }
    }
}

void
Pinger::Answered(uint16_t sequence)
{
    // Numbers on the wire are modulo 65536: the latest request of that number it is.
    const auto latest = m_requests.size() - 1;
    const auto back = static_cast<uint16_t>(latest - sequence);
    if (back > latest)
    {
        return;
    }
    auto& request = m_requests[latest - back];
    if (request.rtt.IsZero())
    {
        request.rtt = Simulator::Now() - request.sent;
    }
}

const PingConfig&
Pinger::Config() const
{
    return m_config;
}

uint32_t
Pinger::Sent() const
{
    return std::count_if(m_requests.begin(), m_requests.end(), [this](const Request& request) {
        return request.sent >= m_warmup;
    });
}

uint32_t
Pinger::Lost() const
{
    const auto last = Simulator::Now() - Seconds(UNDER_WAY_S);
    return std::count_if(m_requests.begin(), m_requests.end(), [&](const Request& request) {
        return request.sent >= m_warmup && request.sent < last && request.rtt.IsZero();
    });
}

std::vector<double>
Pinger::SortedRtts() const
{
    std::vector<double> rtts;
    for (const auto& request : m_requests)
    {
        if (request.sent >= m_warmup && !request.rtt.IsZero())
        {
            rtts.push_back(request.rtt.GetSeconds());
        }
    }
    std::sort(rtts.begin(), rtts.end());
    return rtts;
}

} // namespace ns3
