/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_SINR_PHY_H
#define MESHPACE_SINR_PHY_H

#include "scenario.h"

#include "ns3/nstime.h"
#include "ns3/wifi-mode.h"
#include "ns3/wifi-phy-common.h"
#include "ns3/wifi-standards.h"
#include "ns3/wifi-units.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ns3
{

/** A standard as ns-3 knows it, with the modes that a scenario's bit rates mean. */
struct SinrPhy
{
    WifiStandard standard;
    std::string channel;
    double frequencyMhz;
    MHz_u widthMhz;
    bool qos; // and so aggregation
    WifiMode data;
    std::vector<WifiMode> candidates; // what rate control chooses from; only data where it is fixed
    WifiMode control;                 // of RTS
    WifiMode broadcast;
    std::vector<std::string> basic; // CTS and ACK go at the fastest not above the data's
    WifiMode header;
    uint32_t headerBits; // sent in that mode before the frame
    double preambleSnrDb;
    WifiPreamble preamble;
};

/** ns-3's default, stated because the reach of a link depends on it. */
constexpr double SINR_NOISE_FIGURE_DB = 7;

/**
 * @param config a sinr radio
 * @return what ns-3 calls it
 * @throws ScenarioError when the standard has no such bit rate
 */
SinrPhy SinrPhyOf(const RadioConfig& config);

/** @return the guard interval of data, the shortest that all standards' modes know */
Time SinrGuardInterval();

/**
 * @param config a sinr radio
 * @return whether its standard has QoS, aggregates, and bit rates named by an MCS
 */
bool SinrAggregates(const RadioConfig& config);

/**
 * @param config a sinr radio that aggregates
 * @return the greatest MCS of one stream over its channel
 */
uint32_t SinrMostMcs(const RadioConfig& config);

/**
 * @param config a sinr radio that aggregates
 * @return the widths of channels that it may have, MHz
 */
std::vector<std::string> SinrWidths(const RadioConfig& config);

} // namespace ns3

#endif // MESHPACE_SINR_PHY_H
