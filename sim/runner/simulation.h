/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_SIMULATION_H
#define MESHPACE_SIMULATION_H

#include "network.h"
#include "scenario.h"
#include "traffic.h"

#include "../model/meshpace-gateway.h"

#include <memory>
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

    /** @return the gateway's law, null when it is off */
    Ptr<MeshpaceGateway> Gateway() const;

    /**
     * @param flow a flow from or to a wired host
     * @return its connection's state at the gateway, null when it has none
     */
    const MeshpaceConnection* ConnectionOf(const Flow& flow) const;

  private:
    void InstallGateway();
    std::unique_ptr<Flow> CreateFlow(const FlowConfig& config, uint16_t port);
    Ptr<TcpMeshpace> CreateSenderLaw(const FlowConfig& config) const;
    void EndWarmup();

    const Scenario& m_scenario;
    std::unique_ptr<MeshNetwork> m_network;
    Ptr<MeshpaceGateway> m_gateway;
    std::vector<std::unique_ptr<Flow>> m_flows;
};

} // namespace ns3

#endif // MESHPACE_SIMULATION_H
