/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_ETX_ROUTING_H
#define MESHPACE_ETX_ROUTING_H

#include "etx-message.h"
#include "etx-neighbour.h"

#include "ns3/application.h"
#include "ns3/event-id.h"
#include "ns3/ipv4-static-routing.h"
#include "ns3/net-device.h"
#include "ns3/random-variable-stream.h"
#include "ns3/socket.h"
#include "ns3/traced-callback.h"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * OLSR by the metric ETX, as olsrd 0.5 has it on MAP's testbed: a process on a mesh node that
 * measures links by the HELLOs that come over them, tells all others of its own by TCs, and sets
 * the node's static routes to the paths of the least sum of ETX.
 *
 * HELLOs and TCs are broadcast: in the interface's queue with everybody's packets, sent once, not
 * acknowledged. Every node passes every TC on once. RFC 3626 has its multipoint relays do that, of
 * which olsrd with this metric chooses several for each link.
 */
class EtxRouting : public Application
{
  public:
    /** @return the type id */
    static TypeId GetTypeId();

    EtxRouting();

    /**
     * Where it is; before the simulation begins.
     * @param radio the node's device in the mesh, with its address
     * @param routes the node's static routes, those of the mesh being this object's from now on
     */
    void SetUp(Ptr<NetDevice> radio, Ptr<Ipv4StaticRouting> routes);

    /**
     * @param destination a mesh node, or any address outside of the mesh: the nearest gateway
     * @return hops of the route; nothing without one
     */
    std::optional<uint32_t> Hops(Ipv4Address destination) const;

  protected:
    void DoDispose() override;

  private:
    /** A way to a node. */
    struct Route
    {
        Ipv4Address nextHop;
        uint32_t hops;
        double etx; //!< sum over its links
        /** @return whether it is the same way, whatever its sum is now */
        bool operator==(const Route& other) const;
    };

    /** What a node has told of itself. */
    struct Told
    {
        uint16_t number; //!< of the TC
        bool gateway;
        std::vector<EtxLink> links;
        Time until; //!< it holds
    };

    using Routes = std::map<Ipv4Address, Route>;

    void StartApplication() override;
    void StopApplication() override;
    void SendHello();
    void SendTc();
    /** @return a message about the node itself */
    EtxMessage Own(EtxMessage::Kind kind, uint16_t number) const;
    void Send(const EtxMessage& message);
    void Receive(Ptr<Socket> socket);
    void ReceiveTc(const EtxMessage& message);
    /** @return the next time, at random within a quarter before it (RFC 3626, section 18.3) */
    Time Next(Time interval);
    /** @return the links to neighbours of whom anything is heard */
    std::vector<EtxLink> Links() const;
    /** Finds the best paths, and sets routes where they are others. */
    void FindRoutes();
    /** @return the best path to each node, by Dijkstra's algorithm */
    Routes BestPaths() const;
    /** @return the links of a node, as they are known here */
    std::vector<EtxLink> LinksOf(Ipv4Address node) const;
    /** @return the route to the nearest gateway; nothing at one, and without one */
    std::optional<Route> WayOut() const;
    void SetRoutes(const Routes& routes);
    void SetHostRoute(Ipv4Address destination, const Route* before, const Route* now);
    void SetWayOut();

    Time m_helloInterval;
    Time m_tcInterval;
    bool m_gateway;
    Ptr<NetDevice> m_radio;
    Ptr<Ipv4StaticRouting> m_table;
    Ipv4Address m_self;
    Ipv4Mask m_mesh; //!< of the mesh's addresses
    Ptr<Socket> m_socket;
    Ptr<UniformRandomVariable> m_jitter;
    EventId m_hello;
    EventId m_tc;
    uint16_t m_helloNumber{0};
    uint16_t m_tcNumber{0};
    std::map<Ipv4Address, EtxNeighbour> m_neighbours;
    std::map<Ipv4Address, Told> m_told; //!< by who told it
    Routes m_routes;
    std::optional<Route> m_wayOut;
    TracedCallback<> m_changed;
};

} // namespace ns3

#endif // MESHPACE_ETX_ROUTING_H
