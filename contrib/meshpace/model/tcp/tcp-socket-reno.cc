/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "tcp-socket-reno.h"

#include "ns3/tcp-congestion-ops.h"
#include "ns3/tcp-tx-buffer.h"

#include <algorithm>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(TcpSocketReno);

namespace
{

/** Segments that limited transmit sends at most (RFC 3042). */
constexpr uint32_t LIMITED_TRANSMIT = 2;

} // namespace

TypeId
TcpSocketReno::GetTypeId()
{
    static TypeId tid = TypeId("ns3::TcpSocketReno")
                            .SetParent<TcpSocketPaced>()
                            .SetGroupName("Meshpace")
                            .AddConstructor<TcpSocketReno>();
    return tid;
}

Ptr<TcpSocketBase>
TcpSocketReno::Fork()
{
    return CopyObject<TcpSocketReno>(this);
}

void
TcpSocketReno::EndAtPartialAcks()
{
    m_endsAtPartialAcks = true;
}

uint32_t
TcpSocketReno::Inflation() const
{
    switch (m_tcb->m_congState)
    {
    case TcpSocketState::CA_RECOVERY:
        return m_inflationBytes;
    case TcpSocketState::CA_DISORDER:
        return std::min(m_dupAckCount, LIMITED_TRANSMIT) * m_tcb->m_segmentSize;
    default:
        return 0;
    }
}

uint32_t
TcpSocketReno::AvailableWindow() const
{
    if (m_sackEnabled)
    {
        return TcpSocketPaced::AvailableWindow();
    }
    const auto window = std::min(m_tcb->m_cWnd.Get() + Inflation(), m_rWnd.Get());
    const auto underWay = BytesInFlight();
    return window - std::min(window, underWay);
}

void
TcpSocketReno::ProcessAck(const SequenceNumber32& ack,
                          bool scoreboardUpdated,
                          uint32_t delivered,
                          const SequenceNumber32& before,
                          bool receivedData)
{
    const bool repeats = ack == before && ack < m_tcb->m_highTxMark && !receivedData;
    const bool marked = m_tcb->m_congState == TcpSocketState::CA_CWR;
    if (m_sackEnabled || marked || (ack == before && !repeats))
    {
        TcpSocketPaced::ProcessAck(ack, scoreboardUpdated, delivered, before, receivedData);
        return;
    }
    m_tcb->m_lastAckedSeq = ack;
    if (repeats)
    {
        CountDuplicate();
    }
    else
    {
        Advance(ack, before);
    }
    UpdatePacingRate();
}

uint32_t
TcpSocketReno::CountSegments(uint32_t bytes)
{
    const auto all = m_bytesAckedNotProcessed + bytes;
    m_bytesAckedNotProcessed = all % m_tcb->m_segmentSize;
    return all / m_tcb->m_segmentSize;
}

void
TcpSocketReno::Advance(const SequenceNumber32& ack, const SequenceNumber32& before)
{
    const uint32_t bytes = ack - before;
    const auto segments = CountSegments(bytes);
    const bool recovers = m_tcb->m_congState == TcpSocketState::CA_RECOVERY;
    const bool all = ack >= m_recover;

    m_dupAckCount = 0;
    m_recoverActive = m_recoverActive && ack <= m_recover;
    m_congestionControl->PktsAcked(m_tcb, segments, m_tcb->m_srtt);
    if (recovers && !all && !m_endsAtPartialAcks)
    {
        AnswerPartialAck(ack, bytes);
        return;
    }
    if (recovers)
    {
        EndRecovery();
    }
    else if (m_tcb->m_congState == TcpSocketState::CA_DISORDER || (m_tcb->m_congState == TcpSocketState::CA_LOSS && all))
    {
        Open();
    }
    if (!m_congestionControl->HasCongControl())
    {
        m_congestionControl->IncreaseWindow(m_tcb, segments);
        m_tcb->m_cWndInfl = m_tcb->m_cWnd;
    }
    NewAck(ack, true);
}

