/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_TCP_SOCKET_RACK_H
#define MESHPACE_TCP_SOCKET_RACK_H

#include "tcp-socket-paced.h"

#include <map>
#include <optional>

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * A TCP socket that finds losses by time, as Linux, Windows and QUIC do (RACK-TLP, RFC 8985), where ns-3 counts duplicate
 * ACKs: what is lost at the end of a transfer, or again when it is repaired, does not wait for the retransmission timer.
 *
 * - **RACK.** The first segment missing is lost when one that was sent later, or later in the same burst, has arrived, a
 *   round trip and a quarter of the least round trip after it was sent (sections 6.2 and 5.2; the window for reordering
 *   is not adapted, no path here reorders). If no ACK comes then, a timer asks.
 * - **TLP.** When nothing has been heard for two round trips, 0.2 s longer where one segment is under way
 *   (the receiver may hold its ACK), new data is sent, or else again the last segment of those that are not
 *   known to have arrived (section 7). Its ACK shows RACK what is missing. The window is not reduced where the
 *   probe itself was the repair (section 7.4 asks for D-SACK, of which ns-3's receivers know nothing).
 *
 * Repair itself is ns-3's: the first segment lost is sent at once, and recovery goes on by RFC 6675.
 */
class TcpSocketRack : public TcpSocketPaced
{
  public:
    /** @return the type id */
    static TypeId GetTypeId();

    TcpSocketRack() = default;
    ~TcpSocketRack() override;

  protected:
    uint32_t SendDataPacket(SequenceNumber32 seq, uint32_t maxSize, bool withAck) override;
    void ReceivedAck(Ptr<Packet> packet, const TcpHeader& header) override;
    void ReTxTimeout() override;
    uint32_t BytesInFlight() const override;
    Ptr<TcpSocketBase> Fork() override;

  private:
    /** A segment under way. */
    struct Sent
    {
        SequenceNumber32 end; //!< behind its last byte
        Time at;              //!< when it was sent last
        bool again;           //!< more than once
        bool arrived;         //!< by a SACK
    };

    /** What an ACK says of segments that have arrived. */
    void Learn(const TcpHeader& header);
    /**
     * @return whether a segment left before the latest of those that have arrived: what left at the same moment, in a
     *         burst, left in the order of its bytes (RFC 8985, 6.2)
     */
    bool LeftBeforeLatest(const Sent& segment) const;
    /** One has arrived. */
    void Arrived(Sent& segment);
    /** Sends the first missing segment again if it is lost, or sees to it that it is asked again when it may be. */
    void FindLoss();
    /** @return when a segment is lost, if one that was sent later has arrived */
    Time LostAt(const Sent& segment) const;
    /** @return whether all that is missing is lost */
    bool AllAreLost() const;
    /** The first missing segment is lost. */
    void Repair();
    /** Sees to it that silence is noticed. */
    void AwaitSilence();
    /** Nothing was heard for too long. */
    void ProbeTail();
    /** @return whether data is sent, and acknowledged, in the connection's state */
    bool MovesData() const;

    std::map<SequenceNumber32, Sent> m_sent; //!< by its first byte
    Time m_latestAt;                         //!< when that was sent which was sent last of what has arrived
    SequenceNumber32 m_latestEnd;            //!< and where it ends
    Time m_latestRtt;                        //!< its round trip
    EventId m_reorderEvent;                  //!< the first missing segment may be lost
    EventId m_probeEvent;                    //!< it has been silent for too long
    std::optional<uint32_t> m_flightBytes;   //!< under way before a loss was found, by which the window is cut
    bool m_probed{false};                    //!< and nothing new has been acknowledged since
};

} // namespace ns3

#endif // MESHPACE_TCP_SOCKET_RACK_H
