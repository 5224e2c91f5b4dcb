/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// Shaping at a gateway, in whole simulations.

#include "test-scenarios.h"

#include "../runner/simulation.h"

#include "ns3/fq-codel-queue-disc.h"
#include "ns3/rated-queue-disc.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/test.h"
#include "ns3/traffic-control-layer.h"

#include <memory>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

/** In a mesh: UDP both ways, each host's IP packets at the rate, while the radios carry more. */
class MeshRatesTestCase : public TestCase
{
  public:
    explicit MeshRatesTestCase(const std::string& law)
        : TestCase("UDP both ways in a mesh under " + law),
          m_law(law)
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = ChainScenario(2, "static", 25);
        scenario.warmup_s = 5;
        scenario.wired.delay_ms = 1;
        scenario.wired_hosts = {"B", "B1"};
        scenario.radio.queueing = "fq_codel";
        scenario.gateway.law = m_law;
        if (m_law == "cake")
        {
            scenario.gateway.rate_kbps = 600;
        }
        else
        {
            scenario.gateway.host_kbps = {{"A", 200}};
        }
        scenario.flows = {UdpFlow("B", "A", 400),
                          UdpFlow("A", "B", 400),
                          UdpFlow("B1", "RL1", 400),
                          UdpFlow("RL1", "B1", 400)};
        RngSeedManager::ResetNextStreamIndex();
        auto simulation = std::make_unique<Simulation>(scenario, 1);
        CheckRadio(simulation->Network());
        simulation->Run();
        CheckGoodputs(*simulation);
        const auto shaping = simulation->ShapingAtGateways().at(0);
        NS_TEST_EXPECT_MSG_GT(shaping.down->MaxPackets(), 1, "they wait");
        NS_TEST_EXPECT_MSG_GT(shaping.up->MaxPackets(), 1, "likewise");
        simulation.reset();
        NS_TEST_EXPECT_MSG_EQ(shaping.down->GetReferenceCount(), 1, "freed, with what waited");
        NS_TEST_EXPECT_MSG_EQ(shaping.up->GetReferenceCount(), 1, "likewise");
    }

    /** The gateway's radio has the queue that it would have without a law. */
    void CheckRadio(const MeshNetwork& network)
    {
        const auto disc = network.GetNode("IG")
                              ->GetObject<TrafficControlLayer>()
                              ->GetRootQueueDiscOnDevice(network.MeshDevice("IG"));
        NS_TEST_EXPECT_MSG_NE(DynamicCast<FqCoDelQueueDisc>(disc), nullptr, "fq_codel");
    }

    /** By CAKE 600 are shared by two hosts; else A has 200, RL1 what it asks for. */
    void CheckGoodputs(const Simulation& simulation)
    {
        const bool cake = m_law == "cake";
        constexpr double PAYLOAD = 1460.0 / (1460 + 28); // beside headers of IPv4 and UDP
        const double farKbps = (cake ? 300 : 200) * PAYLOAD;
        const double nearKbps = cake ? 300 * PAYLOAD : 400;
        const std::vector<double> expected{farKbps, farKbps, nearKbps, nearKbps};
        for (std::size_t i = 0; i < expected.size(); i++)
        {
            const auto& flow = *simulation.Flows()[i];
            NS_TEST_EXPECT_MSG_EQ_TOL(flow.Delivery().GoodputBytes() * 8 / 20e3,
                                      expected[i],
                                      expected[i] / 50,
                                      flow.Config().name);
        }
    }

    const std::string m_law;
};

/** TCP has the rate, and hardly a queue: down and up, over static routes and over AODV's. */
class TcpTestCase : public TestCase
{
  public:
    TcpTestCase(const std::string& from, const std::string& to, const std::string& routing)
        : TestCase("CUBIC from " + from + " to " + to + ", " + routing),
          m_from(from),
          m_to(to),
          m_routing(routing)
    {
    }

  private:
    double MedianRttS(const std::string& law)
    {
        auto scenario = ChainScenario(1, m_routing, 25);
        scenario.warmup_s = 5;
        scenario.wired = {.mbps = 2, .delay_ms = 5};
        scenario.gateway.law = law;
        scenario.gateway.rate_kbps = law == "cake" ? RATE_KBPS : 0;
        scenario.flows = {FtpFlow(m_from, m_to)};
        scenario.flows[0].variant = "cubic";
        scenario.flows[0].advertised_window = 200;
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        simulation.Run();
        const auto& flow = dynamic_cast<const TcpFlow&>(*simulation.Flows()[0]);
        m_kbps = flow.Delivery().GoodputBytes() * 8 / 20e3;
        const auto rtts = flow.SortedRtts();
        return rtts[rtts.size() / 2];
    }

    void DoRun() override
    {
        const auto offS = MedianRttS("off");
        const auto cakeS = MedianRttS("cake");
        const auto mostKbps = RATE_KBPS * 1460 / 1500; // of payload
        NS_TEST_EXPECT_MSG_LT(m_kbps, mostKbps * 1.01, "the rate is held");
        NS_TEST_EXPECT_MSG_GT(m_kbps, mostKbps * 0.9, "and used");
        NS_TEST_EXPECT_MSG_GT(offS, 0.5, "without it the wired queue is long");
        // 30 ms of the wired network, 24 of a full target, and packets on their way.
        NS_TEST_EXPECT_MSG_LT(cakeS, 0.1, "with it there is hardly one");
    }

    static constexpr double RATE_KBPS = 1500;
    const std::string m_from;
    const std::string m_to;
    const std::string m_routing;
    double m_kbps{0};
};

/** The suite. */
class ShapingMeshTestSuite : public TestSuite
{
  public:
    ShapingMeshTestSuite()
        : TestSuite("meshpace-shaping-mesh", Type::SYSTEM)
    {
        const auto add = [this](TestCase* test) { AddTestCase(test, Duration::QUICK); };
        add(new MeshRatesTestCase("cake"));
        add(new MeshRatesTestCase("hosts"));
        add(new TcpTestCase("B", "A", "static"));
        add(new TcpTestCase("A", "B", "static"));
        add(new TcpTestCase("B", "A", "aodv"));
    }
};

ShapingMeshTestSuite g_shapingMeshTestSuite; //!< the suite

} // namespace
