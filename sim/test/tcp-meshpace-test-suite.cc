/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "tcp-line.h"
#include "test-scenarios.h"

#include "../runner/simulation.h"

#include "ns3/boolean.h"
#include "ns3/config.h"
#include "ns3/enum.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/tcp-header.h"
#include "ns3/tcp-meshpace.h"
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

/** Segments leave at the law's rate: of when the one before left, or of now. */
class SpacingTestCase : public TestCase
{
  public:
    explicit SpacingTestCase(bool live)
        : TestCase(std::string("Segments of a paced sender are one interval apart, ") +
                   (live ? "live" : "fixed")),
          m_live(live)
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = Upload("gap", "gap");
        scenario.flows[0].live_departures = m_live;
        Simulation simulation(scenario, 1);
        const auto& flow = dynamic_cast<const TcpFlow&>(*simulation.Flows()[0]);
        const auto path = "/NodeList/" + std::to_string(simulation.Network().GetNode("A")->GetId());
        Simulator::Schedule(Seconds(5), [this, path] {
            Config::ConnectWithoutContext(path + "/$ns3::TcpL4Protocol/SocketList/*/Tx",
                                          MakeCallback(&SpacingTestCase::Sent, this));
        });
        m_control = flow.Control();
        simulation.Run();
        auto& ratios = m_live ? m_ofNow : m_ofThen;
        std::sort(ratios.begin(), ratios.end());
        NS_TEST_ASSERT_MSG_GT(ratios.size(), 200, "segments");
        NS_TEST_EXPECT_MSG_EQ_TOL(ratios[ratios.size() / 2], 1, 0.02, "median of gap * R");
        NS_TEST_EXPECT_MSG_GT(ratios[ratios.size() / 20], 0.9, "and hardly one is shorter");
        // What tells one from the other: intervals of the moment, of which a fixed departure knows nothing.
        const auto shortest = *std::min_element(m_ofNow.begin(), m_ofNow.end());
        NS_TEST_EXPECT_MSG_EQ((shortest > 0.99), m_live, "shortest gap * R of now: " << shortest);
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
            const auto gapNs = static_cast<double>((Simulator::Now() - m_last).GetNanoSeconds());
            m_ofThen.push_back(gapNs / m_intervalNs);
            m_ofNow.push_back(gapNs / m_control->IntervalNs());
        }
        m_last = Simulator::Now();
        m_intervalNs = m_control->IntervalNs();
    }

    const bool m_live;
    Ptr<TcpMeshpace> m_control;
    Time m_last;
    uint64_t m_intervalNs{0};
    std::vector<double> m_ofThen; //!< gap by the interval in force when the one before left
    std::vector<double> m_ofNow;  //!< gap by the interval in force at the end of it
};

/** What a loss has sent again at once leaves the departures alone that follow the rate. */
class ResentTestCase : public TestCase
{
  public:
    ResentTestCase()
        : TestCase("Live departures keep to the rate beside a retransmission")
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint32_t SEGMENTS = 200;
        auto flow = FtpFlow("A", "B");
        flow.initial_window = 10;
        Config::SetDefault("ns3::TcpSocketState::EnablePacing", BooleanValue(true));
        Config::SetDefault("ns3::TcpSocketState::PaceInitialWindow", BooleanValue(true));
        Config::SetDefault("ns3::TcpSocketState::MaxPacingRate", StringValue("2Mb/s"));
        TcpLine line({.flow = flow, .segments = SEGMENTS, .lostThere = {60}});
        Config::Reset();
        line.Sender()->FollowRate();
        line.Sender()->TraceConnectWithoutContext("Tx", MakeCallback(&ResentTestCase::Sent, this));
        line.Run(5);
        NS_TEST_EXPECT_MSG_EQ(line.Delivered(), SEGMENTS, "all of it arrives");
        NS_TEST_EXPECT_MSG_EQ(m_again, 1, "one is sent again");
        NS_TEST_ASSERT_MSG_EQ(m_gapsS.size(), SEGMENTS - 1, "gaps");
        const auto [least, most] = std::minmax_element(m_gapsS.begin(), m_gapsS.end());
        NS_TEST_EXPECT_MSG_GT(*least, 0.99 * flow.segment_bytes * 8 / 2e6, "none leaves sooner");
        NS_TEST_EXPECT_MSG_LT(*most, flow.min_rto_s, "nor does any wait for a time-out");
    }

    void Sent(Ptr<const Packet> payload,
              const TcpHeader& header,
              Ptr<const TcpSocketBase> /* socket */)
    {
        const auto sequence = header.GetSequenceNumber();
        if (payload->GetSize() > 0 && sequence < m_next)
        {
            m_again++;
        }
        else if (payload->GetSize() > 0)
        {
            if (m_lastS > 0)
            {
                m_gapsS.push_back(Simulator::Now().GetSeconds() - m_lastS);
            }
            m_lastS = Simulator::Now().GetSeconds();
            m_next = sequence + payload->GetSize();
        }
    }

    SequenceNumber32 m_next{0};
    uint32_t m_again{0};
    double m_lastS{0};
    std::vector<double> m_gapsS; //!< between segments that leave for the first time
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

/** What is set of a law that is there already, before its connection begins, holds like the rest. */
class LateLawTestCase : public TestCase
{
  public:
    LateLawTestCase()
        : TestCase("A law that is set after construction is taken whole")
    {
    }

  private:
    void DoRun() override
    {
        auto control = CreateObject<TcpMeshpace>();
        control->SetAttribute("Law", EnumValue(TcpMeshpace::AP));
        control->SetAttribute("Hops", UintegerValue(7));
        control->SetAttribute("BitRate", UintegerValue(54000));
        control->Init(CreateObject<TcpSocketState>());
        NS_TEST_EXPECT_MSG_EQ(control->IntervalNs(), 50000000, "ap begins at 50 ms");
        NS_TEST_EXPECT_MSG_EQ(control->Path().hops, 7, "hops");
        NS_TEST_EXPECT_MSG_EQ(control->Path().kbps, 54000, "bit rate");
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
        AddTestCase(new SpacingTestCase(false), Duration::QUICK);
        AddTestCase(new SpacingTestCase(true), Duration::QUICK);
        AddTestCase(new ResentTestCase, Duration::QUICK);
        AddTestCase(new ForkTestCase, Duration::QUICK);
        AddTestCase(new LateLawTestCase, Duration::QUICK);
    }
};

TcpMeshpaceTestSuite g_tcpMeshpaceTestSuite;

} // namespace
