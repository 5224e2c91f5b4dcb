/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_UPLOAD_H
#define MESHPACE_UPLOAD_H

#include "../tcp/tcp-wire.h"

#include "meshpace/meshpace.h"

#include <cstdint>
#include <functional>

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * A flow has been another gateway's: what is acknowledged from now on may have gone by that. It is seen from the next data
 * on, as one that is adopted.
 *
 * @param endpoint the flow
 */
void ForgetNumbers(mp_endpoint& endpoint);

/**
 * @ingroup meshpace
 *
 * A connection's data out of the mesh, as the gateway sees it. Its sender paces it; the gateway tells
 * the sender RTT_wired and what it shares with others, and wakes it up when it is silent.
 */
class MeshpaceUpload
{
  public:
    /**
     * Data leaves for the wired network (T1).
     * @param segment the segment
     * @param nowNs now, ns
     * @return whether it is known to be a host's
     */
    bool DataToWired(const TcpSegment& segment, uint64_t nowNs);

    /**
     * Data comes of a host that sends more than it may.
     * @param segment the segment
     * @return whether the sender is told so by its loss: not with what it sends again, nor
     *         before it has answered
     */
    bool IsNotified(const TcpSegment& segment);

    /**
     * An acknowledgement arrives from the wired network.
     * @param segment the segment that carries it
     * @param item the packet that it is
     * @param nowNs now, ns
     */
    void AckFromWired(const TcpSegment& segment, Ptr<const QueueDiscItem> item, uint64_t nowNs);

    /**
     * A segment from the wired network leaves for the mesh (T2): what it waited here is not the mesh's.
     * @param segment the segment
     * @param nowNs now, ns
     * @return what it is to tell the sender, if it is a pure ACK that gives a sample: RTT_wired, or
     *         now and then what the flow shares with others
     */
    MeshpaceFeedback Tell(const TcpSegment& segment, uint64_t nowNs);

    /**
     * A segment of the wired end comes whose departure is fixed now, and acknowledges.
     * @param segment the segment
     * @param departureNs when it may leave else, ns
     * @param capNs says when one of so many new bytes that is ready then leaves by its host's cap, ns; none: no ACK waits
     * @return its departure (T2), ns
     */
    uint64_t AckOnArrival(const TcpSegment& segment,
                          uint64_t departureNs,
                          const std::function<uint64_t(uint64_t, uint32_t)>& capNs);

    /**
     * A FIN without data leaves for the wired network.
     * @param seq its number
     */
    void Fin(uint32_t seq);

    /**
     * A RST leaves for the wired network.
     * @param seq its number
     * @return whether it ends the connection
     */
    bool Reset(uint32_t seq);

    /** Another connection begins under the same ports: nothing so far holds. */
    void BeginAnew();

    /** It was another gateway's, and is this one's again: what went by that does not count. */
    void Returns();

    /** @return the data's endpoint, to look at */
    const mp_endpoint& Endpoint() const;

    /**
     * What the sender is to be told.
     * @param bytesPerS what it may have, bytes/s; 0: no limit
     */
    void Share(uint64_t bytesPerS);

    /**
     * @param nowNs now; asked once a second
     * @return whether the upload is silent and its sender is to be woken up (mp_wake_up_due)
     */
    bool IsToWakeUp(uint64_t nowNs);

    /** @return when its stall began, and when its sender was woken up last */
    mp_probe& WakeUps();

    /** @return up to which the wired end has acknowledged */
    uint32_t Ack() const;

    /**
     * @return a copy of the latest pure ACK without its timestamps, whose age the sender would take for a round trip; null
     *         if there was none
     */
    Ptr<QueueDiscItem> AckAgain() const;

    /** @return acknowledged by the wired end so far, bytes */
    uint64_t Bytes() const;

    /** @return payload of the largest segment, bytes; 0 before there was one */
    uint32_t SegmentBytes() const;

    /**
     * @param nowNs now, ns
     * @return what is known of the demand
     */
    mp_demand Demand(uint64_t nowNs) const;

  private:
    mp_endpoint m_up{};           //!< T1 at the gateway's wired side
    mp_probe m_wakeUps{};         //!< of its sender
    Ptr<QueueDiscItem> m_pureAck; //!< the latest
};

} // namespace ns3

#endif // MESHPACE_UPLOAD_H
