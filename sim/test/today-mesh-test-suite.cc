/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// What today's radio does in a mesh: the bound on what a MAC holds, and routes.

#include "test-scenarios.h"

#include "../model/radio/station-queue-disc.h"
#include "../runner/mesh-links.h"
#include "../runner/mesh-tree.h"
#include "../runner/simulation.h"

#include "ns3/ipv4-queue-disc-item.h"
#include "ns3/ipv4.h"
#include "ns3/mac48-address.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/test.h"
#include "ns3/traffic-control-layer.h"
#include "ns3/wifi-mac-queue.h"
#include "ns3/wifi-net-device.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

/** A chain, as today's radio has it. */
Scenario
TodaysChain(uint32_t hops, double durationS)
{
    auto scenario = ChainScenario(hops, "static", durationS);
    scenario.radio = TodaysRadio();
    scenario.radio.queueing = "fq_codel";
    scenario.wired = {.mbps = 100, .delay_ms = 1};
    for (uint32_t i = 0; i < scenario.nodes.size(); i++)
    {
        scenario.nodes[i].x_m = 25.0 * i;
    }
    return scenario;
}

/** What the MAC of a gateway holds is bounded by its airtime, and all of it is given back. */
class AirtimeTestCase : public TestCase
{
  public:
    explicit AirtimeTestCase(bool outage)
        : TestCase(std::string("What the MAC holds, ") +
                   (outage ? "of a neighbour that is gone" : "of a slow neighbour")),
          m_outage(outage)
    {
    }

  private:
    /** Watches the first node's MAC. */
    struct Most
    {
        uint32_t frames{0};
        Time pending;
    };

    Most Watch(Simulation& simulation)
    {
        const auto& network = simulation.Network();
        const auto radio = DynamicCast<WifiNetDevice>(network.MeshDevice("IG"));
        const auto station = Mac48Address::ConvertFrom(network.MeshDevice("A")->GetAddress());
        const auto disc = DynamicCast<StationQueueDisc>(
            network.GetNode("IG")->GetObject<TrafficControlLayer>()->GetRootQueueDiscOnDevice(
                radio));
        Most most;
        for (double atS = 0.5; atS < 5.9; atS += 0.001)
        {
            Simulator::Schedule(Seconds(atS), [&most, radio, disc, station] {
                const auto queue = radio->GetMac()->GetTxopQueue(AC_BE);
                most.frames = std::max(most.frames, queue->GetNPackets());
                most.pending = disc ? Max(most.pending, disc->Pending(station)) : Time(0);
            });
        }
        if (disc)
        {
            const auto host = network.GetNode("A")->GetObject<Ipv4>()->GetAddress(1, 0).GetLocal();
            Simulator::Schedule(Seconds(1),
                                [disc, station, host] { SendTwice(disc, station, host); });
        }
        simulation.Run();
        if (disc)
        {
            NS_TEST_EXPECT_MSG_EQ(disc->Pending(station), Time(0), "given back");
        }
        return most;
    }

    /** A packet and a copy of it, as of TCP that sends again what still waits here: both have one uid. */
    static void SendTwice(Ptr<StationQueueDisc> disc, Mac48Address station, Ipv4Address host)
    {
        const auto packet = Create<Packet>(1480); // as long as the others
        for (int i = 0; i < 2; i++)
        {
            Ipv4Header ip;
            ip.SetDestination(host);
            ip.SetProtocol(253); // for experiments (RFC 3692)
            ip.SetPayloadSize(packet->GetSize());
            disc->Enqueue(Create<Ipv4QueueDiscItem>(packet->Copy(), station, 0x0800, ip));
        }
        disc->Run();
    }

    Scenario Slow(double aqlUs)
    {
        auto scenario = TodaysChain(1, m_outage ? 20 : 6);
        scenario.radio.rate_control = "fixed";
        scenario.radio.mcs = 0; // 6.5 Mbit/s: a packet of 1500 bytes takes 1.9 ms
        scenario.radio.aql_us = aqlUs;
        // A little more than the link carries: all that waits is through, or given up, at the end.
        scenario.flows = {UdpFlow("B", "A", m_outage ? 2500 : 10000)};
        scenario.flows[0].stop_s = 2;
        if (m_outage)
        {
            scenario.outages = {{.node = "A", .at_s = 1, .for_s = 10}};
        }
        return scenario;
    }

