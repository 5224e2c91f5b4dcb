/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// The law `even` at the gateway, in whole simulations.

#include "test-scenarios.h"

#include "../runner/result.h"
#include "../runner/simulation.h"

#include "ns3/rng-seed-manager.h"
#include "ns3/test.h"

#include <algorithm>
#include <numeric>
#include <vector>

using namespace ns3;

namespace
{

constexpr double SECONDS = 60;
constexpr double WARMUP_S = 20;

/**
 * @param scenario the scenario
 * @param law the gateway's law
 * @return goodput of each flow after the warm-up, kbit/s
 */
std::vector<double>
GoodputKbps(Scenario scenario, const std::string& law)
{
    scenario.warmup_s = WARMUP_S;
    scenario.gateway.law = law;
    scenario.gateway.goodput_control = law != "off";
    RngSeedManager::ResetNextStreamIndex();
    Simulation simulation(scenario, 1);
    simulation.Run();
    std::vector<double> kbps;
    const auto result = MakeResult(simulation, 1);
    for (const auto& flow : result["flows"])
    {
        const double bytes = flow["goodput_bytes"];
        kbps.push_back(bytes * 8 / 1e3 / (SECONDS - WARMUP_S));
    }
    return kbps;
}

/** A single flow loses nothing by the law: it fills the path, and no host is capped. */
class OneFlowTestCase : public TestCase
{
  public:
    OneFlowTestCase(uint32_t hops)
        : TestCase("One flow, hops: " + std::to_string(hops)),
          m_hops(hops)
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = ChainScenario(m_hops, "static", SECONDS);
        scenario.flows = {FtpFlow("B", "A")};
        const auto off = GoodputKbps(scenario, "off").front();
        const auto even = GoodputKbps(scenario, "even").front();
        NS_TEST_EXPECT_MSG_GT(even, 0.95 * off, "as much as without the law");
    }

    uint32_t m_hops;
};

/** By rate a near host's download, TCP or UDP, does not starve a far host's: both get alike. */
class NearAndFarTestCase : public TestCase
{
  public:
    NearAndFarTestCase(const std::string& near, const std::string& far)
        : TestCase("Near " + near + " beside far " + far),
          m_near(near),
          m_far(far)
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = ChainScenario(4, "static", SECONDS);
        scenario.flows = {m_near == "UDP" ? UdpFlow("B", "RL3", 3000) : FtpFlow("B", "RL3"),
                          m_far == "up" ? FtpFlow("A", "B") : FtpFlow("B", "A")};
        scenario.gateway.fairness = "rate";
        const auto kbps = GoodputKbps(scenario, "even");
        const auto equal = (kbps[0] + kbps[1]) / 2;
        NS_TEST_EXPECT_MSG_GT(kbps[1], 0.6 * equal, "far, beside " << kbps[0]);
        NS_TEST_EXPECT_MSG_GT(kbps[0], 0.6 * equal, "near, beside " << kbps[1]);
    }

    std::string m_near;
    std::string m_far;
};

/** Flows of one host, which has a cap for another's sake, take turns; who takes less has all of it. */
class OneHostTestCase : public TestCase
{
  public:
    OneHostTestCase()
        : TestCase("Six downloads and a call of a host beside another host's download")
    {
    }

  private:
    void DoRun() override
    {
        constexpr double CALL_KBPS = 50;
        auto scenario = ChainScenario(3, "static", SECONDS);
        scenario.flows.assign(6, FtpFlow("B", "RL2"));
        scenario.flows.push_back(UdpFlow("B", "RL2", CALL_KBPS));
        scenario.flows.push_back(FtpFlow("B", "A"));
        scenario.gateway.fairness = "rate";
        const auto kbps = GoodputKbps(scenario, "even");
        const auto sum = std::accumulate(kbps.begin(), kbps.begin() + 6, 0.0);
        const auto least = *std::min_element(kbps.begin(), kbps.begin() + 6);
        NS_TEST_EXPECT_MSG_GT(least, 0.6 * sum / 6, "of six downloads");
        NS_TEST_EXPECT_MSG_GT(kbps[6], 0.97 * CALL_KBPS, "the call");
        NS_TEST_EXPECT_MSG_GT(kbps[7], 0.6 * (sum + kbps[6] + kbps[7]) / 2, "the other host");
    }
};

