/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_RUNNER_MOBILITY_H
#define MESHPACE_RUNNER_MOBILITY_H

#include "scenario.h"

#include "ns3/node-container.h"

namespace ns3
{

/**
 * Puts the nodes of a mesh where the scenario has them; those that are clients walk to and fro.
 *
 * @param mesh the nodes, in the scenario's order
 * @param scenario the scenario
 */
void InstallMobility(const NodeContainer& mesh, const Scenario& scenario);

} // namespace ns3

#endif // MESHPACE_RUNNER_MOBILITY_H
