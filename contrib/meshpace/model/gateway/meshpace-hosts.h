/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_HOSTS_H
#define MESHPACE_HOSTS_H

#include "meshpace-air.h"

#include "meshpace/meshpace.h"

#include "ns3/ptr.h"
#include "ns3/queue-item.h"

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * The hosts of the mesh, each in both directions, and what each gets of it (law `even`, airtime.h):
 * a host around core/ that counts bytes, lets the shares be computed once a second, and keeps to them.
 */
class MeshpaceHosts
{
  public:
    /** A host in one direction. */
    struct Key
    {
        uint32_t address; //!< of the host
        bool down;        //!< from the wired network to it, else the other way

        auto operator<=>(const Key&) const = default;
    };

    /**
     * Something was delivered.
     * @param key the host
     * @param bytes payload that has arrived, or of a datagram, of which nobody tells: that passes
     */
    void Delivered(const Key& key, uint64_t bytes);

    /** @return bytes that have counted so far, 0 of who is unknown @param key the host */
    uint64_t DeliveredBytes(const Key& key) const;

    /**
     * What is known of a flow's demand, before each step.
     * @param key its host
     * @param demand the flow's
     */
    void Demands(const Key& key, const mp_demand& demand);

    /**
     * What a flow's ACKs in excess have taken so far, before each step; of one that pauses, too: a sum that came
     * back would count anew.
     * @param key its host
     * @param bytes of the air
     */
    void Exceeds(const Key& key, uint64_t bytes);

    /**
     * @param key a host
     * @return what each of its flows may have of its cap, as of the latest step, bytes/s; 0: there is no cap
     */
    uint64_t FlowBps(const Key& key) const;

    /** @param fairness equal parts of the air, if nothing is said, or equal rates by them */
    void SetFairness(mp_fairness fairness);

    /**
     * What a host may have beside the others.
     * @param address the host
     * @param weight as so many hosts it counts
     * @param leastBytesPerS payload that it gets at least; 0: nothing is stated
     */
    void SetRights(uint32_t address, double weight, uint64_t leastBytesPerS);

    /**
     * What a connection tells of its path, before each step.
     * @param address its host
     * @param down its endpoint from the wired network
     * @param up its endpoint to the wired network
     * @param held whether something of it waits
     * @param nowNs now, ns
     */
    void Hears(uint32_t address,
               const mp_endpoint& down,
               const mp_endpoint& up,
               bool held,
               uint64_t nowNs);

    /**
     * What is known of the path to a host, of which there may be no connection, before each step.
     * @param address the host
     * @param hops how many
     */
    void KnowHops(uint32_t address, uint32_t hops);

    /** @return whether hosts are held to shares of the air, and flows not to rates of their own */
    bool Shared() const;

    /**
     * A step of the shares, MP_AIR_STEP_NS after the previous one; forgets who wanted what.
     * @param nowNs now, ns
     * @return how many are capped
     */
    uint32_t Step(uint64_t nowNs);

    /**
     * What a host gets that gets or sends many datagrams (opaque.h), before a step of the shares.
     * @param address of the host
     * @param hops how many there are to it
     * @param nowNs now, ns
     * @return whether it is to be asked for an answer
     */
    bool OpaqueStep(uint32_t address, uint32_t hops, uint64_t nowNs);

    /**
     * Likewise, of what addresses send that nothing ever answers: all of it is one host's.
     * @param nowNs now, ns
     */
    void NobodySteps(uint64_t nowNs);

    /** @param address of a host that is asked */
    void Asked(uint32_t address);

    /**
     * A host that was asked has answered.
     * @param address of the host
     * @param rttNs after how long, ns
     * @param nowNs now, ns
     */
    void Answered(uint32_t address, uint64_t rttNs, uint64_t nowNs);

    /**
     * @param key the host
     * @return its cap in bytes/s, 0: none
     */
    uint64_t CapBps(const Key& key) const;

    /**
     * Sets a host's cap from outside, where no Step() reckons it.
     * @param key the host
     * @param capBps bytes/s; 0 lifts the cap
     * @param flowBps what each of its flows is to know of it, bytes/s
     */
    void SetCap(const Key& key, uint64_t capBps, uint64_t flowBps);

    /**
     * Likewise whether hosts are held to shares of the air.
     * @param shared whether they are
     */
    void SetShared(bool shared);

    /**
     * Fixes when a packet leaves by its host's cap, as it comes.
     * @param key the host
     * @param readyNs since when it is ready, ns
     * @param bytes how many count
     * @param mostNs how long it waits at most, ns
     * @param then what becomes of it that would wait longer
     * @return its departure, ns; 0: it is refused
     */
    uint64_t OnArrivalNs(const Key& key,
                         uint64_t readyNs,
                         uint32_t bytes,
                         uint64_t mostNs,
                         mp_too_long then);

    /**
     * @param key the host
     * @param readyNs since when the next of its packets is ready, ns
     * @return when that, of TCP, may leave by its cap and in silence, ns: of an upload it is an acknowledgement
     */
    uint64_t DueNs(const Key& key, uint64_t readyNs) const;

    /**
     * A flow of a host begins: the busy ones are silent for a moment (silence.h), unless it is one of them.
     * @param address of the host
     * @param hopWaitNs what the law lets wait at a hop, ns
     * @param nowNs now, ns
     * @return whether they are silent for longer than before
     */
    bool Begins(uint32_t address, uint64_t hopWaitNs, uint64_t nowNs);

    /**
     * @param key the host
     * @param turn a flow's
     * @return the tag of the flow's next packet: of a host's, the lowest leaves first
     */
    uint64_t Tag(const Key& key, const mp_turn& turn) const;

