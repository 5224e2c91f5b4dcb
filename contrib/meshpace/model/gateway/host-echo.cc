/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "host-echo.h"

#include "ns3/simulator.h"

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

void
HostEcho::Ask(uint32_t host)
{
    if (!m_socket)
    {
        m_socket = std::make_unique<EchoSocket>(m_node,
                                                IDENTIFIER,
                                                MakeCallback(&HostEcho::Answered, this));
    }
    auto& asked = m_asked[host];
    asked.open[++asked.sequence] = Simulator::Now();
    asked.open.erase(static_cast<uint16_t>(asked.sequence - MOST_OPEN));
    m_socket->Ask(Ipv4Address(host), asked.sequence, DATA_BYTES);
}

void
HostEcho::Answered(Ipv4Address host, uint16_t sequence)
{
    const auto found = m_asked.find(host.Get());
    if (found == m_asked.end())
    {
        return;
    }
    auto& open = found->second.open;
    const auto asked = open.find(sequence);
    if (asked == open.end())
    {
        return; // a second time, or behind a later one's
    }
    const auto rtt = Simulator::Now() - asked->second;
    std::erase_if(open, [sequence](const auto& one) {
        return static_cast<int16_t>(one.first - sequence) <= 0;
    });
    m_answered(host.Get(), rtt);
}

} // namespace ns3