/**
 * A flow whose path was broken goes on at once: each second the path of a download is asked, and the
 * sender of an upload is woken up. Alone it tries again some seconds after the break.
 */
class ProbeTestCase : public TestCase
{
  public:
    ProbeTestCase(bool down)
        : TestCase(down ? "A path that was silent is asked" : "A sender that was silent is woken up"),
          m_down(down),
          m_breakS(down ? 12 : 9)
    {
    }

  private:
    /** @return bytes that arrived in the three seconds after the break @param omit what is left out */
    double BytesAfter(const std::string& omit) const
    {
        auto scenario = ChainScenario(4, "static", 45);
        scenario.flows = {m_down ? FtpFlow("B", "A") : FtpFlow("A", "B")};
        scenario.flows.front().min_rto_s = 1;
        scenario.gateway.law = "even";
        scenario.gateway.local_retransmission = true;
        scenario.gateway.omit = omit;
        scenario.outages = {{.node = "RL2", .at_s = 20, .for_s = double(m_breakS)}};
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        simulation.Run();
        const auto flow = MakeResult(simulation, 1)["flows"][0];
        const auto bins = flow["delivered_bytes"].get<std::vector<double>>();
        const auto first = bins.begin() + 20 + m_breakS;
        return std::accumulate(first, first + 3, 0.0);
    }

    void DoRun() override
    {
        const auto alone = BytesAfter("probes");
        NS_TEST_EXPECT_MSG_GT(BytesAfter(""), 2 * alone, "the sender alone tries later");
    }

    bool m_down;
    int m_breakS;
};

/** The far host dies in mid-download, and holds nobody: the near one soon has what is free. */
class DeathTestCase : public TestCase
{
  public:
    DeathTestCase()
        : TestCase("A host dies beside another's download")
    {
    }

  private:
    static constexpr int DIES_S = 40;
    static constexpr int WITHIN_S = 10;

    /** @return what the near host gets in the rest of the run, bytes @param law the gateway's */
    double NearBytes(const std::string& law) const
    {
        auto scenario = ChainScenario(4, "static", SECONDS);
        scenario.flows = {FtpFlow("B", "RL3"), FtpFlow("B", "A")};
        scenario.gateway.law = law;
        scenario.outages = {{.node = "A", .at_s = DIES_S, .for_s = SECONDS}};
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        simulation.Run();
        const auto flow = MakeResult(simulation, 1)["flows"][0];
        const auto bins = flow["delivered_bytes"].get<std::vector<double>>();
        return std::accumulate(bins.begin() + DIES_S + WITHIN_S, bins.end(), 0.0);
    }

    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_GT(NearBytes("even"), 0.9 * NearBytes("off"), "as without the law");
    }
};

class EvenTestSuite : public TestSuite
{
  public:
    EvenTestSuite()
        : TestSuite("meshpace-even", Type::SYSTEM)
    {
        AddTestCase(new OneFlowTestCase(1), Duration::QUICK);
        AddTestCase(new OneFlowTestCase(4), Duration::QUICK);
        AddTestCase(new OneFlowTestCase(8), Duration::QUICK);
        AddTestCase(new NearAndFarTestCase("TCP", "down"), Duration::QUICK);
        AddTestCase(new NearAndFarTestCase("TCP", "up"), Duration::QUICK);
        AddTestCase(new NearAndFarTestCase("UDP", "down"), Duration::QUICK);
        AddTestCase(new OneHostTestCase(), Duration::QUICK);
        AddTestCase(new DeathTestCase(), Duration::QUICK);
        AddTestCase(new ProbeTestCase(true), Duration::QUICK);
        AddTestCase(new ProbeTestCase(false), Duration::QUICK);
    }
};

EvenTestSuite g_evenTestSuite; //!< the suite

} // namespace
