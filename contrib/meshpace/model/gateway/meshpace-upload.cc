/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "meshpace-upload.h"

#include "ns3/tcp-header.h"

#include <utility>

namespace ns3
{

void
ForgetNumbers(mp_endpoint& endpoint)
{
    endpoint.progress.seen = 0;
    endpoint.progress.ack = 0;
    endpoint.sent = {};
    endpoint.dupack = {};
    endpoint.storing = 0;
    endpoint.unanswered = {};
    endpoint.unanswered.from_bytes = endpoint.bytes;
    endpoint.notified = {};
}

bool
MeshpaceUpload::DataToWired(const TcpSegment& segment, uint64_t nowNs)
{
    const auto at = segment.At(nowNs);
    return mp_endpoint_up_data(&m_up, &at, false);
}

bool
MeshpaceUpload::IsNotified(const TcpSegment& segment)
{
    const auto at = segment.At(0); // the sender is told by numbers alone
    return mp_endpoint_up_notifies(&m_up, &at);
}

void
MeshpaceUpload::AckFromWired(const TcpSegment& segment,
                             Ptr<const QueueDiscItem> item,
                             uint64_t nowNs)
{
    if (!m_up.progress.seen)
    {
        return; // of no data there is: at the kernel's gateway, of no flow
    }
    const auto at = segment.At(nowNs);
    if (mp_endpoint_ack(&m_up, &at) && segment.IsPureAck())
    {
        m_pureAck = CopyOf(item);
    }
}

MeshpaceFeedback
MeshpaceUpload::Tell(const TcpSegment& segment, uint64_t nowNs)
{
    const auto at = segment.At(nowNs);
    const bool acks =
        (segment.Flags() & TcpHeader::ACK) && mp_endpoint_up_fits(&m_up, segment.Ack());
    const auto rttWiredUs = acks ? mp_endpoint_up_sample(&m_up, &at, nowNs) : 0;
    if (rttWiredUs == 0 || !segment.IsPureAck())
    {
        return std::nullopt;
    }
    MeshpaceFeedback feedback{std::in_place};
    if (mp_endpoint_up_feedback(&m_up, m_up.feedback.bytes_per_s))
    {
        mp_feedback_write(feedback->data(), &m_up.feedback);
    }
    else
    {
        mp_option_write(feedback->data(), rttWiredUs);
    }
    return feedback;
}

uint64_t
MeshpaceUpload::AckOnArrival(const TcpSegment& segment,
                             uint64_t departureNs,
                             const std::function<uint64_t(uint64_t, uint32_t)>& capNs)
{
    if (!m_up.progress.seen || !segment.IsPureAck())
    {
        return departureNs;
    }
    if (capNs && mp_endpoint_up_fits(&m_up, segment.Ack()))
    {
        const auto bytes = mp_endpoint_up_news(&m_up, segment.Ack());
        departureNs = mp_follow_ns(&m_up.pacer, bytes ? capNs(departureNs, bytes) : departureNs);
    }
    m_up.pacer.last_ns = departureNs;
    return departureNs;
}

void
MeshpaceUpload::Fin(uint32_t seq)
{
    mp_endpoint_fin(&m_up, seq);
}

bool
MeshpaceUpload::Reset(uint32_t seq)
{
    return mp_endpoint_reset(&m_up, seq);
}

void
MeshpaceUpload::Returns()
{
    ForgetNumbers(m_up);
}

void
MeshpaceUpload::BeginAnew()
{
    const auto bytesPerS = m_up.feedback.bytes_per_s;
    *this = {};
    Share(bytesPerS);
}

const mp_endpoint&
MeshpaceUpload::Endpoint() const
{
    return m_up;
}

void
MeshpaceUpload::Share(uint64_t bytesPerS)
{
    m_up.feedback.bytes_per_s = bytesPerS;
}

bool
MeshpaceUpload::IsToWakeUp(uint64_t nowNs)
{
    return m_up.data_ns && mp_wake_up_due(&m_wakeUps,
                                     m_up.progress.ack,
                                     nowNs - m_up.data_ns,
                                     m_up.progress.acked_bytes,
                                     m_up.pushed,
                                     nowNs);
}

mp_probe&
MeshpaceUpload::WakeUps()
{
    return m_wakeUps;
}

uint32_t
MeshpaceUpload::Ack() const
{
    return m_up.progress.ack;
}

Ptr<QueueDiscItem>
MeshpaceUpload::AckAgain() const
{
    if (!m_pureAck)
    {
        return nullptr;
    }
    const auto ack = CopyOf(m_pureAck);
    return ReplaceHeader(ack, TcpSegment::Read(ack)->WithoutTimestamps());
}

uint64_t
MeshpaceUpload::Bytes() const
{
    return m_up.progress.acked_bytes;
}

uint32_t
MeshpaceUpload::SegmentBytes() const
{
    return m_up.segment_bytes;
}

mp_demand
MeshpaceUpload::Demand(uint64_t nowNs) const
{
    auto demand =
        mp_demand_of(&m_up.progress, m_up.sent.max_end, true, false, m_up.data_ns, nowNs);
    demand.again_packets = m_up.retransmits;
    return demand;
}

} // namespace ns3
