/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "test-scenarios.h"

#include "../runner/cbr-flow.h"
#include "../runner/simulation.h"

#include "ns3/ipv4-l3-protocol.h"
#include "ns3/mobility-model.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/test.h"
#include "ns3/udp-header.h"

#include <algorithm>
#include <numeric>
#include <vector>

using namespace ns3;

namespace
{

/** A TCP flow over a chain with AODV, in some direction. */
class DirectionTestCase : public TestCase
{
  public:
    DirectionTestCase(const std::string& from, const std::string& to)
        : TestCase("AODV from " + from + " to " + to),
          m_from(from),
          m_to(to)
    {
    }

  private:
    void DoRun() override
    {
        constexpr double DURATION_S = 20;
        auto scenario = ChainScenario(4, "aodv", DURATION_S);
        scenario.wired_hosts = {"B1", "B2"};
        scenario.flows = {FtpFlow(m_from, m_to)};
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        simulation.Run();
        const auto kbps =
            simulation.Flows().at(0)->Delivery().GoodputBytes() * 8 / DURATION_S / 1e3;
        // Half of what ns-2's NewReno gets over 4 hops, for a short run.
        NS_TEST_EXPECT_MSG_GT(kbps, 290, "goodput");
    }

    std::string m_from;
    std::string m_to;
};

/** Flows of both directions and several wired hosts share the gateway. */
class SeveralFlowsTestCase : public TestCase
{
  public:
    SeveralFlowsTestCase()
        : TestCase("AODV with several flows and wired hosts")
    {
    }

  private:
    void DoRun() override
    {
        constexpr double RATE_KBPS = 40;
        auto scenario = ChainScenario(3, "aodv", 20);
        scenario.warmup_s = 2;
        scenario.wired_hosts = {"B1", "B2"};
        scenario.flows = {UdpFlow("B1", "A", RATE_KBPS),
                          UdpFlow("B2", "RL2", RATE_KBPS),
                          UdpFlow("A", "B2", RATE_KBPS),
                          UdpFlow("RL1", "IG", RATE_KBPS),
                          UdpFlow("RL2", "A", RATE_KBPS)};
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        simulation.Run();
        for (const auto& flow : simulation.Flows())
        {
            const auto sent = dynamic_cast<const CbrFlow&>(*flow).SentBytes();
            NS_TEST_EXPECT_MSG_GT(sent, 80000, flow->Config().name << " sends");
            // Route discovery is over; one datagram may be under way.
            NS_TEST_EXPECT_MSG_GT_OR_EQ(flow->Delivery().GoodputBytes() + 1460,
                                        sent,
                                        flow->Config().name);
        }
    }
};

/**
 * Routes in use do not break by themselves: a flow without answers, one way, for longer than
 * any of AODV's timeouts (hellos are off, and without them ns-3 would give up neighbours).
 */
class LastingRouteTestCase : public TestCase
{
  public:
    LastingRouteTestCase(const std::string& from, const std::string& to)
        : TestCase("A route lasts from " + from + " to " + to),
          m_from(from),
          m_to(to)
    {
    }

  private:
    void DoRun() override
    {
        constexpr double DURATION_S = 60;
        auto scenario = ChainScenario(3, "aodv", DURATION_S);
        scenario.flows = {UdpFlow(m_from, m_to, 100)};
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        simulation.Run();
        const auto bins = simulation.Flows().at(0)->Delivery().Bins(Seconds(DURATION_S));
        const auto least = *std::min_element(bins.begin() + 2, bins.end());
        // 8.6 datagrams a second.
        NS_TEST_EXPECT_MSG_GT_OR_EQ(least, 8 * 1460, "bytes in each second but the first two");
    }

    std::string m_from;
    std::string m_to;
};

/**
 * Two relays R1 and R2 stand between IG and A. R1 goes away, then R2 while R1 comes back:
 * one of the two breaks the route in use, the link layer tells AODV, and another is found.
 */
class RouteBreakTestCase : public TestCase
{
  public:
    explicit RouteBreakTestCase(const FlowConfig& flow)
        : TestCase("A route breaks, " + flow.traffic + " from " + flow.from + " to " + flow.to),
          m_flow(flow)
    {
    }

  private:
    static void Move(Ptr<Node> node, double xM, double yM)
    {
        node->GetObject<MobilityModel>()->SetPosition(Vector(xM, yM, 0));
    }

    void DoRun() override
    {
        constexpr double DURATION_S = 40;
        constexpr double AWAY_M = 1e6;
        auto scenario = ChainScenario(2, "aodv", DURATION_S);
        scenario.nodes = {{"IG", 0, 0, true},
                          {"R1", 200, 100, false},
                          {"R2", 200, -100, false},
                          {"A", 400, 0, false}};
        scenario.flows = {m_flow};
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        const auto r1 = simulation.Network().GetNode("R1");
        const auto r2 = simulation.Network().GetNode("R2");
        Simulator::Schedule(Seconds(10), &Move, r1, AWAY_M, 0);
        Simulator::Schedule(Seconds(25), &Move, r1, 200, 100);
        Simulator::Schedule(Seconds(25), &Move, r2, AWAY_M, 0);
        simulation.Run();
        const auto bins = simulation.Flows().at(0)->Delivery().Bins(Seconds(DURATION_S));
        const auto between = [&](uint32_t from, uint32_t to) {
            return std::accumulate(bins.begin() + from, bins.begin() + to, uint64_t{0});
        };
        NS_TEST_EXPECT_MSG_GT(between(2, 10), 50000, "delivered before");
        NS_TEST_EXPECT_MSG_GT(between(17, 25), 50000, "delivered without R1");
        NS_TEST_EXPECT_MSG_GT(between(32, 40), 50000, "delivered without R2");
    }

