/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_RUNNER_QUEUEING_H
#define MESHPACE_RUNNER_QUEUEING_H

#include "scenario.h"

#include "ns3/net-device-container.h"
#include "ns3/node-container.h"

#include <vector>

namespace ns3
{

/**
 * @param scenario the scenario
 * @param node index of a mesh node
 * @return how packets wait for its radios: "fifo", "fq_codel", "codel", "yang"; "law" at a gateway
 *         whose law paces (one that shapes leaves its radios as they are)
 */
std::string QueueingAt(const Scenario& scenario, uint32_t node);

/**
 * Gives every radio of every mesh node its queue discipline. Those of a fifo and of a gateway's law
 * have none from here.
 *
 * Under CoDel and fq_codel packets wait in the discipline, not below it, where it would not see
 * them: the MAC keeps as few frames as it needs.
 *
 * @param scenario the scenario
 * @param mesh the mesh nodes, with stacks installed
 * @param devices their radios, by number
 */
void InstallQueueing(const Scenario& scenario,
                     const NodeContainer& mesh,
                     const std::vector<NetDeviceContainer>& devices);

} // namespace ns3

#endif // MESHPACE_RUNNER_QUEUEING_H
