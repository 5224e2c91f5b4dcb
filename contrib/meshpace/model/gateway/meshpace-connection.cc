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

/** Before the first segment. */
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
    if (before && !m_elsewhere)
    {
        m_cache = {};
        ForgetNumbers(m_down);
        m_upload.Returns();
    }
    return m_elsewhere != before;
}

bool
MeshpaceConnection::Elsewhere() const
{
    return m_elsewhere;
}

std::optional<uint32_t>
MeshpaceConnection::WindowBytes() const
{
    const bool known = m_handshake.window_scale > 0;
    return known ? std::optional(m_meshWindow << (m_handshake.window_scale - 1)) : std::nullopt;
}

bool
MeshpaceConnection::Hold(Ptr<QueueDiscItem> item,
                         uint32_t radio,
                         uint64_t nowNs,
                         uint32_t ackedBytes)
{
    const auto windowBytes = WindowBytes();
    if (windowBytes && m_held.size() >= std::max(*windowBytes / DownSegmentBytes(), 1U))
    {
        return false;
    }
    m_held.push_back({item, radio, nowNs, ackedBytes});
    m_heldData += TcpSegment::Read(item)->payloadBytes > 0;
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

bool
MeshpaceConnection::WaitsBeyond(uint64_t capIntervalNs) const
{
    auto waitsFor = mp_waits_for_of(&m_down.estimate, IntervalNs(), m_handshake.rtt_us);
    waitsFor.turn_ns = capIntervalNs;
    return mp_wait_beyond(&waitsFor, m_held.size());
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
    const bool waits = m_stamped + m_heldData > 0;
    auto demand = mp_demand_of(&m_down.progress,
                               m_down.sent.max_end,
                               false,
                               waits,
                               m_down.paused_ns,
                               nowNs);
    demand.window_bytes = m_down.dupack.started ? WindowBytes().value_or(0) : 0;
    demand.segment_bytes = m_down.segment_bytes;
    demand.again_packets = m_down.retransmits;
    return demand;
}

uint64_t
MeshpaceConnection::DownExcessBytes() const
{
    return mp_excess_bytes(m_down.pure_acks, m_down.packets, m_down.local_retransmits);
}

uint32_t
MeshpaceConnection::DownSegmentBytes() const
{
    return m_down.segment_bytes ? m_down.segment_bytes : DEFAULT_SEGMENT_BYTES;
}

bool
MeshpaceConnection::Holds() const
{
    return !m_held.empty() || m_stamped > 0;
}

std::optional<uint32_t>
MeshpaceConnection::HeadRadio() const
{
    return m_held.empty() ? std::nullopt : std::optional(m_held.front().radio);
}

uint32_t
MeshpaceConnection::HeldPackets() const
{
    return m_held.size() + m_stamped;
}

uint64_t
MeshpaceConnection::IntervalNs() const
{
    if (m_settings.law.constant)
    {
        const auto law =
            mp_law_shaper(mp_shaper_interval_ns(m_down.segment_bytes, m_settings.shaperBps),
                          m_settings.law.bucket);
        return mp_interval_ns(&m_down.estimate, &law, m_down.floor_ns);
    }
    if (!IsHeldHere(m_settings.release))
    {
        return m_down.interval_ns; // as of the latest acknowledgement: departures are fixed by it
    }
    return mp_interval_ns(&m_down.estimate, &m_settings.law, m_down.floor_ns);
}

uint64_t
MeshpaceConnection::InForceNs() const
{
    const bool kept = m_settings.release == MeshpaceRelease::IN_CLASS && m_down.pacer.started;
    return kept ? m_keptNs : IntervalNs();
}

uint64_t
MeshpaceConnection::DueNs(uint64_t readyNs) const
{
    return mp_law_due_ns(&m_settings.law, &m_down.pacer, readyNs, InForceNs());
}

void
MeshpaceConnection::Departed(uint64_t readyNs, uint64_t nowNs)
{
    mp_law_departed(&m_settings.law,
                    &m_down.pacer,
                    readyNs,
                    nowNs,
                    InForceNs(),
                    0,
                    m_settings.device);
    m_keptNs = IntervalNs();
}

void
MeshpaceConnection::SetFloor(uint64_t floorNs)
{
    m_down.floor_ns = floorNs;
}

const mp_endpoint&
MeshpaceConnection::Down() const
{
    return m_down;
}

const MeshpaceUpload&
MeshpaceConnection::Upload() const
{
    return m_upload;
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
    // What carries no data has only not to overtake.
    return HeadBytes() ? DueNs(head.sinceNs) : mp_follow_ns(&m_down.pacer, head.sinceNs);
}

Departure
MeshpaceConnection::Release(uint64_t nowNs)
{
    const auto [item, radio, sinceNs, ackedBytes] = m_held.front();
    m_held.pop_front();
    const auto segment = TcpSegment::Read(item);
    if (segment->payloadBytes > 0)
    {
        m_heldData--;
        Judge(segment->At(nowNs));
        Record(*segment, item, nowNs, nowNs); // before the interval, which may go by the largest segment
        Departed(sinceNs, nowNs);
    }
    return {item, m_upload.Tell(*segment, nowNs)};
}

void
MeshpaceConnection::Judge(const mp_segment& segment)
{
    if (!mp_endpoint_down_passes(&m_down, &segment))
    {
        mp_endpoint_down_judge(&m_down, &segment); // nothing of it is lost here, where all hosts answer
    }
}

void
MeshpaceConnection::Record(const TcpSegment& segment,
                           Ptr<const QueueDiscItem> item,
                           uint64_t departureNs,
                           uint64_t nowNs)
{
    const auto at = segment.At(nowNs);
    if (m_down.first_ns == 0)
    {
        mp_endpoint_down_begins(&m_down, m_handshake.rtt_us, m_handshake.window_scale);
    }
    const bool stored = m_settings.localRetransmission && mp_endpoint_down_copies(&m_down, &at);
    mp_endpoint_down_data(&m_down, &at, departureNs, stored, 0);
    if (stored)
    {
        m_cache.Keep(segment, item);
    }
}

mp_turn&
MeshpaceConnection::HeadTurn()
{
    return HeadAcknowledges() ? m_ackTurn : m_dataTurn;
}

void
MeshpaceConnection::SetShared(bool shared)
{
    m_shared = shared;
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

void
MeshpaceConnection::Share(uint64_t bytesPerS)
{
    m_upload.Share(m_settings.law.omit & MP_OMIT_FEEDBACK ? 0 : bytesPerS);
}

bool
MeshpaceConnection::See(const TcpSegment& segment, bool fromMesh, Time now)
{
    m_lastSeen = now;
    m_again = {};
    const auto flags = segment.Flags();
    const uint64_t nowNs = now.GetNanoSeconds();
    if (flags & TcpHeader::RST)
    {
        const auto& sender = fromMesh ? m_upload.Endpoint() : m_down;
        const bool unseen = !sender.progress.seen; // of its numbers nothing is known by which to tell
        const bool breaks = fromMesh ? m_upload.Reset(segment.Seq())
                                     : mp_endpoint_reset(&m_down, segment.Seq());
        m_reset = m_reset || breaks || unseen;
        return true;
    }
    if (flags & TcpHeader::SYN)
    {
        SeeSyn(segment, fromMesh);
    }
    if (fromMesh && (flags & TcpHeader::SYN))
    {
        m_handshake = mp_handshake_of(&m_handshake, false, segment.WindowScale().value_or(0) + 1, nowNs);
    }
    else if (!fromMesh && (flags & TcpHeader::ACK))
    {
        mp_handshake_answered(&m_handshake, nowNs);
    }
    if (flags & TcpHeader::FIN)
    {
        (fromMesh ? m_finFromMesh : m_finFromWired) = true;
    }
    return (flags & TcpHeader::SYN) && (fromMesh || !(flags & TcpHeader::ACK));
}

void
MeshpaceConnection::SeeSyn(const TcpSegment& segment, bool fromMesh)
{
    if (!(segment.Flags() & TcpHeader::ACK))
    {
        if (m_down.progress.seen || m_upload.Endpoint().progress.seen) // else there is nothing to end
        {
            m_syns[fromMesh] = segment.Seq();
        }
    }
    else if (m_syns[!fromMesh] == segment.Ack() - 1)
    {
        m_syns[!fromMesh].reset();
        BeginAnew();
    }
}

void
MeshpaceConnection::BeginAnew()
{
    const auto path = m_down.path;
    m_down = {};
    m_down.path = path;
    m_down.path.data_bytes = 0;
    m_down.path.ack_bytes = 0;
    m_cache = {};
    m_unsent.reset();
    m_upload.BeginAnew();
    m_probe = {};
    m_goodput = {};
    m_finFromMesh = m_finFromWired = m_reset = false;
}

bool
MeshpaceConnection::Ended() const
{
    return m_reset || (m_finFromMesh && m_finFromWired);
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

const mp_goodput_flow&
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

void
MeshpaceConnection::Throttle(const mp_goodput_flow& entry)
{
    m_goodput = entry;
    if (m_settings.goodputControl)
    {
        m_down.floor_ns = entry.floor_ns;
    }
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
