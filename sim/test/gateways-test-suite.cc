/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "test-scenarios.h"

#include "../runner/cbr-flow.h"
#include "../runner/result.h"
#include "../runner/simulation.h"

#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/test.h"

using namespace ns3;

namespace
{

/**
 * MAP's figure 7: nodes 1 to 5 in a line, gateways at both ends, one wired host behind each.
 *
 * @param law the gateways' law
 * @param durationS how long it runs, s
 * @return the scenario, without flows
 */
Scenario
TwoGateways(const std::string& law, double durationS)
{
    auto scenario = ChainScenario(4, "static", durationS);
    for (uint32_t i = 0; i < scenario.nodes.size(); i++)
    {
        scenario.nodes[i].name = std::to_string(i + 1);
    }
    scenario.nodes.back().gateway = true;
    scenario.wired_hosts = {"B1", "B2"};
    scenario.gateway.law = law;
    return scenario;
}

/** @return a flow that goes through a gateway */
FlowConfig
Via(FlowConfig flow, const std::string& gateway)
{
    flow.via = gateway;
    return flow;
}

/** Each host's packets, either way, cross its own gateway and no other. */
class OwnGatewayTestCase : public TestCase
{
  public:
    OwnGatewayTestCase()
        : TestCase("Each wired host behind its own gateway")
    {
    }

  private:
    static void Count(uint64_t* bytes, Ptr<const Packet> packet)
    {
        *bytes += packet->GetSize();
    }

    void DoRun() override
    {
        constexpr double RATE_KBPS = 40;
        auto scenario = TwoGateways("off", 10);
        // Against what is nearest: 2 is next to 1, yet its host is behind 5.
        scenario.flows = {Via(UdpFlow("B2", "2", RATE_KBPS), "5"),
                          Via(UdpFlow("2", "B2", RATE_KBPS), "5"),
                          UdpFlow("3", "B1", 2 * RATE_KBPS)};
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        const auto& network = simulation.Network();
        std::map<std::string, uint64_t> bytes;
        for (const auto& gateway : network.Gateways())
        {
            network.WiredDevice(gateway)->TraceConnectWithoutContext(
                "PhyTxEnd",
                MakeBoundCallback(&Count, &bytes[gateway]));
        }
        simulation.Run();
        NS_TEST_EXPECT_MSG_EQ(network.GatewayOf("B2"), "5", "named");
        NS_TEST_EXPECT_MSG_EQ(network.GatewayOf("B1"), "1", "of two as near the first");
        NS_TEST_EXPECT_MSG_EQ(network.HopsBetween("B2", "2"), 3, "hops down");
        NS_TEST_EXPECT_MSG_EQ(network.HopsBetween("2", "B2"), 3, "hops up");
        NS_TEST_EXPECT_MSG_NE(network.WiredRouter("1"), network.WiredRouter("5"), "two routers");
        for (const auto& flow : simulation.Flows())
        {
            const auto sent = dynamic_cast<const CbrFlow&>(*flow).SentBytes();
            NS_TEST_EXPECT_MSG_GT(sent, 20000, flow->Config().name << " sends");
            NS_TEST_EXPECT_MSG_GT_OR_EQ(flow->Delivery().GoodputBytes() + 1460 * 2,
                                        sent,
                                        flow->Config().name);
        }
        // Two datagrams may be under way, headers are 28 bytes and 2 of the link.
        NS_TEST_EXPECT_MSG_EQ_TOL(bytes["5"] * 1460.0 / 1502, 50e3, 3000, "up to B2");
        NS_TEST_EXPECT_MSG_EQ_TOL(bytes["1"] * 1460.0 / 1502, 100e3, 3000, "up to B1");
    }
};

/** The gateway of a host whose flows name none. */
class NearestGatewayTestCase : public TestCase
{
  public:
    NearestGatewayTestCase(const std::string& end, const std::string& gateway)
        : TestCase("The gateway nearest to " + end),
          m_end(end),
          m_gateway(gateway)
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = TwoGateways("off", 1);
        scenario.flows = {FtpFlow("B1", m_end)};
        const MeshNetwork network(scenario);
        NS_TEST_EXPECT_MSG_EQ(network.GatewayOf("B1"), m_gateway, "nearest, then first");
        Simulator::Destroy();
    }

