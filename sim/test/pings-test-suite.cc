/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// Pings: what of them counts, and that they get through, whatever law and routing.

#include "test-scenarios.h"

#include "../runner/result.h"
#include "../runner/simulation.h"

#include "ns3/rng-seed-manager.h"
#include "ns3/test.h"

using namespace ns3;

namespace
{

using Json = nlohmann::ordered_json;

/** @return what became of a scenario's only ping */
Json
Ping(const Scenario& scenario)
{
    RngSeedManager::ResetNextStreamIndex();
    Simulation simulation(scenario, 1);
    simulation.Run();
    return MakeResult(simulation, 1)["pings"].at(0);
}

/** On an idle chain nothing is lost, and only what is sent after the warm-up counts. */
class CountedTestCase : public TestCase
{
  public:
    CountedTestCase()
        : TestCase("Pings after the warm-up count")
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = ChainScenario(2, "static", 10);
        scenario.warmup_s = 4;
        scenario.pings = {{.from = "B", .to = "A", .interval_s = 0.2, .start_s = 1}};
        const auto ping = Ping(scenario);
        NS_TEST_EXPECT_MSG_EQ(ping["from"], "B", "from");
        NS_TEST_EXPECT_MSG_EQ(ping["to"], "A", "to");
        NS_TEST_EXPECT_MSG_EQ(ping["sent"], 29, "sent after the warm-up, without the one under way");
        NS_TEST_EXPECT_MSG_EQ(ping["lost"], 0, "those under way at the end are not lost");
        // Three links of 40 ms, there and back, and four short frames.
        NS_TEST_EXPECT_MSG_EQ_TOL(ping["rtt_ms"]["mean"].get<double>(), 250, 10, "mean");
        NS_TEST_EXPECT_MSG_LT(ping["rtt_ms"]["p95"], 260, "95%");
        NS_TEST_EXPECT_MSG_GT_OR_EQ(ping["rtt_ms"]["max"], ping["rtt_ms"]["p95"], "most");
    }
};

/** Who does not answer has lost all but the latest, which do not count; without an answer there is no time. */
class LostTestCase : public TestCase
{
  public:
    LostTestCase()
        : TestCase("Pings without an answer")
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = ChainScenario(2, "static", 20);
        scenario.pings = {{.from = "A", .to = "B", .interval_s = 1, .start_s = 0}};
        scenario.outages = {{.node = "RL1", .at_s = 0, .for_s = 20}};
        const auto ping = Ping(scenario);
        NS_TEST_EXPECT_MSG_EQ(ping["sent"], 20 - Pinger::UNDER_WAY_S, "sent");
        NS_TEST_EXPECT_MSG_EQ(ping["lost"], ping["sent"], "lost");
        NS_TEST_EXPECT_MSG_EQ(ping["rtt_ms"].is_null(), true, "no time");
    }
};

/** More requests than ICMP has numbers. */
class NumbersTestCase : public TestCase
{
  public:
    NumbersTestCase()
        : TestCase("Pings begin to count anew at 65536")
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = ChainScenario(1, "static", 70);
        scenario.pings = {{.from = "B", .to = "IG", .interval_s = 0.001, .start_s = 0}};
        const auto ping = Ping(scenario);
        NS_TEST_EXPECT_MSG_EQ_TOL(ping["sent"].get<int>(), 70000 - 240, 2, "sent, without what is under way");
        NS_TEST_EXPECT_MSG_EQ(ping["lost"], 0, "lost");
        NS_TEST_EXPECT_MSG_LT(ping["rtt_ms"]["max"], 242, "answers to the right requests");
    }
};

/** Beside a download the gateway lets them pass under every law, and every routing leads them. */
class ArriveTestCase : public TestCase
{
  public:
    ArriveTestCase(const std::string& routing, const std::string& law, bool down)
        : TestCase("Pings " + std::string(down ? "into" : "out of") + " the mesh, " + routing +
                   " routes, law " + law),
          m_routing(routing),
          m_law(law),
          m_down(down)
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = ChainScenario(4, m_routing, 40);
        scenario.warmup_s = 20; // OLSR has to find its routes
        scenario.gateway.law = m_law;
        scenario.gateway.goodput_control = m_law != "off";
        scenario.gateway.rate_kbps = m_law == "shaper" ? 100 : 0;
        scenario.flows = {FtpFlow("B", "A")};
        const std::string from = m_down ? "B1" : "A";
        const std::string to = m_down ? "A" : "B1";
        scenario.wired_hosts = {"B", "B1"};
        scenario.pings = {{.from = from, .to = to, .interval_s = 0.2, .start_s = 0}};
        const auto ping = Ping(scenario);
        NS_TEST_EXPECT_MSG_LT(ping["sent"], 100, "sent, without what is under way");
        NS_TEST_EXPECT_MSG_GT(ping["sent"], 70, "or was lost in the last 5 s");
        NS_TEST_EXPECT_MSG_LT(ping["lost"], 30, "lost"); // AODV loses its route at times
        NS_TEST_ASSERT_MSG_EQ(ping["rtt_ms"].is_null(), false, "answers");
        NS_TEST_EXPECT_MSG_GT(ping["rtt_ms"]["p50"], 240, "through the wires");
    }

    std::string m_routing;
    std::string m_law;
    bool m_down;
};

class PingsTestSuite : public TestSuite
{
  public:
    PingsTestSuite()
        : TestSuite("meshpace-pings", Type::SYSTEM)
    {
        AddTestCase(new CountedTestCase, Duration::QUICK);
        AddTestCase(new LostTestCase, Duration::QUICK);
        AddTestCase(new NumbersTestCase, Duration::QUICK);
        for (const std::string law : {"off", "gap", "map", "shaper", "even"})
        {
            AddTestCase(new ArriveTestCase("static", law, true), Duration::QUICK);
        }
        AddTestCase(new ArriveTestCase("static", "even", false), Duration::QUICK);
        for (const std::string routing : {"aodv", "olsr"})
        {
            AddTestCase(new ArriveTestCase(routing, "even", true), Duration::QUICK);
            AddTestCase(new ArriveTestCase(routing, "off", false), Duration::QUICK);
        }
    }
};

PingsTestSuite g_pingsTestSuite; //!< the suite

} // namespace
