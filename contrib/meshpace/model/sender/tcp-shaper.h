/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_TCP_SHAPER_H
#define MESHPACE_TCP_SHAPER_H

#include "meshpace/meshpace.h"

#include "ns3/event-id.h"
#include "ns3/ip-l4-protocol.h"
#include "ns3/ipv4-address.h"
#include "ns3/node.h"
#include "ns3/nstime.h"
#include "ns3/object.h"

#include <deque>
#include <map>

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * A shaper at a sender, between its TCP and its IP ("a shaper that can be used at the sender to
 * release the packets into the network at a controlled rate"): a token bucket and a queue for each
 * flow that it is told to shape. TCP knows nothing of it, whatever its variant; the RTT that TCP
 * measures includes the wait.
 *
 * A packet with data costs a token. What carries none waits only so as not to overtake data.
 */
class TcpShaper : public Object
{
  public:
    /** @return the type id */
    static TypeId GetTypeId();

    /** The queue of a flow, since ResetStatistics. */
    struct QueueStatistics
    {
        double ratePps;      //!< at which packets with data leave, packets/s
        double meanPackets;  //!< over time
        uint32_t maxPackets; //!< most at any time
        uint64_t released;   //!< packets with data that have left
    };

    /**
     * Comes between TCP and IP.
     * @param node the node, with TCP installed
     */
    void Install(Ptr<Node> node);

    /**
     * Shapes what TCP sends to an address and port.
     * @param destination the address
     * @param port the port
     * @param intervalNs time between two packets with data, ns
     * @param bucket how many may leave together, at least 1
     */
    void Shape(Ipv4Address destination, uint16_t port, uint64_t intervalNs, uint32_t bucket);

    /**
     * @param destination the address
     * @param port the port, one that Shape named
     * @return its queue
     */
    QueueStatistics Queue(Ipv4Address destination, uint16_t port) const;

    /** Forgets the statistics: the warm-up is over. */
    void ResetStatistics();

  protected:
    void DoDispose() override;

  private:
    /** A packet that waits, as TCP gave it. */
    struct Held
    {
        Ptr<Packet> packet;
        Ipv4Address source;
        bool data;
    };

    /** A flow that is shaped. */
    struct Flow
    {
        mp_law law{};
        mp_pacer pacer{};
        std::deque<Held> held;
        EventId release;
        // Statistics.
        Time since;           //!< when they began
        Time changed;         //!< when the queue's length was last counted
        double packetS{0};    //!< sum of packets times their waits, s
        uint32_t maxHeld{0};
        uint64_t released{0};
    };

    using Key = std::pair<Ipv4Address, uint16_t>;

    void Send(Ptr<Packet> packet,
              Ipv4Address source,
              Ipv4Address destination,
              uint8_t protocol,
              Ptr<Ipv4Route> route);
    /** Takes out of a flow's queue what may leave now, and comes back for the rest. */
    void Release(Key key);
    static uint64_t IntervalNs(const Flow& flow);
    uint64_t DepartureNs(const Flow& flow) const;
    static void Departed(Flow& flow);
    static void Count(Flow& flow);

    IpL4Protocol::DownTargetCallback m_down; //!< IP
    std::map<Key, Flow> m_flows;
};

} // namespace ns3

#endif // MESHPACE_TCP_SHAPER_H
