/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "same-run-test-case.h"
#include "test-scenarios.h"

#include "../runner/cbr-flow.h"
#include "../runner/simulation.h"

#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/test.h"
#include "ns3/wifi-net-device.h"
#include "ns3/wifi-phy.h"

using namespace ns3;

namespace
{

constexpr uint32_t DATA_BYTES = 1000; // more than any frame but those with a datagram or segment

/** Data frames sent by each node, on each radio. */
class FrameCounter
{
  public:
    explicit FrameCounter(const MeshNetwork& network, const Scenario& scenario)
    {
        for (const auto& node : scenario.nodes)
        {
            for (uint32_t radio = 0; radio < network.Radios(); radio++)
            {
                const auto device =
                    DynamicCast<WifiNetDevice>(network.MeshDevice(node.name, radio));
                auto& frames = m_frames[{node.name, radio}];
                device->GetPhy()->TraceConnectWithoutContext(
                    "PhyTxBegin",
                    MakeBoundCallback(&FrameCounter::Count, &frames));
            }
        }
    }

    uint64_t Frames(const std::string& node, uint32_t radio) const
    {
        return m_frames.at({node, radio});
    }

  private:
    static void Count(uint64_t* frames, Ptr<const Packet> packet, Watt_u /* power */)
    {
        *frames += packet->GetSize() > DATA_BYTES;
    }

    std::map<std::pair<std::string, uint32_t>, uint64_t> m_frames;
};

/** A chain whose nodes have two radios. */
Scenario
TwoRadios(uint32_t hops, double durationS)
{
    auto scenario = ChainScenario(hops, "static", durationS);
    scenario.radio.radios = 2;
    return scenario;
}

/** Neighbouring hops are on different channels, by the hops left to the destination. */
class ChannelsTestCase : public TestCase
{
  public:
    /**
     * @param from the sender
     * @param to the receiver, on a chain of three hops
     * @param radios by which the nodes on the way send, the first one's first
     */
    ChannelsTestCase(const std::string& from, const std::string& to, std::vector<uint32_t> radios)
        : TestCase("Channels from " + from + " to " + to),
          m_from(from),
          m_to(to),
          m_radios(std::move(radios))
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = TwoRadios(3, 10);
        scenario.flows = {UdpFlow(m_from, m_to, 100)};
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        const FrameCounter counter(simulation.Network(), scenario);
        simulation.Run();
        const auto& flow = dynamic_cast<const CbrFlow&>(*simulation.Flows().at(0));
        NS_TEST_EXPECT_MSG_GT_OR_EQ(flow.Delivery().GoodputBytes() + 1460,
                                    flow.SentBytes(),
                                    "delivered");
        const bool up = m_to == "B";
        const std::vector<std::string> senders =
            up ? std::vector<std::string>{"A", "RL1", "RL2"}
               : std::vector<std::string>{"IG", "RL2", "RL1"};
        for (uint32_t i = 0; i < m_radios.size(); i++)
        {
            NS_TEST_EXPECT_MSG_GT(counter.Frames(senders[i], m_radios[i]), 50, senders[i]);
            NS_TEST_EXPECT_MSG_EQ(counter.Frames(senders[i], 1 - m_radios[i]), 0, senders[i]);
        }
    }

    std::string m_from;
    std::string m_to;
    std::vector<uint32_t> m_radios;
};

/** Two hops on two channels carry about twice what they carry on one. */
class CapacityTestCase : public TestCase
{
  public:
    CapacityTestCase()
        : TestCase("Capacity of two hops on one and on two channels")
    {
    }

  private:
    static double GoodputKbps(uint32_t radios)
    {
        constexpr double DURATION_S = 12;
        constexpr double WARMUP_S = 2;
        auto scenario = ChainScenario(2, "static", DURATION_S);
        scenario.radio.radios = radios;
        scenario.warmup_s = WARMUP_S;
        scenario.flows = {UdpFlow("IG", "A", 6000)};
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        simulation.Run();
        return simulation.Flows().at(0)->Delivery().GoodputBytes() * 8 / 1e3 /
               (DURATION_S - WARMUP_S);
    }

    void DoRun() override
    {
        const auto one = GoodputKbps(1);
        const auto two = GoodputKbps(2);
        // One hop carries 4374 kbit/s, two on one channel half of that (sim/doc/network.md).
        NS_TEST_EXPECT_MSG_EQ_TOL(one, 2187, 150, "on one channel");
        NS_TEST_EXPECT_MSG_EQ_TOL(two, 4374, 100, "on two channels");
    }
};

/** One law paces the flows over both radios of its gateway, each by the radio of its route. */
class PacedTestCase : public TestCase
{
  public:
    PacedTestCase()
        : TestCase("A law over two radios")
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = TwoRadios(2, 25);
        scenario.wired_hosts = {"B1", "B2"};
        scenario.gateway.law = "gap";
        scenario.gateway.local_retransmission = true;
        scenario.flows = {FtpFlow("B1", "RL1"), FtpFlow("B2", "A")};
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        const FrameCounter counter(simulation.Network(), scenario);
        simulation.Run();
        for (const auto& flow : simulation.Flows())
        {
            const auto* connection = simulation.ConnectionOf(*flow);
            NS_TEST_ASSERT_MSG_NE(connection, nullptr, flow->Config().name << " is known");
            NS_TEST_EXPECT_MSG_GT(connection->Statistics().samples, 200, "samples");
            NS_TEST_EXPECT_MSG_GT(connection->IntervalNs(), 0, "paced");
            NS_TEST_EXPECT_MSG_GT(flow->Delivery().GoodputBytes(), 1000000, flow->Config().name);
        }
        // One hop left to RL1, two to A.
        NS_TEST_EXPECT_MSG_GT(counter.Frames("IG", 0), 700, "to RL1");
        NS_TEST_EXPECT_MSG_GT(counter.Frames("IG", 1), 700, "to A");
        NS_TEST_EXPECT_MSG_EQ(counter.Frames("RL1", 1), 0, "RL1 passes on by the first radio");
    }
};

/** @return a chain between two gateways, each with a flow */
Scenario
TwoGateways()
{
    auto scenario = TwoRadios(4, 20);
    scenario.nodes.back().gateway = true;
    scenario.wired_hosts = {"B1", "B2"};
    scenario.gateway.law = "gap";
    scenario.flows = {FtpFlow("B1", "RL2"), FtpFlow("B2", "RL1")};
    return scenario;
}

class TwoRadiosTestSuite : public TestSuite
{
  public:
    TwoRadiosTestSuite()
        : TestSuite("meshpace-two-radios", Type::SYSTEM)
    {
        const auto add = [this](TestCase* test) { AddTestCase(test, Duration::QUICK); };
        add(new ChannelsTestCase("B", "A", {0, 1, 0}));
        add(new ChannelsTestCase("A", "B", {0, 1, 0}));
        add(new ChannelsTestCase("IG", "RL1", {1, 0}));
        add(new CapacityTestCase);
        add(new PacedTestCase);
        add(new SameRunTestCase(TwoGateways()));
    }
};

TwoRadiosTestSuite g_twoRadiosTestSuite; //!< the suite

} // namespace
