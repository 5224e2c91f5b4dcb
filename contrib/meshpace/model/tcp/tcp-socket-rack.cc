/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "tcp-socket-rack.h"

#include "ns3/rtt-estimator.h"
#include "ns3/simulator.h"
#include "ns3/tcp-option-sack.h"
#include "ns3/tcp-tx-buffer.h"

#include <algorithm>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(TcpSocketRack);

namespace
{

/** A receiver may hold the ACK of a segment that is alone for so long (RFC 8985, 7.2: WCDelAckT). */
const Time HELD_ACK = MilliSeconds(200);

/** Before the first round trip is known (RFC 8985, 7.2). */
const Time FIRST_PROBE = Seconds(1);

} // namespace

TypeId
TcpSocketRack::GetTypeId()
{
    static TypeId tid = TypeId("ns3::TcpSocketRack")
                            .SetParent<TcpSocketPaced>()
                            .SetGroupName("Meshpace")
                            .AddConstructor<TcpSocketRack>();
    return tid;
}

TcpSocketRack::~TcpSocketRack()
{
    m_reorderEvent.Cancel();
    m_probeEvent.Cancel();
}

Ptr<TcpSocketBase>
TcpSocketRack::Fork()
{
    return CopyObject<TcpSocketRack>(this);
}

bool
TcpSocketRack::MovesData() const
{
    return !IsFaded() && (m_state == ESTABLISHED || m_state == CLOSE_WAIT || m_state == FIN_WAIT_1 ||
                          m_state == CLOSING || m_state == LAST_ACK);
}

uint32_t
TcpSocketRack::SendDataPacket(SequenceNumber32 seq, uint32_t maxSize, bool withAck)
{
    const bool again = seq < m_tcb->m_highTxMark;
    const auto bytes = TcpSocketPaced::SendDataPacket(seq, maxSize, withAck);
    if (bytes > 0)
    {
        const auto end = seq + SequenceNumber32(bytes);
        auto next = m_sent.lower_bound(seq);
        while (next != m_sent.end() && next->first < end)
        {
            next = m_sent.erase(next);
        }
        m_sent[seq] = {end, Simulator::Now(), again, false};
        AwaitSilence();
    }
    return bytes;
}

void
TcpSocketRack::ReceivedAck(Ptr<Packet> packet, const TcpHeader& header)
{
    const auto before = m_highRxAckMark.Get();
    Learn(header);
    TcpSocketPaced::ReceivedAck(packet, header);
    m_probed = m_probed && m_highRxAckMark.Get() == before;
    FindLoss();
    AwaitSilence();
}

bool
TcpSocketRack::LeftBeforeLatest(const Sent& segment) const
{
    return segment.at < m_latestAt || (segment.at == m_latestAt && segment.end < m_latestEnd);
}

void
TcpSocketRack::Arrived(Sent& segment)
{
    const Time rtt = Simulator::Now() - segment.at;
    segment.arrived = true;
    // What was sent twice, and is answered sooner than any path could, is the answer to the first.
    if (!LeftBeforeLatest(segment) && !(segment.again && rtt < m_tcb->m_minRtt))
    {
        m_latestAt = segment.at;
        m_latestEnd = segment.end;
        m_latestRtt = rtt;
    }
}

void
TcpSocketRack::Learn(const TcpHeader& header)
{
    while (!m_sent.empty() && m_sent.begin()->second.end <= header.GetAckNumber())
    {
        if (!m_sent.begin()->second.arrived)
        {
            Arrived(m_sent.begin()->second);
        }
        m_sent.erase(m_sent.begin());
    }
    const auto option = DynamicCast<const TcpOptionSack>(header.GetOption(TcpOption::SACK));
    for (const auto& [left, right] : option ? option->GetSackList() : TcpOptionSack::SackList{})
    {
        for (auto at = m_sent.lower_bound(left); at != m_sent.end() && at->second.end <= right; ++at)
        {
            if (!at->second.arrived)
            {
                Arrived(at->second);
            }
        }
    }
}

