/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_CONNECTION_H
#define MESHPACE_CONNECTION_H

#include "../tcp/tcp-wire.h"

#include "meshpace/meshpace.h"

#include "ns3/nstime.h"

#include <compare>
#include <cstdint>
#include <deque>
#include <vector>

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * A TCP connection through the gateway, by its two ends.
 */
struct MeshpaceKey
{
    uint32_t meshAddress;  //!< of the end in the mesh
    uint32_t wiredAddress; //!< of the end in the wired network
    uint16_t meshPort;     //!< of the end in the mesh
    uint16_t wiredPort;    //!< of the end in the wired network

    auto operator<=>(const MeshpaceKey&) const = default;
};

/**
 * @ingroup meshpace
 *
 * A packet that leaves for the mesh.
 */
struct Departure
{
    Ptr<QueueDiscItem> item; //!< null: none is due
    MeshpaceTold told;       //!< what it is to tell
};

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
    bool onArrival{false};         //!< whether departures are fixed on arrival, as with sch_fq
    uint32_t bitRateKbps{0};       //!< bit rate of the wireless links
    uint64_t shaperBps{0};         //!< of the law `shaper`: payload rate of each flow, bit/s
};

/**
 * @ingroup meshpace
 *
 * The law's mean state over the samples counted since ResetStatistics.
 */
struct MeshpaceStatistics
{
    uint64_t samples{0};          //!< RTT samples taken
    uint64_t discarded{0};        //!< samples above the delay bound
    double rateSumPps{0};         //!< sum of R over the samples, packets/s
    double covSum{0};             //!< sum of CoV over the samples
    double delaySumS{0};          //!< sum of the smoothed delay over the samples, s
    uint64_t localRetransmits{0}; //!< segments sent again by the gateway

    /**
     * Counts the state after a sample.
     *
     * @param estimate the estimate
     * @param intervalNs the interval in force, ns
     * @param taken whether the sample was taken or discarded
     */
    void Count(const mp_estimate& estimate, uint64_t intervalNs, bool taken);

    /**
     * Adds another connection's statistics.
     * @param other the other's
     */
    void Add(const MeshpaceStatistics& other);
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
     * @param nowNs now, ns
     * @param ackedBytes of up data that it acknowledges, if it waits for that; else 0
     * @return false when the queue holds an advertised window already: drop the packet
     */
    bool Hold(Ptr<QueueDiscItem> item, uint64_t nowNs, uint32_t ackedBytes = 0);

    /**
     * Under a law that seeks its rate: whether the sender is to be told, by the loss of the packet
     * that comes now, that its packets wait too long.
     * @param capIntervalNs between the connection's packets by its host's cap, ns; 0: none
     * @param nowNs now, ns
     * @return whether to drop it
     */
    bool WaitsTooLong(uint64_t capIntervalNs, uint64_t nowNs);

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

    /** @return acknowledged by the wired end so far, bytes */
    uint64_t UpBytes() const;

    /**
     * @param nowNs now, ns
     * @return what is known of the demand for down data
     */
    mp_demand DownDemand(uint64_t nowNs) const;

    /**
     * @param nowNs now, ns
     * @return what is known of the demand for up data
     */
    mp_demand UpDemand(uint64_t nowNs) const;

    /** @return payload of the largest down segment, bytes */
    uint32_t DownSegmentBytes() const;

    /** @return true when packets wait in the pacing queue */
    bool Holds() const;

    /** @return packets in the pacing queue */
    uint32_t HeldPackets() const;

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

    /**
     * The segment that the last duplicate ACK asked for, to be sent at once.
     * @param nowNs now, ns
     * @return a copy of the stored packet
     */
    Ptr<QueueDiscItem> Retransmit(uint64_t nowNs);

    /**
     * Whether a silent path is to be asked: what Retransmit() gives is to be sent at once.
     * @param nowNs now, ns
     * @return whether something is unacknowledged and nothing has gone out for long
     */
    bool IsToProbe(uint64_t nowNs);

    /**
     * @param nowNs now; asked once a second
     * @return whether its upload is silent and the sender is to be prompted (mp_prompt_due)
     */
    bool IsToPrompt(uint64_t nowNs);

    /**
     * @param down of the download's path, else of the upload's sender
     * @return when its stall began, and when it was asked last
     */
    mp_probe& Asks(bool down);

    /** @return up to which the wired host has acknowledged the upload */
    uint32_t UpAck() const;

    /** @return a copy of the upload's latest pure ACK, null if there was none */
    Ptr<QueueDiscItem> AckAgain() const;

    /**
     * Up data leaves for the wired network (T1).
     * @param segment the segment
     * @param nowNs now, ns
     */
    void DataToWired(const TcpSegment& segment, uint64_t nowNs);

    /**
     * Up data comes of a host that sends more than it may.
     * @param segment the segment
     * @return whether the sender is told so by its loss: not with what it sends again, nor
     *         before it has answered
     */
    bool IsTold(const TcpSegment& segment);

    /**
     * An acknowledgement of up data arrives from the wired network.
     * @param segment the segment that carries it
     * @param item the packet that it is
     */
    void AckFromWired(const TcpSegment& segment, Ptr<const QueueDiscItem> item);

