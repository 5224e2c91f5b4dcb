/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_ETX_STACK_H
#define MESHPACE_ETX_STACK_H

#include "scenario.h"

#include "../model/routing/etx-routing.h"

#include "ns3/net-device-container.h"

namespace ns3
{

/** @return whether a scenario's mesh is routed by OLSR with ETX */
bool RoutedByEtx(const Scenario& scenario);

/**
 * Has mesh nodes routed by OLSR with ETX, which have static routes and addresses.
 *
 * @param scenario the scenario, with the intervals
 * @param radios the nodes' devices, in the scenario's order
 */
void InstallEtx(const Scenario& scenario, const NetDeviceContainer& radios);

/** @return a node's routing; null: it has none */
Ptr<EtxRouting> EtxOf(Ptr<Node> node);

} // namespace ns3

#endif // MESHPACE_ETX_STACK_H
