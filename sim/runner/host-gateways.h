/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_HOST_GATEWAYS_H
#define MESHPACE_HOST_GATEWAYS_H

#include "mesh-tree.h"
#include "scenario.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ns3
{

/** @return the indices of the gateways among the nodes, in their order */
std::vector<uint32_t> GatewayIndices(const std::vector<NodeConfig>& nodes);

/**
 * Finds the gateway behind which each wired host hangs: the one that its flows name by `via`;
 * where none names one, that nearest in hops to the flow's mesh end, then first in the scenario.
 *
 * @param scenario the scenario
 * @param trees shortest paths by destination, those to the gateways among them
 * @return the gateway's index, by host
 * @throws ScenarioError when a host's flows go through different gateways
 */
std::map<std::string, uint32_t> FindHostGateways(const Scenario& scenario,
                                                 const std::map<uint32_t, MeshTree>& trees);

} // namespace ns3

#endif // MESHPACE_HOST_GATEWAYS_H
