/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_SINR_RADIO_H
#define MESHPACE_SINR_RADIO_H

#include "scenario.h"

#include "ns3/net-device-container.h"
#include "ns3/node-container.h"

namespace ns3
{

/**
 * Gives nodes ns-3's own radio, all on one channel: a frame is lost with the probability that
 * ns-3's error model makes of the ratio of its power to noise and interference; power falls with
 * the logarithm of the distance, from free space at 1 m, by path_loss_exponent, and by what
 * shadowing a link has, and varies from frame to frame where there is fading.
 *
 * @param nodes nodes with a mobility model
 * @param config the radio
 * @return their devices, in the nodes' order
 * @throws ScenarioError when the standard has no such bit rate
 */
NetDeviceContainer InstallSinrRadio(const NodeContainer& nodes, const RadioConfig& config);

} // namespace ns3

#endif // MESHPACE_SINR_RADIO_H
