/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "same-run-test-case.h"
#include "test-scenarios.h"

#include "../model/routing/etx-message.h"
#include "../model/routing/etx-neighbour.h"
#include "../runner/etx-stack.h"
#include "../runner/simulation.h"

#include "ns3/packet.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/test.h"

#include <cmath>

using namespace ns3;

namespace
{

/** By then ten HELLOs have come over each link, and a TC of each node to all. */
constexpr double CONVERGED_S = 30;

/** @return a chain routed by ETX; no flows yet */
Scenario
EtxChain(uint32_t hops, double durationS)
{
    auto scenario = ChainScenario(hops, "olsr", durationS);
    scenario.routing.metric = "etx";
    return scenario;
}

/** What is heard of a neighbour is how many of ten HELLOs came. */
class NeighbourTestCase : public TestCase
{
  public:
    NeighbourTestCase()
        : TestCase("Ten HELLOs, lost ones and late ones")
    {
    }

  private:
    void DoRun() override
    {
        EtxNeighbour neighbour(Seconds(2));
        NS_TEST_EXPECT_MSG_EQ(neighbour.Heard(Seconds(0)), 0, "nobody yet");
        for (uint16_t i = 0; i < 10; i++)
        {
            neighbour.Hear(65530 + i, 100, Seconds(2 * i)); // numbers wrap around
            NS_TEST_EXPECT_MSG_EQ(neighbour.Heard(Seconds(2 * i)), 255 * (i + 1) / 10, "as many");
        }
        NS_TEST_EXPECT_MSG_EQ(neighbour.Hears(), 100, "as he said");
        NS_TEST_EXPECT_MSG_EQ(neighbour.Heard(Seconds(20.9)), 255, "late by less than a half");
        NS_TEST_EXPECT_MSG_EQ(neighbour.Heard(Seconds(21)), 229, "one is due");
        NS_TEST_EXPECT_MSG_EQ(neighbour.Heard(Seconds(24)), 204, "two are, after three intervals");
        NS_TEST_EXPECT_MSG_EQ(neighbour.Heard(Seconds(24.1)), 0, "he has gone");
        neighbour.Hear(7, 50, Seconds(26)); // three of four were lost
        NS_TEST_EXPECT_MSG_EQ(neighbour.Heard(Seconds(26)), 178, "seven of ten");
        neighbour.Hear(7, 60, Seconds(26));
        NS_TEST_EXPECT_MSG_EQ(neighbour.Hears(), 50, "the same again says nothing");
        neighbour.Hear(1000, 50, Seconds(30));
        NS_TEST_EXPECT_MSG_EQ(neighbour.Heard(Seconds(30)), 25, "one of ten after a long absence");
        NS_TEST_EXPECT_MSG_EQ_TOL(EtxOfLink(255, 51), 5, 1e-9, "one of five gets through");
        NS_TEST_EXPECT_MSG_EQ(std::isinf(EtxOfLink(0, 255)), true, "no link");
    }
};

/** What is written is read; what is cut off, or of no known kind, is not. */
class MessageTestCase : public TestCase
{
  public:
    MessageTestCase()
        : TestCase("A message, whole and cut off")
    {
    }

  private:
    void DoRun() override
    {
        EtxMessage sent;
        sent.kind = EtxMessage::Kind::TC;
        sent.gateway = true;
        sent.origin = Ipv4Address("10.1.0.7");
        sent.number = 513;
        sent.links = {{Ipv4Address("10.1.0.8"), 255, 12}, {Ipv4Address("10.1.0.9"), 3, 4}};
        auto packet = Create<Packet>();
        packet->AddHeader(sent);
        NS_TEST_EXPECT_MSG_EQ(packet->GetSize(), 36, "20 bytes, and 8 a link");
        EtxMessage read;
        NS_TEST_EXPECT_MSG_EQ(packet->PeekHeader(read), 36, "all of it");
        NS_TEST_EXPECT_MSG_EQ(read.gateway, true, "gateway");
        NS_TEST_EXPECT_MSG_EQ(read.origin, sent.origin, "origin");
        NS_TEST_EXPECT_MSG_EQ(read.number, 513, "number");
        NS_TEST_ASSERT_MSG_EQ(read.links.size(), 2, "links");
        NS_TEST_EXPECT_MSG_EQ(read.links[1].neighbour, Ipv4Address("10.1.0.9"), "neighbour");
        NS_TEST_EXPECT_MSG_EQ(+read.links[1].heard, 3, "heard");
        NS_TEST_EXPECT_MSG_EQ(+read.links[1].hears, 4, "hears");
        for (uint32_t bytes = 1; bytes < 36; bytes++)
        {
            NS_TEST_EXPECT_MSG_EQ(packet->CreateFragment(0, bytes)->PeekHeader(read), 0, bytes);
        }
        const uint8_t other[36] = {9};
        NS_TEST_EXPECT_MSG_EQ(Create<Packet>(other, 36)->PeekHeader(read), 0, "of no kind");
    }
};

/** Everybody finds everybody, and the way out. */
class EtxConvergenceTestCase : public TestCase
{
  public:
    EtxConvergenceTestCase()
        : TestCase("Routes and hops of a converged chain, and flows over them")
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = EtxChain(4, CONVERGED_S + 10);
        scenario.flows = {UdpFlow("B", "A", 100), UdpFlow("RL2", "B", 100)};
        for (auto& flow : scenario.flows)
        {
            flow.start_s = CONVERGED_S;
        }
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        const auto& network = simulation.Network();
        const auto hops = [&network](const std::string& from, const std::string& to) {
            return network.LiveHops(from, to).value_or(0);
        };
        NS_TEST_EXPECT_MSG_EQ(hops("IG", "A"), 0, "nothing is known yet");
        Simulator::Schedule(Seconds(CONVERGED_S), [&] {
            NS_TEST_EXPECT_MSG_EQ(hops("IG", "A"), 4, "down");
            NS_TEST_EXPECT_MSG_EQ(hops("A", "B"), 4, "up");
            NS_TEST_EXPECT_MSG_EQ(hops("RL1", "RL3"), 2, "in the mesh");
            NS_TEST_EXPECT_MSG_EQ(network.LiveGatewayOf("A"), "IG", "by the only one");
        });
        simulation.Run();
        for (const auto& flow : simulation.Flows())
        {
            NS_TEST_EXPECT_MSG_GT(flow->Delivery().GoodputBytes(), 110000, flow->Config().name);
        }
    }
};

