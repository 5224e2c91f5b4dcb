/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_RUNNER_RADIO_H
#define MESHPACE_RUNNER_RADIO_H

#include "scenario.h"

#include "ns3/net-device-container.h"
#include "ns3/node-container.h"

#include <cstdint>

namespace ns3
{

/**
 * Gives nodes a radio each, all on one channel, of the model that the scenario names.
 *
 * @param nodes nodes with a mobility model
 * @param config the radio
 * @return their devices, in the nodes' order
 * @throws ScenarioError when the standard has no such bit rate
 */
NetDeviceContainer InstallRadio(const NodeContainer& nodes, const RadioConfig& config);

/**
 * @param config a radio
 * @return the bit rate of its data frames, kbit/s (b in the papers)
 */
uint32_t DataKbps(const RadioConfig& config);

/**
 * How far apart two nodes may stand that have a link. The range radio: tx_range_m. The sinr
 * radio: as far as one attempt at a data frame gets through with at least LINK_SUCCESS, on an
 * idle channel.
 *
 * @param scenario the scenario, whose flows tell how large data frames are
 * @return the distance, m
 */
double LinkReachM(const Scenario& scenario);

/** Least probability that an attempt succeeds for there to be a link (ETX of at most 2). */
constexpr double LINK_SUCCESS = 0.5;

} // namespace ns3

#endif // MESHPACE_RUNNER_RADIO_H
