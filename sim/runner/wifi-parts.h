/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_WIFI_PARTS_H
#define MESHPACE_WIFI_PARTS_H

#include "scenario.h"

#include "ns3/net-device-container.h"
#include "ns3/wifi-helper.h"
#include "ns3/wifi-net-device.h"
#include "ns3/yans-wifi-channel.h"

#include <string>
#include <vector>

namespace ns3
{

/**
 * @file
 * What the radio models have in common: everything above the PHY, and the channel.
 */

/**
 * @param mbps a bit rate of 802.11b
 * @return the name of its mode
 * @throws ScenarioError when there is none
 */
std::string DsssModeName(double mbps);

/**
 * @param mbps a bit rate of 802.11g's OFDM
 * @return the name of its mode
 * @throws ScenarioError when there is none
 */
std::string ErpModeName(double mbps);

/**
 * @param standard "802.11b" or "802.11g"
 * @param mbps a bit rate of it
 * @return the name of its mode
 * @throws ScenarioError when there is none
 */
std::string DataModeName(const std::string& standard, double mbps);

/**
 * @param config the radio
 * @return the bit rate of its broadcast frames, Mbit/s
 */
double BroadcastMbps(const RadioConfig& config);

/**
 * @param loss a loss model
 * @return a channel with it, at the speed of light
 */
Ptr<YansWifiChannel> CreateChannel(Ptr<PropagationLossModel> loss);

/**
 * Sets constant bit rates and ns-2's retry limits, for a MAC without QoS.
 *
 * @param wifi where to set them
 * @param config the radio
 * @param dataMode mode of data frames
 * @param controlMode mode of control frames
 * @param broadcastMode mode of broadcast frames
 */
void SetNs2Stations(WifiHelper& wifi,
                    const RadioConfig& config,
                    const std::string& dataMode,
                    const std::string& controlMode,
                    const std::string& broadcastMode);

/**
 * @param config the radio
 * @return the length from which on frames are announced by RTS, bytes
 */
uint32_t RtsThresholdBytes(const RadioConfig& config);

/**
 * @param config the radio
 * @return how often a data frame is sent before it is dropped
 */
uint32_t DataAttempts(const RadioConfig& config);

/**
 * Makes rates the only basic ones: CTS and ACK are sent at the fastest of them that is not faster
 * than data.
 *
 * An ad hoc MAC makes all mandatory rates basic when it first meets a neighbour; ACKs would
 * then be as fast as data. So it gets to know all its neighbours here.
 *
 * @param device the device
 * @param all its neighbours, and itself, which it gets to know; none where the MAC has to
 * @param modes the rates' modes, the slowest first
 */
void SetBasicRates(Ptr<WifiNetDevice> device,
                   const NetDeviceContainer& all,
                   const std::vector<std::string>& modes);

/**
 * Gives a device's best-effort queue its length, and no time limit, which ns-2's interface queue has
 * not, unless it sends aggregates.
 *
 * @param device the device
 * @param packets its length
 */
void SetQueue(Ptr<WifiNetDevice> device, uint32_t packets);

} // namespace ns3

#endif // MESHPACE_WIFI_PARTS_H
