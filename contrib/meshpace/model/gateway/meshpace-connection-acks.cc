/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// MeshpaceConnection's acknowledgements from the mesh, and what is sent again for them.

#include "meshpace-connection.h"

namespace ns3
{

mp_ack_verdict
MeshpaceConnection::AckFromMesh(const TcpSegment& segment, uint64_t nowNs)
{
    m_meshWindow = segment.Window();
    if (!m_down.progress.seen)
    {
        return MP_ACK_FORWARD; // of no data there is: at the kernel's gateway, of no flow
    }
    const auto ack = segment.Ack();
    const auto at = segment.At(nowNs);
    const bool bare = segment.IsPureAck() &&
                      !(mp_dupack_repeats(&m_down.dupack, ack) && segment.HasMessage());
    mp_acked acked{};
    const bool stored = !m_cache.Empty() && mp_endpoint_has(&m_down, ack, nowNs);
    m_sack = segment.Sack();
    const auto top = mp_sack_top(m_sack.option, m_sack.bytes, ack);
    const auto verdict = mp_endpoint_down_ack(&m_down, &m_settings.law, &at, bare, top, stored, &acked);
    m_again = acked.again;
    if (!acked.counts)
    {
        mp_endpoint_down_unfit(&m_down, ack, nowNs);
        return verdict;
    }
    m_cache.DropAcknowledged(ack);
    const bool unsent = verdict != MP_ACK_FORWARD && m_unsent == ack;
    m_again = unsent ? mp_range{} : m_again;
    const bool taken =
        mp_endpoint_down_learn(&m_down, &m_settings.law, &at, acked.rtt_ticks, m_shared);
    m_down.interval_ns =
        m_settings.paces ? mp_interval_ns(&m_down.estimate, &m_settings.law, m_down.floor_ns) : 0;
    if (acked.rtt_ticks)
    {
        m_statistics.Count(m_down.estimate, IntervalNs(), taken || m_settings.law.constant);
    }
    return unsent ? MP_ACK_FORWARD : verdict;
}

void
MeshpaceConnection::Unsent(uint32_t seq)
{
    m_unsent = seq;
}

bool
MeshpaceConnection::IsToProbe(uint64_t nowNs)
{
    return !(m_settings.law.omit & MP_OMIT_PROBES) && !m_cache.Empty() && !Holds() &&
           mp_probe_due(&m_probe,
                        m_cache.First().seq,
                        nowNs - m_down.pacer.last_ns,
                        m_down.progress.acked_bytes,
                        nowNs);
}

std::vector<Ptr<QueueDiscItem>>
MeshpaceConnection::Missing() const
{
    return m_cache.Missing(m_sack, m_again);
}

const mp_range&
MeshpaceConnection::Again() const
{
    return m_again;
}

Ptr<QueueDiscItem>
MeshpaceConnection::Copy() const
{
    return CopyOf(m_cache.First().item);
}

void
MeshpaceConnection::SentAgain(const TcpSegment& segment, uint64_t nowNs)
{
    const auto at = segment.At(nowNs);
    mp_endpoint_down_again(&m_down, &at);
    m_statistics.localRetransmits++;
}

} // namespace ns3