    /**
     * A packet of the host leaves.
     * @param key the host
     * @param turn its flow's
     * @param bytes how many count
     * @param readyNs since when it was ready, ns
     * @param nowNs now, ns
     */
    void Departed(const Key& key, mp_turn& turn, uint32_t bytes, uint64_t readyNs, uint64_t nowNs);

    /**
     * Data comes from a host, and counts.
     * @param key the host
     * @param bytes payload
     * @param nowNs now, ns
     * @return whether it is more than its cap allows
     */
    bool Exceeds(const Key& key, uint32_t bytes, uint64_t nowNs);

    /**
     * A packet that is not TCP comes from a host.
     * @param key the host
     * @param bytes of it
     * @param capable of being marked
     * @param nowNs now, ns
     * @return what becomes of it by the host's cap
     */
    mp_hold_verdict DatagramFrom(const Key& key, uint32_t bytes, bool capable, uint64_t nowNs);

    /**
     * A datagram for a host comes, or whatever is not TCP: nobody acknowledges it here, and whether its sender wants more it
     * does not tell.
     * @param item the packet
     * @param radio by which it leaves
     * @param address of the host
     * @param others flows of the host of which something else waits for its turn
     * @param nowNs now, ns
     * @return whether it waits, passes, or is to be dropped
     */
    enum class Fate
    {
        PASSES, //!< the host has no cap
        WAITS,  //!< it is kept here
        DROPPED //!< it would wait too long
    };
    Fate Datagram(Ptr<QueueDiscItem> item,
                  uint32_t radio,
                  uint32_t address,
                  uint32_t others,
                  uint64_t nowNs);

    /**
     * A datagram for a host passes whose departure is fixed elsewhere.
     * @param address of the host
     * @param bytes of the packet
     */
    void DatagramToMesh(uint32_t address, uint32_t bytes);

    /**
     * A datagram comes from the mesh: it counts for its host if that ever got one, else for nobody. Nothing
     * acknowledges it, and an address to which nothing came may be invented.
     * @param address of the host
     * @param bytes of the packet
     */
    void DatagramToWired(uint32_t address, uint32_t bytes);

    /**
     * Something comes from the mesh of which nothing tells that there is such a host.
     * @param bytes of the packet
     */
    void OfNobody(uint32_t bytes);

    /**
     * A datagram comes from the mesh.
     * @param item the packet
     * @param address of its host
     * @param nowNs now, ns
     * @return whether a flow begins with it, by the buckets in which flows take turns
     */
    bool DatagramBegins(Ptr<const QueueDiscItem> item, uint32_t address, uint64_t nowNs);

    /**
     * @param address of a host
     * @return buckets in which datagrams wait for it
     */
    uint32_t DatagramBuckets(uint32_t address) const;

    /** A host's datagram that may leave. */
    struct Due
    {
        uint32_t address; //!< of the host
        uint64_t tag;     //!< of the datagram
    };

    /**
     * @param radio a radio
     * @param nowNs now, ns
     * @return the first of each host that may leave there
     */
    std::vector<Due> DatagramsDue(uint32_t radio, uint64_t nowNs) const;

    /**
     * The host's first datagram leaves.
     * @param address of the host, of which one waits
     * @param nowNs now, ns
     * @return it
     */
    Ptr<QueueDiscItem> Release(uint32_t address, uint64_t nowNs);

    /**
     * @param address of a host
     * @return by which radio its first datagram leaves; nothing when none waits
     */
    std::optional<uint32_t> HeadRadio(uint32_t address) const;

    /**
     * @param radio a radio
     * @param nowNs now, ns
     * @return when the next datagram is due there, ns; UINT64_MAX when none waits
     */
    uint64_t NextNs(uint32_t radio, uint64_t nowNs) const;

  private:
    /** Flows of datagrams that take turns as one. */
    struct DatagramBucket
    {
        mp_turn turn{};
        mp_wait wait{};
        uint32_t waiting{0}; //!< datagrams
    };

    /** A datagram that waits. */
    struct Waiting
    {
        Ptr<QueueDiscItem> item; //!< the packet
        uint32_t radio;          //!< to which it came: its next hop is there
        uint64_t sinceNs;        //!< when it came
    };

    /** One host in one direction. */
    struct Host
    {
        mp_air_way share{};
        uint64_t flowBps{0}; //!< of its cap, for each of its flows
        mp_police police{};  //!< of what it sends
        mp_host_pace pace{};
        mp_opaque opaque{};
        uint64_t opaqueWaitNs{0};  //!< what may wait for what it is asked
        uint64_t datagramBytes{0}; //!< that passed so far
        mp_turns turns{};
        std::multimap<uint64_t, Waiting> datagrams; //!< that wait, by their tags
        std::array<DatagramBucket, MP_UDP_BUCKETS> buckets;
    };

    /** A datagram passes. */
    static void Count(Host& host, uint32_t bytes);
    static void Cap(Host& host, uint64_t capBps);
    static uint64_t CapDueNs(const Key& key, const Host& host, uint64_t readyNs);
    static void Leaves(const Key& key, Host& host, uint32_t bytes, uint64_t readyNs, uint64_t nowNs);

    std::map<Key, Host> m_hosts;
    mp_silence m_silence{}; //!< of the busy ones
    mp_opaque m_nobody{};       //!< of what is sent of nobody,
    uint64_t m_nobodysBytes{0}; //!< so far
    std::map<uint32_t, mp_begins> m_begins; //!< of UDP from the mesh, by address
    MeshpaceAir m_air;
};

} // namespace ns3

#endif // MESHPACE_HOSTS_H
