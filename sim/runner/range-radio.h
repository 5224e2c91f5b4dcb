/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_RANGE_RADIO_H
#define MESHPACE_RANGE_RADIO_H

#include "scenario.h"

#include "ns3/net-device-container.h"
#include "ns3/node-container.h"

namespace ns3
{

/**
 * Gives nodes the papers' radio, all on one channel: ns-2's two-ray ground radio, which
 * decodes up to tx_range_m and senses up to cs_range_m.
 *
 * @param nodes nodes with a mobility model
 * @param config the radio
 * @return their devices, in the nodes' order
 */
NetDeviceContainer InstallRangeRadio(const NodeContainer& nodes, const RadioConfig& config);

} // namespace ns3

#endif // MESHPACE_RANGE_RADIO_H
