/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "pinger.h"

#include "ns3/simulator.h"

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
    m_socket = std::make_unique<EchoSocket>(m_node,
                                            m_identifier,
                                            MakeCallback(&Pinger::Answered, this));
    Send();
}

void
Pinger::Send()
{
    const auto sequence = static_cast<uint16_t>(m_requests.size());
    m_requests.push_back({Simulator::Now(), Time()});
    m_socket->Ask(m_receiver, sequence, DATA_BYTES);
    Simulator::Schedule(Seconds(m_config.interval_s), &Pinger::Send, this);
}

void
Pinger::Answered(Ipv4Address, uint16_t sequence)
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
    return SortedRtts().size() + Lost();
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