    std::string m_end;
    std::string m_gateway;
};

/** A host cannot be behind two gateways; one that a flow names holds for all its flows. */
class HostConflictTestCase : public TestCase
{
  public:
    HostConflictTestCase(const std::string& name, std::vector<FlowConfig> flows, bool refused)
        : TestCase(name),
          m_flows(std::move(flows)),
          m_refused(refused)
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = TwoGateways("off", 1);
        scenario.flows = m_flows;
        std::string message;
        try
        {
            const MeshNetwork network(scenario);
        }
        catch (const ScenarioError& error)
        {
            message = error.what();
        }
        Simulator::Destroy();
        const bool named = message.find("\"B1\"") != message.npos;
        const bool remedied = message.find("via") != message.npos;
        NS_TEST_EXPECT_MSG_EQ(named, m_refused, "the host is named: " << message);
        NS_TEST_EXPECT_MSG_EQ(remedied, m_refused, "so is the remedy: " << message);
        NS_TEST_EXPECT_MSG_EQ(message.find('\n'), message.npos, "one line: " << message);
    }

    std::vector<FlowConfig> m_flows;
    bool m_refused;
};

/** Two flows to one node, each through its gateway and paced there; the result says so. */
class TwoLawsTestCase : public TestCase
{
  public:
    TwoLawsTestCase()
        : TestCase("Each gateway has a law of its own, for its own flows")
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = TwoGateways("gap", 20);
        // The first runs past node 5, the other gateway's radio.
        scenario.nodes.push_back({"6", 1000, 0, false});
        scenario.flows = {Via(FtpFlow("B1", "6"), "1"), Via(FtpFlow("B2", "3"), "5")};
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        simulation.Run();
        const auto& laws = simulation.Gateways();
        NS_TEST_ASSERT_MSG_EQ(laws.size(), 2, "two laws");
        for (uint32_t i = 0; i < 2; i++)
        {
            const auto& flow = *simulation.Flows().at(i);
            const auto& tcp = dynamic_cast<const TcpFlow&>(flow);
            const auto& network = simulation.Network();
            const MeshpaceKey key{network.Address(flow.Config().to).Get(),
                                  network.Address(flow.Config().from).Get(),
                                  tcp.ReceiverPort(),
                                  tcp.SenderPort()};
            NS_TEST_ASSERT_MSG_NE(laws[i]->Find(key), nullptr, "known to its gateway");
            NS_TEST_EXPECT_MSG_EQ(laws[1 - i]->Find(key), nullptr, "and not to the other");
            NS_TEST_EXPECT_MSG_EQ(laws[i]->Find(key), simulation.ConnectionOf(flow), "found");
            NS_TEST_EXPECT_MSG_GT(laws[i]->Find(key)->Statistics().samples, 100, "samples");
        }
        const auto result = MakeResult(simulation, 1);
        NS_TEST_EXPECT_MSG_EQ(result["flows"][0]["via"], "1", "in the result");
        NS_TEST_EXPECT_MSG_EQ(result["flows"][0]["hops"], 5, "hops of the first");
        NS_TEST_EXPECT_MSG_EQ(result["flows"][1]["hops"], 2, "hops of the second");
        NS_TEST_EXPECT_MSG_EQ(result["gateway"]["max_queue_packets"],
                              std::max(laws[0]->MaxHeldPackets(), laws[1]->MaxHeldPackets()),
                              "the longer queue");
    }
};

