/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_OUTAGES_H
#define MESHPACE_OUTAGES_H

#include "network.h"
#include "scenario.h"

namespace ns3
{

/**
 * Has the radios of nodes fail when the scenario says so, its times counted from now on: nobody
 * hears them, they hear nobody, as if the node were far away, where it is put. Its MAC goes on, and
 * gives frames up as any does that find nobody. Routes that are static stay.
 *
 * ns-3 can turn a PHY off (WifiPhy::SetOffMode). But neighbours that had a block ACK agreement
 * with it, of 802.11ac, were seen never to send to it again.
 *
 * @param scenario the scenario
 * @param network its network; both outlive the simulation
 */
void ScheduleOutages(const Scenario& scenario, const MeshNetwork& network);

} // namespace ns3

#endif // MESHPACE_OUTAGES_H
