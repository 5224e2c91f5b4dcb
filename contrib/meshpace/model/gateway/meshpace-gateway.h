/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_GATEWAY_H
#define MESHPACE_GATEWAY_H

#include "meshpace-asks.h"
#include "meshpace-connection.h"
#include "meshpace-hosts.h"
#include "meshpace-key.h"

#include "ns3/event-id.h"
#include "ns3/ipv4-address.h"
#include "ns3/object.h"

#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * The Internet gateway's law (TCP-GAP, ElRakabawy et al. 2006, 2008; MAP): every TCP connection
 * between the mesh and the wired network, and goodput control over all of them.
 *
 * Two queue discs carry packets past it: MeshpaceMeshQueueDisc on the mesh device, where
 * packets from the wired network wait for their departure, and MeshpaceWiredQueueDisc on the
 * wired device, where those from the mesh are seen. What it cannot read it leaves alone.
 */
class MeshpaceGateway : public Object
{
  public:
    /** @return the type id */
    static TypeId GetTypeId();

    MeshpaceGateway();
    ~MeshpaceGateway() override;

    /**
     * States how far a mesh host is, at the beginning and whenever that changes.
     * @param host its address
     * @param hops wireless hops from here; 0: packets for it go another way, so that its
     *             flows are not this gateway's for the time being
     */
    void SetHops(Ipv4Address host, uint32_t hops);

    /**
     * States what a mesh host may have beside the others, under EVEN.
     * @param host its address
     * @param weight as so many hosts it counts
     * @param leastBytesPerS payload that it gets at least; 0: nothing is stated
     */
    void SetRights(Ipv4Address host, double weight, uint64_t leastBytesPerS);

    /**
     * States that a wired host is behind another gateway: its flows are not this law's, even
     * where this node relays them.
     * @param host its address
     */
    void SetForeignHost(Ipv4Address host);

    /**
     * States what the links on the way to a mesh host are like; needed by the law `map`.
     * @param host its address
     * @param link the links
     */
    void SetLink(Ipv4Address host, const mp_link& link);

    /**
     * States the bit rates of the links on the way to a mesh host, of which else all have BitRate.
     * @param host its address
     * @param kbps the rates, kbit/s
     */
    void SetLinkRates(Ipv4Address host, const std::vector<uint32_t>& kbps);

    /** The laws that a gateway can have. */
    enum Law
    {
        GAP,    //!< TCP-GAP
        AP,     //!< TCP-AP's formula, of RTT_wireless
        MAP,    //!< MAP
        SHAPER, //!< a constant rate for each flow
        EVEN    //!< what the path carries, shared by hosts
    };

    /**
     * Sets a host's cap, where goodput control does not: it is off.
     * @param host its address
     * @param down of what it gets, else of what it sends
     * @param capBps bytes/s; 0 lifts the cap
     * @param flowBps what each of its flows is told that it may have, bytes/s; 0: any
     */
    void SetCap(Ipv4Address host, bool down, uint64_t capBps, uint64_t flowBps);

    /**
     * Likewise whether hosts are held to shares of the air.
     * @param shared whether they are
     */
    void SetShared(bool shared);

    /**
     * Likewise the least interval of a connection's down data.
     * @param key the connection's ends; unknown: without effect
     * @param floorNs the interval, ns; 0: none
     */
    void SetFloor(const MeshpaceKey& key, uint64_t floorNs);

    /** What to do with a packet that enters a device's queue. */
    enum class Verdict
    {
        PASS,    //!< send it as soon as the device takes it
        HELD,    //!< it waits in its connection's pacing queue
        DROP,    //!< drop it: its pacing queue is full
        PLAIN,   //!< send it, without its SACK: what that asks for is sent from here
        WITHHELD //!< drop it: a duplicate ACK answered from here
    };

    /** What ToMesh has to say. */
    struct ToMeshVerdict
    {
        Verdict verdict;      //!< what to do with the packet
        MeshpaceFeedback feedback;    //!< what a packet that passes is to tell
        uint64_t departureNs{0}; //!< of one that is held, if that is fixed on arrival
    };

