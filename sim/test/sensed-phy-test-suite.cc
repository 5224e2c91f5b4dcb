/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "../model/radio/sensed-phy.h"

#include "ns3/constant-velocity-mobility-model.h"
#include "ns3/double.h"
#include "ns3/mobility-helper.h"
#include "ns3/position-allocator.h"
#include "ns3/propagation-delay-model.h"
#include "ns3/propagation-loss-model.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/test.h"
#include "ns3/wifi-helper.h"
#include "ns3/wifi-mac-helper.h"
#include "ns3/wifi-net-device.h"
#include "ns3/wifi-phy-state-helper.h"
#include "ns3/yans-wifi-channel.h"

#include <tuple>
#include <vector>

using namespace ns3;

namespace
{

/** What happened at all radios of a run: node, when a state began, how long it was, which. */
struct Log
{
    std::vector<std::tuple<uint32_t, Time, Time, WifiPhyState>> states;
    uint64_t events{0}; //!< of the simulator
};

void
Note(Log* log, uint32_t node, Time start, Time duration, WifiPhyState state)
{
    log->states.emplace_back(node, start, duration, state);
}

void
Send(Ptr<NetDevice> from, Ptr<NetDevice> to)
{
    from->Send(Create<Packet>(1000), to ? to->GetAddress() : from->GetBroadcast(), 0x0800);
}

/** @return a channel of free space */
Ptr<YansWifiChannel>
CreateChannel()
{
    auto channel = CreateObject<YansWifiChannel>();
    channel->SetPropagationDelayModel(CreateObject<ConstantSpeedPropagationDelayModel>());
    channel->SetPropagationLossModel(CreateObject<FriisPropagationLossModel>());
    return channel;
}

/** Puts a node that stands still elsewhere. */
void
Move(Ptr<MobilityModel> place)
{
    place->SetPosition(Vector(0, 100, 0));
}

/**
 * Nodes in a line, of which the last walks, or else is put elsewhere once; some 40 frames of theirs.
 */
Log
RunLine(YansWifiPhyHelper phy, double speedMps)
{
    constexpr uint32_t NODES = 12;
    constexpr double SPACING_M = 200;
    RngSeedManager::ResetNextStreamIndex();
    NodeContainer nodes(NODES);
    auto positions = CreateObject<ListPositionAllocator>();
    for (uint32_t i = 0; i < NODES; i++)
    {
        positions->Add(Vector(i * SPACING_M, 0, 0));
    }
    MobilityHelper mobility;
    mobility.SetPositionAllocator(positions);
    for (uint32_t i = 0; i < NODES; i++)
    {
        const bool walks = i == NODES - 1 && speedMps != 0;
        mobility.SetMobilityModel(walks ? "ns3::ConstantVelocityMobilityModel"
                                        : "ns3::ConstantPositionMobilityModel");
        mobility.Install(nodes.Get(i));
    }
    if (auto walker = nodes.Get(NODES - 1)->GetObject<ConstantVelocityMobilityModel>())
    {
        walker->SetVelocity(Vector(-speedMps, 0, 0));
    }
    else
    {
        Simulator::Schedule(Seconds(4), &Move, nodes.Get(NODES - 1)->GetObject<MobilityModel>());
    }
    phy.SetChannel(CreateChannel());
    phy.Set("RxSensitivity", DoubleValue(-82));
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211b);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode",
                                 StringValue("DsssRate11Mbps"));
    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac");
    const auto devices = wifi.Install(phy, mac, nodes);
    Log log;
    for (uint32_t i = 0; i < NODES; i++)
    {
        auto device = DynamicCast<WifiNetDevice>(devices.Get(i));
        device->GetPhy()->GetState()->TraceConnectWithoutContext("State",
                                                                 MakeBoundCallback(&Note, &log, i));
        for (const double at : {0.1, 0.101, 5.0 + i * 0.1})
        {
            Simulator::ScheduleWithContext(i, Seconds(at), &Send, devices.Get(i),
                                           at < 5 ? devices.Get((i + 1) % NODES) : nullptr);
        }
    }
    Simulator::Stop(Seconds(7));
    Simulator::Run();
    log.events = Simulator::GetEventCount();
    Simulator::Destroy();
    return log;
}

/** Every radio does the same at the same times as with ns-3's own PHY, with fewer events. */
class SameAsYansTestCase : public TestCase
{
  public:
    explicit SameAsYansTestCase(double speedMps)
        : TestCase(std::string("Same as YansWifiPhy, ") + (speedMps > 0 ? "one walks" : "all stand")),
          m_speedMps(speedMps)
    {
    }

  private:
    void DoRun() override
    {
        const auto yans = RunLine(YansWifiPhyHelper(), m_speedMps);
        const auto sensed = RunLine(SensedPhyHelper(), m_speedMps);
        NS_TEST_EXPECT_MSG_GT(yans.states.size(), 500, "something happened");
        NS_TEST_EXPECT_MSG_EQ((sensed.states == yans.states), true, "the same");
        NS_TEST_EXPECT_MSG_LT(sensed.events, yans.events, "fewer events");
    }

    double m_speedMps;
};

/** A node that walks into range, or out of it, is heard as it is at the moment. */
class WalkTestCase : public TestCase
{
  public:
    WalkTestCase()
        : TestCase("What a walking node senses changes")
    {
    }

  private:
    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ((RunLine(SensedPhyHelper(), 0).states ==
                               RunLine(SensedPhyHelper(), 100).states),
                              false,
                              "another run");
    }
};

class SensedPhyTestSuite : public TestSuite
{
  public:
    SensedPhyTestSuite()
        : TestSuite("meshpace-sensed-phy", Type::SYSTEM)
    {
        AddTestCase(new SameAsYansTestCase(0), Duration::QUICK);
        AddTestCase(new SameAsYansTestCase(100), Duration::QUICK);
        AddTestCase(new WalkTestCase, Duration::QUICK);
    }
};

SensedPhyTestSuite g_sensedPhyTestSuite; //!< the suite

} // namespace
