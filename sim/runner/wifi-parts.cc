/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "wifi-parts.h"

#include "../model/radio/range-mac.h"

#include "ns3/propagation-delay-model.h"
#include "ns3/propagation-loss-model.h"
#include "ns3/queue-size.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"
#include "ns3/wifi-mac-queue.h"
#include "ns3/wifi-mac.h"

#include <cmath>
#include <map>
#include <set>

namespace ns3
{

namespace
{

/** Frames wait as long as it takes. */
constexpr double QUEUE_DELAY_S = 1000;

/**
 * But aggregates' no longer than by ns-3's default: as long as one lives ns-3 asks for its acknowledgement, and a node
 * whose neighbour is gone would send nothing to anybody else. A device gives up after some retries.
 */
constexpr double AGGREGATED_DELAY_S = 0.5;

/** Longer than any frame. */
constexpr uint32_t NEVER_RTS_BYTES = 65535;

// ns-2's retry limits; without RTS every frame counts as a short one.
constexpr uint32_t SHORT_RETRY_LIMIT = 7;
constexpr uint32_t LONG_RETRY_LIMIT = 4;

} // namespace

std::string
DsssModeName(double mbps)
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

std::string
ErpModeName(double mbps)
{
    const std::set<double> rates{6, 9, 12, 18, 24, 36, 48, 54};
    if (rates.count(mbps) == 0)
    {
        throw ScenarioError("radio: 802.11g has no OFDM bit rate of " + std::to_string(mbps) +
                            " Mbit/s; use 6, 9, 12, 18, 24, 36, 48 or 54");
    }
    return "ErpOfdmRate" + std::to_string(std::lround(mbps)) + "Mbps";
}

std::string
DataModeName(const std::string& standard, double mbps)
{
    return standard == "802.11g" ? ErpModeName(mbps) : DsssModeName(mbps);
}

double
BroadcastMbps(const RadioConfig& config)
{
    return config.broadcast_mbps > 0 ? config.broadcast_mbps : config.control_mbps;
}

uint32_t
DataAttempts(const RadioConfig& config)
{
    if (config.data_attempts > 0)
    {
        return config.data_attempts;
    }
    return config.rts_cts ? LONG_RETRY_LIMIT : SHORT_RETRY_LIMIT;
}

Ptr<YansWifiChannel>
CreateChannel(Ptr<PropagationLossModel> loss)
{
    auto channel = CreateObject<YansWifiChannel>();
    channel->SetPropagationDelayModel(CreateObject<ConstantSpeedPropagationDelayModel>());
    channel->SetPropagationLossModel(loss);
    return channel;
}

uint32_t
RtsThresholdBytes(const RadioConfig& config)
{
    return config.rts_cts ? 0 : NEVER_RTS_BYTES;
}

void
SetNs2Stations(WifiHelper& wifi,
               const RadioConfig& config,
               const std::string& dataMode,
               const std::string& controlMode,
               const std::string& broadcastMode)
{
    wifi.SetRemoteStationManager("ns3::RangeWifiManager",
                                 "DataMode",
                                 StringValue(dataMode),
                                 "ControlMode",
                                 StringValue(controlMode),
                                 "NonUnicastMode",
                                 StringValue(broadcastMode),
                                 "RtsCtsThreshold",
                                 UintegerValue(RtsThresholdBytes(config)),
                                 "MaxRtsFailures",
                                 UintegerValue(SHORT_RETRY_LIMIT),
                                 "MaxDataFailures",
                                 UintegerValue(DataAttempts(config)));
}

void
SetBasicRates(Ptr<WifiNetDevice> device,
              const NetDeviceContainer& all,
              const std::vector<std::string>& modes)
{
    auto stations = device->GetRemoteStationManager();
    stations->Reset();
    for (uint32_t i = 0; i < all.GetN(); i++)
    {
        stations->RecordDisassociated(Mac48Address::ConvertFrom(all.Get(i)->GetAddress()));
    }
    for (const auto& mode : modes)
    {
        stations->AddBasicMode(WifiMode(mode));
    }
}

void
SetQueue(Ptr<WifiNetDevice> device, uint32_t packets)
{
    auto mac = device->GetMac();
    const bool aggregates = mac->GetQosSupported();
    auto queue = mac->GetTxopQueue(aggregates ? AC_BE : AC_BE_NQOS);
    queue->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, packets));
    queue->SetAttribute("MaxDelay", TimeValue(Seconds(aggregates ? AGGREGATED_DELAY_S : QUEUE_DELAY_S)));
}

} // namespace ns3
