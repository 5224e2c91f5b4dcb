/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_SHAPING_LINE_H
#define MESHPACE_SHAPING_LINE_H

#include "ns3/enum.h"
#include "ns3/ipv4-queue-disc-item.h"
#include "ns3/rated-queue-disc.h"
#include "ns3/simulator.h"
#include "ns3/udp-header.h"
#include "ns3/udp-l4-protocol.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ns3
{

inline constexpr uint32_t HEADERS_BYTES = 28; // of IPv4 and UDP

/** A flow of UDP to or from a host of the mesh. */
struct Source
{
    uint8_t host;         //!< which
    uint16_t port;        //!< tells flows of a host apart
    uint32_t packetBytes; //!< with all headers
    double mbps;          //!< with all headers
    bool ecn{false};
};

/** A queue disc that nothing stands behind but a count of what it sends, and what feeds it. */
class Line
{
  public:
    /** @param disc the queue disc, its rates set */
    explicit Line(Ptr<RatedQueueDisc> disc)
        : m_disc(disc)
    {
        disc->SetSendCallback([this](Ptr<QueueDiscItem> item) { Sent(item); });
        disc->Initialize();
        EnumValue<PacketEnd> end;
        disc->GetAttribute("HostIs", end);
        m_hostSends = end.Get() == PacketEnd::SOURCE;
    }

    /** Has a flow send from a time to the end of the simulation. */
    void Feed(const Source& source, double fromS = 0)
    {
        // Each at its own moment, so that none is always ahead of another.
        m_sources++;
        Simulator::Schedule(Seconds(fromS) + MicroSeconds(37 * m_sources),
                            &Line::Next,
                            this,
                            source);
    }

    /** @return a packet of a flow */
    Ptr<Ipv4QueueDiscItem> Packet(const Source& source) const
    {
        auto packet = Create<ns3::Packet>(source.packetBytes - HEADERS_BYTES);
        UdpHeader udp;
        udp.SetSourcePort(source.port);
        udp.SetDestinationPort(source.port);
        packet->AddHeader(udp);
        const Ipv4Address host(HostAddress(source.host));
        const Ipv4Address wired("10.2.0.1");
        Ipv4Header header;
        header.SetSource(m_hostSends ? host : wired);
        header.SetDestination(m_hostSends ? wired : host);
        header.SetProtocol(UdpL4Protocol::PROT_NUMBER);
        header.SetPayloadSize(packet->GetSize());
        header.SetEcn(source.ecn ? Ipv4Header::ECN_ECT0 : Ipv4Header::ECN_NotECT);
        return Create<Ipv4QueueDiscItem>(packet, Address(), 0x0800, header);
    }

    /** @return the address of a host */
    static uint32_t HostAddress(uint8_t host)
    {
        return Ipv4Address("10.1.0.0").Get() + host;
    }

    /** @return bytes of a host that were sent, of all flows */
    double Bytes(uint8_t host) const
    {
        double bytes = 0;
        for (const auto& [flow, flowBytes] : m_bytes)
        {
            bytes += flow.first == host ? flowBytes : 0;
        }
        return bytes;
    }

    /** @return what a host has got, Mbit/s, after some seconds */
    double Mbps(uint8_t host, double seconds) const
    {
        return Bytes(host) * 8 / seconds / 1e6;
    }

    /** @return bytes of a flow that were sent */
    double Bytes(const Source& source) const
    {
        const auto found = m_bytes.find({source.host, source.port});
        return found == m_bytes.end() ? 0 : found->second;
    }

    /** @return when packets left, and of how many bytes, in order */
    const std::vector<std::pair<Time, uint32_t>>& Departures() const
    {
        return m_departures;
    }

    /** @return the longest wait of a flow's packets */
    Time LongestWait(const Source& source) const
    {
        return m_longest.at({source.host, source.port});
    }

    /** @return packets sent that are marked */
    uint32_t Marked() const
    {
        return m_marked;
    }

  private:
    using Flow = std::pair<uint8_t, uint16_t>;

    void Next(const Source& source)
    {
        m_disc->Enqueue(Packet(source));
        m_disc->Run();
        Simulator::Schedule(Seconds(source.packetBytes * 8 / source.mbps / 1e6),
                            &Line::Next,
                            this,
                            source);
    }

    void Sent(Ptr<QueueDiscItem> item)
    {
        const auto now = Simulator::Now();
        const auto& header = StaticCast<Ipv4QueueDiscItem>(item)->GetHeader();
        auto packet = item->GetPacket()->Copy();
        Ipv4Header ipv4;
        UdpHeader udp;
        packet->RemoveHeader(ipv4);
        packet->RemoveHeader(udp);
        const auto host = m_hostSends ? header.GetSource() : header.GetDestination();
        const Flow flow(host.Get() & 0xff, udp.GetSourcePort());
        m_bytes[flow] += item->GetSize();
        m_longest[flow] = Max(m_longest[flow], now - item->GetTimeStamp());
        m_departures.emplace_back(now, item->GetSize());
        m_marked += header.GetEcn() == Ipv4Header::ECN_CE;
    }

    Ptr<RatedQueueDisc> m_disc;
    bool m_hostSends;
    uint32_t m_sources{0};
    uint32_t m_marked{0};
    std::map<Flow, double> m_bytes;
    std::map<Flow, Time> m_longest;
    std::vector<std::pair<Time, uint32_t>> m_departures;
};

inline Ptr<RatedQueueDisc>
CreateDisc(double mbps, PacketEnd host = PacketEnd::DESTINATION)
{
    auto disc = CreateObjectWithAttributes<RatedQueueDisc>("HostIs", EnumValue(host));
    disc->SetRate(mbps * 1e6);
    return disc;
}

/** Runs, and destroys the simulation. */
inline void
RunFor(double seconds, Ptr<RatedQueueDisc> disc)
{
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    disc->Dispose();
    Simulator::Destroy();
}

} // namespace ns3

#endif // MESHPACE_SHAPING_LINE_H
