/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_PATH_READER_H
#define MESHPACE_PATH_READER_H

#include "meshpace/meshpace.h"

#include "ns3/wifi-net-device.h"

#include <vector>

namespace ns3
{

/**
 * @file
 * What the law `map` is told of a path: read from the simulated radios, as a driver would tell it.
 */

/** What no radio tells. */
struct PathAssumptions
{
    double exponent{3};    //!< path-loss exponent that the law assumes (p in MAP)
    bool positions{false}; //!< whether the positions of the path's nodes are known
};

/**
 * The carrier-sense threshold of a radio (T_cs in MAP): the least power at which its PHY detects a
 * preamble on an idle channel, or takes any energy for a busy one.
 *
 * @param radio a radio
 * @return the power, dBm
 */
double CarrierSenseDbm(Ptr<WifiNetDevice> radio);

/**
 * Power at which a radio receives another, through their channel's loss model.
 *
 * @param from who sends
 * @param to who receives, on the same channel
 * @return the power, dBm
 */
double ReceivedDbm(Ptr<WifiNetDevice> from, Ptr<WifiNetDevice> to);

/**
 * MAP's inputs as the sender's radio tells them: transmit power and antenna, the signal of the next
 * hop, carrier-sense threshold, frequency (MAP eq. 2 to 7).
 *
 * @param own the sender's radio
 * @param nextHop the next hop's radio
 * @param exponent path-loss exponent that the law assumes
 * @return the inputs
 */
mp_radio ReadRadio(Ptr<WifiNetDevice> own, Ptr<WifiNetDevice> nextHop, double exponent);

/**
 * The path's links for the law `map`: contention window, slot, bit rate of control frames and
 * RTS/CTS of the sender's radio, and H_cs (MAP eq. 7), which core/ makes of ReadRadio.
 *
 * @param path the radios from the sender to the last hop, at least two
 * @param assumptions what no radio tells
 * @return the links
 */
mp_link ReadLink(const std::vector<Ptr<WifiNetDevice>>& path, const PathAssumptions& assumptions);

} // namespace ns3

#endif // MESHPACE_PATH_READER_H
