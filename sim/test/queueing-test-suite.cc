/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "test-scenarios.h"

#include "../runner/queueing.h"
#include "../runner/simulation.h"

#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/test.h"
#include "ns3/traffic-control-layer.h"
#include "ns3/yang-queue-disc.h"

#include <algorithm>

using namespace ns3;

namespace
{

/** @return the root queue disc of a node's radio, null: none */
Ptr<QueueDisc>
DiscOf(const MeshNetwork& network, const std::string& node, uint32_t radio = 0)
{
    return network.GetNode(node)->GetObject<TrafficControlLayer>()->GetRootQueueDiscOnDevice(
        network.MeshDevice(node, radio));
}

/** @return its type, "none" without one */
std::string
TypeOf(const MeshNetwork& network, const std::string& node, uint32_t radio = 0)
{
    const auto disc = DiscOf(network, node, radio);
    return disc ? disc->GetInstanceTypeId().GetName() : "none";
}

/** Which disciplines stand where. */
class PlacesTestCase : public TestCase
{
  public:
    /**
     * @param everywhere radio.queueing
     * @param gateway gateway.queueing
     * @param law gateway.law
     * @param atGateway type expected there
     * @param atRelay type expected elsewhere
     */
    PlacesTestCase(const std::string& everywhere,
                   const std::string& gateway,
                   const std::string& law,
                   const std::string& atGateway,
                   const std::string& atRelay)
        : TestCase(everywhere + " everywhere, " + (gateway.empty() ? "the same" : gateway) +
                   " at the gateway, law " + law),
          m_everywhere(everywhere),
          m_gateway(gateway),
          m_law(law),
          m_atGateway(atGateway),
          m_atRelay(atRelay)
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = ChainScenario(2, "static", 1);
        scenario.radio.radios = 2;
        scenario.radio.queueing = m_everywhere;
        scenario.gateway.queueing = m_gateway;
        scenario.gateway.law = m_law;
        scenario.flows = {FtpFlow("B", "A")};
        Simulation simulation(scenario, 1);
        for (uint32_t radio = 0; radio < 2; radio++)
        {
            const auto& network = simulation.Network();
            NS_TEST_EXPECT_MSG_EQ(TypeOf(network, "IG", radio), m_atGateway, "gateway");
            NS_TEST_EXPECT_MSG_EQ(TypeOf(network, "RL1", radio), m_atRelay, "relay");
            NS_TEST_EXPECT_MSG_EQ(TypeOf(network, "A", radio), m_atRelay, "end");
        }
    }

    const std::string m_everywhere;
    const std::string m_gateway;
    const std::string m_law;
    const std::string m_atGateway;
    const std::string m_atRelay;
};

/** CoDel at the gateway acts: packets wait in it, where it marks what waits too long by dropping. */
class CoDelTestCase : public TestCase
{
  public:
    explicit CoDelTestCase(const std::string& queueing)
        : TestCase(queueing + " at the gateway alone keeps its queue short"),
          m_queueing(queueing)
    {
    }

  private:
    double MedianRttS(const std::string& queueing, uint64_t* drops)
    {
        auto scenario = ChainScenario(1, "static", 25);
        scenario.warmup_s = 5;
        scenario.wired = {.mbps = 10, .delay_ms = 1};
        scenario.gateway.queueing = queueing;
        scenario.flows = {FtpFlow("B", "A")};
        scenario.flows[0].advertised_window = 44; // fits into the interface queue
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        simulation.Run();
        if (drops)
        {
            *drops = DiscOf(simulation.Network(), "IG")->GetStats().nTotalDroppedPackets;
        }
        const auto rtts = dynamic_cast<const TcpFlow&>(*simulation.Flows()[0]).SortedRtts();
        return rtts[rtts.size() / 2];
    }

    void DoRun() override
    {
        uint64_t drops = 0;
        const auto fifoS = MedianRttS("", nullptr);
        const auto codelS = MedianRttS(m_queueing, &drops);
        NS_TEST_EXPECT_MSG_GT(drops, 5, "it drops");
        NS_TEST_EXPECT_MSG_LT(codelS, fifoS / 2, "and so the queue stays short");
    }

    const std::string m_queueing;
};

/** The MAC has one paced packet at a time, and the next after the node's own delays. */
class YangTestCase : public TestCase
{
  public:
    explicit YangTestCase(const std::string& routing)
        : TestCase("Static pacing, " + routing),
          m_routing(routing)
    {
    }

