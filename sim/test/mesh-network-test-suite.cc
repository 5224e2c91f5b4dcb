/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "same-run-test-case.h"
#include "test-scenarios.h"

#include "../runner/cbr-flow.h"
#include "../runner/mesh-tree.h"
#include "../runner/network.h"
#include "../runner/simulation.h"

#include "ns3/mobility-model.h"
#include "ns3/queue-disc.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/test.h"
#include "ns3/traffic-control-layer.h"

#include <cmath>

using namespace ns3;

namespace
{

const auto UNREACHED = MeshTree::UNREACHED;

/** Shortest paths, and which of several is taken. */
class MeshTreeTestCase : public TestCase
{
  public:
    MeshTreeTestCase(const std::string& name,
                     std::vector<NodeConfig> nodes,
                     std::vector<uint32_t> hops,
                     std::vector<uint32_t> nextHop)
        : TestCase(name),
          m_nodes(std::move(nodes)),
          m_hops(std::move(hops)),
          m_nextHop(std::move(nextHop))
    {
    }

  private:
    void DoRun() override
    {
        const auto distanceM = [this](uint32_t a, uint32_t b) {
            return std::hypot(m_nodes[a].x_m - m_nodes[b].x_m, m_nodes[a].y_m - m_nodes[b].y_m);
        };
        const auto tree = FindShortestPaths(m_nodes.size(), 0, 250, distanceM);
        for (uint32_t i = 0; i < m_nodes.size(); i++)
        {
            NS_TEST_EXPECT_MSG_EQ(tree.hops[i], m_hops[i], "hops of " << i);
            if (m_hops[i] != UNREACHED)
            {
                NS_TEST_EXPECT_MSG_EQ(tree.nextHop[i], m_nextHop[i], "next hop of " << i);
            }
        }
    }

    std::vector<NodeConfig> m_nodes;
    std::vector<uint32_t> m_hops;
    std::vector<uint32_t> m_nextHop;
};

/** Names, addresses, hops; and no queue disc that nobody asked for. */
class NetworkTestCase : public TestCase
{
  public:
    explicit NetworkTestCase(const std::string& queueing)
        : TestCase("Names, addresses, queue discs: " + queueing),
          m_queueing(queueing)
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = ChainScenario(3, "static", 1);
        scenario.radio.queueing = m_queueing;
        scenario.wired_hosts = {"B1", "B2"};
        const MeshNetwork network(scenario);
        NS_TEST_EXPECT_MSG_EQ(network.Address("IG"), Ipv4Address("10.1.0.1"), "gateway");
        NS_TEST_EXPECT_MSG_EQ(network.IsWired("B2"), true, "B2 is wired");
        NS_TEST_EXPECT_MSG_EQ(network.IsWired("A"), false, "A is not");
        NS_TEST_EXPECT_MSG_NE(network.GetNode("B1"), network.GetNode("B2"), "two hosts");
        NS_TEST_EXPECT_MSG_EQ(network.Hops("A"), 3, "hops to A");
        NS_TEST_EXPECT_MSG_EQ(network.Hops("IG"), 0, "hops to the gateway");
        NS_TEST_EXPECT_MSG_EQ(network.HopsBetween("B1", "A"), 3, "hops from B1 to A");
        for (const auto& node : scenario.nodes)
        {
            CheckQueueDisc(network.MeshDevice(node.name), m_queueing != "fifo");
        }
        CheckQueueDisc(network.WiredDevice("IG"), false);
        Simulator::Destroy();
    }

    void CheckQueueDisc(Ptr<NetDevice> device, bool expected)
    {
        auto layer = device->GetNode()->GetObject<TrafficControlLayer>();
        const bool there = layer->GetRootQueueDiscOnDevice(device) != nullptr;
        NS_TEST_EXPECT_MSG_EQ(there,
                              expected,
                              "queue disc of node " << device->GetNode()->GetId());
    }

    std::string m_queueing;
};

/** A node that nobody reaches is refused by its name. */
class UnreachableTestCase : public TestCase
{
  public:
    UnreachableTestCase()
        : TestCase("A node out of range")
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = ChainScenario(1, "static", 1);
        scenario.nodes.push_back({"far", 5000, 0, false});
        std::string message;
        try
        {
            const MeshNetwork network(scenario);
        }
        catch (const ScenarioError& error)
        {
            message = error.what();
        }
        NS_TEST_EXPECT_MSG_NE(message.find("\"far\""), message.npos, "named in: " << message);
        Simulator::Destroy();
    }
};

/** Static routes carry flows down, up, from one mesh node to another and to the gateway. */
class StaticRoutesTestCase : public TestCase
{
  public:
    StaticRoutesTestCase()
        : TestCase("Static routes in every direction")
    {
    }

  private:
    void DoRun() override
    {
        constexpr double DURATION_S = 10;
        constexpr double RATE_KBPS = 40;
        auto scenario = ChainScenario(3, "static", DURATION_S);
        scenario.wired_hosts = {"B1", "B2"};
        // A branch, so that a path from mesh node to mesh node need not pass the gateway.
        scenario.nodes.push_back({"C", 200, 200, false});
        scenario.flows = {UdpFlow("B1", "A", RATE_KBPS),
                          UdpFlow("A", "B2", RATE_KBPS),
                          UdpFlow("A", "C", RATE_KBPS),
                          UdpFlow("C", "IG", RATE_KBPS)};
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        simulation.Run();
        NS_TEST_EXPECT_MSG_EQ(simulation.Network().HopsBetween("A", "C"), 3, "by RL1 and RL2");
        for (const auto& flow : simulation.Flows())
        {
            const auto sent = dynamic_cast<const CbrFlow&>(*flow).SentBytes();
            const auto delivered = flow->Delivery().GoodputBytes();
            // One datagram may be under way.
            NS_TEST_EXPECT_MSG_GT(sent, 20000, flow->Config().name << " sends");
            NS_TEST_EXPECT_MSG_GT_OR_EQ(delivered + 1460, sent, flow->Config().name);
        }
    }
};

