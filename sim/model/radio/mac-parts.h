/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_MAC_PARTS_H
#define MESHPACE_MAC_PARTS_H

#include "ns3/frame-exchange-manager.h"
#include "ns3/wifi-mac.h"
#include "ns3/wifi-net-device.h"

namespace ns3
{

/**
 * Makes a MAC of one link a device's, with a frame exchange manager that ns-3's WifiMacHelper
 * would not give it, and with ns-3's own parts otherwise.
 *
 * @param mac the MAC, with its queues
 * @param device its device, which has its PHY and station manager already
 * @param exchange its frame exchange manager
 */
void SetUpMac(Ptr<WifiMac> mac, Ptr<WifiNetDevice> device, Ptr<FrameExchangeManager> exchange);

} // namespace ns3

#endif // MESHPACE_MAC_PARTS_H
