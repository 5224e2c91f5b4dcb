/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_TCP_SOCKET_THINNING_H
#define MESHPACE_TCP_SOCKET_THINNING_H

#include "tcp-socket-paced.h"

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * A receiver with dynamic ACK thinning (E. Altman, T. Jimenez: Novel delayed ACK techniques for
 * improving TCP performance in multihop wireless networks, PWC 2003): it acknowledges every
 * d-th segment, and d grows with the number N of the segment in its connection,
 *
 *     d = 1 for N < 2, 2 for 2 <= N < 5, 3 for 5 <= N < 9, 4 for N >= 9,
 *
 * so that the sender's window is not held up while it is small. What is held is acknowledged
 * after DelAckTimeout, and a segment out of order at once, as with every delayed ACK.
 *
 * Assumed, where the papers that use it say nothing: N is a segment's place in the stream, so
 * that d stays at 4 after a loss and a segment sent again counts by its own N; a new connection
 * begins with d = 1.
 */
class TcpSocketThinning : public TcpSocketPaced
{
  public:
    /** @return the type id */
    static TypeId GetTypeId();

    TcpSocketThinning() = default;

    /**
     * @param segment number N of a segment in its connection, from 1 on
     * @return an ACK every so many segments (d)
     */
    static uint32_t DelayFactor(uint32_t segment);

  protected:
    void CompleteFork(Ptr<Packet> packet,
                      const TcpHeader& header,
                      const Address& from,
                      const Address& to) override;
    void ReceivedData(Ptr<Packet> packet, const TcpHeader& header) override;

  private:
    Ptr<TcpSocketBase> Fork() override;

    SequenceNumber32 m_first; //!< of the connection's first segment
};

} // namespace ns3

#endif // MESHPACE_TCP_SOCKET_THINNING_H