void
TcpSocketReno::AnswerPartialAck(const SequenceNumber32& ack, uint32_t bytes)
{
    // What has left is no more under way, but for the segment that is sent now.
    m_inflationBytes -= std::min(m_inflationBytes, bytes);
    if (bytes >= m_tcb->m_segmentSize)
    {
        m_inflationBytes += m_tcb->m_segmentSize;
    }
    m_tcb->m_cWndInfl = m_tcb->m_cWnd + m_inflationBytes;
    m_txBuffer->MarkHeadAsLost();
    SendDataPacket(ack, m_tcb->m_segmentSize, m_connected);
    // Only the first restarts the timer (RFC 6582, 4: "impatient"): many losses are quicker repaired by it.
    NewAck(ack, m_isFirstPartialAck);
    m_isFirstPartialAck = false;
}

void
TcpSocketReno::CountDuplicate()
{
    m_dupAckCount++;
    switch (m_tcb->m_congState)
    {
    case TcpSocketState::CA_RECOVERY:
        m_inflationBytes += m_tcb->m_segmentSize;
        m_tcb->m_cWndInfl = m_tcb->m_cWnd + m_inflationBytes;
        break;
    case TcpSocketState::CA_OPEN:
        m_congestionControl->CongestionStateSet(m_tcb, TcpSocketState::CA_DISORDER);
        m_tcb->m_congState = TcpSocketState::CA_DISORDER;
        break;
    case TcpSocketState::CA_DISORDER:
        if (m_dupAckCount == m_retxThresh && (!m_recoverActive || m_txBuffer->HeadSequence() > m_recover))
        {
            Recover();
        }
        break;
    default: // What answers that which a timeout has sent again says nothing of losses.
        break;
    }
}

void
TcpSocketReno::Recover()
{
    // Without what limited transmit has sent beyond the window (RFC 5681, 3.2).
    const auto underWay = std::min(BytesInFlight(), Window());
    m_recover = m_tcb->m_highTxMark;
    m_recoverActive = true;
    m_isFirstPartialAck = true;
    m_congestionControl->CongestionStateSet(m_tcb, TcpSocketState::CA_RECOVERY);
    m_tcb->m_congState = TcpSocketState::CA_RECOVERY;
    m_tcb->m_ssThresh = m_congestionControl->GetSsThresh(m_tcb, underWay);
    m_inflationBytes = m_retxThresh * m_tcb->m_segmentSize;
    if (!m_congestionControl->HasCongControl())
    {
        m_tcb->m_cWnd = m_tcb->m_ssThresh.Get();
    }
    m_tcb->m_cWndInfl = m_tcb->m_cWnd + m_inflationBytes;
    m_txBuffer->MarkHeadAsLost();
    m_retxEvent.Cancel(); // runs anew from what is sent now
    SendDataPacket(m_txBuffer->HeadSequence(), m_tcb->m_segmentSize, m_connected);
}

void
TcpSocketReno::EndRecovery()
{
    if (!m_congestionControl->HasCongControl())
    {
        // Less than half where less is under way, lest all of it leave at once (RFC 6582, 3.2 step 3).
        const auto least = std::max(BytesInFlight(), m_tcb->m_segmentSize) + m_tcb->m_segmentSize;
        m_tcb->m_cWnd = std::min(m_tcb->m_ssThresh.Get(), least);
    }
    m_inflationBytes = 0;
    m_congestionControl->CwndEvent(m_tcb, TcpSocketState::CA_EVENT_COMPLETE_CWR);
    Open();
}

void
TcpSocketReno::Open()
{
    m_congestionControl->CongestionStateSet(m_tcb, TcpSocketState::CA_OPEN);
    m_tcb->m_congState = TcpSocketState::CA_OPEN;
}

} // namespace ns3
