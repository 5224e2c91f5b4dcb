/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "radio.h"

#include "../model/range-mac.h"
#include "../model/range-phy.h"

#include "ns3/boolean.h"
#include "ns3/constant-position-mobility-model.h"
#include "ns3/double.h"
#include "ns3/propagation-delay-model.h"
#include "ns3/propagation-loss-model.h"
#include "ns3/queue-size.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"
#include "ns3/wifi-helper.h"
#include "ns3/wifi-mac-queue.h"
#include "ns3/wifi-mac.h"
#include "ns3/wifi-net-device.h"
#include "ns3/wifi-phy.h"
#include "ns3/wifi-utils.h"
#include "ns3/yans-wifi-helper.h"

#include <cmath>
#include <map>
#include <memory>

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

/** ns-3 states the sensitivity for 20 MHz, an 802.11b channel is 22 MHz wide. */
const double SENSITIVITY_OFFSET_DB = 10 * std::log10(22.0 / 20.0);

/** Frames wait as long as it takes: ns-2's interface queue has no time limit. */
constexpr double QUEUE_DELAY_S = 1000;

/** Longer than any frame. */
constexpr uint32_t NEVER_RTS_BYTES = 65535;

// ns-2's retry limits; without RTS every frame counts as a short one.
constexpr uint32_t SHORT_RETRY_LIMIT = 7;
constexpr uint32_t LONG_RETRY_LIMIT = 4;

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

std::string
ModeName(double mbps)
{
    static const std::map<double, std::string> names{{1, "DsssRate1Mbps"},
                                                     {2, "DsssRate2Mbps"},
                                                     {5.5, "DsssRate5_5Mbps"},
                                                     {11, "DsssRate11Mbps"}};
    const auto found = names.find(mbps);
    if (found == names.end())
    {
        throw ScenarioError("radio: 802.11b has no bit rate of " + std::to_string(mbps) +
                            " Mbit/s; use 1, 2, 5.5 or 11");
    }
    return found->second;
}

YansWifiPhyHelper
CreatePhyHelper(const RadioConfig& config)
{
    auto channel = CreateObject<YansWifiChannel>();
    channel->SetPropagationDelayModel(CreateObject<ConstantSpeedPropagationDelayModel>());
    channel->SetPropagationLossModel(CreateLossModel());
    const auto senseDbm = PowerAtDbm(config.cs_range_m);
    YansWifiPhyHelper phy;
    phy.SetChannel(channel);
    phy.Set("TxPowerStart", DoubleValue(TX_POWER_DBM));
    phy.Set("TxPowerEnd", DoubleValue(TX_POWER_DBM));
    phy.Set("RxNoiseFigure", DoubleValue(NOISE_FIGURE_DB));
    phy.Set("RxSensitivity", DoubleValue(senseDbm - SENSITIVITY_OFFSET_DB));
    phy.Set("CcaEdThreshold", DoubleValue(senseDbm));
    phy.Set("CcaSensitivity", DoubleValue(senseDbm));
    phy.Set("ShortPlcpPreambleSupported", BooleanValue(false));
    return phy;
}

WifiHelper
CreateWifiHelper(const RadioConfig& config)
{
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211b);
    wifi.SetRemoteStationManager(
        "ns3::RangeWifiManager",
        "DataMode",
        StringValue(ModeName(config.data_mbps)),
        "ControlMode",
        StringValue(ModeName(config.control_mbps)),
        "NonUnicastMode",
        StringValue(ModeName(config.control_mbps)),
        "RtsCtsThreshold",
        UintegerValue(config.rts_cts ? 0 : NEVER_RTS_BYTES),
        "MaxRtsFailures",
        UintegerValue(SHORT_RETRY_LIMIT),
        "MaxDataFailures",
        UintegerValue(config.rts_cts ? LONG_RETRY_LIMIT : SHORT_RETRY_LIMIT));
    return wifi;
}

/**
 * Makes the control rate the only basic rate, so that CTS and ACK are sent at it.
 *
 * An ad hoc MAC makes all mandatory rates basic when it first meets a neighbour; ACKs would
 * then be as fast as data. So it gets to know all its neighbours here.
 */
void
SetBasicRate(Ptr<WifiNetDevice> device, const NetDeviceContainer& all, const RadioConfig& config)
{
    auto stations = device->GetRemoteStationManager();
    stations->Reset();
    for (uint32_t i = 0; i < all.GetN(); i++)
    {
        stations->RecordDisassociated(Mac48Address::ConvertFrom(all.Get(i)->GetAddress()));
    }
    stations->AddBasicMode(WifiMode(ModeName(config.control_mbps)));
}

/** What no helper sets: the PHY's shared reception, the queue. */
void
Finish(Ptr<WifiNetDevice> device, const RadioConfig& config)
{
    auto reception = Create<RangeReception>();
    auto errors = CreateObjectWithAttributes<RangeErrorRateModel>(
        "Threshold",
        DoubleValue(DbmToW(PowerAtDbm(config.tx_range_m))));
    errors->SetReception(reception);
    device->GetPhy()->SetErrorRateModel(errors);
    auto preambles = CreateObject<RangePreambleDetectionModel>();
    preambles->SetReception(reception);
    device->GetPhy()->SetPreambleDetectionModel(preambles);

    auto queue = device->GetMac()->GetTxopQueue(AC_BE_NQOS);
    queue->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, config.queue_packets));
    queue->SetAttribute("MaxDelay", TimeValue(Seconds(QUEUE_DELAY_S)));
}

} // namespace

NetDeviceContainer
InstallRangeRadio(const NodeContainer& nodes, const RadioConfig& config)
{
    std::unique_ptr<WifiMacHelper> mac;
    if (config.cts_ignores_nav)
    {
        mac = std::make_unique<CtsIgnoresNavMacHelper>();
    }
    else
    {
        mac = std::make_unique<WifiMacHelper>();
    }
    mac->SetType("ns3::AdhocWifiMac", "QosSupported", BooleanValue(false));
    const auto devices =
        CreateWifiHelper(config).Install(CreatePhyHelper(config), *mac, nodes);
    for (uint32_t i = 0; i < devices.GetN(); i++)
    {
        const auto device = DynamicCast<WifiNetDevice>(devices.Get(i));
        SetBasicRate(device, devices, config);
        Finish(device, config);
    }
    return devices;
}

} // namespace ns3