    Most Run(double aqlUs, double* kbps)
    {
        RngSeedManager::ResetNextStreamIndex();
        const auto scenario = Slow(aqlUs);
        Simulation simulation(scenario, 1);
        const auto most = Watch(simulation);
        *kbps = simulation.Flows()[0]->Delivery().GoodputBytes() * 8 / 1000.0;
        return most;
    }

    void DoRun() override
    {
        double boundKbps = 0;
        double freeKbps = 0;
        const auto bound = Run(12000, &boundKbps);
        const auto free = Run(0, &freeKbps);
        // The limit, and the packet that passed it.
        NS_TEST_EXPECT_MSG_LT(bound.pending, MicroSeconds(12000 + 2000), "airtime held");
        NS_TEST_EXPECT_MSG_GT(bound.pending, MicroSeconds(11000), "the bound is used");
        NS_TEST_EXPECT_MSG_LT(bound.frames, 9, "frames held");
        NS_TEST_EXPECT_MSG_GT(free.frames, 100, "frames held without a bound");
        if (!m_outage)
        {
            NS_TEST_EXPECT_MSG_GT(boundKbps, 0.85 * freeKbps, "what is carried");
        }
    }

    bool m_outage;
};

/** Routes under rate control: its slowest rate reaches over two hops, and they are not skipped. */
class RoutesTestCase : public TestCase
{
  public:
    RoutesTestCase()
        : TestCase("Routes under rate control")
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = TodaysChain(4, 1);
        scenario.flows = {FtpFlow("B", "A")};
        const MeshLinks links(scenario);
        NS_TEST_EXPECT_MSG_GT(links.ReachM(), 50, "the slowest rate reaches the second next");
        const auto tree = links.PathsTo(0);
        for (uint32_t i = 1; i < scenario.nodes.size(); i++)
        {
            NS_TEST_EXPECT_MSG_EQ(tree.hops[i], i, "hops of " << i);
            NS_TEST_EXPECT_MSG_EQ(tree.nextHop[i], i - 1, "next hop of " << i);
        }
        scenario.radio.shadowing_db = 8;
        const MeshLinks shadowed(scenario);
        NS_TEST_EXPECT_MSG_NE(shadowed.RadioDistanceM(0, 1), 25, "shadowed");
        NS_TEST_EXPECT_MSG_EQ(shadowed.RadioDistanceM(0, 1),
                              shadowed.RadioDistanceM(1, 0),
                              "both ways");
    }
};

/** Least cost, and of paths as cheap the one of fewer hops. */
class CheapestTestCase : public TestCase
{
  public:
    CheapestTestCase()
        : TestCase("Cheapest paths")
    {
    }

  private:
    void DoRun() override
    {
        const auto none = std::numeric_limits<double>::infinity();
        // 2 has a dear link to 0; 3 costs the same by 1 and by 2; 4 has no link.
        const std::vector<std::vector<double>> costs{{none, 1, 5, none, none},
                                                     {1, none, 1, 6, none},
                                                     {5, 1, none, 5, none},
                                                     {none, 6, 5, none, none},
                                                     {none, none, none, none, none}};
        const auto tree = FindCheapestPaths(costs.size(), 0, [&](uint32_t a, uint32_t b) {
            return costs[a][b];
        });
        const std::vector<uint32_t> hops{0, 1, 2, 2, MeshTree::UNREACHED};
        const std::vector<uint32_t> next{0, 0, 1, 1, 0};
        NS_TEST_EXPECT_MSG_EQ((tree.hops == hops), true, "hops");
        NS_TEST_EXPECT_MSG_EQ((tree.nextHop == next), true, "next hops");
    }
};

/** The suite. */
class TodayMeshTestSuite : public TestSuite
{
  public:
    TodayMeshTestSuite()
        : TestSuite("meshpace-today-mesh", Type::UNIT)
    {
        const auto add = [this](TestCase* test) { AddTestCase(test, Duration::QUICK); };
        add(new AirtimeTestCase(false));
        add(new AirtimeTestCase(true));
        add(new RoutesTestCase);
        add(new CheapestTestCase);
    }
};

TodayMeshTestSuite g_todayMeshTestSuite; //!< the suite

} // namespace