  private:
    /** A packet comes to the MAC. */
    void Sent(Ptr<const Packet> packet)
    {
        if (packet->GetSize() < 1000)
        {
            return;
        }
        const auto nowS = Simulator::Now().GetSeconds();
        const auto& delays = m_disc->Delays();
        if (m_lastS > 5 && delays.started)
        {
            m_early += nowS - m_lastS < (delays.least_ns + delays.latest_ns) / 1e9 - 1e-6;
            m_late += nowS - m_lastS > (delays.least_ns + 2 * delays.latest_ns) / 1e9 + 1e-6;
            m_count++;
        }
        m_lastS = nowS;
    }

    void DoRun() override
    {
        auto scenario = ChainScenario(2, m_routing, 20);
        scenario.radio.queueing = "yang";
        // Data leaves A alone: its ACKs come the other way.
        scenario.flows = {UdpFlow("A", "IG", 3000)};
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        const auto device = StaticCast<WifiNetDevice>(simulation.Network().MeshDevice("A"));
        m_disc = DynamicCast<YangQueueDisc>(DiscOf(simulation.Network(), "A"));
        NS_TEST_ASSERT_MSG_NE(m_disc, nullptr, "the disc");
        device->GetMac()->TraceConnectWithoutContext("MacTx",
                                                     MakeCallback(&YangTestCase::Sent, this));
        simulation.Run();
        NS_TEST_EXPECT_MSG_GT(m_count, 1000, "packets");
        NS_TEST_EXPECT_MSG_EQ(m_early, 0, "never before");
        NS_TEST_EXPECT_MSG_EQ(m_late, 0, "never after, as long as packets wait");
        NS_TEST_EXPECT_MSG_GT(simulation.Flows()[0]->Delivery().GoodputBytes() * 8 / 20e3, 500,
                              "they arrive");
        m_disc = nullptr;
    }

    const std::string m_routing;
    Ptr<YangQueueDisc> m_disc;
    double m_lastS{0};
    uint32_t m_early{0};
    uint32_t m_late{0};
    uint32_t m_count{0};
};

/** TCP both ways over broken routes and lost frames: no node's queue stops for good. */
class YangGoesOnTestCase : public TestCase
{
  public:
    YangGoesOnTestCase()
        : TestCase("Static pacing goes on after losses")
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = ChainScenario(6, "aodv", 40);
        scenario.radio.queueing = "yang";
        scenario.radio.cts_ignores_nav = true;
        scenario.flows = {FtpFlow("B", "A"), FtpFlow("A", "B")};
        scenario.wired_hosts = {"B"};
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        simulation.Run();
        uint64_t lost = 0;
        for (const auto& link : simulation.Network().Links())
        {
            lost += link.dataDrops + link.ackDrops;
        }
        NS_TEST_EXPECT_MSG_GT(lost, 0, "frames were given up");
        uint64_t lastS = 0;
        for (const auto& flow : simulation.Flows())
        {
            const auto bins = flow->Delivery().Bins(Seconds(40));
            for (std::size_t i = 30; i < 40; i++)
            {
                lastS += bins[i];
            }
        }
        NS_TEST_EXPECT_MSG_GT(lastS * 8 / 10e3, 200, "kbit/s at the end");
    }
};

class QueueingTestSuite : public TestSuite
{
  public:
    QueueingTestSuite()
        : TestSuite("meshpace-queueing", Type::UNIT)
    {
        const std::string codel = "ns3::CoDelQueueDisc";
        const std::string fqCodel = "ns3::FqCoDelQueueDisc";
        const std::string yang = "ns3::YangQueueDisc";
        const std::string law = "ns3::MeshpaceMeshQueueDisc";
        const auto places = [this](const auto&... what) {
            AddTestCase(new PlacesTestCase(what...), Duration::QUICK);
        };
        places("fifo", "", "off", "none", "none");
        places("fq_codel", "", "off", fqCodel, fqCodel);
        places("codel", "", "off", codel, codel);
        places("yang", "", "off", yang, yang);
        places("fifo", "fq_codel", "off", fqCodel, "none");
        places("fq_codel", "fifo", "off", "none", fqCodel);
        places("fq_codel", "", "gap", law, fqCodel);
        AddTestCase(new CoDelTestCase("codel"), Duration::QUICK);
        AddTestCase(new CoDelTestCase("fq_codel"), Duration::QUICK);
        AddTestCase(new YangTestCase("static"), Duration::QUICK);
        AddTestCase(new YangTestCase("aodv"), Duration::QUICK);
        AddTestCase(new YangGoesOnTestCase, Duration::QUICK);
    }
};

QueueingTestSuite g_queueingTestSuite;

} // namespace
