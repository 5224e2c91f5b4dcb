/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_TCP_VEGAS_NS2_H
#define MESHPACE_TCP_VEGAS_NS2_H

#include "ns3/tcp-congestion-ops.h"

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * TCP Vegas (Brakmo, Peterson 1995) by the rules of ns-2's agent, which the papers used. Once a
 * round trip it compares what the window would carry on an empty path with what it carried,
 *
 *     delta = round((W / baseRTT - n / RTT) baseRTT)  packets,
 *
 * W: in flight when the ACK arrived; n: sent during the round trip; RTT: the mean of its
 * samples; baseRTT: the least sample, or the RTT itself after a round trip with a single packet.
 *
 * - Slow start: in every second round trip the window grows by a segment an ACK; delta > gamma
 *   ends it, and takes an eighth away.
 * - Congestion avoidance: delta < alpha: one segment more in the next round trip; delta > beta:
 *   one less at once, never below two.
 * - It grows only while it is used up (to within two segments).
 * - A loss seen by duplicate ACKs takes a quarter of the window, a timeout half for ssthresh.
 *
 * ns-3's own TcpVegas differs in what matters here: its samples are of the smoothed RTT, so that
 * a queue shows late and baseRTT is no minimum; round trips with two samples or less grow as
 * NewReno, with thinned ACKs up to twelve packets in flight; a loss takes one segment, not
 * a quarter.
 *
 * Of ns-2's agent it lacks the fine-grained timeout at the first duplicate ACK; a retransmission
 * needs three, or SACK's account of as many segments, as in all of ns-3's TCP.
 */
class TcpVegasNs2 : public TcpNewReno
{
  public:
    /** @return the type id */
    static TypeId GetTypeId();

    TcpVegasNs2() = default;

    /**
     * Copy constructor: the parameters, not what the other has measured.
     * @param other the object to copy
     */
    TcpVegasNs2(const TcpVegasNs2& other);

    std::string GetName() const override;
    void PktsAcked(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked, const Time& rtt) override;
    void CongestionStateSet(Ptr<TcpSocketState> tcb,
                            const TcpSocketState::TcpCongState_t newState) override;
    void IncreaseWindow(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked) override;
    uint32_t GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t bytesInFlight) override;
    Ptr<TcpCongestionOps> Fork() override;

  private:
    /** What an ACK does to the window until the round trip is over. */
    enum class Growth
    {
        NONE,
        SEGMENT,       //!< a segment an ACK
        WINDOW_SEGMENT //!< a segment a window
    };

    void TakeSample();
    void EndRoundTrip(Ptr<TcpSocketState> tcb);
    void Grow(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked);

    /** @return the window, segments */
    static double Segments(Ptr<const TcpSocketState> tcb);
    /** Sets the window. */
    static void SetSegments(Ptr<TcpSocketState> tcb, double segments);
    /** @return segments that were in flight when the ACK arrived */
    static uint32_t InFlight(Ptr<const TcpSocketState> tcb);

    uint32_t m_alpha{2};
    uint32_t m_beta{2};
    uint32_t m_gamma{1};
    bool m_byteCounting{false};

    Growth m_growth{Growth::NONE};
    bool m_growsThisTime{false}; //!< of slow start's round trips every second one
    bool m_recovered{false};     //!< whether a recovery has just ended
    bool m_begun{false};         //!< whether there is a round trip under way
    SequenceNumber32 m_begin;    //!< first byte sent in it
    Time m_beginTime;
    Time m_baseRtt{Time::Max()};
    Time m_sampleSum;
    uint32_t m_samples{0};
    Time m_lastRtt;        //!< latest sample
    bool m_sampled{false}; //!< whether it has not been taken yet
};

} // namespace ns3

#endif // MESHPACE_TCP_VEGAS_NS2_H
