/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_REALTIME_MESH_H
#define MESHPACE_REALTIME_MESH_H

#include "lag-meter.h"
#include "port-places.h"
#include "port-reader.h"

#include "../runner/network.h"
#include "../runner/scenario.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace ns3
{

/**
 * The network of a scenario in real time: relays and the wired part as in the simulation; the
 * gateway, the ends of the flows and the wired hosts in Linux.
 *
 * The scenario's traffic and laws are not run: they are Linux's business.
 */
class RealtimeMesh
{
  public:
    /**
     * Builds the network and makes the interfaces.
     * @param scenario the scenario, which outlives this
     * @param seed number of the run
     * @param places where they go
     * @throws ScenarioError when a node is not there, or lacks a place
     * @throws HostError when the kernel refuses real-time scheduling or an interface
     */
    RealtimeMesh(const Scenario& scenario, uint32_t seed, const PortPlaces& places);
    ~RealtimeMesh();

    RealtimeMesh(const RealtimeMesh&) = delete;
    RealtimeMesh& operator=(const RealtimeMesh&) = delete;

    /**
     * Runs until SIGTERM, SIGINT or the end of standard input; prints the directions once it
     * does. SIGUSR2 says that the run begins, from when on outages are counted, SIGUSR1 that its
     * warm-up is over.
     * @param lagFile where the lag is written once a second; empty: nowhere
     * @throws HostError when an interface or a namespace vanishes
     */
    void Run(const std::string& lagFile);

    /** @return lag, frames of each port, drops of each link, since the end of the warm-up */
    nlohmann::ordered_json Report() const;

  private:
    void AddMeshPort(const std::string& node, const PortPlace& place);
    void AddWiredPort(const std::string& node, const PortPlace& place);
    void Begin();
    void BeReady();
    void Hear(uint32_t signal);
    void EndWarmup();
    void WriteLag(std::stop_token stop, const std::string& file) const;

    const Scenario& m_scenario;
    const PortPlaces m_places;
    PortReader m_reader;
    std::unique_ptr<MeshNetwork> m_network;
    PortReader::Ports m_ports;
    std::vector<std::pair<std::string, std::string>> m_names; //!< node and side of each port
    LagMeter m_lag;
    bool m_begun{false}; //!< outages are scheduled once
};

} // namespace ns3

#endif // MESHPACE_REALTIME_MESH_H
