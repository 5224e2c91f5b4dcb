/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "same-run-test-case.h"
#include "test-scenarios.h"

#include "../runner/files-flow.h"
#include "../runner/result.h"
#include "../runner/simulation.h"

#include "ns3/mobility-model.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/test.h"
#include "ns3/uinteger.h"

using namespace ns3;

namespace
{

/** By then OLSR with its usual intervals has found all routes of a mesh as long as these. */
constexpr double CONVERGED_S = 15;

/** @return gateways IG1 and IG2 1000 m apart, four nodes between them, OLSR; no flows yet */
Scenario
TwoCells(const std::string& law, double durationS)
{
    auto scenario = ChainScenario(5, "olsr", durationS);
    const std::vector<std::string> names{"IG1", "M1", "M2", "M3", "M4", "IG2"};
    for (uint32_t i = 0; i < names.size(); i++)
    {
        scenario.nodes[i].name = names[i];
    }
    scenario.nodes.back().gateway = true;
    scenario.gateway.law = law;
    scenario.gateway.goodput_control = true;
    return scenario;
}

/** Adds a client C that walks from near M1 to near M4, at once. */
void
AddClient(Scenario& scenario, double speedMps)
{
    scenario.nodes.push_back({"C", 300, 100, false});
    scenario.clients = {{"C", 700, 100, speedMps, 0}};
}

/** Everybody's hops are those of the shortest paths once OLSR has converged. */
class ConvergenceTestCase : public TestCase
{
  public:
    ConvergenceTestCase()
        : TestCase("Routes and hops of a converged mesh")
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = TwoCells("off", CONVERGED_S);
        scenario.flows = {UdpFlow("B", "M1", 1), UdpFlow("M4", "B", 1), UdpFlow("M1", "M4", 1)};
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        simulation.Run();
        const auto& network = simulation.Network();
        const auto hops = [&network](const std::string& from, const std::string& to) {
            return network.LiveHops(from, to).value_or(0);
        };
        NS_TEST_EXPECT_MSG_EQ(hops("IG1", "M3"), 3, "down");
        NS_TEST_EXPECT_MSG_EQ(hops("M4", "B"), 1, "up, to the nearest gateway");
        NS_TEST_EXPECT_MSG_EQ(hops("M2", "B"), 2, "up, to the other");
        NS_TEST_EXPECT_MSG_EQ(hops("M1", "M4"), 3, "in the mesh");
        NS_TEST_EXPECT_MSG_EQ(hops("IG1", "IG2"), 4, "by the wires");
        NS_TEST_EXPECT_MSG_EQ(network.LiveGatewayOf("M2"), "IG1", "2 hops, not 3");
        NS_TEST_EXPECT_MSG_EQ(network.LiveGatewayOf("M3"), "IG2", "2 hops, not 3");
    }
};

/** A wired host and a node find each other by the nearest gateway, and by no other. */
class NearestTestCase : public TestCase
{
  public:
    NearestTestCase(const std::string& node, uint32_t gateway)
        : TestCase("A flow each way to " + node + " by the nearest gateway"),
          m_node(node),
          m_gateway(gateway)
    {
    }

  private:
    static void Count(uint64_t* bytes, Ptr<const Packet> packet)
    {
        constexpr uint32_t DATAGRAM_BYTES = 1000; // OLSR's own packets are shorter
        *bytes += packet->GetSize() > DATAGRAM_BYTES ? packet->GetSize() : 0;
    }