/** A flow that stops delivers nothing more, and what its law counted stays in the result. */
class StopTestCase : public TestCase
{
  public:
    explicit StopTestCase(const FlowConfig& flow)
        : TestCase("A flow of " + flow.traffic + " from " + flow.from + " that stops"),
          m_flow(flow)
    {
    }

  private:
    void DoRun() override
    {
        constexpr double STOP_S = 8;
        auto scenario = TwoGateways("gap", 30);
        m_flow.stop_s = STOP_S;
        scenario.flows = {m_flow, FtpFlow("B2", "4")};
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        const auto* flow = dynamic_cast<const TcpFlow*>(simulation.Flows().at(0).get());
        Simulator::Schedule(Seconds(STOP_S / 2), [&] {
            m_senderPort = flow ? flow->SenderPort() : 0;
            const auto* connection = simulation.ConnectionOf(*simulation.Flows().at(0));
            NS_TEST_EXPECT_MSG_EQ((connection != nullptr),
                                  (flow != nullptr),
                                  "known while it lasts");
        });
        simulation.Run();
        const auto bins = simulation.Flows().at(0)->Delivery().Bins(Seconds(scenario.duration_s));
        uint64_t before = 0;
        uint64_t after = 0;
        for (uint32_t second = 0; second < bins.size(); second++)
        {
            // What is under way, or waits in a queue of 50 packets, still arrives.
            auto& part = second < STOP_S ? before : after;
            part += second < STOP_S || second >= STOP_S + 4 ? bins[second] : 0;
        }
        NS_TEST_EXPECT_MSG_GT(before, 100000, "delivered before");
        NS_TEST_EXPECT_MSG_EQ(after, 0, "and nothing after");
        const auto result = MakeResult(simulation, 1);
        if (m_flow.traffic == "ftp")
        {
            const auto samples = result["flows"][0]["pacing"]["samples"].get<uint64_t>();
            NS_TEST_EXPECT_MSG_GT(samples, 50, "what the law counted");
            const auto& network = simulation.Network();
            const auto& tcp = dynamic_cast<const TcpFlow&>(*simulation.Flows().at(0));
            const MeshpaceKey key{network.Address("2").Get(),
                                  network.Address("B1").Get(),
                                  tcp.ReceiverPort(),
                                  m_senderPort};
            NS_TEST_EXPECT_MSG_NE(m_senderPort, 0, "it had a port");
            NS_TEST_EXPECT_MSG_EQ(simulation.Gateways()[0]->Find(key),
                                  nullptr,
                                  "though the gateway has forgotten the flow");
        }
    }

    FlowConfig m_flow;
    uint16_t m_senderPort{0};
};

class GatewaysTestSuite : public TestSuite
{
  public:
    GatewaysTestSuite()
        : TestSuite("meshpace-gateways", Type::SYSTEM)
    {
        const auto add = [this](TestCase* test) { AddTestCase(test, Duration::QUICK); };
        add(new OwnGatewayTestCase);
        add(new NearestGatewayTestCase("2", "1"));
        add(new NearestGatewayTestCase("3", "1"));
        add(new NearestGatewayTestCase("4", "5"));
        add(new HostConflictTestCase("Two gateways named for a host",
                                     {Via(FtpFlow("B1", "2"), "1"), Via(FtpFlow("B1", "3"), "5")},
                                     true));
        add(new HostConflictTestCase("Two gateways nearest to a host's flows",
                                     {FtpFlow("B1", "2"), FtpFlow("4", "B1")},
                                     true));
        add(new HostConflictTestCase("One gateway named for a host",
                                     {FtpFlow("B1", "2"), Via(FtpFlow("4", "B1"), "5")},
                                     false));
        add(new TwoLawsTestCase);
        add(new StopTestCase(FtpFlow("B1", "2")));
        add(new StopTestCase(UdpFlow("B1", "2", 200)));
    }
};

GatewaysTestSuite g_gatewaysTestSuite; //!< the suite

} // namespace
