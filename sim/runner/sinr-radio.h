/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_SINR_RADIO_H
#define MESHPACE_SINR_RADIO_H

#include "scenario.h"

#include "ns3/net-device-container.h"
#include "ns3/node-container.h"

#include <cstdint>

namespace ns3
{

/**
 * Gives nodes ns-3's own radio, all on one channel: a frame is lost with the probability that
 * ns-3's error model makes of the ratio of its power to noise and interference; power falls with
 * the logarithm of the distance, from free space at 1 m, by path_loss_exponent.
 *
 * @param nodes nodes with a mobility model
 * @param config the radio
 * @return their devices, in the nodes' order
 * @throws ScenarioError when the standard has no such bit rate
 */
NetDeviceContainer InstallSinrRadio(const NodeContainer& nodes, const RadioConfig& config);

/**
 * @param config a sinr radio
 * @return the bit rate of its data frames, kbit/s
 */
uint32_t SinrDataKbps(const RadioConfig& config);

/**
 * @param config a sinr radio
 * @param distanceM how far apart sender and receiver are
 * @param packetBytes length of an IP packet
 * @return the probability that one attempt at it gets through, on an idle channel
 */
double SinrSuccess(const RadioConfig& config, double distanceM, uint32_t packetBytes);

/**
 * @param config a sinr radio
 * @param packetBytes length of an IP packet
 * @param success a probability
 * @return the greatest distance at which one attempt gets through with at least it, m
 */
double SinrReachM(const RadioConfig& config, uint32_t packetBytes, double success);

} // namespace ns3

#endif // MESHPACE_SINR_RADIO_H
