/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_CONNECTION_H
#define MESHPACE_CONNECTION_H

#include "meshpace-retransmit-cache.h"
#include "meshpace-statistics.h"
#include "meshpace-upload.h"

#include "../tcp/tcp-wire.h"

#include "meshpace/meshpace.h"

#include "ns3/nstime.h"

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * A packet that leaves for the mesh.
 */
struct Departure
{
    Ptr<QueueDiscItem> item;   //!< null: none is due
    MeshpaceFeedback feedback; //!< what it is to tell
};

/**
 * @ingroup meshpace
 *
 * How packets wait for their departure.
 */
enum class MeshpaceRelease
{
    AT_TURN,    //!< a packet leaves when it is the next and due, as Linux's daemon lets it go
    IN_CLASS,   //!< the same, but an interval in force is kept to the next departure, as HTB keeps it
    ON_ARRIVAL, //!< its departure is fixed when it comes, as sch_fq releases it
    ELSEWHERE   //!< it has waited before it comes here, as before Linux's program at the interface
};

/** Whether packets wait in the gateway's queues for the moment at which they are due. */
constexpr bool
IsHeldHere(MeshpaceRelease release)
{
    return release == MeshpaceRelease::AT_TURN || release == MeshpaceRelease::IN_CLASS;
}

/**
 * @ingroup meshpace
 *
 * What the law is told by the gateway's configuration.
 */
struct MeshpaceSettings
{
    mp_law law;                    //!< the law
    mp_goodput_law goodput;        //!< goodput control's parameters
    bool goodputControl{true};     //!< whether goodput control is on
    bool localRetransmission{true}; //!< whether lost segments are sent again from here
    MeshpaceRelease release{MeshpaceRelease::IN_CLASS}; //!< how packets wait
    bool paces{true};              //!< whether packets wait at all, or are only measured
    mp_device device{MP_DEVICE_SEEN}; //!< whether flows are made up for what keeps the device busy
    uint32_t bitRateKbps{0};       //!< bit rate of the wireless links
    uint64_t shaperBps{0};         //!< of the law `shaper`: payload rate of each flow, bit/s
};

/**
 * @ingroup meshpace
 *
 * State of one TCP connection at the gateway, both directions: *down* from the wired
 * network into the mesh (paced here), *up* out of the mesh (paced at its sender, which the
 * gateway tells RTT_wired). A host around core/: it feeds observations in and keeps packets.
 */
class MeshpaceConnection
{
  public:
    /**
     * @param settings the gateway's settings, which outlive the connection
     * @param hops wireless hops to the end in the mesh
     * @param link the links on the way to it, for the law `map`
     */
    MeshpaceConnection(const MeshpaceSettings& settings, uint32_t hops, const mp_link& link);

    /**
     * The path has changed: the law takes the new one with the next sample.
     * @param hops wireless hops to the end in the mesh; 0: it is no longer reached from here
     * @return whether that makes the connection one of this gateway's, or no longer one
     */
    bool SetHops(uint32_t hops);

    /** @return whether packets for the end in the mesh go another way now */
    bool Elsewhere() const;

    /**
     * A segment from the wired end enters the pacing queue.
     * @param item the packet
     * @param radio by which it leaves
     * @param nowNs now, ns
     * @param ackedBytes of up data that it acknowledges, if it waits for that; else 0
     * @return false when the queue holds an advertised window already: drop the packet
     */
    bool Hold(Ptr<QueueDiscItem> item, uint32_t radio, uint64_t nowNs, uint32_t ackedBytes);

    /**
     * Under a law that seeks its rate: whether the sender is to be told, by the loss of the packet
     * that comes now, that its packets wait too long.
     * @param capIntervalNs between the connection's packets by its host's cap, ns; 0: none
     * @param nowNs now, ns
     * @return whether to drop it
     */
    bool WaitsTooLong(uint64_t capIntervalNs, uint64_t nowNs);

    /**
     * Under any law: whether a packet that comes now would wait so long that its sender gives it up for lost.
     * @param capIntervalNs between the connection's packets by its host's cap, ns; 0: none
     * @return whether to drop it
     */
    bool WaitsBeyond(uint64_t capIntervalNs) const;

    /** @return of the queue's head: payload, or bytes that it acknowledges and waits for; 0: none */
    uint32_t HeadBytes() const;

    /** @return whether the queue's head is an acknowledgement that waits */
    bool HeadAcknowledges() const;

    /**
     * @return since when the queue's head is ready to leave, ns, as far as its flow goes: when it is due by the
     *         law, or when it came, if it is an acknowledgement that waits
     */
    uint64_t HeadReadyNs() const;