void
TcpSocketRack::FindLoss()
{
    m_reorderEvent.Cancel();
    if (!MovesData() || m_sent.empty() || m_tcb->m_congState == TcpSocketState::CA_LOSS)
    {
        return;
    }
    const auto& first = m_sent.begin()->second;
    if (first.arrived || !LeftBeforeLatest(first))
    {
        return;
    }
    const auto due = LostAt(first);
    if (due <= Simulator::Now())
    {
        Repair();
        return;
    }
    m_reorderEvent = Simulator::Schedule(due - Simulator::Now(), &TcpSocketRack::FindLoss, this);
}

Time
TcpSocketRack::LostAt(const Sent& segment) const
{
    return segment.at + m_latestRtt + Min(m_tcb->m_minRtt / 4, m_rtt->GetEstimate());
}

bool
TcpSocketRack::AllAreLost() const
{
    return std::ranges::all_of(m_sent, [this](const auto& entry) {
        const auto& segment = entry.second;
        return segment.arrived || (LeftBeforeLatest(segment) && LostAt(segment) <= Simulator::Now());
    });
}

void
TcpSocketRack::Repair()
{
    m_flightBytes = BytesInFlight();
    if (AllAreLost())
    {
        m_txBuffer->SetSentListLost(false);
    }
    else
    {
        m_txBuffer->MarkHeadAsLost();
    }
    if (m_tcb->m_congState != TcpSocketState::CA_RECOVERY)
    {
        EnterRecovery(0);
    }
    else
    {
        DoRetransmit();
    }
    m_flightBytes.reset();
    SendPendingData(m_connected);
}

uint32_t
TcpSocketRack::BytesInFlight() const
{
    return m_flightBytes ? *m_flightBytes : TcpSocketPaced::BytesInFlight();
}

void
TcpSocketRack::AwaitSilence()
{
    m_probeEvent.Cancel();
    const bool open = m_tcb->m_congState == TcpSocketState::CA_OPEN ||
                      m_tcb->m_congState == TcpSocketState::CA_DISORDER ||
                      m_tcb->m_congState == TcpSocketState::CA_CWR;
    if (!MovesData() || !m_sackEnabled || !open || m_probed || m_sent.empty() || !m_retxEvent.IsPending())
    {
        return;
    }
    Time silence = m_rtt->GetNSamples() > 0 ? m_rtt->GetEstimate() * 2 : FIRST_PROBE;
    silence += m_sent.size() == 1 ? HELD_ACK : Time(0);
    if (silence < Simulator::GetDelayLeft(m_retxEvent))
    {
        m_probeEvent = Simulator::Schedule(silence, &TcpSocketRack::ProbeTail, this);
    }
}

void
TcpSocketRack::ProbeTail()
{
    if (!MovesData() || m_sent.empty())
    {
        return;
    }
    m_probed = true;
    const auto next = m_tcb->m_nextTxSequence.Get();
    const auto unsent = m_txBuffer->SizeFromSequence(next);
    const auto segment = std::min(unsent, m_tcb->m_segmentSize);
    if (segment > 0 && UnAckDataCount() + segment <= m_rWnd)
    {
        m_tcb->m_nextTxSequence += SendDataPacket(next, segment, m_connected);
    }
    else
    {
        // Not one that the receiver has, which ns-3 refuses to send.
        const auto last = std::ranges::find_if(m_sent.rbegin(), m_sent.rend(), [](const auto& entry) {
            return !entry.second.arrived;
        });
        if (last == m_sent.rend())
        {
            return;
        }
        const auto seq = std::max(last->first, m_txBuffer->HeadSequence());
        SendDataPacket(seq, last->second.end - seq, m_connected);
    }
    m_retxEvent.Cancel();
    m_retxEvent = Simulator::Schedule(m_rto.Get(), &TcpSocketRack::ReTxTimeout, this);
}

void
TcpSocketRack::ReTxTimeout()
{
    m_reorderEvent.Cancel();
    m_probeEvent.Cancel();
    m_probed = false;
    TcpSocketPaced::ReTxTimeout();
}

} // namespace ns3
