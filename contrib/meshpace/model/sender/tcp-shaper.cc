/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "tcp-shaper.h"

#include "../law-clock.h"
#include "../now-ns.h"

#include "ns3/ipv4-route.h"
#include "ns3/simulator.h"
#include "ns3/tcp-header.h"
#include "ns3/tcp-l4-protocol.h"

#include <algorithm>
#include <array>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(TcpShaper);

namespace
{

constexpr uint32_t TCP_HEADER_BYTES = 20;

/** What the shaper wants to know of a segment. */
struct Segment
{
    uint16_t port; // where it goes
    bool data;
    bool reset;
};

Segment
Read(Ptr<const Packet> packet)
{
    std::array<uint8_t, TCP_HEADER_BYTES> bytes{};
    packet->CopyData(bytes.data(), bytes.size());
    const uint32_t headerBytes = (bytes[12] >> 4) * 4;
    return {.port = static_cast<uint16_t>(bytes[2] << 8 | bytes[3]),
            .data = packet->GetSize() > headerBytes,
            .reset = (bytes[13] & TcpHeader::RST) != 0};
}

} // namespace

TypeId
TcpShaper::GetTypeId()
{
    static TypeId tid = TypeId("ns3::TcpShaper")
                            .SetParent<Object>()
                            .SetGroupName("Meshpace")
                            .AddConstructor<TcpShaper>();
    return tid;
}

void
TcpShaper::Install(Ptr<Node> node)
{
    auto tcp = node->GetObject<TcpL4Protocol>();
    m_down = tcp->GetDownTarget();
    tcp->SetDownTarget(MakeCallback(&TcpShaper::Send, this));
}

void
TcpShaper::DoDispose()
{
    for (auto& [key, flow] : m_flows)
    {
        flow.release.Cancel();
    }
    m_flows.clear();
    m_down = IpL4Protocol::DownTargetCallback();
    Object::DoDispose();
}

void
TcpShaper::Shape(Ipv4Address destination, uint16_t port, uint64_t intervalNs, uint32_t bucket)
{
    m_flows[{destination, port}].law = mp_law_shaper(intervalNs, bucket);
}

void
TcpShaper::Count(Flow& flow)
{
    const auto now = Simulator::Now();
    flow.packetS += flow.held.size() * (now - flow.changed).GetSeconds();
    flow.changed = now;
}

uint64_t
TcpShaper::IntervalNs(const Flow& flow)
{
    const mp_estimate none{};
    return mp_interval_ns(&none, &flow.law, 0);
}

uint64_t
TcpShaper::DepartureNs(const Flow& flow) const
{
    if (!flow.held.front().data)
    {
        return NowNs(); // nothing is ahead of it any more
    }
    return mp_law_due_ns(&flow.law, &flow.pacer, NowNs(), IntervalNs(flow));
}

void
TcpShaper::Departed(Flow& flow)
{
    mp_law_departed(&flow.law, &flow.pacer, NowNs(), NowNs(), IntervalNs(flow), 0, MP_DEVICE_SEEN);
}

void
TcpShaper::Send(Ptr<Packet> packet,
                Ipv4Address source,
                Ipv4Address destination,
                uint8_t protocol,
                Ptr<Ipv4Route> route)
{
    const auto segment = Read(packet);
    const Key key{destination, segment.port};
    const auto found = m_flows.find(key);
    if (found == m_flows.end())
    {
        m_down(packet, source, destination, protocol, route);
        return;
    }
    auto& flow = found->second;
    Count(flow);
    if (segment.reset)
    {
        flow.held.clear(); // the connection is given up, and what it still had to send
    }
    flow.held.push_back({packet, source, segment.data});
    flow.maxHeld = std::max<uint32_t>(flow.maxHeld, flow.held.size());
    if (!flow.release.IsPending())
    {
        Release(key);
    }
    else if (segment.reset)
    {
        flow.release.Cancel();
        Release(key);
    }
}

void
TcpShaper::Release(Key key)
{
    auto& flow = m_flows.at(key);
    while (!flow.held.empty())
    {
        uint64_t departureNs;
        {
            LawClock clock;
            departureNs = DepartureNs(flow);
        }
        if (departureNs > NowNs())
        {
            flow.release = Simulator::Schedule(NanoSeconds(departureNs - NowNs()),
                                               &TcpShaper::Release,
                                               this,
                                               key);
            return;
        }
        Count(flow);
        const auto held = flow.held.front();
        flow.held.pop_front();
        if (held.data)
        {
            Departed(flow);
            flow.released++;
        }
        // IP looks the route up anew: the one of then may be gone.
        m_down(held.packet, held.source, key.first, TcpL4Protocol::PROT_NUMBER, nullptr);
    }
}

TcpShaper::QueueStatistics
TcpShaper::Queue(Ipv4Address destination, uint16_t port) const
{
    auto flow = m_flows.at({destination, port});
    Count(flow);
    const auto period = (Simulator::Now() - flow.since).GetSeconds();
    return {.ratePps = 1e9 / IntervalNs(flow),
            .meanPackets = period > 0 ? flow.packetS / period : 0,
            .maxPackets = flow.maxHeld,
            .released = flow.released};
}

void
TcpShaper::ResetStatistics()
{
    for (auto& [key, flow] : m_flows)
    {
        flow.since = Simulator::Now();
        flow.changed = Simulator::Now();
        flow.packetS = 0;
        flow.maxHeld = flow.held.size();
        flow.released = 0;
    }
}

} // namespace ns3
