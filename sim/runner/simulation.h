/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_SIMULATION_H
#define MESHPACE_SIMULATION_H

#include "live-routes.h"
#include "network.h"
#include "pinger.h"
#include "scenario.h"
#include "shaping.h"
#include "tcp-flow.h"

#include "people/person.h"

#include "ns3/meshpace-gateway.h"
#include "ns3/tcp-shaper.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ns3
{

/**
 * One run of a scenario: the network, the gateway's law, the flows.
 */
class Simulation
{
  public:
    /**
     * Builds the scenario.
     * @param scenario the scenario, which outlives the simulation
     * @param seed the number of the run: other random numbers, everything else the same
     */
    Simulation(const Scenario& scenario, uint32_t seed);
    ~Simulation();

    Simulation(const Simulation&) = delete;
    Simulation& operator=(const Simulation&) = delete;

    /** Simulates to the end. */
    void Run();

    /** @return the scenario */
    const Scenario& GetScenario() const;

    /** @return the network */
    const MeshNetwork& Network() const;

    /** @return the flows in the scenario's order */
    const std::vector<std::unique_ptr<Flow>>& Flows() const;

    /** @return the pings in the scenario's order */
    const std::vector<std::unique_ptr<Pinger>>& Pingers() const;

    /** @return the people in the scenario's order */
    const std::vector<std::unique_ptr<Person>>& People() const;

    /** @return the law of each gateway as MeshNetwork::Gateways, none when it is off or shapes */
    const std::vector<Ptr<MeshpaceGateway>>& Gateways() const;

    /** @return what waits at each gateway as MeshNetwork::Gateways, none when no law shapes there */
    const std::vector<Shaping>& ShapingAtGateways() const;

    /** @return what became of the routes */
    const LiveRoutes& Routes() const;

    /**
     * @param flow a flow from or to a wired host
     * @return its latest connection's state at its gateway, with OLSR at the one that has paced it
     *         most; of a flow that has stopped that at its stop; null when it has none
     */
    const MeshpaceConnection* ConnectionOf(const Flow& flow) const;

    /**
     * @param flow a flow from or to a wired host
     * @return statistics of the gateway's law over all its connections
     */
    MeshpaceStatistics GatewayStatistics(const Flow& flow) const;

    /**
     * @param config a flow
     * @return the shaper at its sender, null when it has none
     */
    Ptr<const TcpShaper> ShaperOf(const FlowConfig& config) const;

  private:
    Ptr<MeshpaceGateway> CreateGateway() const;
    void InstallGateway(const std::string& name);
    /** @return the state of one of a flow's connections at its gateway, or null */
    const MeshpaceConnection* FindConnection(const TcpFlow& flow, uint16_t senderPort) const;
    void KeepConnection(const Flow* flow);
    void KeepStatistics(const TcpFlow* flow, uint16_t senderPort);
    /** Tells a gateway of the links to the ends of its flows. */
    void TellLinks(Ptr<MeshpaceGateway> gateway, const std::string& name) const;
    /** @return the links of a flow's path through the mesh, for the law `map` */
    mp_link LinkBetween(const std::string& from, const std::string& to) const;
    std::unique_ptr<Flow> CreateFlow(const FlowConfig& config, uint16_t port);
    Ptr<TcpMeshpace> CreateSenderLaw(const FlowConfig& config) const;
    /** Has a flow shaped at its sender. */
    void Shape(const FlowConfig& config, const FlowEnds& ends);
    void InstallPingers();
    void InstallPeople();
    /** @return what makes the law of a connection that a person opens; empty: none */
    std::function<Ptr<TcpMeshpace>()> LawOf(const PersonConfig& person) const;
    void EndWarmup();

    const Scenario& m_scenario;
    std::unique_ptr<MeshNetwork> m_network;
    std::unique_ptr<LiveRoutes> m_routes;
    std::vector<Ptr<MeshpaceGateway>> m_gateways; //!< as MeshNetwork::Gateways
    std::vector<Shaping> m_shaping;               //!< likewise
    std::vector<std::unique_ptr<Flow>> m_flows;
    std::vector<std::unique_ptr<Pinger>> m_pingers;
    std::vector<std::unique_ptr<Person>> m_people;
    /** What gateways would have forgotten of a flow's connections that ended. */
    struct Ended
    {
        MeshpaceStatistics statistics; //!< since the warm-up
        uint16_t lastPort{0};          //!< the sender's, in the last that is counted here
    };

    std::map<std::string, Ptr<TcpShaper>> m_shapers; //!< by name of the sending node
    std::map<const Flow*, MeshpaceConnection> m_stopped; //!< gateways forget flows that ended
    std::map<const Flow*, Ended> m_ended;
};

} // namespace ns3

#endif // MESHPACE_SIMULATION_H
