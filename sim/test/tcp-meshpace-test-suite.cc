/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "test-scenarios.h"

#include "../model/sender/tcp-meshpace.h"
#include "../runner/simulation.h"

#include "ns3/config.h"
#include "ns3/enum.h"
#include "ns3/simulator.h"
#include "ns3/tcp-header.h"
#include "ns3/test.h"
#include "ns3/uinteger.h"

#include <algorithm>

using namespace ns3;

namespace
{

constexpr double WIRED_RTT_S = 2 * 3 * 0.04; //!< three links of 40 ms, both ways

/** One upload over a chain, paced at its sender. */
Scenario
Upload(const std::string& senderLaw, const std::string& gatewayLaw)
{
    auto scenario = ChainScenario(4, "static", 20);
    scenario.warmup_s = 5;
    scenario.gateway.law = gatewayLaw;
    scenario.gateway.delay_bound_s = 0.5;
    scenario.flows = {FtpFlow("A", "B")};
    scenario.flows[0].law = senderLaw;
    return scenario;
}

/** What a sender takes for the RTT through the mesh. */
class RttTestCase : public TestCase
{
  public:
    RttTestCase(const std::string& senderLaw, const std::string& gatewayLaw, bool wiredPartGone)
        : TestCase("RTT at a " + senderLaw + " sender, gateway " + gatewayLaw),
          m_scenario(Upload(senderLaw, gatewayLaw)),
          m_wiredPartGone(wiredPartGone)
    {
    }

  private:
    void DoRun() override
    {
        Simulation simulation(m_scenario, 1);
        simulation.Run();
        const auto& flow = dynamic_cast<const TcpFlow&>(*simulation.Flows()[0]);
        const auto seenS = flow.Control()->MeanRttNs() / 1e9;
        NS_TEST_EXPECT_MSG_GT(flow.Control()->Statistics().samples, 100, "samples");
        if (m_wiredPartGone)
        {
            const auto rtts = flow.SortedRtts();
            const auto wholeS = rtts.empty() ? 0 : rtts[rtts.size() / 2];
            NS_TEST_EXPECT_MSG_EQ_TOL(seenS, wholeS - WIRED_RTT_S, 0.03, "RTT - RTT_wired");
        }
        else
        {
            NS_TEST_EXPECT_MSG_GT(seenS, WIRED_RTT_S, "the whole RTT");
        }
    }

    const Scenario m_scenario;
    const bool m_wiredPartGone;
};

/** Segments leave at the law's rate. */
class SpacingTestCase : public TestCase
{
  public:
    SpacingTestCase()
        : TestCase("Segments of a paced sender are one interval apart")
    {
    }

  private:
    void DoRun() override
    {
        const auto scenario = Upload("gap", "gap");
        Simulation simulation(scenario, 1);
        const auto& flow = dynamic_cast<const TcpFlow&>(*simulation.Flows()[0]);
        const auto path = "/NodeList/" + std::to_string(simulation.Network().GetNode("A")->GetId());
        Simulator::Schedule(Seconds(5), [this, path] {
            Config::ConnectWithoutContext(path + "/$ns3::TcpL4Protocol/SocketList/*/Tx",
                                          MakeCallback(&SpacingTestCase::Sent, this));
        });
        m_control = flow.Control();
        simulation.Run();
        std::sort(m_ratios.begin(), m_ratios.end());
        NS_TEST_ASSERT_MSG_GT(m_ratios.size(), 200, "segments");
        NS_TEST_EXPECT_MSG_EQ_TOL(m_ratios[m_ratios.size() / 2], 1, 0.02, "median of gap * R");
        NS_TEST_EXPECT_MSG_GT(m_ratios[m_ratios.size() / 20], 0.9, "and hardly one is shorter");
    }

    void Sent(Ptr<const Packet> payload,
              const TcpHeader& /* header */,
              Ptr<const TcpSocketBase> /* socket */)
    {
        if (payload->GetSize() == 0)
        {
            return;
        }
        if (m_intervalNs)
        {
            const auto gapNs = (Simulator::Now() - m_last).GetNanoSeconds();
            m_ratios.push_back(static_cast<double>(gapNs) / m_intervalNs);
        }
        m_last = Simulator::Now();
        m_intervalNs = m_control->IntervalNs();
    }

    Ptr<TcpMeshpace> m_control;
    Time m_last;
    uint64_t m_intervalNs{0};
    std::vector<double> m_ratios;
};

/** A fork has the parameters, and has measured nothing. */
class ForkTestCase : public TestCase
{
  public:
    ForkTestCase()
        : TestCase("Fork copies parameters, not measurements")
    {
    }

  private:
    void DoRun() override
    {
        auto original = CreateObjectWithAttributes<TcpMeshpace>("Law",
                                                                EnumValue(TcpMeshpace::AP),
                                                                "Hops",
                                                                UintegerValue(7));
        auto fork = DynamicCast<TcpMeshpace>(original->Fork());
        UintegerValue hops;
        fork->GetAttribute("Hops", hops);
        NS_TEST_EXPECT_MSG_EQ(hops.Get(), 7, "hops");
        NS_TEST_EXPECT_MSG_EQ(fork->GetName(), "TcpMeshpace", "name");
        NS_TEST_EXPECT_MSG_EQ(fork->MeanRttNs(), 0, "no samples");
        NS_TEST_EXPECT_MSG_EQ(fork->IntervalNs(), 50000000, "ap begins at 50 ms");
    }
};

class TcpMeshpaceTestSuite : public TestSuite
{
  public:
    TcpMeshpaceTestSuite()
        : TestSuite("meshpace-tcp", Type::UNIT)
    {
        AddTestCase(new RttTestCase("gap", "gap", true), Duration::QUICK);
        AddTestCase(new RttTestCase("gap", "off", false), Duration::QUICK);
        AddTestCase(new RttTestCase("ap", "gap", false), Duration::QUICK);
        AddTestCase(new SpacingTestCase, Duration::QUICK);
        AddTestCase(new ForkTestCase, Duration::QUICK);
    }
};

TcpMeshpaceTestSuite g_tcpMeshpaceTestSuite;

} // namespace
