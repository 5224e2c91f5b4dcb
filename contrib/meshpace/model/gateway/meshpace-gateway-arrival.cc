/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// Where a packet's departure is fixed when it comes, as Linux's program at the interface does it for sch_fq.

#include "meshpace-gateway.h"

#include "../now-ns.h"

#include "ns3/tcp-header.h"

#include <algorithm>

namespace ns3
{

uint64_t
MeshpaceConnection::DataOnArrival(const TcpSegment& segment,
                                  Ptr<const QueueDiscItem> item,
                                  uint64_t readyNs,
                                  uint64_t nowNs)
{
    const bool holds = m_settings.release == MeshpaceRelease::ON_ARRIVAL;
    const auto at = segment.At(nowNs);
    Judge(at);
    auto departureNs = m_settings.law.constant ? DueNs(readyNs) : 0;
    if (m_settings.law.constant)
    {
        Departed(readyNs, departureNs);
    }
    else
    {
        departureNs = mp_endpoint_down_departure_ns(&m_down, m_settings.paces, holds, readyNs, nowNs, 1);
    }
    Record(segment, item, departureNs, nowNs);
    return departureNs;
}

bool
MeshpaceConnection::WaitsTooLongOnArrival(uint64_t turnNs, uint64_t readyNs, uint64_t nowNs)
{
    return m_down.progress.seen &&
           mp_endpoint_down_waits_too_long(&m_down, &m_settings.law, turnNs, readyNs, nowNs);
}

uint64_t
MeshpaceConnection::NoDataOnArrival(const TcpSegment& segment, uint64_t departureNs, uint64_t nowNs)
{
    const auto at = segment.At(nowNs);
    return m_down.progress.seen ? mp_endpoint_down_no_data_ns(&m_down, &at, departureNs)
                                : departureNs;
}

void
MeshpaceConnection::WaitsStamped(int32_t change)
{
    m_stamped += change;
}

uint64_t
MeshpaceGateway::HostNs(const MeshpaceKey& key, uint64_t readyNs, uint32_t bytes)
{
    return m_hostShares.OnArrivalNs({key.meshAddress, true},
                                    readyNs,
                                    bytes,
                                    MP_HORIZON_NS,
                                    MP_TOO_LONG_LEAVES);
}

uint64_t
MeshpaceGateway::AckOnArrivalNs(const MeshpaceKey& key,
                                MeshpaceConnection& connection,
                                const TcpSegment& segment,
                                uint64_t departureNs)
{
    const MeshpaceHosts::Key host{key.meshAddress, false};
    if (m_settings.release == MeshpaceRelease::ON_ARRIVAL && m_settings.paces)
    {
        return connection.Upload().AckOnArrival(
            segment,
            departureNs,
            [this, &host](uint64_t readyNs, uint32_t bytes) {
                return m_hostShares.OnArrivalNs(host, readyNs, bytes, MP_CAP_WAIT_NS, MP_TOO_LONG_LEAVES);
            });
    }
    return connection.Upload().AckOnArrival(segment, departureNs, nullptr);
}

MeshpaceGateway::ToMeshVerdict
MeshpaceGateway::TcpOnArrival(const MeshpaceKey& key,
                              MeshpaceConnection& connection,
                              const TcpSegment& segment,
                              Ptr<QueueDiscItem> item,
                              uint32_t radio)
{
    const auto nowNs = NowNs();
    const bool waits = m_settings.release == MeshpaceRelease::ON_ARRIVAL && m_settings.paces;
    const bool acknowledges = segment.Flags() & TcpHeader::ACK;
    const bool data = segment.payloadBytes > 0 && !(segment.Flags() & TcpHeader::SYN);
    auto departureNs = nowNs;
    if (data)
    {
        const auto turnNs = mp_turn_interval_ns(m_hostShares.CapBps({key.meshAddress, true}),
                                                segment.payloadBytes,
                                                1);
        const auto readyNs = waits ? HostNs(key, nowNs, segment.payloadBytes) : nowNs;
        if (waits && connection.WaitsTooLongOnArrival(turnNs, readyNs, nowNs) && !MarkIfCapable(item))
        {
            return {Verdict::DROP, {}};
        }
        departureNs = connection.DataOnArrival(segment, item, readyNs, nowNs);
    }
    MeshpaceFeedback feedback;
    if (acknowledges)
    {
        const auto upBytes = connection.Upload().Bytes();
        departureNs = AckOnArrivalNs(key, connection, segment, departureNs);
        connection.Upload().AckFromWired(segment, item, nowNs);
        feedback = connection.Upload().Tell(segment, departureNs);
        m_hostShares.Delivered({key.meshAddress, false}, connection.Upload().Bytes() - upBytes);
    }
    if (!data)
    {
        departureNs = connection.NoDataOnArrival(segment, departureNs, nowNs);
    }
    return Stamp(departureNs, {{item, feedback}, key, data, radio});
}

MeshpaceGateway::ToMeshVerdict
MeshpaceGateway::DatagramOnArrival(Ptr<QueueDiscItem> item, uint32_t host, uint32_t radio)
{
    const MeshpaceHosts::Key key{host, true};
    auto departureNs = NowNs();
    if (m_settings.release == MeshpaceRelease::ON_ARRIVAL && m_settings.paces)
    {
        departureNs = m_hostShares.OnArrivalNs(key,
                                               departureNs,
                                               item->GetSize(),
                                               MP_CAP_WAIT_NS,
                                               MP_TOO_LONG_IS_REFUSED);
    }
    if (departureNs == 0)
    {
        return {Verdict::DROP, {}};
    }
    m_hostShares.DatagramToMesh(host, item->GetSize());
    return Stamp(departureNs, {{item, {}}, {}, false, radio});
}

MeshpaceGateway::ToMeshVerdict
MeshpaceGateway::Stamp(uint64_t departureNs, const Stamped& stamped)
{
    if (m_settings.release == MeshpaceRelease::ELSEWHERE || departureNs == NowNs())
    {
        return {Verdict::PASS, stamped.departure.feedback};
    }
    if (stamped.data)
    {
        m_connections.at(stamped.key)->WaitsStamped(1);
    }
    m_stamped.emplace(departureNs, stamped);
    m_maxHeld = std::max(m_maxHeld, ++m_held);
    return {Verdict::HELD, stamped.departure.feedback, departureNs};
}

MeshpaceGateway::StampedPackets::const_iterator
MeshpaceGateway::FirstStamped(uint32_t radio) const
{
    return std::ranges::find_if(m_stamped,
                                [radio](const auto& entry) { return entry.second.radio == radio; });
}

Departure
MeshpaceGateway::ReleaseStamped(StampedPackets::const_iterator first)
{
    const auto stamped = first->second;
    m_stamped.erase(first);
    m_held--;
    if (stamped.data)
    {
        m_connections.at(stamped.key)->WaitsStamped(-1);
    }
    return stamped.departure;
}

} // namespace ns3