    /** @return acknowledged by the end in the mesh so far, bytes */
    uint64_t DownBytes() const;

    /** @return the data the other way, out of the mesh */
    MeshpaceUpload& Upload();

    /**
     * @param nowNs now, ns
     * @return what is known of the demand for down data
     */
    mp_demand DownDemand(uint64_t nowNs) const;

    /** @return what its receiver's ACKs in excess have taken of the air so far, bytes */
    uint64_t DownExcessBytes() const;

    /** @return payload of the largest down segment, bytes */
    uint32_t DownSegmentBytes() const;

    /** @return true when packets wait in the pacing queue */
    bool Holds() const;

    /** @return by which radio the queue's head leaves; nothing when nothing is in the queue */
    std::optional<uint32_t> HeadRadio() const;

    /** @return packets in the pacing queue */
    uint32_t HeldPackets() const;

    /**
     * Data comes whose departure is fixed now.
     * @param segment the segment
     * @param item the packet that it is
     * @param readyNs when its host lets it go, ns
     * @param nowNs now, ns
     * @return its departure (T1), ns
     */
    uint64_t DataOnArrival(const TcpSegment& segment,
                           Ptr<const QueueDiscItem> item,
                           uint64_t readyNs,
                           uint64_t nowNs);

    /**
     * Likewise whether it is to be lost, or marked, since it would wait too long.
     * @param turnNs between the connection's packets by its host's cap, ns; 0: none
     * @param readyNs when its host lets it go, ns
     * @param nowNs now, ns
     * @return whether it is
     */
    bool WaitsTooLongOnArrival(uint64_t turnNs, uint64_t readyNs, uint64_t nowNs);

    /**
     * What carries no data comes, and does not overtake data whose departure is fixed.
     * @param segment the segment
     * @param departureNs when it may leave else, ns
     * @param nowNs now, ns
     * @return its departure, ns
     */
    uint64_t NoDataOnArrival(const TcpSegment& segment, uint64_t departureNs, uint64_t nowNs);

    /**
     * Data waits, by its departure, outside the pacing queue; or does so no longer.
     * @param change 1 or -1
     */
    void WaitsStamped(int32_t change);

    /**
     * Takes the packet at the queue's head; it leaves now.
     * @param nowNs now (T1), ns
     * @return the packet
     */
    Departure Release(uint64_t nowNs);

    /** @return the turns of what is like the head: data, or acknowledgements */
    mp_turn& HeadTurn();

    /**
     * An acknowledgement of down data arrives from the mesh (T2).
     * @param segment the segment that carries it
     * @param nowNs now, ns
     * @return what becomes of it
     */
    mp_ack_verdict AckFromMesh(const TcpSegment& segment, uint64_t nowNs);

    /** @return copies of the segments that the last ACK from the mesh asked for, to be sent at once */
    std::vector<Ptr<QueueDiscItem>> Missing() const;

    /** @return in which they are */
    const mp_range& Again() const;

    /**
     * A segment that was asked for may not be sent from here: the next ACK that asks for it goes on.
     * @param seq its first byte
     */
    void Unsent(uint32_t seq);

    /** @return a copy of the oldest segment that is not acknowledged; there must be one */
    Ptr<QueueDiscItem> Copy() const;

    /**
     * The copy leaves.
     * @param segment the segment
     * @param nowNs now, ns
     */
    void SentAgain(const TcpSegment& segment, uint64_t nowNs);

    /**
     * Whether a stalled path is to be asked: what Copy() gives is to be sent at once.
     * @param nowNs now, ns
     * @return whether something is unacknowledged and nothing has gone out for long
     */
    bool IsToProbe(uint64_t nowNs);

    /**
     * @param nowNs now; asked once a second
     * @return whether its upload is silent and the sender is to be woken up (mp_wake_up_due)
     */
    bool IsToWakeUp(uint64_t nowNs);

    /**
     * @param down of the download's path, else of the upload's sender
     * @return when its stall began, and when it was asked last
     */
    mp_probe& Asks(bool down);

    /**
     * What the sender of its up data is told.
     * @param bytesPerS what it may have, bytes/s; 0: no limit
     */
    void Share(uint64_t bytesPerS);

    /**
     * From the next acknowledgement on:
     * @param shared whether its host's share of the air bounds it, and not a rate of its own
     */
    void SetShared(bool shared);

    /**
     * Looks at a segment's flags: learns the window scale, notices that a connection begins anew under the same
     * ports, breaks, or ends.
     * @param segment any segment of the connection
     * @param fromMesh whether it comes from the mesh
     * @param now now
     * @return whether it does nothing else: a SYN, without the answer of the wired end, or a RST
     */
    bool See(const TcpSegment& segment, bool fromMesh, Time now);

