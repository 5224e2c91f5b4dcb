/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "sinr-radio.h"

#include "sinr-links.h"
#include "sinr-phy.h"
#include "wifi-parts.h"

#include "../model/radio/block-ack-mac.h"
#include "../model/radio/shadowing-loss.h"

#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/he-configuration.h"
#include "ns3/propagation-loss-model.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"
#include "ns3/wifi-helper.h"
#include "ns3/wifi-net-device.h"
#include "ns3/wifi-phy.h"
#include "ns3/yans-wifi-helper.h"

#include <cmath>
#include <memory>
#include <sstream>
#include <string>

namespace ns3
{

namespace
{

/** The length of an aggregate: what a 16-bit length field holds. */
constexpr uint32_t AGGREGATE_BYTES = 65535;

/** @return what distance, shadowing and fading take of a signal, one after the other */
Ptr<PropagationLossModel>
CreateLossModel(const NodeContainer& nodes, const RadioConfig& config)
{
    const auto loss = SinrDistanceLoss(config);
    Ptr<PropagationLossModel> last = loss;
    const auto append = [&last](Ptr<PropagationLossModel> next) {
        last->SetNext(next);
        last = next;
    };
    if (config.shadowing_db > 0)
    {
        append(CreateObject<ShadowingLoss>(nodes, config.shadowing_db, config.topology_seed));
    }
    if (config.fading == "nakagami")
    {
        append(CreateObject<NakagamiPropagationLossModel>());
    }
    return loss;
}

/**
 * A receiver leaves a frame whose preamble it is receiving for one that is MARGIN_DB stronger,
 * ns-3's default. Cards do so later in a frame, too (Lee et al. 2007; Wang, Leong, Leong 2014), which ns-3
 * 3.44 cannot: it ends at an assertion once a payload is being received.
 */
void
SetCapture(YansWifiPhyHelper& phy)
{
    constexpr double MARGIN_DB = 5;
    // A payload begins 20 us after its frame at the earliest, 16 us after the preamble is detected.
    const auto window = MicroSeconds(15);
    phy.SetFrameCaptureModel("ns3::SimpleFrameCaptureModel",
                             "Margin",
                             DoubleValue(MARGIN_DB),
                             "CaptureWindow",
                             TimeValue(window));
}

YansWifiPhyHelper
CreatePhyHelper(const NodeContainer& nodes, const RadioConfig& config)
{
    YansWifiPhyHelper phy;
    phy.SetChannel(CreateChannel(CreateLossModel(nodes, config)));
    phy.Set("TxPowerStart", DoubleValue(config.tx_power_dbm));
    phy.Set("TxPowerEnd", DoubleValue(config.tx_power_dbm));
    phy.Set("RxNoiseFigure", DoubleValue(SINR_NOISE_FIGURE_DB));
    phy.Set("CcaSensitivity", DoubleValue(config.sense_dbm));
    phy.Set("ShortPlcpPreambleSupported", BooleanValue(false));
    phy.SetPreambleDetectionModel("ns3::ThresholdPreambleDetectionModel",
                                  "Threshold",
                                  DoubleValue(SinrPhyOf(config).preambleSnrDb),
                                  "MinimumRssi",
                                  DoubleValue(config.lock_dbm));
    phy.Set("ChannelSettings", StringValue(SinrPhyOf(config).channel));
    if (config.capture)
    {
        SetCapture(phy);
    }
    return phy;
}

/** What a radio cannot tell from noise it cannot wait for. */
void
CheckSense(const RadioConfig& config, const SinrPhy& about)
{
    const auto leastDbm = SinrNoiseDbm(about.widthMhz) + about.preambleSnrDb;
    if (config.sense_dbm < leastDbm)
    {
        std::ostringstream text;
        text << "radio.sense_dbm = " << config.sense_dbm << " is below what " << config.standard
             << " tells from noise; give at least " << std::ceil(leastDbm * 10) / 10;
        throw ScenarioError(text.str());
    }
}

void
SetStations(WifiHelper& wifi, const RadioConfig& config, const SinrPhy& about)
{
    const auto data = about.data.GetUniqueName();
    const auto control = about.control.GetUniqueName();
    const auto broadcast = about.broadcast.GetUniqueName();
    if (!about.qos)
    {
        SetNs2Stations(wifi, config, data, control, broadcast);
        return;
    }
    if (config.rate_control == "minstrel")
    {
        wifi.SetRemoteStationManager("ns3::MinstrelHtWifiManager",
                                     "NonUnicastMode",
                                     StringValue(broadcast),
                                     "RtsCtsThreshold",
                                     UintegerValue(RtsThresholdBytes(config)));
        return;
    }
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode",
                                 StringValue(data),
                                 "ControlMode",
                                 StringValue(control),
                                 "NonUnicastMode",
                                 StringValue(broadcast),
                                 "RtsCtsThreshold",
                                 UintegerValue(RtsThresholdBytes(config)));
}

std::unique_ptr<WifiMacHelper>
CreateMacHelper(const RadioConfig& config, const SinrPhy& about)
{
    if (!about.qos)
    {
        auto mac = std::make_unique<WifiMacHelper>();
        mac->SetType("ns3::AdhocWifiMac", "QosSupported", BooleanValue(false));
        return mac;
    }
    auto mac = std::make_unique<BlockAckMacHelper>();
    mac->SetType("ns3::AdhocWifiMac",
                 "QosSupported",
                 BooleanValue(true),
                 "BE_MaxAmpduSize",
                 UintegerValue(config.aggregation ? AGGREGATE_BYTES : 0),
                 "BE_MaxAmsduSize",
                 UintegerValue(0),
                 "FrameRetryLimit",
                 UintegerValue(DataAttempts(config)));
    return mac;
}

} // namespace

NetDeviceContainer
InstallSinrRadio(const NodeContainer& nodes, const RadioConfig& config)
{
    const auto about = SinrPhyOf(config);
    CheckSense(config, about);
    WifiHelper wifi;
    wifi.SetStandard(about.standard);
    SetStations(wifi, config, about);
    wifi.ConfigHeOptions("GuardInterval", TimeValue(SinrGuardInterval()));
    const auto devices =
        wifi.Install(CreatePhyHelper(nodes, config), *CreateMacHelper(config, about), nodes);
    for (uint32_t i = 0; i < devices.GetN(); i++)
    {
        const auto device = DynamicCast<WifiNetDevice>(devices.Get(i));
        // With QoS the MAC itself has to meet its neighbours: it then learns what they can do,
        // aggregation among it.
        SetBasicRates(device, about.qos ? NetDeviceContainer() : devices, about.basic);
        SetQueue(device, config.queue_packets);
    }
    return devices;
}

} // namespace ns3