    /**
     * A segment from the wired network leaves for the mesh (T2): what it waited here is not the mesh's.
     * @param segment the segment
     * @param nowNs now, ns
     * @return what it is to tell the sender of up data, if it is a pure ACK that gives a sample:
     *         RTT_wired, or now and then what the flow shares with others
     */
    MeshpaceTold Tell(const TcpSegment& segment, uint64_t nowNs);

    /**
     * What the connection has to know of others.
     * @param down of its down data
     * @param up of its up data: the sender is told
     */
    void Share(const mp_shared& down, const mp_shared& up);

    /**
     * Looks at a segment's flags: learns the window scale, notices the end.
     * @param segment any segment of the connection
     * @param fromMesh whether it comes from the mesh
     * @param now now
     */
    void See(const TcpSegment& segment, bool fromMesh, Time now);

    /** @return true after a reset, or when both ends have finished */
    bool Ended() const;

    /**
     * Remembers the radio by which the connection's packets leave.
     * @param radio its number
     */
    void SetRadio(uint32_t radio);

    /** @return that radio */
    uint32_t Radio() const;

    /** @return when the connection was last seen */
    Time LastSeen() const;

    /** @return true when more data goes down than up */
    bool IsDown() const;

    /** @return the entry for goodput control, filled in for the heavier direction */
    mp_goodput_flow& GoodputEntry();

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
    /** A released segment, kept until it is acknowledged. */
    struct Stored
    {
        uint32_t seq;            //!< its first byte
        uint32_t end;            //!< after its last byte
        Ptr<QueueDiscItem> item; //!< the packet, IP header not added
    };

    /**
     * @param item a packet whose IP header has not been added
     * @return a copy that can be sent independently
     */
    static Ptr<QueueDiscItem> CopyOf(Ptr<const QueueDiscItem> item);

    /** @return how many segments the mesh end's advertised window holds, at least 1 */
    uint32_t AdvertisedSegments() const;

    /** When the next packet of a pacer, that is ready since then, may leave by the law, ns. */
    uint64_t DueNs(const mp_pacer& pacer, uint64_t readyNs) const;
    /** A packet of a pacer that was ready since then leaves. */
    void Departed(mp_pacer& pacer, uint64_t readyNs, uint64_t nowNs) const;
    /** Counts data of one direction; isNew: it was not sent before. */
    static void Count(mp_progress& progress,
                      const mp_sent& sent,
                      const TcpSegment& segment,
                      bool isNew);
    void Store(const TcpSegment& segment, Ptr<QueueDiscItem> item);
    void DropAcknowledged(uint32_t ack);

    const MeshpaceSettings& m_settings;

    // Down: paced here.
    /** A packet in the pacing queue. */
    struct Held
    {
        Ptr<QueueDiscItem> item; //!< the packet
        uint64_t departureNs;    //!< if departures are fixed on arrival
        uint64_t sinceNs;        //!< when it came
        uint32_t ackedBytes;     //!< of up data, if it waits for that
    };

    std::deque<Held> m_held;               //!< the pacing queue
    mp_pacer m_arrivals{};                 //!< departures fixed on arrival
    std::deque<Stored> m_stored;           //!< released, not yet acknowledged
    mp_sent m_downSent{};                  //!< T1 at the gateway's radio
    mp_estimate m_estimate{};
    mp_pacer m_pacer{};
    mp_turn m_dataTurn{};
    mp_turn m_ackTurn{};
    mp_dupack m_dupack{};
    mp_probe m_probe{};            //!< of the download
    mp_probe m_prompt{};           //!< of the upload
    Ptr<QueueDiscItem> m_pureAck;  //!< the latest of the upload
    mp_wait m_wait{};
    mp_path m_path{};
    uint32_t m_meshWindow{0xffff};  //!< the mesh end's advertised window, unscaled
    uint32_t m_meshWindowScale{0};  //!< its shift
    mp_progress m_down{};           //!< as far as the mesh end has acknowledged

    // Up: paced at the sender.
    mp_sent m_upSent{}; //!< T1 at the gateway's wired side
    mp_told m_told{};   //!< that its host sends too much
    mp_shared m_upShared{}; //!< what its sender is to know of others
    mp_progress m_up{}; //!< as far as the wired end has acknowledged

    uint32_t m_downSegmentBytes{0}; //!< payload of down data packets
    uint32_t m_upSegmentBytes{0};   //!< payload of up data packets
    mp_goodput_flow m_goodput{};
    MeshpaceStatistics m_statistics;
    Time m_lastSeen;
    uint64_t m_upDataNs{0};   //!< when up data came last
    bool m_upPushed{false};   //!< whether its sender had no more then
    uint64_t m_downPausedNs{0}; //!< when down data left last with nothing under way
    mp_handshake m_handshake{}; //!< RTT_wired of the connection's beginning
    uint32_t m_radio{0};
    bool m_elsewhere{false};
    bool m_finFromMesh{false};
    bool m_finFromWired{false};
    bool m_reset{false};
};

} // namespace ns3

#endif // MESHPACE_CONNECTION_H
