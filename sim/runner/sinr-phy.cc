/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "sinr-phy.h"

#include "wifi-parts.h"

#include <map>

namespace ns3
{

namespace
{

/**
 * A preamble this much above noise and interference is detected. ns-3's default, 4 dB, is for OFDM;
 * that of 802.11b spreads each bit over 11 chips, and ns-3's own error model loses less than 1 in
 * 10^8 of its headers at 0 dB.
 */
constexpr double DSSS_PREAMBLE_SNR_DB = 0;

/** ns-3's default: an OFDM preamble this much above noise and interference is detected. */
constexpr double OFDM_PREAMBLE_SNR_DB = 4;

constexpr uint32_t DSSS_HEADER_BITS = 48;
constexpr uint32_t OFDM_HEADER_BITS = 24;

/** A channel of 5 GHz: number and centre (IEEE 802.11-2020, annex E). */
struct Channel
{
    uint32_t number;
    double frequencyMhz;
};

/** The lowest channels, by width in MHz: each contains the ones before. */
const std::map<uint32_t, Channel> CHANNELS{{20, {36, 5180}}, {40, {38, 5190}}, {80, {42, 5210}}};

/** A standard with aggregates, as ns-3 names it. */
struct Standard
{
    WifiStandard standard;
    std::string modes; // their names, without the MCS
    uint32_t mostMcs;  // of one stream
    uint32_t mostMhz;
    WifiPreamble preamble;
};

const std::map<std::string, Standard> STANDARDS{
    {"802.11n", {WIFI_STANDARD_80211n, "HtMcs", 7, 40, WIFI_PREAMBLE_HT_MF}},
    {"802.11ac", {WIFI_STANDARD_80211ac, "VhtMcs", 9, 80, WIFI_PREAMBLE_VHT_SU}},
    {"802.11ax", {WIFI_STANDARD_80211ax, "HeMcs", 11, 80, WIFI_PREAMBLE_HE_SU}}};

SinrPhy
DsssPhy(const RadioConfig& config)
{
    const auto control = DsssModeName(config.control_mbps);
    const WifiMode data(DsssModeName(config.data_mbps));
    return {.standard = WIFI_STANDARD_80211b,
            .channel = "{1, 22, BAND_2_4GHZ, 0}",
            .frequencyMhz = 2412,
            .widthMhz = MHz_u{22},
            .qos = false,
            .data = data,
            .candidates = {data},
            .control = WifiMode(control),
            .broadcast = WifiMode(DsssModeName(BroadcastMbps(config))),
            .basic = {control},
            .header = WifiMode(DsssModeName(1)),
            .headerBits = DSSS_HEADER_BITS,
            .preambleSnrDb = DSSS_PREAMBLE_SNR_DB,
            .preamble = WIFI_PREAMBLE_LONG};
}

/** An OFDM standard, its mandatory rates basic, RTS and broadcasts at 6 Mbit/s. */
SinrPhy
OfdmPhy(const std::string& rates, const std::string& data)
{
    const WifiMode slowest(rates + "6Mbps");
    return {.standard = WIFI_STANDARD_80211g,
            .channel = "{1, 20, BAND_2_4GHZ, 0}",
            .frequencyMhz = 2412,
            .widthMhz = MHz_u{20},
            .qos = false,
            .data = WifiMode(data),
            .candidates = {WifiMode(data)},
            .control = slowest,
            .broadcast = slowest,
            .basic = {rates + "6Mbps", rates + "12Mbps", rates + "24Mbps"},
            .header = slowest,
            .headerBits = OFDM_HEADER_BITS,
            .preambleSnrDb = OFDM_PREAMBLE_SNR_DB,
            .preamble = WIFI_PREAMBLE_LONG};
}

/** A standard with aggregates, at 5 GHz. */
SinrPhy
AggregatingPhy(const RadioConfig& config)
{
    const auto& standard = STANDARDS.at(config.standard);
    const auto& channel = CHANNELS.at(config.channel_mhz);
    auto about = OfdmPhy("OfdmRate", standard.modes + std::to_string(config.mcs));
    about.standard = standard.standard;
    about.channel = std::string("{") + std::to_string(channel.number) + ", " +
                    std::to_string(config.channel_mhz) + ", BAND_5GHZ, 0}";
    about.frequencyMhz = channel.frequencyMhz;
    about.widthMhz = MHz_u{static_cast<double>(config.channel_mhz)};
    about.qos = true;
    about.preamble = standard.preamble;
    if (config.rate_control == "minstrel")
    {
        about.candidates.clear();
        for (uint32_t mcs = 0; mcs <= SinrMostMcs(config); mcs++)
        {
            about.candidates.emplace_back(standard.modes + std::to_string(mcs));
        }
    }
    return about;
}

} // namespace

SinrPhy
SinrPhyOf(const RadioConfig& config)
{
    if (config.standard == "802.11b")
    {
        return DsssPhy(config);
    }
    if (config.standard == "802.11g")
    {
        return OfdmPhy("ErpOfdmRate", ErpModeName(config.data_mbps));
    }
    return AggregatingPhy(config);
}

Time
SinrGuardInterval()
{
    return NanoSeconds(800);
}

bool
SinrAggregates(const RadioConfig& config)
{
    return STANDARDS.count(config.standard) > 0;
}

uint32_t
SinrMostMcs(const RadioConfig& config)
{
    const auto most = STANDARDS.at(config.standard).mostMcs;
    // VHT-MCS 9 does not fill whole symbols of one stream over 20 MHz (IEEE 802.11-2020, 21.5).
    return config.standard == "802.11ac" && config.channel_mhz == 20 ? most - 1 : most;
}

std::vector<std::string>
SinrWidths(const RadioConfig& config)
{
    std::vector<std::string> widths;
    for (const auto& [mhz, channel] : CHANNELS)
    {
        if (mhz <= STANDARDS.at(config.standard).mostMhz)
        {
            widths.push_back(std::to_string(mhz));
        }
    }
    return widths;
}

} // namespace ns3