    /**
     * A packet from the wired network is about to enter the mesh.
     * @param item the packet
     * @param radio the radio by which it leaves: of a gateway that has several, each releases
     *              its own
     * @return what to do with it
     */
    ToMeshVerdict ToMesh(Ptr<QueueDiscItem> item, uint32_t radio = 0);

    /**
     * A packet from the mesh is about to enter the wired network.
     * @param item the packet
     * @return what to do with it
     */
    Verdict ToWired(Ptr<QueueDiscItem> item);

    /**
     * The next paced packet that may leave by a radio now.
     * @param radio the radio
     * @return it, or nothing when none is due
     */
    Departure Release(uint32_t radio = 0);

    /**
     * @param radio a radio
     * @return when the next paced packet is due there, Time::Max() when none waits
     */
    Time NextDeparture(uint32_t radio = 0) const;

    /** @return how many connections it knows */
    std::size_t Connections() const;

    /** @return packets in all pacing queues */
    uint32_t HeldPackets() const;

    /**
     * A packet that was to be sent at once leaves: from now on its acknowledgement gives no sample.
     * @param item the packet
     */
    void SentAgain(Ptr<const QueueDiscItem> item);

    /**
     * Sets what is called with a packet that has to be sent at once (local retransmission).
     * @param callback takes the packet, and says by SentAgain() when it leaves
     * @param radio the radio by which it sends
     */
    void SetUrgentCallback(Callback<void, Ptr<QueueDiscItem>> callback, uint32_t radio = 0);

    /**
     * Sets what is called when packets may be due earlier than NextDeparture() has said.
     * @param callback asks for what is due
     * @param radio the radio by which that leaves
     */
    void SetDueCallback(Callback<void> callback, uint32_t radio = 0);

    /**
     * Sets what wakes up the sender of a silent upload.
     * @param callback takes the connection and up to which its upload is acknowledged
     */
    void SetWakeUpCallback(Callback<void, const MeshpaceKey&, uint32_t> callback);

    /**
     * Sets what asks a host for an answer, which Answered() is told.
     * @param callback takes the host's address
     */
    void SetAskCallback(Callback<void, uint32_t> callback);

    /**
     * A host has answered.
     * @param host its address
     * @param rtt after how long
     */
    void Answered(uint32_t host, Time rtt);

    /** @return the hosts and what they get, under the law `even` */
    const MeshpaceHosts& Hosts() const;

    /**
     * @param key a connection's ends
     * @return its state, null when there is none
     */
    const MeshpaceConnection* Find(const MeshpaceKey& key) const;

    /** Forgets all statistics, not the state: the warm-up is over. */
    void ResetStatistics();

    /** @return how often goodput control throttled a flow, in flows times steps */
    uint64_t Throttles() const;

    /** @return the most packets that waited in all pacing queues together */
    uint32_t MaxHeldPackets() const;

  protected:
    void NotifyConstructionCompleted() override;
    void DoInitialize() override;
    void DoDispose() override;

  private:
    /** Sets one of m_settings, for an attribute: ns-3's accessors take no member of a member. */
    template <typename T, T MeshpaceSettings::*MEMBER>
    void Set(T value)
    {
        m_settings.*MEMBER = value;
    }

    /** The law as the attributes say. */
    void BuildLaw();
    bool InMesh(Ipv4Address address) const;
    /** @return whether one end is in the wired network, and the other in the mesh */
    bool IsBetween(Ipv4Address wired, Ipv4Address mesh) const;
    /**
     * What leaves next. Hosts take turns, from the one after the last: before the first samples all are
     * unpaced, and the device must not be the first one's alone. Of a host it is what has the lowest tag.
     */
    struct Next
    {
        uint32_t after{std::numeric_limits<uint32_t>::max()}; //!< addresses after the last host's
        uint64_t tag{std::numeric_limits<uint64_t>::max()};
        std::optional<uint32_t> host{};
        const MeshpaceKey* key{nullptr}; //!< of the connection; null: a datagram