/** A link that loses many frames is left for two good ones, as hops would not have it: for that the metric is. */
class DetourTestCase : public TestCase
{
  public:
    DetourTestCase(const std::string& metric, uint32_t hops)
        : TestCase("A bad link and a detour, by " + metric),
          m_metric(metric),
          m_hops(hops)
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = ChainScenario(2, "olsr", 60);
        scenario.routing.metric = m_metric;
        scenario.radio = TodaysRadio("802.11b");
        scenario.radio.fading = "nakagami";
        scenario.radio.broadcast_mbps = 11;
        // Of HELLOs over the whole way about half are lost, of those over half of it hardly any.
        scenario.nodes[1].x_m = 45;
        scenario.nodes[2].x_m = 90;
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        uint32_t seen = 0;
        uint32_t stood = 0;
        for (double at = CONVERGED_S; at < 60; at += 0.5)
        {
            Simulator::Schedule(Seconds(at), [&] {
                const auto hops = simulation.Network().LiveHops("IG", "A").value_or(0);
                seen += hops > 0;
                stood += hops == m_hops;
            });
        }
        simulation.Run();
        NS_TEST_EXPECT_MSG_GT(seen, 50, "a route");
        NS_TEST_EXPECT_MSG_GT(stood, seen * 2 / 3, "mostly this one");
    }

    std::string m_metric;
    uint32_t m_hops;
};

/** A relay that dies takes its routes with it within three HELLOs, and they come back with it. */
class DeathTestCase : public TestCase
{
  public:
    DeathTestCase()
        : TestCase("A relay dies, and lives again")
    {
    }

  private:
    static void CountBack(uint32_t* packets, Ptr<const Packet> /* packet */)
    {
        ++*packets;
    }

    void DoRun() override
    {
        auto scenario = EtxChain(3, CONVERGED_S + 40);
        scenario.outages = {{"RL2", CONVERGED_S, 15}};
        scenario.flows = {UdpFlow("B", "RL2", 100)};
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        uint32_t returned = 0;
        simulation.Network().WiredDevice("IG")->TraceConnectWithoutContext(
            "PhyTxEnd",
            MakeBoundCallback(&CountBack, &returned));
        const auto expect = [&](double at, bool known, const std::string& when) {
            Simulator::Schedule(Seconds(at), [&, known, when] {
                const auto hops = simulation.Network().LiveHops("IG", "RL2");
                NS_TEST_EXPECT_MSG_EQ(hops.has_value(), known, when);
            });
        };
        expect(CONVERGED_S, true, "while it lives");
        expect(CONVERGED_S + 9, false, "three HELLOs, and one more of the gateway's own");
        expect(CONVERGED_S + 39, true, "when it lives again");
        simulation.Run();
        NS_TEST_EXPECT_MSG_EQ(returned, 0, "without a route the gateway sends nothing back");
        const auto bytes = simulation.Flows()[0]->Delivery().GoodputBytes();
        NS_TEST_EXPECT_MSG_GT(bytes, 400000, "it gets its datagrams while it lives");
    }
};

/** @return a short run with a flow under a law */
Scenario
ShortRun()
{
    auto scenario = EtxChain(2, CONVERGED_S);
    scenario.gateway.law = "gap";
    scenario.flows = {FtpFlow("B", "A")};
    return scenario;
}

class EtxTestSuite : public TestSuite
{
  public:
    EtxTestSuite()
        : TestSuite("meshpace-etx", Type::SYSTEM)
    {
        AddTestCase(new NeighbourTestCase, Duration::QUICK);
        AddTestCase(new MessageTestCase, Duration::QUICK);
        AddTestCase(new EtxConvergenceTestCase, Duration::QUICK);
        AddTestCase(new DetourTestCase("etx", 2), Duration::QUICK);
        AddTestCase(new DetourTestCase("hops", 1), Duration::QUICK);
        AddTestCase(new DeathTestCase, Duration::QUICK);
        AddTestCase(new SameRunTestCase(ShortRun()), Duration::QUICK);
    }
};

EtxTestSuite g_etxTestSuite; //!< the suite

} // namespace