    void DoRun() override
    {
        auto scenario = TwoCells("off", CONVERGED_S + 10);
        scenario.flows = {UdpFlow("B", m_node, 100), UdpFlow(m_node, "B", 100)};
        for (auto& flow : scenario.flows)
        {
            flow.start_s = CONVERGED_S;
        }
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        std::vector<uint64_t> bytes(2);
        for (uint32_t i = 0; i < 2; i++)
        {
            const auto& network = simulation.Network();
            network.WiredDevice(network.Gateways()[i])
                ->TraceConnectWithoutContext("PhyRxEnd", MakeBoundCallback(&Count, &bytes[i]));
            network.WiredDevice(network.Gateways()[i])
                ->TraceConnectWithoutContext("PhyTxEnd", MakeBoundCallback(&Count, &bytes[i]));
        }
        simulation.Run();
        for (const auto& flow : simulation.Flows())
        {
            NS_TEST_EXPECT_MSG_GT(flow->Delivery().GoodputBytes(), 110000, flow->Config().name);
        }
        NS_TEST_EXPECT_MSG_GT(bytes[m_gateway], 240000, "both flows");
        NS_TEST_EXPECT_MSG_EQ(bytes[1 - m_gateway], 0, "none of them");
    }

    std::string m_node;
    uint32_t m_gateway;
};

/** A TCP flow that begins before there is a route waits for one. */
class EarlyStartTestCase : public TestCase
{
  public:
    EarlyStartTestCase()
        : TestCase("A flow that begins before OLSR has converged")
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = TwoCells("off", CONVERGED_S + 5);
        scenario.flows = {FtpFlow("B", "M2"), FtpFlow("M3", "B"), FtpFlow("B", "M1")};
        scenario.flows[2].stop_s = 2; // before it could
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        simulation.Run();
        const auto& flows = simulation.Flows();
        NS_TEST_EXPECT_MSG_GT(flows[0]->Delivery().GoodputBytes(), 200000, "down");
        NS_TEST_EXPECT_MSG_GT(flows[1]->Delivery().GoodputBytes(), 200000, "up");
        NS_TEST_EXPECT_MSG_EQ(flows[2]->Delivery().GoodputBytes(), 0, "none after its stop");
    }
};

/** A client walks from one gateway's cell into the other's; its flows and their laws follow. */
class RoamingTestCase : public TestCase
{
  public:
    RoamingTestCase()
        : TestCase("A client walks from one gateway to the other")
    {
    }

  private:
    void DoRun() override
    {
        constexpr double END_S = 60;
        constexpr double SPEED_MPS = 10; // there after 40 s
        auto scenario = TwoCells("gap", END_S);
        scenario.routing.hello_s = 0.5;
        scenario.routing.tc_s = 1;
        AddClient(scenario, SPEED_MPS);
        scenario.clients[0].start_s = CONVERGED_S;
        auto up = FtpFlow("C", "B");
        up.law = "gap";
        scenario.flows = {FtpFlow("B", "C"), up};
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        const auto& network = simulation.Network();
        uint64_t before[2];
        Simulator::Schedule(Seconds(CONVERGED_S), [&] {
            NS_TEST_EXPECT_MSG_EQ(network.LiveGatewayOf("C"), "IG1", "at first in cell 1");
            for (uint32_t i = 0; i < 2; i++)
            {
                before[i] = simulation.Flows()[i]->Delivery().GoodputBytes();
            }
        });
        simulation.Run();
        const auto place = network.GetNode("C")->GetObject<MobilityModel>()->GetPosition();
        NS_TEST_EXPECT_MSG_EQ_TOL(place.x, 650, 1e-6, "it has turned round at 700 m");
        const auto result = MakeResult(simulation, 1);
        const auto& handovers = result["handovers"];
        NS_TEST_ASSERT_MSG_GT_OR_EQ(handovers.size(), 2, "it had both gateways");
        NS_TEST_EXPECT_MSG_EQ(handovers[0]["gateway"], "IG1", "first");
        NS_TEST_EXPECT_MSG_EQ(handovers.back()["gateway"], "IG2", "last");
        NS_TEST_EXPECT_MSG_EQ(network.LiveHops("C", "B").value_or(0), 2, "hops up");
        CheckLaws(simulation);
        for (uint32_t i = 0; i < 2; i++)
        {
            const auto& flow = *simulation.Flows()[i];
            const auto bins = flow.Delivery().Bins(Seconds(END_S));
            uint64_t late = 0;
            for (uint32_t second = END_S - 15; second < END_S; second++)
            {
                late += bins[second];
            }
            NS_TEST_EXPECT_MSG_GT(before[i], 50000, flow.Config().name << " before");
            NS_TEST_EXPECT_MSG_GT(late, 50000, flow.Config().name << " after");
        }
    }

