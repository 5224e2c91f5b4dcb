/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_TCP_SOCKET_PACED_H
#define MESHPACE_TCP_SOCKET_PACED_H

#include "ns3/tcp-l4-protocol.h"
#include "ns3/tcp-socket-base.h"

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * A TCP socket with what ns-3.44 lacks: see below, and for the end of a connection DoForwardUp.
 *
 * Its retransmission timer runs only while data is outstanding (RFC 6298, 5.2).
 *
 * In ns-3.44 an ACK starts the timer whenever there is data to send, and sending does not
 * restart it. A pacer that holds the next segment back for most of a timeout then has it time
 * out right after it was sent; its ACK gives no RTT sample (Karn), so the law never learns that
 * its interval is too long, and the flow stays at two segments a second for good.
 */
class TcpSocketPaced : public TcpSocketBase
{
  public:
    /** @return the type id */
    static TypeId GetTypeId();

    TcpSocketPaced() = default;

    /**
     * Creates a socket as TcpL4Protocol::CreateSocket does.
     *
     * @param node its node
     * @param control type of its congestion control
     * @param socket type of the socket, TcpSocketPaced or what derives from it
     * @return the socket
     */
    static Ptr<TcpSocketPaced> CreateOn(Ptr<Node> node,
                                        TypeId control,
                                        TypeId socket = GetTypeId());

    /** Gives the connection up at once: resets it, sends nothing of what is still to be sent. */
    void Abort();

    /**
     * Gives the connection up and frees its ports: what still comes for it is answered by a reset.
     * Not to be called by what the socket calls.
     */
    void AbortAndForget();

    /**
     * From now on the end is out of reach: it hears nothing and says nothing, and nobody is told.
     */
    void Fade();

    /** Lets the congestion control grow its window by bytes acknowledged (TcpByteCounting). */
    void CountBytes();

    /**
     * From now on a departure follows the pacing rate until it is due. In ns-3.44, as in Linux
     * (tcp_wstamp_ns), it is fixed when the packet before leaves, by the rate of then: what an ACK
     * tells meanwhile comes one interval late, which counts where intervals are long.
     */
    void FollowRate();

  protected:
    /**
     * What arrives again after the end is answered again (RFC 793, 3.9). In ns-3 a sender in
     * TIME_WAIT ignores the FIN of a receiver whose last ACK was lost, which then goes on
     * sending it; and a receiver in LAST_ACK takes a repeated FIN for the ACK of its own and is
     * gone, whereupon the sender repeats it for ever.
     */
    void DoForwardUp(Ptr<Packet> packet, const Address& from, const Address& to) override;

    uint32_t SendDataPacket(SequenceNumber32 seq, uint32_t maxSize, bool withAck) override;
    void NewAck(const SequenceNumber32& ack, bool resetRto) override;

    /** @return whether it is out of reach */
    bool IsFaded() const;

  private:
    /**
     * Host unreachable, of the first unacknowledged segment, takes one doubling of its time-out
     * back: the path was broken, not full (RFC 6069; as in Linux). ns-3 does not hand over of which
     * segment; TcpWakeUp puts the lower half of its number where other codes have an MTU, which
     * ns-3 does.
     */
    void Unreachable(Ipv4Address from, uint8_t ttl, uint8_t type, uint8_t code, uint32_t seq);

    /** Moves the next departure to where it is due by the rate of now. */
    void MoveDeparture();

    Ptr<TcpSocketBase> Fork() override;

    bool m_faded{false};         //!< whether it is out of reach
    bool m_followsRate{false};   //!< whether departures follow the rate
    Time m_departed;             //!< when the packet left after which the pacer holds the next
    uint32_t m_departedBytes{0}; //!< its payload
};

} // namespace ns3

#endif // MESHPACE_TCP_SOCKET_PACED_H
