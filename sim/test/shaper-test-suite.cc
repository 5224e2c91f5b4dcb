/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "test-scenarios.h"

#include "../runner/simulation.h"

#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/test.h"
#include "ns3/wifi-net-device.h"

#include <algorithm>
#include <vector>

using namespace ns3;

namespace
{

constexpr double RATE_KBPS = 400;
constexpr double SEGMENT_BITS = 1460 * 8;

/** Times at which data frames leave a radio. */
class Departures
{
  public:
    /** @param device the radio */
    explicit Departures(Ptr<NetDevice> device)
    {
        const auto mac = StaticCast<WifiNetDevice>(device)->GetMac();
        mac->TraceConnectWithoutContext("MacTx", MakeCallback(&Departures::Sent, this));
    }

    /** @return the times, s */
    const std::vector<double>& TimesS() const
    {
        return m_timesS;
    }

    /** @return times between two, shortest first, after a time, s */
    std::vector<double> GapsS(double afterS) const
    {
        std::vector<double> gaps;
        for (std::size_t i = 1; i < m_timesS.size(); i++)
        {
            if (m_timesS[i - 1] > afterS)
            {
                gaps.push_back(m_timesS[i] - m_timesS[i - 1]);
            }
        }
        std::sort(gaps.begin(), gaps.end());
        return gaps;
    }

  private:
    void Sent(Ptr<const Packet> packet)
    {
        if (packet->GetSize() > 1000)
        {
            m_timesS.push_back(Simulator::Now().GetSeconds());
        }
    }

    std::vector<double> m_timesS;
};

/** Whatever the variant and its ACKs, packets leave an interval apart, and as many as wanted. */
class SpacingTestCase : public TestCase
{
  public:
    SpacingTestCase(const std::string& variant, uint32_t delayedAck, const std::string& routing)
        : TestCase("Shaped " + variant + ", ACK every " + std::to_string(delayedAck) + ", " +
                   routing),
          m_variant(variant),
          m_delayedAck(delayedAck),
          m_routing(routing)
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = ChainScenario(2, m_routing, 20);
        scenario.warmup_s = 5;
        auto flow = FtpFlow("A", "IG");
        flow.law = "shaper";
        flow.rate_kbps = RATE_KBPS;
        flow.variant = m_variant;
        flow.delayed_ack.segments = m_delayedAck;
        flow.min_rto_s = 1; // receivers hold an ACK for 0.2 s where less than m_delayedAck come
        flow.initial_window = m_variant == "bbr" ? 10 : 2;
        scenario.flows = {flow};
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        const Departures departures(simulation.Network().MeshDevice("A"));
        simulation.Run();
        const auto gapsS = departures.GapsS(5);
        const auto intervalS = SEGMENT_BITS / RATE_KBPS / 1e3;
        NS_TEST_ASSERT_MSG_GT(gapsS.size(), 400, "packets");
        NS_TEST_EXPECT_MSG_GT(gapsS.front(), intervalS - 1e-6, "never closer");
        NS_TEST_EXPECT_MSG_LT(gapsS[gapsS.size() * 19 / 20], intervalS + 1e-6, "hardly wider");
        const auto& bytes = simulation.Flows()[0]->Delivery();
        NS_TEST_EXPECT_MSG_EQ_TOL(bytes.GoodputBytes() * 8 / 15e3, RATE_KBPS, 10, "goodput");
        const auto queue = simulation.ShaperOf(scenario.flows[0])
                               ->Queue(simulation.Network().Address("IG"),
                                       dynamic_cast<const TcpFlow&>(*simulation.Flows()[0])
                                           .ReceiverPort());
        NS_TEST_EXPECT_MSG_GT(queue.meanPackets, 1, "TCP's window waits in the shaper");
        NS_TEST_EXPECT_MSG_GT_OR_EQ(queue.maxPackets, queue.meanPackets, "at most");
        // The RTT has the wait in it.
        const auto& tcp = dynamic_cast<const TcpFlow&>(*simulation.Flows()[0]);
        const auto rtts = tcp.SortedRtts();
        const auto medianS = rtts.empty() ? 0 : rtts[rtts.size() / 2];
        NS_TEST_EXPECT_MSG_GT(medianS, queue.meanPackets * intervalS * 0.8, "RTT");
        NS_TEST_EXPECT_MSG_EQ(tcp.Timeouts(), 0, "TCP gets used to it");
    }

    const std::string m_variant;
    const uint32_t m_delayedAck;
    const std::string m_routing;
};

/** With a bucket of k, k packets leave together where TCP has as many, and no more. */
class BucketTestCase : public TestCase
{
  public:
    explicit BucketTestCase(uint32_t bucket)
        : TestCase("A bucket of " + std::to_string(bucket)),
          m_bucket(bucket)
    {
    }

