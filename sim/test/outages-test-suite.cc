/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// What interrupts a flow: a node's radios that fail, an application that has nothing to send.

#include "test-scenarios.h"

#include "../runner/simulation.h"

#include "ns3/rng-seed-manager.h"
#include "ns3/test.h"

using namespace ns3;

namespace
{

constexpr double SECONDS = 30;

/** @return what a scenario's first flow delivers in each second, bytes */
std::vector<uint64_t>
Bins(const Scenario& scenario)
{
    RngSeedManager::ResetNextStreamIndex();
    Simulation simulation(scenario, 1);
    simulation.Run();
    return simulation.Flows().at(0)->Delivery().Bins(Seconds(scenario.duration_s));
}

/** @return what is delivered from one second to another, bytes a second */
double
Rate(const std::vector<uint64_t>& bins, uint32_t from, uint32_t to)
{
    double sum = 0;
    for (auto second = from; second < to; second++)
    {
        sum += bins[second];
    }
    return sum / (to - from);
}

/** A radio by the words of a scenario. */
struct Kind
{
    std::string name;     //!< for the report
    std::string standard; //!< IEEE's; "802.11n" and "802.11ac" are of the model sinr
    bool ns2;             //!< whether ns-2's rules hold
    bool aggregation;     //!< whether there are aggregates
};

/** @return a chain of three hops */
Scenario
Chain(const Kind& kind)
{
    auto scenario = ChainScenario(3, "static", SECONDS);
    auto& radio = scenario.radio;
    radio.interference = kind.ns2 ? "pairwise" : "additive";
    radio.missed_frames_deafen = radio.cts_when_idle = radio.cts_waits_for_data = kind.ns2;
    radio.eifs_in_nav = radio.always_back_off = kind.ns2;
    radio.nav_reset = !kind.ns2;
    if (kind.standard != "802.11b")
    {
        radio.model = "sinr";
        radio.standard = kind.standard;
        radio.path_loss_exponent = 3.3;
        radio.sense_dbm = -89;
        radio.lock_dbm = -89;
        radio.rts_cts = false;
        radio.aggregation = kind.aggregation;
        for (auto& node : scenario.nodes)
        {
            node.x_m /= 8; // 25 m between neighbours
        }
    }
    return scenario;
}

/** A relay fails: nothing arrives; it comes back: everything does, at once with UDP. */
class OutageTestCase : public TestCase
{
  public:
    OutageTestCase(const Kind& kind, const std::string& node, bool tcp)
        : TestCase("Outage of " + node + ", " + kind.name + (tcp ? ", TCP" : ", UDP")),
          m_kind(kind),
          m_node(node),
          m_tcp(tcp)
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = Chain(m_kind);
        scenario.flows = {m_tcp ? FtpFlow("B", "A") : UdpFlow("B", "A", 300)};
        // Two that overlap, which are one from 10 to 13.
        scenario.outages = {{.node = m_node, .at_s = 10, .for_s = 2},
                            {.node = m_node, .at_s = 11, .for_s = 2}};
        const auto bins = Bins(scenario);
        const auto before = Rate(bins, 3, 10);
        NS_TEST_EXPECT_MSG_GT(before, 30000, "before");
        NS_TEST_EXPECT_MSG_EQ(Rate(bins, 11, 13), 0, "meanwhile");
        // TCP has to open its window anew, over a round trip of a quarter of a second.
        const auto after = m_tcp ? Rate(bins, 20, SECONDS) / 0.6 : Rate(bins, 14, SECONDS) / 0.9;
        NS_TEST_EXPECT_MSG_GT(after, before, "afterwards");
    }

    Kind m_kind;
    std::string m_node;
    bool m_tcp;
};

/** A node is gone for good: its neighbour goes on with all others. */
class GoneTestCase : public TestCase
{
  public:
    /** @param kind the radio */
    explicit GoneTestCase(const Kind& kind)
        : TestCase("The last node is gone, " + kind.name),
          m_kind(kind)
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = Chain(m_kind);
        scenario.flows = {UdpFlow("B", "RL1", 300), FtpFlow("B", "A")};
        scenario.outages = {{.node = "A", .at_s = 10, .for_s = 1000}};
        const auto bins = Bins(scenario);
        NS_TEST_EXPECT_MSG_GT(Rate(bins, 12, SECONDS), 36000, "its neighbour's, of 37.5 kB/s");
    }

    Kind m_kind;
};

/** Both radios of a node fail. */
class TwoRadiosTestCase : public TestCase
{
  public:
    TwoRadiosTestCase()
        : TestCase("Outage of a node with two radios")
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = Chain({"", "802.11b", false, false});
        scenario.radio.radios = 2;
        scenario.flows = {UdpFlow("B", "A", 300)};
        scenario.outages = {{.node = "A", .at_s = 10, .for_s = 3}};
        const auto last = Bins(scenario);
        scenario.outages[0].node = "RL2";
        const auto first = Bins(scenario);
        for (const auto& bins : {last, first})
        {
            NS_TEST_EXPECT_MSG_EQ(Rate(bins, 11, 13), 0, "meanwhile");
            NS_TEST_EXPECT_MSG_GT(Rate(bins, 14, SECONDS), 30000, "afterwards");
        }
    }
};

/** An application that falls silent: TCP sends what it has, then nothing, then all again. */
class IdleTestCase : public TestCase
{
  public:
    IdleTestCase()
        : TestCase("An idle application")
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = ChainScenario(1, "static", SECONDS);
        scenario.flows = {FtpFlow("B", "A")};
        const auto busy = Bins(scenario);
        scenario.flows[0].idle_at_s = 10;
        scenario.flows[0].idle_s = 10;
        const auto bins = Bins(scenario);
        NS_TEST_EXPECT_MSG_EQ(Rate(bins, 0, 10), Rate(busy, 0, 10), "before, as without");
        NS_TEST_EXPECT_MSG_GT(Rate(bins, 10, 12), 0, "what TCP has");
        NS_TEST_EXPECT_MSG_EQ(Rate(bins, 13, 20), 0, "idle");
        NS_TEST_EXPECT_MSG_GT(Rate(bins, 22, SECONDS), 0.9 * Rate(busy, 22, SECONDS), "again");
    }
};

class OutagesTestSuite : public TestSuite
{
  public:
    OutagesTestSuite()
        : TestSuite("meshpace-outages", Type::SYSTEM)
    {
        const Kind plain{"802.11b", "802.11b", false, false};
        const Kind ns2{"802.11b with ns-2's rules", "802.11b", true, false};
        const Kind single{"802.11n without aggregates", "802.11n", false, false};
        const Kind n{"802.11n", "802.11n", false, true};
        const Kind ac{"802.11ac", "802.11ac", false, true};
        const auto add = [this](TestCase* test) { AddTestCase(test, Duration::QUICK); };
        for (const auto& kind : {plain, ns2, single, n, ac})
        {
            add(new OutageTestCase(kind, "RL1", false));
            add(new OutageTestCase(kind, "RL2", true));
        }
        add(new OutageTestCase(plain, "IG", true));
        for (const auto& kind : {plain, n, ac})
        {
            add(new GoneTestCase(kind));
        }
        add(new TwoRadiosTestCase);
        add(new IdleTestCase);
    }
};

OutagesTestSuite g_outagesTestSuite; //!< the suite

} // namespace