/** Frames given up count for their link and by what they carry, from the reset on. */
class LinkDropsTestCase : public TestCase
{
  public:
    /**
     * @param flow a flow with one end at A, which goes away
     * @param kind the counter that has to count
     */
    LinkDropsTestCase(const FlowConfig& flow, uint64_t LinkDrops::*kind)
        : TestCase("Drops of " + flow.traffic + " from " + flow.from + " to " + flow.to),
          m_flow(flow),
          m_kind(kind)
    {
    }

  private:
    static void TakeAway(Ptr<Node> node)
    {
        node->GetObject<MobilityModel>()->SetPosition(Vector(1e6, 0, 0));
    }

    void DoRun() override
    {
        auto scenario = ChainScenario(2, "static", 10);
        scenario.flows = {m_flow};
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        Simulator::Schedule(Seconds(5), &TakeAway, simulation.Network().GetNode("A"));
        simulation.Run();
        uint64_t counted = 0;
        for (const auto& link : simulation.Network().Links())
        {
            if (link.from == "RL1" && link.to == "A")
            {
                counted = link.*m_kind;
                NS_TEST_EXPECT_MSG_EQ(link.dataDrops + link.ackDrops + link.otherDrops,
                                      counted,
                                      "one kind only");
            }
        }
        NS_TEST_EXPECT_MSG_GT(counted, 0, "frames given up between RL1 and A");
    }

    FlowConfig m_flow;
    uint64_t LinkDrops::*m_kind;
};

/**
 * The chain's UDP capacity, the highest rate at which at most 0.1% of the datagrams get lost,
 * lies within 5% of ns-2's.
 */
class UdpCapacityTestCase : public TestCase
{
  public:
    UdpCapacityTestCase(uint32_t hops, double ns2Kbps)
        : TestCase("UDP capacity of " + std::to_string(hops) + " hops"),
          m_hops(hops),
          m_ns2Kbps(ns2Kbps)
    {
    }

  private:
    /** @return the share of the datagrams that do not arrive */
    double LossAt(double rateKbps) const
    {
        auto scenario = ChainScenario(m_hops, "static", 30);
        scenario.warmup_s = 5;
        scenario.flows = {UdpFlow("IG", "A", rateKbps)};
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        simulation.Run();
        const auto& flow = dynamic_cast<const CbrFlow&>(*simulation.Flows().at(0));
        return 1 - static_cast<double>(flow.Delivery().GoodputBytes()) / flow.SentBytes();
    }

    void DoRun() override
    {
        constexpr double LOSS = 0.001;
        constexpr double TOLERANCE = 0.05;
        NS_TEST_EXPECT_MSG_LT_OR_EQ(LossAt(m_ns2Kbps * (1 - TOLERANCE)), LOSS, "a little below");
        NS_TEST_EXPECT_MSG_GT(LossAt(m_ns2Kbps * (1 + TOLERANCE)), LOSS, "a little above");
    }

    uint32_t m_hops;
    double m_ns2Kbps;
};

/** @return a download over a chain of five hops */
Scenario
Download()
{
    auto scenario = ChainScenario(5, "static", 20);
    scenario.flows = {FtpFlow("B", "A")};
    return scenario;
}

class MeshNetworkTestSuite : public TestSuite
{
  public:
    MeshNetworkTestSuite()
        : TestSuite("meshpace-mesh-network", Type::SYSTEM)
    {
        const auto add = [this](TestCase* test) { AddTestCase(test, Duration::QUICK); };
        AddTreeTests();
        add(new NetworkTestCase("fifo"));
        add(new NetworkTestCase("fq_codel"));
        add(new NetworkTestCase("codel"));
        add(new UnreachableTestCase);
        add(new StaticRoutesTestCase);
        add(new LinkDropsTestCase(FtpFlow("B", "A"), &LinkDrops::dataDrops));
        add(new LinkDropsTestCase(FtpFlow("A", "B"), &LinkDrops::ackDrops));
        add(new LinkDropsTestCase(UdpFlow("B", "A", 100), &LinkDrops::otherDrops));
        add(new UdpCapacityTestCase(1, 4415));
        add(new UdpCapacityTestCase(2, 2161));
        add(new UdpCapacityTestCase(3, 1495));
        add(new SameRunTestCase(Download()));
    }

  private:
    void AddTreeTests()
    {
        const auto add = [this](TestCase* test) { AddTestCase(test, Duration::QUICK); };
        add(new MeshTreeTestCase("A chain, exactly in range, and a node beyond",
                                 {{"IG", 0, 0, true},
                                  {"near", 250, 0, false},
                                  {"far", 500, 0, false},
                                  {"lost", 751, 0, false}},
                                 {0, 1, 2, UNREACHED},
                                 {0, 0, 1, 0}));
        add(new MeshTreeTestCase("Of two next hops the nearer",
                                 {{"IG", 0, 0, true},
                                  {"far", 180, -100, false},
                                  {"near", 200, 0, false},
                                  {"end", 400, 0, false}},
                                 {0, 1, 1, 2},
                                 {0, 0, 0, 2}));
        add(new MeshTreeTestCase("Of two equally near the first",
                                 {{"IG", 0, 0, true},
                                  {"upper", 200, 100, false},
                                  {"lower", 200, -100, false},
                                  {"end", 400, 0, false}},
                                 {0, 1, 1, 2},
                                 {0, 0, 0, 1}));
    }
};

MeshNetworkTestSuite g_meshNetworkTestSuite; //!< the suite

} // namespace