    /** @return true after a reset, or when both ends have finished */
    bool Ended() const;

    /** @return when the connection was last seen */
    Time LastSeen() const;

    /** @return true when more data goes down than up */
    bool IsDown() const;

    /**
     * Sets goodput control's least interval of the down data, where the gateway's own control is off.
     * @param floorNs it, ns; 0: none
     */
    void SetFloor(uint64_t floorNs);

    /** @return the down data's endpoint, to look at */
    const mp_endpoint& Down() const;

    /** @return the data the other way, to look at */
    const MeshpaceUpload& Upload() const;

    /** @return the entry for goodput control, filled in for the heavier direction */
    const mp_goodput_flow& GoodputEntry();

    /**
     * Takes what goodput control has made of that entry.
     * @param entry it
     */
    void Throttle(const mp_goodput_flow& entry);

    /** @return statistics since ResetStatistics */
    const MeshpaceStatistics& Statistics() const;

    /** Forgets the statistics, not the state: the warm-up is over. */
    void ResetStatistics();

    /** @return the interval between packets in force, ns; 0: unpaced */
    uint64_t IntervalNs() const;

    /** @return the links on the way to the end in the mesh */
    const mp_link& Link() const;

    /**
     * Tells the bit rates of the links on the way to the end in the mesh, in place of one of all.
     * @param kbps the rates, kbit/s, in the path's order or against it; without effect when there
     *             are none, or more than the law can take
     */
    void SetLinkRates(const std::vector<uint32_t>& kbps);

    /** @return the path as the law has it */
    const mp_path& Path() const;

  private:
    /** @return the mesh end's advertised window; nothing when its scale is not known: its SYN was not seen */
    std::optional<uint32_t> WindowBytes() const;

    /** When the next packet, that is ready since then, may leave by the law, ns. */
    uint64_t DueNs(uint64_t readyNs) const;

    /** The interval between the latest departure and the next. */
    uint64_t InForceNs() const;

    /** A packet that was ready since then leaves. */
    void Departed(uint64_t readyNs, uint64_t nowNs);
    /** Data is about to count: it may begin the flow anew. */
    void Judge(const mp_segment& segment);
    /** Data counts as sent at its departure. */
    void Record(const TcpSegment& segment, Ptr<const QueueDiscItem> item, uint64_t departureNs, uint64_t nowNs);
    /** A SYN, or the answer to one: the ports may be another connection's now. */
    void SeeSyn(const TcpSegment& segment, bool fromMesh);
    /** Nothing of the connection so far holds, but its path and what waits of it. */
    void BeginAnew();

    const MeshpaceSettings& m_settings;

    /** A packet in the pacing queue. */
    struct Held
    {
        Ptr<QueueDiscItem> item; //!< the packet
        uint32_t radio;          //!< to which it came: its next hop is there
        uint64_t sinceNs;        //!< when it came
        uint32_t ackedBytes;     //!< of up data, if it waits for that
    };

    // Down: paced here.
    std::deque<Held> m_held;       //!< the pacing queue
    MeshpaceRetransmitCache m_cache;         //!< released, not yet acknowledged
    mp_sack m_sack{};              //!< of the latest ACK from the mesh
    mp_range m_again{};            //!< what is missing in it is to be sent again
    std::optional<uint32_t> m_unsent; //!< first byte of a segment that is the sender's to send again
    mp_endpoint m_down{};          //!< T1 at the gateway's radio
    mp_turn m_dataTurn{};
    mp_turn m_ackTurn{};
    mp_probe m_probe{};            //!< of its path
    uint32_t m_meshWindow{0xffff}; //!< the mesh end's advertised window, unscaled
    uint64_t m_keptNs{0};          //!< the interval as of the latest departure
    uint32_t m_stamped{0};         //!< data that waits by its departure
    uint32_t m_heldData{0};        //!< packets with data in the pacing queue

    MeshpaceUpload m_upload;

    mp_goodput_flow m_goodput{};
    MeshpaceStatistics m_statistics;
    Time m_lastSeen;
    mp_handshake m_handshake{}; //!< RTT_wired of the connection's beginning
    std::array<std::optional<uint32_t>, 2> m_syns; //!< unanswered, of the wired and of the mesh end
    bool m_elsewhere{false};
    bool m_shared{false};
    bool m_finFromMesh{false};
    bool m_finFromWired{false};
    bool m_reset{false};
};

} // namespace ns3

#endif // MESHPACE_CONNECTION_H
