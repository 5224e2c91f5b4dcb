/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "radio.h"

#include "range-radio.h"
#include "sinr-links.h"
#include "sinr-radio.h"

#include <algorithm>
#include <cmath>

namespace ns3
{

namespace
{

constexpr uint32_t TCP_IP_HEADER_BYTES = 40;

/** @return the largest packet that the scenario's flows send, with its headers */
uint32_t
LargestPacketBytes(const Scenario& scenario)
{
    uint32_t bytes = 0;
    for (const auto& flow : TrafficOf(scenario))
    {
        bytes = std::max(bytes, flow.segment_bytes + TCP_IP_HEADER_BYTES);
    }
    return bytes;
}

} // namespace

NetDeviceContainer
InstallRadio(const NodeContainer& nodes, const RadioConfig& config)
{
    return config.model == "sinr" ? InstallSinrRadio(nodes, config)
                                  : InstallRangeRadio(nodes, config);
}

uint32_t
DataKbps(const RadioConfig& config)
{
    return config.model == "sinr" ? SinrDataKbps(config) : std::lround(config.data_mbps * 1000);
}

double
LinkReachM(const Scenario& scenario)
{
    const auto& radio = scenario.radio;
    return radio.model == "sinr" ? SinrReachM(radio, LargestPacketBytes(scenario), LINK_SUCCESS)
                                 : radio.tx_range_m;
}

} // namespace ns3
