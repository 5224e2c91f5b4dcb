/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_NETWORK_H
#define MESHPACE_NETWORK_H

#include "mesh-tree.h"
#include "scenario.h"

#include "ns3/ipv4-address.h"
#include "ns3/net-device-container.h"
#include "ns3/node-container.h"
#include "ns3/packet.h"
#include "ns3/wifi-mac.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ns3
{

/** Packets that a directed wireless link gave up on at the retry limit. */
struct LinkDrops
{
    std::string from;       //!< node that could not deliver
    std::string to;         //!< next hop
    uint64_t dataDrops{0};  //!< TCP segments with payload
    uint64_t ackDrops{0};   //!< TCP segments without
    uint64_t otherDrops{0}; //!< anything else (UDP, routing)
};

/**
 * The network of a scenario: mesh nodes with their radio, the gateway, routers and wired
 * hosts, addresses and routes.
 *
 * The mesh is 10.1.0.0/16, the gateway 10.1.0.1. Wired hosts hang on the second of two
 * routers behind the gateway, each by a link of its own.
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
    /** @return wireless hops from the gateway to a mesh node, 0 for a wired host */
    uint32_t Hops(const std::string& name) const;
    /** @return wireless hops of a path that may pass the gateway */
    uint32_t HopsBetween(const std::string& from, const std::string& to) const;
    /** @return the radio of a mesh node */
    Ptr<NetDevice> MeshDevice(const std::string& name) const;

    /** @return the gateway */
    Ptr<Node> Gateway() const;
    /** @return its radio */
    Ptr<NetDevice> GatewayMeshDevice() const;
    /** @return its device to the wired network */
    Ptr<NetDevice> GatewayWiredDevice() const;

    /** @return the links on which packets were dropped since ResetStatistics, by their nodes */
    std::vector<LinkDrops> Links() const;
    /** Forgets the drops: the warm-up is over. */
    void ResetStatistics();

  private:
    void CreateNodes();
    void FindRoutes();
    void InstallStacks();
    void ConnectWired();
    void AssignMeshAddresses();
    void AddWiredRoutes();
    void AddStaticMeshRoutes();
    void FillArpCaches();
    void InstallQueueDiscs();
    void TraceDrops();
    void Dropped(uint32_t node, WifiMacDropReason reason, Ptr<const WifiMpdu> mpdu);

    const Scenario& m_scenario;
    std::map<uint32_t, MeshTree> m_trees; //!< by destination: the gateway and all flows' ends
    std::map<std::string, uint32_t> m_meshIndex;
    std::map<std::string, uint32_t> m_wiredIndex;
    uint32_t m_gatewayIndex{0};
    NodeContainer m_mesh;
    NodeContainer m_routers;
    NodeContainer m_hosts;
    NetDeviceContainer m_meshDevices;
    NetDeviceContainer m_uplink;         //!< gateway, first router
    NetDeviceContainer m_backbone;       //!< first router, second router
    std::vector<NetDeviceContainer> m_access; //!< second router, host
    std::map<Mac48Address, uint32_t> m_byMac;
    std::map<std::pair<uint32_t, uint32_t>, LinkDrops> m_drops;
};

} // namespace ns3

#endif // MESHPACE_NETWORK_H
