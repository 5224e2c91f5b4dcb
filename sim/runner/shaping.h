/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_SHAPING_H
#define MESHPACE_SHAPING_H

#include "network.h"
#include "scenario.h"

#include "ns3/rated-queue-disc.h"

#include <string>

namespace ns3
{

/**
 * @param law gateway.law
 * @return whether the gateway only shapes, with no law that paces: "cake", "hosts"
 */
bool IsShaping(const std::string& law);

/** What waits at a gateway that shapes. */
struct Shaping
{
    Ptr<RatedQueueDisc> down; //!< from the wired network to the mesh
    Ptr<RatedQueueDisc> up;   //!< from the mesh to the wired network
};

/**
 * Shapes what passes between the mesh and the wired network at a gateway: downloads where they arrive
 * from the wired network, by an IngressQueue, uploads where they leave to it. What stays in the mesh is
 * not shaped.
 *
 * @param scenario the scenario, whose gateway.law shapes
 * @param network its network
 * @param gateway the name of a gateway
 * @return its queues
 */
Shaping InstallShaping(const Scenario& scenario,
                       const MeshNetwork& network,
                       const std::string& gateway);

} // namespace ns3

#endif // MESHPACE_SHAPING_H
