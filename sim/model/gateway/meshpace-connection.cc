/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "meshpace-connection.h"

#include "ns3/tcp-header.h"

#include <algorithm>
#include <utility>

namespace ns3
{

namespace
{

/** Without an advertised window yet, TCP's largest unscaled one bounds the pacing queue. */
constexpr uint32_t DEFAULT_SEGMENT_BYTES = 1460;

} // namespace

MeshpaceConnection::MeshpaceConnection(const MeshpaceSettings& settings,
                                       uint32_t hops,
                                       const mp_link& link)
    : m_settings(settings)
{
    mp_path_set_rate(&m_down.path, hops, settings.bitRateKbps);
    m_down.path.link = link;
}

bool
MeshpaceConnection::SetHops(uint32_t hops)
{
    const bool before = std::exchange(m_elsewhere, hops == 0);
    if (!m_elsewhere)
    {
        m_down.path.hops = hops;
    }
    return m_elsewhere != before;
}

bool
MeshpaceConnection::Elsewhere() const
{
    return m_elsewhere;
}

uint32_t
MeshpaceConnection::AdvertisedSegments() const
{
    return std::max((m_meshWindow << m_meshWindowScale) / DownSegmentBytes(), 1U);
}

bool
MeshpaceConnection::Hold(Ptr<QueueDiscItem> item, uint64_t nowNs, uint32_t ackedBytes)
{
    if (m_held.size() >= AdvertisedSegments())
    {
        return false;
    }
    uint64_t departureNs = 0;
    if (m_settings.onArrival && ackedBytes == 0)
    {
        departureNs = DueNs(m_arrivals, nowNs);
        Departed(m_arrivals, nowNs, departureNs);
    }
    m_held.push_back({item, departureNs, nowNs, ackedBytes});
    return true;
}

bool
MeshpaceConnection::WaitsTooLong(uint64_t capIntervalNs, uint64_t nowNs)
{
    auto waitsFor = mp_waits_for_of(&m_down.estimate, IntervalNs(), m_handshake.rtt_us);
    waitsFor.turn_ns = capIntervalNs;
    return mp_wait_too_long(&m_down.wait,
                            &m_settings.law,
                            &waitsFor,
                            mp_wait_behind_ns(&waitsFor, m_held.size()),
                            nowNs);
}

uint32_t
MeshpaceConnection::HeadBytes() const
{
    const auto& head = m_held.front();
    return head.ackedBytes ? head.ackedBytes : TcpSegment::Read(head.item)->payloadBytes;
}

bool
MeshpaceConnection::HeadAcknowledges() const
{
    return m_held.front().ackedBytes > 0;
}

uint64_t
MeshpaceConnection::DownBytes() const
{
    return m_down.progress.acked_bytes;
}

MeshpaceUpload&
MeshpaceConnection::Upload()
{
    return m_upload;
}

mp_demand
MeshpaceConnection::DownDemand(uint64_t nowNs) const
{
    const bool waits = Holds() && !HeadAcknowledges();
    auto demand = mp_demand_of(&m_down.progress,
                               m_down.sent.max_end,
                               false,
                               waits,
                               m_down.paused_ns,
                               nowNs);
    demand.window_bytes = m_down.progress.seen ? m_meshWindow << m_meshWindowScale : 0;
    demand.segment_bytes = m_down.segment_bytes;
    return demand;
}

uint32_t
MeshpaceConnection::DownSegmentBytes() const
{
    return m_down.segment_bytes ? m_down.segment_bytes : DEFAULT_SEGMENT_BYTES;
}

bool
MeshpaceConnection::Holds() const
{
    return !m_held.empty();
}

uint32_t
MeshpaceConnection::HeldPackets() const
{
    return m_held.size();
}

uint64_t
MeshpaceConnection::IntervalNs() const
{
    if (m_settings.law.constant)
    {
        const auto law =
            mp_law_shaper(mp_shaper_interval_ns(m_down.segment_bytes, m_settings.shaperBps),
                          m_settings.law.bucket);
        return mp_interval_ns(&m_down.estimate, &law, m_goodput.floor_ns);
    }
    return mp_interval_ns(&m_down.estimate, &m_settings.law, m_goodput.floor_ns);
}

uint64_t
MeshpaceConnection::DueNs(const mp_pacer& pacer, uint64_t readyNs) const
{
    return mp_law_due_ns(&m_settings.law, &pacer, readyNs, IntervalNs());
}

void
MeshpaceConnection::Departed(mp_pacer& pacer, uint64_t readyNs, uint64_t nowNs) const
{
    mp_law_departed(&m_settings.law, &pacer, readyNs, nowNs, IntervalNs(), 0, MP_DEVICE_SEEN);
}

void
MeshpaceConnection::SetLinkRates(const std::vector<uint32_t>& kbps)
{
    mp_law_set_links(&m_settings.law, &m_down.path, kbps.data(), kbps.size());
}

const mp_path&
MeshpaceConnection::Path() const
{
    return m_down.path;
}

const mp_link&
MeshpaceConnection::Link() const
{
    return m_down.path.link;
}

uint64_t
MeshpaceConnection::HeadReadyNs() const
{
    const auto& head = m_held.front();
    if (HeadAcknowledges())
    {
        return head.sinceNs;
    }
    return m_settings.onArrival ? head.departureNs : DueNs(m_down.pacer, head.sinceNs);
}

Departure
MeshpaceConnection::Release(uint64_t nowNs)
{
    const auto [item, departureNs, sinceNs, ackedBytes] = m_held.front();
    m_held.pop_front();
    const auto segment = TcpSegment::Read(item);
    if (segment->payloadBytes > 0)
    {
        const auto at = segment->At(nowNs);
        // Before the interval, which may go by the largest segment.
        mp_endpoint_down_data(&m_down, &at, nowNs, m_settings.localRetransmission, 0);
        Departed(m_down.pacer, sinceNs, nowNs);
        if (m_settings.localRetransmission)
        {
            m_cache.Keep(*segment, item);
        }
    }
    return {item, m_upload.Tell(*segment, nowNs)};
}

mp_turn&
MeshpaceConnection::HeadTurn()
{
    return HeadAcknowledges() ? m_ackTurn : m_dataTurn;
}

mp_ack_verdict
MeshpaceConnection::AckFromMesh(const TcpSegment& segment, uint64_t nowNs)
{
    const auto ack = segment.Ack();
    const auto at = segment.At(nowNs);
    const bool bare = segment.payloadBytes == 0;
    mp_acked acked{};
    m_meshWindow = segment.Window();
    const auto verdict =
        mp_endpoint_down_ack(&m_down, &at, bare, m_cache.Has(ack), &acked);
    if (acked.counts)
    {
        m_cache.DropAcknowledged(ack);
    }
    if (acked.rtt_ticks)
    {
        const auto active_hosts = m_down.estimate.search.active_hosts;
        const bool taken =
            mp_endpoint_down_learn(&m_down, &m_settings.law, &at, acked.rtt_ticks, active_hosts);
        m_statistics.Count(m_down.estimate, IntervalNs(), taken || m_settings.law.constant);
    }
    return verdict;
}

bool
MeshpaceConnection::IsToProbe(uint64_t nowNs)
{
    return !(m_settings.law.omit & MP_OMIT_PROBES) && !m_cache.Empty() && m_held.empty() &&
           mp_probe_due(&m_probe,
                        m_cache.First().seq,
                        nowNs - m_down.pacer.last_ns,
                        m_down.progress.acked_bytes,
                        nowNs);
}

bool
MeshpaceConnection::IsToWakeUp(uint64_t nowNs)
{
    return !(m_settings.law.omit & MP_OMIT_PROBES) && !Ended() && m_upload.IsToWakeUp(nowNs);
}

mp_probe&
MeshpaceConnection::Asks(bool down)
{
    return down ? m_probe : m_upload.WakeUps();
}

Ptr<QueueDiscItem>
MeshpaceConnection::Retransmit(uint64_t nowNs)
{
    const auto& stored = m_cache.First();
    const auto at = TcpSegment::Read(stored.item)->At(nowNs);
    mp_endpoint_down_again(&m_down, &at);
    m_statistics.localRetransmits++;
    return CopyOf(stored.item);
}

void
MeshpaceConnection::Share(const mp_feedback& down, const mp_feedback& up)
{
    const auto omit = m_settings.law.omit;
    mp_estimate_active_hosts(&m_down.estimate, omit & MP_OMIT_LOSSY ? 0 : down.active_hosts);
    m_upload.Share({.bytes_per_s = omit & MP_OMIT_FEEDBACK ? 0 : up.bytes_per_s,
                    .active_hosts = omit & MP_OMIT_LOSSY ? 0 : up.active_hosts,
                    .acks = 0});
}

void
MeshpaceConnection::See(const TcpSegment& segment, bool fromMesh, Time now)
{
    m_lastSeen = now;
    const auto flags = segment.Flags();
    const uint64_t nowNs = now.GetNanoSeconds();
    if (fromMesh && (flags & TcpHeader::SYN))
    {
        m_meshWindowScale = segment.WindowScale().value_or(0);
        m_handshake = mp_handshake_of(&m_handshake, false, m_meshWindowScale + 1, nowNs);
    }
    else if (!fromMesh && (flags & TcpHeader::ACK))
    {
        mp_handshake_answered(&m_handshake, nowNs);
    }
    m_reset = m_reset || (flags & TcpHeader::RST);
    if (flags & TcpHeader::FIN)
    {
        (fromMesh ? m_finFromMesh : m_finFromWired) = true;
    }
}

bool
MeshpaceConnection::Ended() const
{
    return m_reset || (m_finFromMesh && m_finFromWired);
}

void
MeshpaceConnection::SetRadio(uint32_t radio)
{
    m_radio = radio;
}

uint32_t
MeshpaceConnection::Radio() const
{
    return m_radio;
}

Time
MeshpaceConnection::LastSeen() const
{
    return m_lastSeen;
}

bool
MeshpaceConnection::IsDown() const
{
    return DownBytes() >= m_upload.Bytes();
}

mp_goodput_flow&
MeshpaceConnection::GoodputEntry()
{
    const bool down = IsDown();
    m_goodput.delivered_bytes = down ? DownBytes() : m_upload.Bytes();
    m_goodput.segment_bytes = down ? m_down.segment_bytes : m_upload.SegmentBytes();
    if (m_goodput.paced_here != down)
    {
        m_goodput.paced_here = down;
        m_goodput.before_bytes = m_goodput.delivered_bytes;
        m_goodput.floor_ns = 0;
    }
    return m_goodput;
}

const MeshpaceStatistics&
MeshpaceConnection::Statistics() const
{
    return m_statistics;
}

void
MeshpaceConnection::ResetStatistics()
{
    m_statistics = {};
}

} // namespace ns3