  private:
    void DoRun() override
    {
        // ACKs of several segments each release a burst into an idle shaper.
        auto scenario = ChainScenario(1, "static", 20);
        auto flow = FtpFlow("A", "IG");
        flow.law = "shaper";
        flow.rate_kbps = 2 * RATE_KBPS;
        flow.bucket = m_bucket;
        flow.delayed_ack.segments = 4;
        flow.advertised_window = 4;
        flow.initial_window = 4;
        flow.min_rto_s = 1;
        scenario.flows = {flow};
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        const Departures departures(simulation.Network().MeshDevice("A"));
        simulation.Run();
        const auto& times = departures.TimesS();
        const auto intervalS = SEGMENT_BITS / flow.rate_kbps / 1e3;
        NS_TEST_ASSERT_MSG_GT(times.size(), 300, "packets");
        uint32_t most = 0;
        for (std::size_t first = 0; first < times.size(); first++)
        {
            // Any n packets take at least n - k intervals: that is the bucket.
            for (std::size_t n = 1; n <= 40 && first + n <= times.size(); n++)
            {
                const auto spanS = times[first + n - 1] - times[first];
                const auto leastS = (static_cast<double>(n) - m_bucket) * intervalS;
                NS_TEST_ASSERT_MSG_GT(spanS, leastS - 1e-6, n << " packets");
                most = spanS < 1e-6 ? std::max<uint32_t>(most, n) : most;
            }
        }
        NS_TEST_EXPECT_MSG_EQ(most, std::min(m_bucket, 4U), "together");
    }

    const uint32_t m_bucket;
};

/** What stops sends nothing of what waits; another flow of the node is left alone. */
class StopTestCase : public TestCase
{
  public:
    StopTestCase()
        : TestCase("A shaped flow that stops, beside one that is not shaped")
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = ChainScenario(1, "static", 20);
        auto shaped = FtpFlow("A", "IG");
        shaped.law = "shaper";
        shaped.rate_kbps = RATE_KBPS;
        shaped.stop_s = 10;
        auto other = FtpFlow("A", "B");
        scenario.flows = {shaped, other};
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        simulation.Run();
        const auto bins = simulation.Flows()[0]->Delivery().Bins(Seconds(20));
        NS_TEST_EXPECT_MSG_EQ_TOL(bins[8] * 8 / 1e3, RATE_KBPS, 30, "before");
        NS_TEST_EXPECT_MSG_LT_OR_EQ(bins[10], 2 * 1460, "what the radio had already");
        NS_TEST_EXPECT_MSG_EQ(bins[11] + bins[12], 0, "after");
        const auto free = simulation.Flows()[1]->Delivery().GoodputBytes();
        NS_TEST_EXPECT_MSG_GT(free * 8 / 20e3, 3 * RATE_KBPS, "not shaped");
    }
};

/** The gateway gives each flow its rate, and nothing throttles it further. */
class GatewayTestCase : public TestCase
{
  public:
    GatewayTestCase()
        : TestCase("A static fair rate per flow at the gateway")
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = ChainScenario(3, "static", 25);
        scenario.warmup_s = 5;
        scenario.wired_hosts = {"B", "B1"};
        scenario.gateway.law = "shaper";
        scenario.gateway.rate_kbps = RATE_KBPS;
        scenario.flows = {FtpFlow("B", "A"), FtpFlow("B1", "RL2")};
        scenario.flows[1].segment_bytes = 730;
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        simulation.Run();
        for (const auto& flow : simulation.Flows())
        {
            const auto kbps = flow->Delivery().GoodputBytes() * 8 / 20e3;
            NS_TEST_EXPECT_MSG_EQ_TOL(kbps, RATE_KBPS, 8, flow->Config().name);
        }
        const auto* connection = simulation.ConnectionOf(*simulation.Flows()[0]);
        NS_TEST_ASSERT_MSG_NE(connection, nullptr, "a connection");
        NS_TEST_EXPECT_MSG_EQ(connection->IntervalNs(), 29200000, "1460 bytes at 400 kbit/s");
        NS_TEST_EXPECT_MSG_GT(connection->Statistics().samples, 100, "counted");
        NS_TEST_EXPECT_MSG_EQ(simulation.Gateways()[0]->Throttles(), 0, "not throttled");
    }
};

class ShaperTestSuite : public TestSuite
{
  public:
    ShaperTestSuite()
        : TestSuite("meshpace-shaper", Type::UNIT)
    {
        AddTestCase(new SpacingTestCase("newreno", 1, "static"), Duration::QUICK);
        AddTestCase(new SpacingTestCase("newreno", 5, "aodv"), Duration::QUICK);
        AddTestCase(new SpacingTestCase("cubic", 2, "static"), Duration::QUICK);
        AddTestCase(new SpacingTestCase("bbr", 3, "static"), Duration::QUICK);
        AddTestCase(new BucketTestCase(1), Duration::QUICK);
        AddTestCase(new BucketTestCase(3), Duration::QUICK);
        AddTestCase(new BucketTestCase(8), Duration::QUICK);
        AddTestCase(new StopTestCase, Duration::QUICK);
        AddTestCase(new GatewayTestCase, Duration::QUICK);
    }
};

ShaperTestSuite g_shaperTestSuite;

} // namespace
