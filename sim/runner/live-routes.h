/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_LIVE_ROUTES_H
#define MESHPACE_LIVE_ROUTES_H

#include "network.h"

#include "ns3/meshpace-gateway.h"
#include "ns3/nstime.h"
#include "ns3/tcp-meshpace.h"

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace ns3
{

/**
 * Follows OLSR's routing tables while the simulation runs: tells the laws their paths' hops
 * whenever they change, and notes by which gateway each client goes. Without OLSR it does nothing.
 */
class LiveRoutes
{
  public:
    /** A client has another gateway. */
    struct Handover
    {
        std::string client;  //!< who
        std::string gateway; //!< the new one
        Time at;             //!< when the wired hosts' router knew it
    };

    /**
     * Watches the clients.
     * @param scenario the scenario
     * @param network its network; both outlive this
     */
    LiveRoutes(const Scenario& scenario, const MeshNetwork& network);

    LiveRoutes(const LiveRoutes&) = delete;
    LiveRoutes& operator=(const LiveRoutes&) = delete;

    /**
     * Tells a gateway's law how far the mesh ends of the flows are, and which it does not reach.
     * @param name the gateway
     * @param law its law
     */
    void Tell(const std::string& name, Ptr<MeshpaceGateway> law);

    /**
     * Tells a sender's law how far the gateway, or the receiver, is, for as long as anybody else knows the law.
     * @param flow the flow
     * @param law the law of one of its connections, of which several may be open; null: none
     */
    void Tell(const FlowConfig& flow, Ptr<TcpMeshpace> law);

    /** @return the clients' changes of gateway, their first one included, in their order */
    const std::vector<Handover>& Handovers() const;

  private:
    void Watch(Ptr<Node> node, std::function<void()> changed);
    void TellGateway(const std::string& name, Ptr<MeshpaceGateway> law) const;
    void TellSender(const FlowConfig& flow) const;
    void NoteGateway(const std::string& client);

    const Scenario& m_scenario;
    const std::vector<FlowConfig> m_traffic;
    const MeshNetwork& m_network;
    std::deque<std::function<void()>> m_watchers;  //!< where they stay
    std::map<std::string, std::vector<Ptr<TcpMeshpace>>> m_senders; //!< by flow
    std::map<std::string, std::string> m_gateways; //!< by client
    std::vector<Handover> m_handovers;
};

} // namespace ns3

#endif // MESHPACE_LIVE_ROUTES_H
