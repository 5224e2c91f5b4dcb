/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_LINK_RATES_H
#define MESHPACE_LINK_RATES_H

#include "network.h"
#include "scenario.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ns3
{

/** @file Links of the mesh that have bit rates of their own (`[[link]]`), and who knows of them. */

/**
 * Gives links their bit rates, both ways and on all radios; control frames keep theirs.
 *
 * @param scenario the scenario, which names the links
 * @param network its network
 * @throws ScenarioError when the standard has no such rate
 */
void SetLinkRates(const Scenario& scenario, const MeshNetwork& network);

/**
 * @param network the network
 * @param from where a path begins: a mesh node, or a wired host
 * @param to where it ends
 * @return the bit rates at which the radios of the path send, kbit/s, by the static routes; none
 *         when it has no wireless link
 */
std::vector<uint32_t> PathRates(const MeshNetwork& network,
                                const std::string& from,
                                const std::string& to);

/**
 * Has every mesh node gather rates on ACKs.
 * @param scenario the scenario
 * @param network its network
 */
void InstallGathering(const Scenario& scenario, const MeshNetwork& network);

} // namespace ns3

#endif // MESHPACE_LINK_RATES_H
