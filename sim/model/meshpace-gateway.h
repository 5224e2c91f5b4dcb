/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_GATEWAY_H
#define MESHPACE_GATEWAY_H

#include "meshpace-connection.h"

#include "ns3/event-id.h"
#include "ns3/ipv4-address.h"
#include "ns3/object.h"

#include <map>
#include <memory>
#include <vector>

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * The Internet gateway's law (TCP-GAP, ElRakabawy et al. 2006, 2008): every TCP connection
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
     * States how far a mesh host is.
     * @param host its address
     * @param hops wireless hops from here
     */
    void SetHops(Ipv4Address host, uint32_t hops);

    /** What to do with a packet that enters a device's queue. */
    enum class Verdict
    {
        PASS,    //!< send it as soon as the device takes it
        HELD,    //!< it waits in its connection's pacing queue
        DROP,    //!< drop it: its pacing queue is full
        WITHHELD //!< drop it: a duplicate ACK answered from here
    };

    /** What ToMesh has to say. */
    struct ToMeshVerdict
    {
        Verdict verdict;      //!< what to do with the packet
        uint32_t rttWiredUs;  //!< RTT_wired to be written into a packet that passes, us; 0: none
    };

    /**
     * A packet from the wired network is about to enter the mesh.
     * @param item the packet
     * @return what to do with it
     */
    ToMeshVerdict ToMesh(Ptr<QueueDiscItem> item);

    /**
     * A packet from the mesh is about to enter the wired network.
     * @param item the packet
     * @return what to do with it
     */
    Verdict ToWired(Ptr<const QueueDiscItem> item);

    /**
     * The next paced packet that may leave now.
     * @return it, or nothing when none is due
     */
    Ptr<QueueDiscItem> Release();

    /** @return when the next paced packet is due, Time::Max() when none waits */
    Time NextDeparture() const;

    /** @return packets in all pacing queues */
    uint32_t HeldPackets() const;

    /**
     * Sets what is called with a packet that has to be sent at once (local retransmission).
     * @param callback takes the packet
     */
    void SetUrgentCallback(Callback<void, Ptr<QueueDiscItem>> callback);

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
    void SetBitRateKbps(uint32_t kbps);
    void SetGoodputControl(bool on);
    void SetLocalRetransmission(bool on);
    bool InMesh(Ipv4Address address) const;
    MeshpaceConnection* FindOrCreate(const MeshpaceKey& key, const TcpSegment& segment);
    void GoodputStep();
    void ResetGoodputControl();
    void ScheduleGoodputStep();
    bool RemoveEnded();
    std::vector<mp_goodput_flow> GoodputEntries();
    void ApplyGoodputEntries(const std::vector<mp_goodput_flow>& entries);

    Ipv4Address m_meshNetwork;   //!< the mesh's addresses
    Ipv4Mask m_meshMask;         //!< and their mask
    Time m_delayBound;           //!< samples above are discarded; zero: none
    Time m_idleTimeout;          //!< after which a silent connection is forgotten
    uint32_t m_bufferPackets{0}; //!< when so many wait, new connections go unpaced
    MeshpaceSettings m_settings;

    std::map<uint32_t, uint32_t> m_hops; //!< by host address
    std::map<MeshpaceKey, std::unique_ptr<MeshpaceConnection>> m_connections;
    mp_goodput m_goodput{};
    EventId m_goodputEvent;
    MeshpaceKey m_lastReleased{};
    uint32_t m_held{0};
    uint32_t m_maxHeld{0};
    uint64_t m_throttles{0};
    Callback<void, Ptr<QueueDiscItem>> m_urgent;
};

} // namespace ns3

#endif // MESHPACE_GATEWAY_H
