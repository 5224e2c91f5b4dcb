/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_TCP_BYTE_COUNTING_H
#define MESHPACE_TCP_BYTE_COUNTING_H

#include "ns3/tcp-congestion-ops.h"

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * Appropriate byte counting (RFC 3465) over a congestion control that grows as NewReno does:
 * the window grows by what an ACK acknowledges, not by the ACK. N bytes acknowledged add
 *
 *     min(N, L * SMSS) in slow start, with L = 2, after a timeout L = 1;
 *     SMSS for every window of bytes in congestion avoidance.
 *
 * Everything else is left to the control beneath, the reaction to losses too. ns-3's NewReno
 * alone grows by at most SMSS an ACK, however much that acknowledges: half as fast with an ACK
 * for every second segment. With an ACK for every segment both grow alike.
 */
class TcpByteCounting : public TcpCongestionOps
{
  public:
    /** @return the type id */
    static TypeId GetTypeId();

    TcpByteCounting() = default;

    /**
     * @param control what it counts for: NewReno, or what leaves IncreaseWindow to it
     */
    explicit TcpByteCounting(Ptr<TcpCongestionOps> control);

    /**
     * Copy constructor.
     * @param other the object to copy
     */
    TcpByteCounting(const TcpByteCounting& other);

    std::string GetName() const override;
    void Init(Ptr<TcpSocketState> tcb) override;
    uint32_t GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t bytesInFlight) override;
    void IncreaseWindow(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked) override;
    void PktsAcked(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked, const Time& rtt) override;
    void CongestionStateSet(Ptr<TcpSocketState> tcb,
                            const TcpSocketState::TcpCongState_t newState) override;
    void CwndEvent(Ptr<TcpSocketState> tcb, const TcpSocketState::TcpCAEvent_t event) override;
    bool HasCongControl() const override;
    void CongControl(Ptr<TcpSocketState> tcb,
                     const TcpRateOps::TcpRateConnection& rc,
                     const TcpRateOps::TcpRateSample& rs) override;
    Ptr<TcpCongestionOps> Fork() override;

  private:
    Ptr<TcpCongestionOps> m_control;
    uint32_t m_bytesAcked{0};    //!< in congestion avoidance, of the window under way
    bool m_afterTimeout{false};  //!< whether this slow start follows one
};

} // namespace ns3

#endif // MESHPACE_TCP_BYTE_COUNTING_H
