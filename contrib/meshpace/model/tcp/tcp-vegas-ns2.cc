/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "tcp-vegas-ns2.h"

#include "ns3/boolean.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <cmath>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(TcpVegasNs2);

namespace
{

constexpr double LEAST_SEGMENTS = 2;
constexpr double SLACK_SEGMENTS = 2;     //!< unused, up to which the window still grows
constexpr double SLOW_START_EXCESS = 8;  //!< one part of these goes when slow start ends
constexpr double LOSS_PART = 0.25;       //!< of the window, taken by a loss
constexpr uint32_t BYTE_COUNTING_LIMIT = 2; //!< RFC 3465's L, in slow start

} // namespace

TypeId
TcpVegasNs2::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::TcpVegasNs2")
            .SetParent<TcpNewReno>()
            .SetGroupName("Meshpace")
            .AddConstructor<TcpVegasNs2>()
            .AddAttribute("Alpha",
                          "With less in queues the window grows, packets.",
                          UintegerValue(2),
                          MakeUintegerAccessor(&TcpVegasNs2::m_alpha),
                          MakeUintegerChecker<uint32_t>())
            .AddAttribute("Beta",
                          "With more in queues the window shrinks, packets.",
                          UintegerValue(2),
                          MakeUintegerAccessor(&TcpVegasNs2::m_beta),
                          MakeUintegerChecker<uint32_t>())
            .AddAttribute("Gamma",
                          "With more in queues slow start ends, packets.",
                          UintegerValue(1),
                          MakeUintegerAccessor(&TcpVegasNs2::m_gamma),
                          MakeUintegerChecker<uint32_t>())
            .AddAttribute("ByteCounting",
                          "Whether the window grows by segments acknowledged, in slow start at "
                          "most two an ACK (RFC 3465), not by ACKs.",
                          BooleanValue(false),
                          MakeBooleanAccessor(&TcpVegasNs2::m_byteCounting),
                          MakeBooleanChecker());
    return tid;
}

TcpVegasNs2::TcpVegasNs2(const TcpVegasNs2& other)
    : TcpNewReno(other),
      m_alpha(other.m_alpha),
      m_beta(other.m_beta),
      m_gamma(other.m_gamma),
      m_byteCounting(other.m_byteCounting)
{
}

std::string
TcpVegasNs2::GetName() const
{
    return "TcpVegasNs2";
}

Ptr<TcpCongestionOps>
TcpVegasNs2::Fork()
{
    return CopyObject<TcpVegasNs2>(this);
}

double
TcpVegasNs2::Segments(Ptr<const TcpSocketState> tcb)
{
    return static_cast<double>(tcb->m_cWnd) / tcb->m_segmentSize;
}

void
TcpVegasNs2::SetSegments(Ptr<TcpSocketState> tcb, double segments)
{
    tcb->m_cWnd = std::lround(std::max(segments, LEAST_SEGMENTS) * tcb->m_segmentSize);
}

uint32_t
TcpVegasNs2::InFlight(Ptr<const TcpSocketState> tcb)
{
    return tcb->m_bytesInFlight / tcb->m_segmentSize + 1; // the one acknowledged, too
}

void
TcpVegasNs2::PktsAcked(Ptr<TcpSocketState> tcb,
                       uint32_t /* segmentsAcked */,
                       const Time& /* smoothed RTT */)
{
    TakeSample();
    // ns-3 renews m_lastRtt with every sample that Karn's rule allows. Nothing is retransmitted
    // while all is well; else a new value tells that there was one.
    m_sampled =
        tcb->m_congState == TcpSocketState::CA_OPEN || tcb->m_lastRtt.Get() != m_lastRtt;
    m_lastRtt = tcb->m_lastRtt;
}

/** A sample counts from the ACK after its own on: a round trip's last one is the next one's. */
void
TcpVegasNs2::TakeSample()
{
    if (!m_sampled)
    {
        return;
    }
    m_sampled = false;
    m_sampleSum += m_lastRtt;
    m_samples++;
    m_baseRtt = std::min(m_baseRtt, m_lastRtt);
}

void
TcpVegasNs2::CongestionStateSet(Ptr<TcpSocketState> tcb,
                                const TcpSocketState::TcpCongState_t newState)
{
    m_recovered = newState == TcpSocketState::CA_OPEN &&
                  tcb->m_congState == TcpSocketState::CA_RECOVERY;
    TcpNewReno::CongestionStateSet(tcb, newState);
}

void
TcpVegasNs2::IncreaseWindow(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked)
{
    if (m_recovered)
    {
        // ssthresh is for slow start only; a window below it must not bring that back.
        tcb->m_ssThresh = LEAST_SEGMENTS * tcb->m_segmentSize;
        m_recovered = false;
    }
    if (!m_begun || tcb->m_lastAckedSeq > m_begin)
    {
        if (m_begun)
        {
            EndRoundTrip(tcb);
        }
        m_begun = true;
        m_begin = tcb->m_nextTxSequence;
        m_beginTime = Simulator::Now();
        m_sampleSum = Time();
        m_samples = 0;
    }
    if (m_growth == Growth::SEGMENT && tcb->m_cWnd >= tcb->m_ssThresh)
    {
        m_growth = Growth::NONE;
    }
    Grow(tcb, segmentsAcked);
}

void
TcpVegasNs2::EndRoundTrip(Ptr<TcpSocketState> tcb)
{
    const auto rtt = m_samples ? m_sampleSum / int64_t{m_samples} : Simulator::Now() - m_beginTime;
    if (rtt.IsZero())
    {
        return;
    }
    const double sent = (tcb->m_nextTxSequence - m_begin) / static_cast<double>(tcb->m_segmentSize);
    if (rtt < m_baseRtt || sent <= 1)
    {
        m_baseRtt = rtt;
    }
    const auto queued = InFlight(tcb) - sent * (m_baseRtt / rtt).GetDouble();
    const auto delta = static_cast<int64_t>(queued + 0.5);
    m_growth = Growth::NONE;
    if (tcb->m_cWnd < tcb->m_ssThresh)
    {
        m_growsThisTime = !m_growsThisTime;
        if (m_growsThisTime && delta > m_gamma)
        {
            tcb->m_ssThresh = LEAST_SEGMENTS * tcb->m_segmentSize;
            SetSegments(tcb, Segments(tcb) * (1 - 1 / SLOW_START_EXCESS));
        }
        else if (m_growsThisTime)
        {
            m_growth = Growth::SEGMENT;
        }
    }
    else if (delta > m_beta)
    {
        SetSegments(tcb, Segments(tcb) - 1);
    }
    else if (delta < m_alpha)
    {
        m_growth = Growth::WINDOW_SEGMENT;
    }
}

void
TcpVegasNs2::Grow(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked)
{
    const auto window = Segments(tcb);
    if (m_growth == Growth::NONE || window - InFlight(tcb) > SLACK_SEGMENTS)
    {
        SetSegments(tcb, window); // at least two
        return;
    }
    const auto counted = m_byteCounting ? segmentsAcked : 1;
    SetSegments(tcb,
                m_growth == Growth::SEGMENT ? window + std::min(counted, BYTE_COUNTING_LIMIT)
                                            : window + counted / window);
}

uint32_t
TcpVegasNs2::GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t /* bytesInFlight */)
{
    const bool timeout = tcb->m_congState != TcpSocketState::CA_RECOVERY;
    const auto part = timeout ? 1 - 2 * LOSS_PART : 1 - LOSS_PART;
    return std::max(Segments(tcb) * part, LEAST_SEGMENTS) * tcb->m_segmentSize;
}

} // namespace ns3
