/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "meshpace-upload.h"

#include "ns3/tcp-header.h"

#include <utility>

namespace ns3
{

void
MeshpaceUpload::DataToWired(const TcpSegment& segment, uint64_t nowNs)
{
    m_dataNs = nowNs;
    m_pushed = segment.Flags() & TcpHeader::PSH;
    m_up.Data(segment, nowNs);
}

void
MeshpaceUpload::AckFromWired(const TcpSegment& segment, Ptr<const QueueDiscItem> item)
{
    if (m_up.Acknowledge(segment.Ack()) && segment.IsPureAck())
    {
        m_pureAck = CopyOf(item);
    }
}

MeshpaceTold
MeshpaceUpload::Tell(const TcpSegment& segment, uint64_t nowNs)
{
    const bool acks = (segment.Flags() & TcpHeader::ACK) &&
                      mp_progress_fits(&m_up.progress, m_up.sent.max_end, segment.Ack());
    const auto rttTicks = acks ? mp_sent_ack(&m_up.sent, segment.Ack(), nowNs) : 0;
    if (rttTicks == 0 || !segment.IsPureAck())
    {
        return std::nullopt;
    }
    MeshpaceTold told{std::in_place};
    if (mp_shared_turn(&m_shared))
    {
        mp_shared_write(told->data(), &m_shared);
    }
    else
    {
        mp_option_write(told->data(), mp_rtt_wired_us(rttTicks));
    }
    return told;
}

void
MeshpaceUpload::Share(const mp_shared& shared)
{
    m_shared.sharers = shared.sharers;
    m_shared.bps = shared.bps; // not its count of ACKs, which is this upload's own
}

bool
MeshpaceUpload::IsToPrompt(uint64_t nowNs)
{
    return m_dataNs && mp_prompt_due(&m_prompts,
                                     m_up.progress.ack,
                                     nowNs - m_dataNs,
                                     m_up.progress.acked_bytes,
                                     m_pushed,
                                     nowNs);
}

mp_probe&
MeshpaceUpload::Prompts()
{
    return m_prompts;
}

uint32_t
MeshpaceUpload::Ack() const
{
    return m_up.progress.ack;
}

Ptr<QueueDiscItem>
MeshpaceUpload::AckAgain() const
{
    return m_pureAck ? CopyOf(m_pureAck) : nullptr;
}

uint64_t
MeshpaceUpload::Bytes() const
{
    return m_up.progress.acked_bytes;
}

uint32_t
MeshpaceUpload::SegmentBytes() const
{
    return m_up.segmentBytes;
}

mp_demand
MeshpaceUpload::Demand(uint64_t nowNs) const
{
    return mp_demand_of(&m_up.progress, m_up.sent.max_end, true, false, m_dataNs, nowNs);
}

} // namespace ns3
