/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "range-radio.h"

#include "wifi-parts.h"

#include "../model/radio/range-mac.h"
#include "../model/radio/range-phy.h"
#include "../model/radio/range-receiver.h"
#include "../model/radio/sensed-phy.h"

#include "ns3/boolean.h"
#include "ns3/constant-position-mobility-model.h"
#include "ns3/double.h"
#include "ns3/nstime.h"
#include "ns3/propagation-loss-model.h"
#include "ns3/string.h"
#include "ns3/wifi-helper.h"
#include "ns3/wifi-mac.h"
#include "ns3/wifi-net-device.h"
#include "ns3/wifi-phy.h"
#include "ns3/wifi-utils.h"
#include "ns3/yans-wifi-helper.h"

#include <cmath>
#include <memory>
#include <string>

namespace ns3
{

namespace
{

// ns-2's defaults: a 914 MHz Lucent WaveLAN DSSS radio, 0.28183815 W, antennas 1.5 m up.
constexpr double TX_POWER_DBM = 24.5;
constexpr double FREQUENCY_HZ = 914e6;
constexpr double ANTENNA_M = 1.5;

/** A node exactly at a range is inside it, whatever the last bit of a logarithm. */
constexpr double MARGIN_DB = 1e-6;

/**
 * Noise must not use up the 12 dB by which a frame from 200 m exceeds interference from
 * 400 m: ns-2's radio has none.
 */
constexpr double NOISE_FIGURE_DB = -40;

/** ns-3 states the sensitivity for channels as wide as this. */
constexpr double SENSITIVITY_WIDTH_MHZ = 20;

/** A standard as ns-3 knows it. */
struct Phy
{
    WifiStandard standard;
    const char* channel;
    double widthMhz;
    Time slot;
    std::string (*modeName)(double mbps); //!< the name of the mode with a bit rate
};

Phy
PhyOf(const RadioConfig& config)
{
    if (config.standard == "802.11g")
    {
        return {WIFI_STANDARD_80211g, "{1, 20, BAND_2_4GHZ, 0}", 20, MicroSeconds(9), &ErpModeName};
    }
    return {WIFI_STANDARD_80211b, "{1, 22, BAND_2_4GHZ, 0}", 22, MicroSeconds(20), &DsssModeName};
}

Ptr<TwoRayGroundPropagationLossModel>
CreateLossModel()
{
    return CreateObjectWithAttributes<TwoRayGroundPropagationLossModel>(
        "Frequency",
        DoubleValue(FREQUENCY_HZ),
        "HeightAboveZ",
        DoubleValue(ANTENNA_M));
}

/**
 * @param distanceM a distance
 * @return the power that arrives there, dBm, less the margin
 */
double
PowerAtDbm(double distanceM)
{
    auto sender = CreateObject<ConstantPositionMobilityModel>();
    auto receiver = CreateObject<ConstantPositionMobilityModel>();
    receiver->SetPosition(Vector(distanceM, 0, 0));
    return CreateLossModel()->CalcRxPower(TX_POWER_DBM, sender, receiver) - MARGIN_DB;
}

SensedPhyHelper
CreatePhyHelper(const RadioConfig& config)
{
    const auto about = PhyOf(config);
    const auto senseDbm = PowerAtDbm(config.cs_range_m);
    const auto offsetDb = 10 * std::log10(about.widthMhz / SENSITIVITY_WIDTH_MHZ);
    SensedPhyHelper phy;
    phy.SetChannel(CreateChannel(CreateLossModel()));
    phy.Set("TxPowerStart", DoubleValue(TX_POWER_DBM));
    phy.Set("TxPowerEnd", DoubleValue(TX_POWER_DBM));
    phy.Set("RxNoiseFigure", DoubleValue(NOISE_FIGURE_DB));
    phy.Set("RxSensitivity", DoubleValue(senseDbm - offsetDb));
    phy.Set("CcaEdThreshold", DoubleValue(senseDbm));
    phy.Set("CcaSensitivity", DoubleValue(senseDbm));
    phy.Set("ShortPlcpPreambleSupported", BooleanValue(false));
    phy.Set("ChannelSettings", StringValue(about.channel));
    return phy;
}

/** @return the rules of ns-2's MAC that the scenario wants */
RangeMacRules
RulesOf(const RadioConfig& config)
{
    return {.ctsIgnoresNav = config.cts_ignores_nav,
            .ctsWhenIdle = config.cts_when_idle,
            .ctsWaitsForData = config.cts_waits_for_data,
            .navReset = config.nav_reset,
            .eifsInNav = config.eifs_in_nav,
            .alwaysBacksOff = config.always_back_off};
}

/** What no helper sets: the PHY's shared reception, and what watches all that arrives. */
void
SetReception(Ptr<WifiNetDevice> device, const RadioConfig& config)
{
    const auto decodeW = DbmToW(PowerAtDbm(config.tx_range_m));
    auto errors = CreateObjectWithAttributes<RangeErrorRateModel>("Threshold",
                                                                  DoubleValue(decodeW));
    DoubleValue capture;
    errors->GetAttribute("Capture", capture);
    auto reception = Create<RangeReception>();
    reception->pairwise = config.interference == "pairwise";
    reception->needsFree = config.missed_frames_deafen;
    errors->SetReception(reception);
    device->GetPhy()->SetErrorRateModel(errors);
    auto preambles = CreateObject<RangePreambleDetectionModel>();
    preambles->SetReception(reception);
    device->GetPhy()->SetPreambleDetectionModel(preambles);
    if (!reception->pairwise && !reception->needsFree && !config.cts_when_idle)
    {
        return;
    }
    reception->receiver = Create<RangeReceiver>(DbmToW(PowerAtDbm(config.cs_range_m)),
                                                decodeW,
                                                capture.Get());
    reception->receiver->Watch(device->GetPhy());
    if (auto exchange = DynamicCast<RangeFrameExchangeManager>(
            device->GetMac()->GetFrameExchangeManager()))
    {
        exchange->SetReceiver(reception->receiver);
    }
}

} // namespace

NetDeviceContainer
InstallRangeRadio(const NodeContainer& nodes, const RadioConfig& config)
{
    const auto rules = RulesOf(config);
    std::unique_ptr<WifiMacHelper> mac;
    if (rules.Differ())
    {
        mac = std::make_unique<RangeMacHelper>(rules);
    }
    else
    {
        mac = std::make_unique<WifiMacHelper>();
    }
    mac->SetType("ns3::AdhocWifiMac", "QosSupported", BooleanValue(false));
    const auto about = PhyOf(config);
    const auto control = about.modeName(config.control_mbps);
    WifiHelper wifi;
    wifi.SetStandard(about.standard);
    SetNs2Stations(wifi,
                   config,
                   about.modeName(config.data_mbps),
                   control,
                   about.modeName(BroadcastMbps(config)));
    const auto devices = wifi.Install(CreatePhyHelper(config), *mac, nodes);
    for (uint32_t i = 0; i < devices.GetN(); i++)
    {
        const auto device = DynamicCast<WifiNetDevice>(devices.Get(i));
        // An ad hoc network of 802.11g has ns-3 wait as if radios of 802.11b were there.
        device->GetPhy()->SetSlot(about.slot);
        SetBasicRates(device, devices, {control});
        SetReception(device, config);
        SetQueue(device, config.queue_packets);
    }
    return devices;
}

} // namespace ns3