    FlowConfig m_flow;
};

/** A node that loses a neighbour drops what is queued for it: it does not try each packet. */
class DropQueuedTestCase : public TestCase
{
  public:
    DropQueuedTestCase()
        : TestCase("AODV empties the queue of a lost neighbour")
    {
    }

  private:
    static void TakeAway(Ptr<Node> node)
    {
        node->GetObject<MobilityModel>()->SetPosition(Vector(1e6, 0, 0));
    }

    void DoRun() override
    {
        auto scenario = ChainScenario(1, "aodv", 10);
        // Faster than the radio: the queue of 50 packets is full when A goes.
        scenario.flows = {UdpFlow("IG", "A", 6000)};
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        Simulator::Schedule(Seconds(5), &TakeAway, simulation.Network().GetNode("A"));
        simulation.Run();
        const auto links = simulation.Network().Links();
        NS_TEST_ASSERT_MSG_EQ(links.size(), 1, "only one link fails");
        NS_TEST_EXPECT_MSG_EQ(links[0].to, "A", "the one to A");
        NS_TEST_EXPECT_MSG_LT_OR_EQ(links[0].otherDrops, 2, "frames tried to the retry limit");
    }
};

/** What the gateway keeps during a discovery still comes from the wired host afterwards. */
class SourceTestCase : public TestCase
{
  public:
    SourceTestCase()
        : TestCase("AODV leaves the source of a kept packet alone")
    {
    }

  private:
    void Delivered(const Ipv4Header& header, Ptr<const Packet> packet, uint32_t)
    {
        constexpr uint16_t AODV_PORT = 654;
        UdpHeader udp;
        packet->PeekHeader(udp);
        if (udp.GetDestinationPort() != AODV_PORT)
        {
            m_sources.push_back(header.GetSource());
        }
    }

    void DoRun() override
    {
        auto scenario = ChainScenario(3, "aodv", 2);
        scenario.flows = {UdpFlow("B", "A", 100)};
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        const auto& network = simulation.Network();
        network.GetNode("A")->GetObject<Ipv4L3Protocol>()->TraceConnectWithoutContext(
            "LocalDeliver",
            MakeCallback(&SourceTestCase::Delivered, this));
        simulation.Run();
        NS_TEST_ASSERT_MSG_GT(m_sources.size(), 10, "datagrams that A gets");
        for (const auto& source : m_sources)
        {
            NS_TEST_EXPECT_MSG_EQ(source, network.Address("B"), "source");
        }
    }

    std::vector<Ipv4Address> m_sources;
};

/** A is away long enough for the search to fail, and comes back. */
class SearchPauseTestCase : public TestCase
{
  public:
    explicit SearchPauseTestCase(double pauseS)
        : TestCase("A pause of " + std::to_string(pauseS) + " s after a search that failed"),
          m_pauseS(pauseS)
    {
    }

  private:
    static void MoveTo(Ptr<Node> node, double x)
    {
        node->GetObject<MobilityModel>()->SetPosition(Vector(x, 0, 0));
    }

    void DoRun() override
    {
        constexpr uint32_t DURATION_S = 60;
        auto scenario = ChainScenario(1, "aodv", DURATION_S);
        scenario.routing.search_pause_s = m_pauseS;
        scenario.flows = {UdpFlow("IG", "A", 100)};
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        const auto node = simulation.Network().GetNode("A");
        Simulator::Schedule(Seconds(5), &MoveTo, node, 1e6);
        Simulator::Schedule(Seconds(20), &MoveTo, node, 200);
        simulation.Run();
        const auto bins = simulation.Flows().at(0)->Delivery().Bins(Seconds(DURATION_S));
        const auto between = [&](uint32_t from, uint32_t to) {
            return std::accumulate(bins.begin() + from, bins.begin() + to, uint64_t{0});
        };
        NS_TEST_EXPECT_MSG_GT(between(0, 5), 0, "delivered before");
        // The search fails after 5 s, of 10 s at most.
        NS_TEST_EXPECT_MSG_EQ((between(20, 34) == 0), (m_pauseS > 0), "searched for at once");
        NS_TEST_EXPECT_MSG_GT(between(46, 60), 0, "delivered in the end");
    }

    double m_pauseS;
};

class GatewayAodvTestSuite : public TestSuite
{
  public:
    GatewayAodvTestSuite()
        : TestSuite("meshpace-gateway-aodv", Type::SYSTEM)
    {
        const auto add = [this](TestCase* test) { AddTestCase(test, Duration::QUICK); };
        add(new DirectionTestCase("B1", "A"));
        add(new DirectionTestCase("A", "B2"));
        add(new DirectionTestCase("IG", "A"));
        add(new DirectionTestCase("A", "IG"));
        add(new SeveralFlowsTestCase);
        add(new LastingRouteTestCase("B", "A"));
        add(new LastingRouteTestCase("A", "B"));
        add(new DropQueuedTestCase);
        add(new SourceTestCase);
        add(new SearchPauseTestCase(0));
        add(new SearchPauseTestCase(30));
        for (const auto& flow : {UdpFlow("B", "A", 100), UdpFlow("A", "B", 100)})
        {
            add(new RouteBreakTestCase(flow));
        }
        for (const auto& flow : {FtpFlow("B", "A"), FtpFlow("A", "B")})
        {
            add(new RouteBreakTestCase(flow));
        }
    }
};

GatewayAodvTestSuite g_gatewayAodvTestSuite; //!< the suite

} // namespace