    /** The new gateway has adopted the flow down, the old one knows that it is gone. */
    void CheckLaws(const Simulation& simulation)
    {
        const auto& network = simulation.Network();
        const auto& down = dynamic_cast<const TcpFlow&>(*simulation.Flows()[0]);
        const MeshpaceKey key{network.Address("C").Get(),
                              network.Address("B").Get(),
                              down.ReceiverPort(),
                              down.SenderPort()};
        const auto* first = simulation.Gateways()[0]->Find(key);
        const auto* second = simulation.Gateways()[1]->Find(key);
        NS_TEST_ASSERT_MSG_NE(first, nullptr, "the old gateway");
        NS_TEST_ASSERT_MSG_NE(second, nullptr, "the new gateway");
        NS_TEST_EXPECT_MSG_EQ(first->Elsewhere(), true, "gone");
        NS_TEST_EXPECT_MSG_EQ(second->Elsewhere(), false, "here");
        NS_TEST_EXPECT_MSG_GT(second->Statistics().samples, 30, "adopted in mid-life, and paced");
    }
};

/** A meter of deliveries tells when nothing came. */
class StallsTestCase : public TestCase
{
  public:
    StallsTestCase()
        : TestCase("Stalls of a flow")
    {
    }

  private:
    void DoRun() override
    {
        DeliveryMeter meter(Seconds(2), Seconds(1));
        for (const double at : {0.5, 3.0, 3.9, 6.4})
        {
            Simulator::Schedule(Seconds(at), [&meter] { meter.Count(100); });
        }
        Simulator::Run();
        const auto stalls = meter.Stalls(Seconds(0), Seconds(8));
        NS_TEST_ASSERT_MSG_EQ(stalls.size(), 3, "in the warm-up nothing counts");
        NS_TEST_EXPECT_MSG_EQ(stalls[0].begin, Seconds(2), "from the warm-up's end");
        NS_TEST_EXPECT_MSG_EQ(stalls[0].length, Seconds(1), "to the first byte");
        NS_TEST_EXPECT_MSG_EQ(stalls[1].length, Seconds(2.5), "between two");
        NS_TEST_EXPECT_MSG_EQ(stalls[2].begin, Seconds(6.4), "from the last");
        NS_TEST_EXPECT_MSG_EQ(stalls[2].length, Seconds(1.6), "to the end");
        NS_TEST_EXPECT_MSG_EQ(meter.Stalls(Seconds(7.5), Seconds(8)).size(), 0, "a late start");
        Simulator::Destroy();
    }
};

/** Who has nothing to deliver does not stall. */
class RestsTestCase : public TestCase
{
  public:
    RestsTestCase()
        : TestCase("A flow that rests does not stall")
    {
    }

  private:
    void DoRun() override
    {
        DeliveryMeter meter(Seconds(0), Seconds(1));
        const auto at = [&meter](double atS, void (DeliveryMeter::*does)()) {
            Simulator::Schedule(Seconds(atS), does, &meter);
        };
        for (const double countS : {1.5, 2.0, 6.5})
        {
            Simulator::Schedule(Seconds(countS), [&meter] { meter.Count(100); });
        }
        at(2.0, &DeliveryMeter::Rests);
        at(4.5, &DeliveryMeter::Begins);
        at(6.5, &DeliveryMeter::Rests);
        Simulator::Run();
        const auto stalls = meter.Stalls(Seconds(0), Seconds(9));
        NS_TEST_ASSERT_MSG_EQ(stalls.size(), 2, "while something was to be delivered");
        NS_TEST_EXPECT_MSG_EQ(stalls[0].length, Seconds(1.5), "the first byte");
        NS_TEST_EXPECT_MSG_EQ(stalls[1].begin, Seconds(4.5), "not before it begins");
        NS_TEST_EXPECT_MSG_EQ(stalls[1].length, Seconds(2), "to the next byte");
        Simulator::Destroy();
    }
};

