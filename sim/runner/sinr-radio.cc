/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "sinr-radio.h"

#include "wifi-parts.h"

#include "ns3/boolean.h"
#include "ns3/constant-position-mobility-model.h"
#include "ns3/double.h"
#include "ns3/object-factory.h"
#include "ns3/propagation-loss-model.h"
#include "ns3/string.h"
#include "ns3/table-based-error-rate-model.h"
#include "ns3/uinteger.h"
#include "ns3/wifi-helper.h"
#include "ns3/wifi-net-device.h"
#include "ns3/wifi-phy.h"
#include "ns3/wifi-tx-vector.h"
#include "ns3/wifi-utils.h"
#include "ns3/yans-wifi-helper.h"

#include <cmath>
#include <numbers>
#include <sstream>
#include <string>
#include <vector>

namespace ns3
{

namespace
{

/** ns-3's default, stated because the reach of a link depends on it. */
constexpr double NOISE_FIGURE_DB = 7;

/**
 * A preamble this much above noise and interference is detected. ns-3's default, 4 dB, is for OFDM;
 * that of 802.11b spreads each bit over 11 chips, and ns-3's own error model loses less than 1 in
 * 10^8 of its headers at 0 dB.
 */
constexpr double DSSS_PREAMBLE_SNR_DB = 0;

/** In payloads ns-3 counts the thermal noise of 20 MHz, also in 802.11b's of 22 MHz. */
constexpr MHz_u PAYLOAD_WIDTH{20};

constexpr double LIGHT_M_PER_S = 299792458;

/** Nothing further away is ever looked at. */
constexpr double FURTHEST_M = 1e6;

constexpr uint32_t LLC_BYTES = 8;
constexpr uint32_t MAC_BYTES = 24 + 4; // header and frame check sequence
constexpr uint32_t BITS = 8;

/** ns-3's default: an OFDM preamble this much above noise and interference is detected. */
constexpr double OFDM_PREAMBLE_SNR_DB = 4;

constexpr uint32_t DSSS_HEADER_BITS = 48;
constexpr uint32_t OFDM_HEADER_BITS = 24;

/** The length of an aggregate: what a 16-bit length field holds. */
constexpr uint32_t AGGREGATE_BYTES = 65535;

/** A standard as ns-3 knows it, with the modes that a scenario's bit rates mean. */
struct Phy
{
    WifiStandard standard;
    std::string channel;
    double frequencyMhz;
    MHz_u widthMhz;
    bool qos; // and so aggregation
    WifiMode data;
    WifiMode control; // of RTS
    WifiMode broadcast;
    std::vector<std::string> basic; // CTS and ACK go at the fastest not above the data's
    WifiMode header;
    uint32_t headerBits; // sent in that mode before the frame
    double preambleSnrDb;
    WifiPreamble preamble;
};

Phy
DsssPhy(const RadioConfig& config)
{
    const auto control = DsssModeName(config.control_mbps);
    return {.standard = WIFI_STANDARD_80211b,
            .channel = "{1, 22, BAND_2_4GHZ, 0}",
            .frequencyMhz = 2412,
            .widthMhz = MHz_u{22},
            .qos = false,
            .data = WifiMode(DsssModeName(config.data_mbps)),
            .control = WifiMode(control),
            .broadcast = WifiMode(DsssModeName(BroadcastMbps(config))),
            .basic = {control},
            .header = WifiMode(DsssModeName(1)),
            .headerBits = DSSS_HEADER_BITS,
            .preambleSnrDb = DSSS_PREAMBLE_SNR_DB,
            .preamble = WIFI_PREAMBLE_LONG};
}

/** An OFDM standard, its mandatory rates basic, RTS and broadcasts at 6 Mbit/s. */
Phy
OfdmPhy(const std::string& rates, const std::string& data)
{
    const WifiMode slowest(rates + "6Mbps");
    return {.standard = WIFI_STANDARD_80211n,
            .channel = "{36, 20, BAND_5GHZ, 0}",
            .frequencyMhz = 5180,
            .widthMhz = MHz_u{20},
            .qos = true,
            .data = WifiMode(data),
            .control = slowest,
            .broadcast = slowest,
            .basic = {rates + "6Mbps", rates + "12Mbps", rates + "24Mbps"},
            .header = slowest,
            .headerBits = OFDM_HEADER_BITS,
            .preambleSnrDb = OFDM_PREAMBLE_SNR_DB,
            .preamble = WIFI_PREAMBLE_HT_MF};
}

Phy
PhyOf(const RadioConfig& config)
{
    if (config.standard == "802.11b")
    {
        return DsssPhy(config);
    }
    if (config.standard == "802.11g")
    {
        auto about = OfdmPhy("ErpOfdmRate", ErpModeName(config.data_mbps));
        about.standard = WIFI_STANDARD_80211g;
        about.channel = "{1, 20, BAND_2_4GHZ, 0}";
        about.frequencyMhz = 2412;
        about.qos = false;
        about.preamble = WIFI_PREAMBLE_LONG;
        return about;
    }
    if (config.standard == "802.11n")
    {
        return OfdmPhy("OfdmRate", "HtMcs" + std::to_string(config.mcs));
    }
    auto about = OfdmPhy("OfdmRate", "VhtMcs" + std::to_string(config.mcs));
    about.standard = WIFI_STANDARD_80211ac;
    about.preamble = WIFI_PREAMBLE_VHT_SU;
    return about;
}

Ptr<LogDistancePropagationLossModel>
CreateLossModel(const RadioConfig& config)
{
    // Free space over the first metre.
    const auto hz = PhyOf(config).frequencyMhz * 1e6;
    const auto referenceDb = 20 * std::log10(4 * std::numbers::pi * hz / LIGHT_M_PER_S);
    return CreateObjectWithAttributes<LogDistancePropagationLossModel>(
        "Exponent",
        DoubleValue(config.path_loss_exponent),
        "ReferenceDistance",
        DoubleValue(1),
        "ReferenceLoss",
        DoubleValue(referenceDb));
}

double
PowerAtDbm(const RadioConfig& config, double distanceM)
{
    auto sender = CreateObject<ConstantPositionMobilityModel>();
    auto receiver = CreateObject<ConstantPositionMobilityModel>();
    receiver->SetPosition(Vector(distanceM, 0, 0));
    return CreateLossModel(config)->CalcRxPower(config.tx_power_dbm, sender, receiver);
}

/** Thermal noise at 290 K with the receiver's own, as ns-3's InterferenceHelper has it, dBm. */
double
NoiseDbm(MHz_u width)
{
    constexpr double BOLTZMANN = 1.3803e-23;
    return WToDbm(BOLTZMANN * 290 * MHzToHz(width)) + NOISE_FIGURE_DB;
}

YansWifiPhyHelper
CreatePhyHelper(const RadioConfig& config)
{
    YansWifiPhyHelper phy;
    phy.SetChannel(CreateChannel(CreateLossModel(config)));
    phy.Set("TxPowerStart", DoubleValue(config.tx_power_dbm));
    phy.Set("TxPowerEnd", DoubleValue(config.tx_power_dbm));
    phy.Set("RxNoiseFigure", DoubleValue(NOISE_FIGURE_DB));
    phy.Set("CcaSensitivity", DoubleValue(config.sense_dbm));
    phy.Set("ShortPlcpPreambleSupported", BooleanValue(false));
    phy.SetPreambleDetectionModel("ns3::ThresholdPreambleDetectionModel",
                                  "Threshold",
                                  DoubleValue(PhyOf(config).preambleSnrDb),
                                  "MinimumRssi",
                                  DoubleValue(config.sense_dbm));
    phy.Set("ChannelSettings", StringValue(PhyOf(config).channel));
    return phy;
}

/** What a radio cannot tell from noise it cannot wait for. */
void
CheckSense(const RadioConfig& config, const Phy& about)
{
    const auto leastDbm = NoiseDbm(about.widthMhz) + about.preambleSnrDb;
    if (config.sense_dbm < leastDbm)
    {
        std::ostringstream text;
        text << "radio.sense_dbm = " << config.sense_dbm << " is below what " << config.standard
             << " tells from noise; give at least " << std::ceil(leastDbm * 10) / 10;
        throw ScenarioError(text.str());
    }
}

void
SetStations(WifiHelper& wifi, const RadioConfig& config, const Phy& about)
{
    const auto data = about.data.GetUniqueName();
    const auto control = about.control.GetUniqueName();
    const auto broadcast = about.broadcast.GetUniqueName();
    if (!about.qos)
    {
        SetNs2Stations(wifi, config, data, control, broadcast);
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

WifiMacHelper
CreateMacHelper(const RadioConfig& config, const Phy& about)
{
    WifiMacHelper mac;
    if (!about.qos)
    {
        mac.SetType("ns3::AdhocWifiMac", "QosSupported", BooleanValue(false));
        return mac;
    }
    mac.SetType("ns3::AdhocWifiMac",
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
    const auto about = PhyOf(config);
    CheckSense(config, about);
    WifiHelper wifi;
    wifi.SetStandard(about.standard);
    SetStations(wifi, config, about);
    const auto devices =
        wifi.Install(CreatePhyHelper(config), CreateMacHelper(config, about), nodes);
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

uint32_t
SinrDataKbps(const RadioConfig& config)
{
    const auto about = PhyOf(config);
    return about.data.GetDataRate(about.widthMhz) / 1000;
}

double
SinrSuccess(const RadioConfig& config, double distanceM, uint32_t packetBytes)
{
    const auto about = PhyOf(config);
    const auto powerDbm = PowerAtDbm(config, distanceM);
    if (powerDbm < config.sense_dbm ||
        powerDbm - NoiseDbm(about.widthMhz) < about.preambleSnrDb)
    {
        return 0;
    }
    const auto snrDb = powerDbm - NoiseDbm(PAYLOAD_WIDTH);
    const auto errors = CreateObject<TableBasedErrorRateModel>();
    const auto chunk = [&](WifiMode mode, uint64_t bits, WifiPpduField field) {
        WifiTxVector vector;
        vector.SetMode(mode);
        vector.SetPreambleType(about.preamble);
        vector.SetChannelWidth(about.widthMhz);
        vector.SetGuardInterval(NanoSeconds(800));
        vector.SetNss(1);
        return errors->GetChunkSuccessRate(mode, vector, DbToRatio(snrDb), bits, 1, field);
    };
    const auto frameBits = (packetBytes + LLC_BYTES + MAC_BYTES) * BITS;
    return chunk(about.header, about.headerBits, WIFI_PPDU_FIELD_NON_HT_HEADER) *
           chunk(about.data, frameBits, WIFI_PPDU_FIELD_DATA);
}

double
SinrReachM(const RadioConfig& config, uint32_t packetBytes, double success)
{
    // The further the weaker: halve the interval until it is nothing.
    double reachedM = 0;
    double beyondM = FURTHEST_M;
    for (int i = 0; i < 60; i++)
    {
        const auto distanceM = (reachedM + beyondM) / 2;
        (SinrSuccess(config, distanceM, packetBytes) >= success ? reachedM : beyondM) = distanceM;
    }
    return reachedM;
}

} // namespace ns3