        bool operator<(const Next& other) const
        {
            return std::tie(after, tag) < std::tie(other.after, other.tag);
        }
    };

    /**
     * Where a flow of UDP begins, the busy ones are silent for a moment.
     * @param item from the mesh, no TCP
     * @return whether its host has sent too much with it, and it is lost
     */
    bool DatagramToWired(Ptr<QueueDiscItem> item);
    /** @return whether it is too much for its host, and lost @param item likewise @param host its host */
    bool PolicesDatagram(Ptr<QueueDiscItem> item, uint32_t host);
    /** @param host whose flow begins: the busy ones are silent for a moment */
    void Begins(uint32_t host);
    /**
     * Data comes.
     * @param host that sends or gets it
     * @param flow as it was before: perhaps it begins
     */
    void MayBegin(uint32_t host, const mp_endpoint& flow);
    Next NextConnection(uint32_t radio, uint64_t nowNs);
    Next NextDatagram(uint32_t radio, uint64_t nowNs);
    MeshpaceConnection* FindOrCreate(const MeshpaceKey& key, const TcpSegment& segment);
    bool SharesHosts() const;
    void SetFairness(mp_fairness fairness);
    /** @return whether a packet that is not read as TCP is for a host of the mesh, from the wires @param item the packet */
    bool IsDatagramForMesh(Ptr<const QueueDiscItem> item) const;
    ToMeshVerdict DatagramToMesh(Ptr<QueueDiscItem> item, uint32_t radio);
    ToMeshVerdict Hold(const MeshpaceKey& key,
                       MeshpaceConnection& connection,
                       Ptr<QueueDiscItem> item,
                       uint32_t radio,
                       uint32_t ackedBytes);
    /** @return flows of a host that wait for its turn alone: their heads are ready */
    uint32_t InLineTo(uint32_t address) const;
    uint64_t HeadTag(const MeshpaceKey& key, MeshpaceConnection& connection) const;
    uint64_t CapIntervalNs(const MeshpaceKey& key, const MeshpaceConnection& connection) const;
    uint64_t DueNs(const MeshpaceKey& key,
                   const MeshpaceConnection& connection,
                   uint64_t nowNs) const;
    Departure ReleaseOf(const MeshpaceKey& key, MeshpaceConnection& connection, uint64_t nowNs);

    /** A packet whose departure was fixed when it came. */
    struct Stamped
    {
        Departure departure;
        MeshpaceKey key; //!< of the connection of which it is data
        bool data;
        uint32_t radio;
    };

    using StampedPackets = std::multimap<uint64_t, Stamped>; //!< by departure, ns

    ToMeshVerdict TcpOnArrival(const MeshpaceKey& key,
                               MeshpaceConnection& connection,
                               const TcpSegment& segment,
                               Ptr<QueueDiscItem> item,
                               uint32_t radio);
    ToMeshVerdict DatagramOnArrival(Ptr<QueueDiscItem> item, uint32_t host, uint32_t radio);
    ToMeshVerdict Stamp(uint64_t departureNs, const Stamped& stamped);
    uint64_t HostNs(const MeshpaceKey& key, uint64_t readyNs, uint32_t bytes);
    uint64_t AckOnArrivalNs(const MeshpaceKey& key,
                            MeshpaceConnection& connection,
                            const TcpSegment& segment,
                            uint64_t departureNs);
    StampedPackets::const_iterator FirstStamped(uint32_t radio) const;
    Departure ReleaseStamped(StampedPackets::const_iterator first);
    bool Polices(const MeshpaceKey& key, const TcpSegment& segment, MeshpaceConnection& connection);
    void TellConnection(const MeshpaceKey& key, MeshpaceConnection& connection);
    void TellConnections();
    void TellDue();
    /** Under the law even: hosts get their shares, in steps of their own; each second stalled paths are asked. */
    void EvenStep();
    void ProbeStep();
    void ProbeStalledPaths();
    /**
     * @param down whether downloads are meant, else uploads
     * @return the connections that are due to be asked, who was asked longest ago first
     */
    std::vector<std::pair<const MeshpaceKey*, MeshpaceConnection*>> DueAsks(bool down);
    void ShareStep();
    void OpaqueStep();
    void GoodputStep();
    void ResetGoodputControl();
    void ScheduleGoodputStep();
    /** Sends what the latest ACK from the mesh asked for, as far as its host has earned copies. */
    void SendCopies(const MeshpaceKey& key, MeshpaceConnection& connection);
    /** A packet that was sent before is sent again, by the latest way to its host. */
    void SendNow(uint32_t host, Ptr<const QueueDiscItem> item);
    bool RemoveEnded();
    std::vector<mp_goodput_flow> GoodputEntries();
    void ApplyGoodputEntries(const std::vector<mp_goodput_flow>& entries);

