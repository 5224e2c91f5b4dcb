/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_NETWORK_H
#define MESHPACE_NETWORK_H

#include "link-drops.h"
#include "mesh-tree.h"
#include "scenario.h"
#include "wired-part.h"

#include "ns3/ipv4-address.h"
#include "ns3/net-device-container.h"
#include "ns3/node-container.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ns3
{

/**
 * The network of a scenario: mesh nodes with their radios, gateways, routers and wired hosts,
 * addresses and routes.
 *
 * The mesh is 10.1.0.0/16, the first gateway 10.1.0.1. Behind each gateway are two routers,
 * and on the second of them its wired hosts, each by a link of its own. With OLSR the second
 * router is the same for all gateways, and so a host is behind each of them.
 *
 * Radios of one number are on one channel, radios of different numbers on channels that do
 * not interfere. With two, the hop before the destination goes over the first radios, the
 * hop before that over the second, and so on by turns.
 */
class MeshNetwork
{
  public:
    /**
     * Builds it.
     * @param scenario the scenario
     * @throws ScenarioError when a mesh node cannot be reached from the gateway
     */
    explicit MeshNetwork(const Scenario& scenario);

    /** @return the node of a mesh node or wired host */
    Ptr<Node> GetNode(const std::string& name) const;
    /** @return its address */
    Ipv4Address Address(const std::string& name) const;
    /** @return whether it is a wired host */
    bool IsWired(const std::string& name) const;
    /** @return wireless hops from the nearest gateway to a mesh node, 0 for a wired host */
    uint32_t Hops(const std::string& name) const;
    /**
     * @param from a mesh node or wired host
     * @param to a mesh node or wired host, not both wired; of two mesh nodes the receiver of a
     *           flow, or a gateway
     * @return wireless hops of the path, for a wired host those to its gateway
     */
    uint32_t HopsBetween(const std::string& from, const std::string& to) const;
    /**
     * Hops by OLSR's routes as they are now.
     * @param from a mesh node
     * @param to a mesh node or wired host
     * @return hops of the route, for a wired host those to the gateway; nothing without a route
     */
    std::optional<uint32_t> LiveHops(const std::string& from, const std::string& to) const;
    /**
     * @param name a mesh node
     * @return the gateway by which wired hosts reach it now, by OLSR; none: empty
     */
    std::string LiveGatewayOf(const std::string& name) const;
    /** @return the last router, with OLSR the one on which all wired hosts hang */
    Ptr<Node> LastRouter() const;
    /** @return how many radios each mesh node has */
    uint32_t Radios() const;
    /** @return the mesh nodes of a path, both ends (or the gateway for a wired one) included */
    std::vector<std::string> MeshPath(const std::string& from, const std::string& to) const;
    /** @return a radio of a mesh node, the first unless another is named */
    Ptr<NetDevice> MeshDevice(const std::string& name, uint32_t radio = 0) const;

    /** @return the gateways' names in the scenario's order */
    std::vector<std::string> Gateways() const;
    /** @return the gateway behind which a wired host hangs; with OLSR the first one */
    const std::string& GatewayOf(const std::string& host) const;
    /** @return a wired host's device, or a gateway's to the wired network */
    Ptr<NetDevice> WiredDevice(const std::string& name) const;
    /** @return the router at the other end of that device's link */
    Ipv4Address WiredRouter(const std::string& name) const;

    /** @return the links on which packets were dropped since ResetStatistics, by their nodes */
    std::vector<LinkDrops> Links() const;
    /** Forgets the drops: the warm-up is over. */
    void ResetStatistics();

  private:
    void CreateNodes();
    /** @return whether OLSR by hops routes, in the mesh and in the wired part */
    bool Olsr() const;
    void FindRoutes();
    void InstallStacks();
    void ConnectWired();
    void AssignMeshAddresses();
    void AddStaticMeshRoutes();
    /** Routes from gateways to wired hosts, and to nobody else. */
    void AddRoutesToHosts();
    /** @return the radio for a hop, by the hops left to the destination, this one included */
    uint32_t RadioFor(uint32_t hopsLeft) const;
    /** @return the place of a gateway's wired part in m_wiredParts */
    uint32_t PartOf(uint32_t gateway) const;
    void FillArpCaches();

    const Scenario& m_scenario;
    std::map<uint32_t, MeshTree> m_trees; //!< by destination: gateways, ends of flows and pings
    std::map<std::string, uint32_t> m_meshIndex;
    std::map<std::string, uint32_t> m_wiredIndex;
    const std::vector<uint32_t> m_gateways;         //!< indices, in the scenario's order
    std::map<std::string, uint32_t> m_hostGateways; //!< index of each wired host's gateway
    NodeContainer m_mesh;
    NodeContainer m_routers;
    NodeContainer m_hosts;
    std::vector<NetDeviceContainer> m_meshDevices; //!< by number of the radio
    std::vector<WiredPart> m_wiredParts;           //!< as m_gateways
    LinkDropMeter m_drops;
};

} // namespace ns3

#endif // MESHPACE_NETWORK_H
