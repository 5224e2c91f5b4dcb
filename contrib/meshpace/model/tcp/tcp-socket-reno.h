/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_TCP_SOCKET_RENO_H
#define MESHPACE_TCP_SOCKET_RENO_H

#include "tcp-socket-paced.h"

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * Loss recovery without SACK: NewReno's (RFC 6582) or Reno's (RFC 5681, 3.2), as ns-2's senders have it.
 *
 * - **Fast retransmit** by the third duplicate ACK, but none for those that answer what a timeout has sent again: the ACK
 *   must cover more than all that was sent before (RFC 6582, 3.2 and 4). ns-3.44 takes an ACK of just that for enough, and
 *   halves the window for what its own repetitions cause, time and again.
 * - **Fast recovery**: the window is half of what was under way, and a segment more for each duplicate ACK. NewReno sends
 *   what is missing behind each partial ACK, and goes on until all is acknowledged; Reno ends with the first new ACK; what
 *   else is missing of the window waits for a timeout, since fast retransmit is barred until all of it is acknowledged.
 * - **Limited transmit** (RFC 3042) of a segment each for the first two duplicate ACKs.
 * - **A timeout** sends all again from the first unacknowledged segment on, in slow start, as ns-3 does.
 *
 * The window is never inflated beyond what the receiver offers. With SACK it is a TcpSocketPaced.
 */
class TcpSocketReno : public TcpSocketPaced
{
  public:
    /** @return the type id */
    static TypeId GetTypeId();

    TcpSocketReno() = default;

    /** From now on recovery ends with the first new ACK. */
    void EndAtPartialAcks();

  protected:
    void ProcessAck(const SequenceNumber32& ack,
                    bool scoreboardUpdated,
                    uint32_t delivered,
                    const SequenceNumber32& before,
                    bool receivedData) override;
    uint32_t AvailableWindow() const override;
    Ptr<TcpSocketBase> Fork() override;

  private:
    /**
     * Something new is acknowledged.
     * @param ack up to where
     * @param before up to where it was
     */
    void Advance(const SequenceNumber32& ack, const SequenceNumber32& before);
    /** An ACK of part of what was under way when recovery began: the next segment is missing, too (RFC 6582, 3.2 step 5). */
    void AnswerPartialAck(const SequenceNumber32& ack, uint32_t bytes);
    /** An ACK repeats the one before. */
    void CountDuplicate();
    /** The first unacknowledged segment is lost. */
    void Recover();
    /** All is acknowledged that was under way when recovery began. */
    void EndRecovery();
    /** To the state without losses. */
    void Open();
    /** @return segments that so many bytes make up, with those left over before */
    uint32_t CountSegments(uint32_t bytes);
    /** @return bytes that duplicate ACKs add to the window */
    uint32_t Inflation() const;

    bool m_endsAtPartialAcks{false};  //!< as Reno
    uint32_t m_inflationBytes{0};     //!< in recovery
};

} // namespace ns3

#endif // MESHPACE_TCP_SOCKET_RENO_H