    Ipv4Address m_meshNetwork;   //!< the mesh's addresses
    Ipv4Mask m_meshMask;         //!< and their mask
    Law m_lawName;               //!< which law
    uint32_t m_leastHcs{1};      //!< map: H_cs is at least this
    uint32_t m_bucket{1};        //!< shaper: packets that may leave together
    bool m_pastEnd{false};       //!< map: OID may be of one hop more than the path has
    bool m_linkInOid{false};     //!< map: each hop of OID has the link layer's delay
    bool m_linkLearnt{false};    //!< map: the link layer's delays are what the least RTT leaves
    uint32_t m_omit{0};          //!< even: parts left out, of mp_omit
    Time m_delayBound;           //!< samples above are discarded; zero: none
    uint32_t m_delayBoundMeans;  //!< a sample counts as so many means at most; 0: as it is
    Time m_idleTimeout;          //!< after which a silent connection is forgotten
    Time m_endedTimeout;         //!< after which one that has ended is
    uint32_t m_bufferPackets{0}; //!< when so many wait, new connections go unpaced
    MeshpaceSettings m_settings;

    /** By where a host is reached. */
    struct Way
    {
        uint32_t radio;
        Address nextHop;
    };

    std::map<uint32_t, Way> m_ways;      //!< as of the latest packet, by host address
    std::map<uint32_t, uint32_t> m_hops; //!< by host address
    std::set<uint32_t> m_foreign;        //!< wired hosts behind other gateways
    std::map<uint32_t, mp_link> m_links; //!< by host address
    std::map<uint32_t, std::vector<uint32_t>> m_linkRates; //!< kbit/s, by host address
    std::map<MeshpaceKey, std::unique_ptr<MeshpaceConnection>> m_connections;
    mp_goodput m_goodput{};
    EventId m_goodputEvent;
    MeshpaceHosts m_hostShares;
    EventId m_evenEvent;
    std::map<uint32_t, mp_credit> m_copies;  //!< what hosts have earned of copies, by address
    MeshpaceAsks m_probes;                   //!< of downloads
    EventId m_probeEvent;                    //!< stalled paths are asked
    MeshpaceAsks m_wakeUps;                  //!< of uploads
    std::map<uint32_t, uint32_t> m_lastHost; //!< served, by radio
    StampedPackets m_stamped;
    uint32_t m_held{0};
    uint32_t m_maxHeld{0};
    uint64_t m_throttles{0};
    std::map<uint32_t, Callback<void, Ptr<QueueDiscItem>>> m_urgent; //!< by radio
    std::map<uint32_t, Callback<void>> m_due; //!< by radio
    Callback<void, const MeshpaceKey&, uint32_t> m_wakeUp;
    MeshpaceAsks m_echoes; //!< of hosts that get or send many datagrams
    Callback<void, uint32_t> m_ask;
};

} // namespace ns3

#endif // MESHPACE_GATEWAY_H