/** @return two cells with OLSR, a client that uploads files */
Scenario
FilesUp(double durationS)
{
    auto scenario = TwoCells("off", durationS);
    AddClient(scenario, 2);
    scenario.flows = {FtpFlow("C", "B")};
    scenario.flows[0].law = "gap";
    return scenario;
}

/** Laws of connections that are under way together all know what OLSR knows. */
class LawsTestCase : public TestCase
{
  public:
    LawsTestCase()
        : TestCase("Every living law is told its hops")
    {
    }

  private:
    void DoRun() override
    {
        const auto scenario = FilesUp(CONVERGED_S);
        Simulation simulation(scenario, 1);
        LiveRoutes routes(scenario, simulation.Network());
        std::vector<Ptr<TcpMeshpace>> laws;
        for (int i = 0; i < 2; i++)
        {
            laws.push_back(CreateObjectWithAttributes<TcpMeshpace>("Hops", UintegerValue(9)));
            routes.Tell(scenario.flows[0], laws.back());
        }
        simulation.Run();
        const auto hops = simulation.Network().LiveHops("C", "B");
        NS_TEST_ASSERT_MSG_EQ(hops.has_value(), true, "a route");
        for (const auto& law : laws)
        {
            NS_TEST_EXPECT_MSG_EQ(law->Path().hops, *hops, "its hops");
        }
    }
};

/** Each file has a connection, each connection a law: that of the latest is told, when OLSR knows something else. */
class FilesLawTestCase : public TestCase
{
  public:
    FilesLawTestCase()
        : TestCase("The law of a later file is told its hops")
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = FilesUp(CONVERGED_S + 25);
        scenario.clients[0].speed_mps = 20;
        auto& flow = scenario.flows[0];
        flow.traffic = "files";
        flow.file_bytes = 3000;
        flow.pause_s = 0.5;
        flow.start_s = 5;
        Simulation simulation(scenario, 1);
        uint32_t others = 0;
        uint32_t looks = 0;
        for (double atS = CONVERGED_S; atS < scenario.duration_s; atS += 0.5)
        {
            Simulator::Schedule(Seconds(atS), [&] {
                const auto hops = simulation.Network().LiveHops("C", "B");
                const auto law = dynamic_cast<const TcpFlow&>(*simulation.Flows()[0]).Control();
                looks += hops.has_value();
                others += hops && law->Path().hops != *hops;
            });
        }
        simulation.Run();
        const auto& files = dynamic_cast<const FilesFlow&>(*simulation.Flows()[0]);
        NS_TEST_EXPECT_MSG_GT(files.Transfers().size(), 10, "files");
        NS_TEST_EXPECT_MSG_GT(looks, 20, "with a route");
        NS_TEST_EXPECT_MSG_EQ(others, 0, "the law knows what OLSR knows");
    }
};

/** @return a short run with a client, one flow down */
Scenario
ShortWalk()
{
    auto scenario = TwoCells("gap", CONVERGED_S + 5);
    AddClient(scenario, 2);
    scenario.flows = {FtpFlow("B", "C")};
    return scenario;
}

class OlsrTestSuite : public TestSuite
{
  public:
    OlsrTestSuite()
        : TestSuite("meshpace-olsr", Type::SYSTEM)
    {
        AddTestCase(new ConvergenceTestCase, Duration::QUICK);
        AddTestCase(new NearestTestCase("M1", 0), Duration::QUICK);
        AddTestCase(new NearestTestCase("M4", 1), Duration::QUICK);
        AddTestCase(new EarlyStartTestCase, Duration::QUICK);
        AddTestCase(new RoamingTestCase, Duration::QUICK);
        AddTestCase(new StallsTestCase, Duration::QUICK);
        AddTestCase(new RestsTestCase, Duration::QUICK);
        AddTestCase(new LawsTestCase, Duration::QUICK);
        AddTestCase(new FilesLawTestCase, Duration::QUICK);
        AddTestCase(new SameRunTestCase(ShortWalk()), Duration::QUICK);
    }
};

OlsrTestSuite g_olsrTestSuite; //!< the suite

} // namespace
