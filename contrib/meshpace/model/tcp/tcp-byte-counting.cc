/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "tcp-byte-counting.h"

#include <algorithm>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(TcpByteCounting);

namespace
{

/** RFC 3465's L, segments: the most that an ACK adds in slow start. */
constexpr uint32_t LIMIT = 2;
constexpr uint32_t LIMIT_AFTER_TIMEOUT = 1; // 2.3: else bursts follow a lost burst

} // namespace

TypeId
TcpByteCounting::GetTypeId()
{
    static TypeId tid = TypeId("ns3::TcpByteCounting")
                            .SetParent<TcpCongestionOps>()
                            .SetGroupName("Meshpace")
                            .AddConstructor<TcpByteCounting>();
    return tid;
}

TcpByteCounting::TcpByteCounting(Ptr<TcpCongestionOps> control)
    : m_control(control)
{
}

TcpByteCounting::TcpByteCounting(const TcpByteCounting& other)
    : TcpCongestionOps(other),
      m_control(other.m_control->Fork())
{
}

std::string
TcpByteCounting::GetName() const
{
    return m_control->GetName();
}

void
TcpByteCounting::Init(Ptr<TcpSocketState> tcb)
{
    m_control->Init(tcb);
}

uint32_t
TcpByteCounting::GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t bytesInFlight)
{
    return m_control->GetSsThresh(tcb, bytesInFlight);
}

void
TcpByteCounting::IncreaseWindow(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked)
{
    if (tcb->m_cWnd < tcb->m_ssThresh)
    {
        const auto limit = m_afterTimeout ? LIMIT_AFTER_TIMEOUT : LIMIT;
        tcb->m_cWnd += std::min(segmentsAcked, limit) * tcb->m_segmentSize;
        m_bytesAcked = 0;
        return;
    }
    m_afterTimeout = false;
    m_bytesAcked += segmentsAcked * tcb->m_segmentSize;
    if (m_bytesAcked >= tcb->m_cWnd)
    {
        m_bytesAcked -= tcb->m_cWnd;
        tcb->m_cWnd += tcb->m_segmentSize;
    }
}

void
TcpByteCounting::PktsAcked(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked, const Time& rtt)
{
    m_control->PktsAcked(tcb, segmentsAcked, rtt);
}

void
TcpByteCounting::CongestionStateSet(Ptr<TcpSocketState> tcb,
                                    const TcpSocketState::TcpCongState_t newState)
{
    if (newState == TcpSocketState::CA_LOSS || newState == TcpSocketState::CA_RECOVERY)
    {
        m_afterTimeout = newState == TcpSocketState::CA_LOSS;
        m_bytesAcked = 0;
    }
    m_control->CongestionStateSet(tcb, newState);
}

void
TcpByteCounting::CwndEvent(Ptr<TcpSocketState> tcb, const TcpSocketState::TcpCAEvent_t event)
{
    m_control->CwndEvent(tcb, event);
}

bool
TcpByteCounting::HasCongControl() const
{
    return m_control->HasCongControl();
}

void
TcpByteCounting::CongControl(Ptr<TcpSocketState> tcb,
                             const TcpRateOps::TcpRateConnection& rc,
                             const TcpRateOps::TcpRateSample& rs)
{
    m_control->CongControl(tcb, rc, rs);
}

Ptr<TcpCongestionOps>
TcpByteCounting::Fork()
{
    return CopyObject<TcpByteCounting>(this);
}

} // namespace ns3
