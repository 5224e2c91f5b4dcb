/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_DIRECTIONS_H
#define MESHPACE_DIRECTIONS_H

#include "port-places.h"

#include "../runner/network.h"

#include <nlohmann/json.hpp>

namespace ns3
{

/** The mesh's addresses. */
Ipv4Mask MeshMask();

/** The addresses of one wired link. */
Ipv4Mask WiredMask();

/**
 * Says what a caller needs to configure the namespaces: addresses, routes, neighbours.
 *
 * @param scenario the scenario
 * @param network the network built from it
 * @param places where its interfaces are
 * @return the line that meshpace-mesh prints when it is ready (doc/realtime.md)
 */
nlohmann::ordered_json Directions(const Scenario& scenario,
                                  const MeshNetwork& network,
                                  const PortPlaces& places);

} // namespace ns3

#endif // MESHPACE_DIRECTIONS_H
