/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "queueing.h"

#include "shaping.h"
#include "wifi-parts.h"

#include "../model/radio/station-queue-disc.h"

#include "ns3/queue-size.h"
#include "ns3/traffic-control-helper.h"
#include "ns3/traffic-control-layer.h"
#include "ns3/wifi-mac.h"
#include "ns3/wifi-net-device.h"
#include "ns3/yang-queue-disc.h"

#include <cmath>

namespace ns3
{

namespace
{

/** Frames in the MAC's queue below CoDel: one being sent, one to follow it. */
constexpr uint32_t FRAMES_BELOW = 2;

/** The same where frames are sent as aggregates of up to 64. */
constexpr uint32_t AGGREGATED_BELOW = 128;

/** The same where airtime is bounded: no bound, even of short frames at a high rate. */
constexpr uint32_t BOUNDED_BELOW = 4096;

void
InstallCoDel(Ptr<NetDevice> device, const std::string& type)
{
    TrafficControlHelper helper;
    helper.SetRootQueueDisc(type);
    helper.Install(device);
    const auto radio = DynamicCast<WifiNetDevice>(device);
    SetQueue(radio, radio->GetMac()->GetQosSupported() ? AGGREGATED_BELOW : FRAMES_BELOW);
}

/**
 * fq_codel as mac80211 has it. Its limits keep the proportions of mac80211's defaults, 5000 to
 * 12000 us for a neighbour and 24000 us for all.
 */
void
InstallStations(Ptr<Node> node, Ptr<NetDevice> device, double aqlUs)
{
    const auto limit = MicroSeconds(std::lround(aqlUs));
    auto disc = CreateObjectWithAttributes<StationQueueDisc>("Limit",
                                                             TimeValue(limit),
                                                             "BusyLimit",
                                                             TimeValue(limit * 5 / 12),
                                                             "BusyFrom",
                                                             TimeValue(limit * 2));
    const auto radio = DynamicCast<WifiNetDevice>(device);
    disc->SetRadio(radio);
    node->GetObject<TrafficControlLayer>()->SetRootQueueDiscOnDevice(device, disc);
    SetQueue(radio, BOUNDED_BELOW);
}

void
InstallYang(Ptr<Node> node, Ptr<NetDevice> device, uint32_t packets)
{
    auto disc = CreateObjectWithAttributes<YangQueueDisc>(
        "MaxSize",
        QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, packets)));
    disc->SetRadio(DynamicCast<WifiNetDevice>(device));
    node->GetObject<TrafficControlLayer>()->SetRootQueueDiscOnDevice(device, disc);
}

} // namespace

std::string
QueueingAt(const Scenario& scenario, uint32_t node)
{
    const auto& gateway = scenario.gateway;
    if (!scenario.nodes[node].gateway)
    {
        return scenario.radio.queueing;
    }
    if (gateway.law != "off" && !IsShaping(gateway.law))
    {
        return "law";
    }
    return gateway.queueing.empty() ? scenario.radio.queueing : gateway.queueing;
}

void
InstallQueueing(const Scenario& scenario,
                const NodeContainer& mesh,
                const std::vector<NetDeviceContainer>& devices)
{
    for (const auto& radios : devices)
    {
        for (uint32_t i = 0; i < mesh.GetN(); i++)
        {
            const auto queueing = QueueingAt(scenario, i);
            if (queueing == "codel")
            {
                InstallCoDel(radios.Get(i), "ns3::CoDelQueueDisc");
            }
            else if (queueing == "fq_codel" && scenario.radio.aql_us > 0)
            {
                InstallStations(mesh.Get(i), radios.Get(i), scenario.radio.aql_us);
            }
            else if (queueing == "fq_codel")
            {
                InstallCoDel(radios.Get(i), "ns3::FqCoDelQueueDisc");
            }
            else if (queueing == "yang")
            {
                InstallYang(mesh.Get(i), radios.Get(i), scenario.radio.queue_packets);
            }
        }
    }
}

} // namespace ns3
