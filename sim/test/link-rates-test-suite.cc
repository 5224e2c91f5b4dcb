/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "test-scenarios.h"

#include "../model/radio/link-rates-layer.h"
#include "../runner/link-rates.h"
#include "../runner/simulation.h"

#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/tcp-meshpace.h"
#include "ns3/test.h"
#include "ns3/wifi-mac-header.h"
#include "ns3/wifi-net-device.h"
#include "ns3/wifi-phy.h"
#include "ns3/wifi-psdu.h"

#include <map>

using namespace ns3;

namespace
{

/** A chain of 11, 5.5 and 2 Mbit/s from the gateway on, and again where it is longer. */
Scenario
UnevenChain(uint32_t hops, const std::string& linkRates, const std::string& routing)
{
    constexpr double RATES_MBPS[] = {11, 5.5, 2};
    auto scenario = ChainScenario(hops, routing, 15);
    for (uint32_t hop = 0; hop < hops; hop++)
    {
        scenario.links.push_back({.from = scenario.nodes[hop].name,
                                  .to = scenario.nodes[hop + 1].name,
                                  .mbps = RATES_MBPS[hop % 3]});
    }
    scenario.gateway.law = "gap";
    scenario.gateway.delay_bound_s = 0.5;
    scenario.gateway.link_rates = linkRates;
    return scenario;
}

/** Data frames go at their link's rate, both ways; control frames keep theirs. */
class FramesTestCase : public TestCase
{
  public:
    FramesTestCase()
        : TestCase("Frames at their links' bit rates")
    {
    }

  private:
    void Transmitted(uint32_t node, WifiConstPsduMap psdus, WifiTxVector vector, double /* W */)
    {
        const auto& header = psdus.begin()->second->GetHeader(0);
        const auto kbps = vector.GetMode().GetDataRate(MHz_u{22}) / 1000;
        if (header.IsData())
        {
            m_data[{node, m_byMac.at(header.GetAddr1())}] = kbps;
        }
        else
        {
            m_control = std::max<uint64_t>(m_control, kbps);
        }
    }

    void DoRun() override
    {
        auto scenario = UnevenChain(3, "single", "static");
        scenario.flows = {FtpFlow("B", "A")};
        scenario.duration_s = 3;
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        for (uint32_t i = 0; i < scenario.nodes.size(); i++)
        {
            const auto device = StaticCast<WifiNetDevice>(
                simulation.Network().MeshDevice(scenario.nodes[i].name));
            m_byMac[Mac48Address::ConvertFrom(device->GetAddress())] = i;
            device->GetPhy()->TraceConnectWithoutContext(
                "PhyTxPsduBegin",
                MakeCallback(&FramesTestCase::Transmitted, this).Bind(i));
        }
        simulation.Run();
        const std::map<std::pair<uint32_t, uint32_t>, uint64_t> expected{{{0, 1}, 11000},
                                                                         {{1, 2}, 5500},
                                                                         {{2, 3}, 2000},
                                                                         {{3, 2}, 2000},
                                                                         {{2, 1}, 5500},
                                                                         {{1, 0}, 11000}};
        NS_TEST_EXPECT_MSG_EQ((m_data == expected), true, "of each link");
        NS_TEST_EXPECT_MSG_EQ(m_control, 1000, "RTS, CTS, ACK");
        const auto rates = PathRates(simulation.Network(), "B", "A");
        NS_TEST_EXPECT_MSG_EQ((rates == std::vector<uint32_t>{11000, 5500, 2000}), true, "path");
    }

    std::map<Mac48Address, uint32_t> m_byMac;
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> m_data;
    uint64_t m_control{0};
};

/** What the law at the gateway, or at a sender, has of its path in the end. */
class KnowledgeTestCase : public TestCase
{
  public:
    KnowledgeTestCase(bool down,
                      uint32_t hops,
                      const std::string& linkRates,
                      const std::string& routing)
        : TestCase(std::string(down ? "Down" : "Up") + " " + std::to_string(hops) + " hops, " +
                   linkRates + ", " + routing),
          m_down(down),
          m_hops(hops),
          m_linkRates(linkRates),
          m_routing(routing)
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = UnevenChain(m_hops, m_linkRates, m_routing);
        scenario.flows = {m_down ? FtpFlow("B", "A") : FtpFlow("A", "B")};
        scenario.flows[0].law = m_down ? "off" : "gap";
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        simulation.Run();
        const auto& flow = dynamic_cast<const TcpFlow&>(*simulation.Flows()[0]);
        mp_path expected{};
        if (m_linkRates == "single")
        {
            mp_path_set_rate(&expected, m_hops, 11000);
        }
        else
        {
            const auto rates = PathRates(simulation.Network(), "IG", "A");
            const auto law = mp_law_gap();
            mp_law_set_links(&law, &expected, rates.data(), rates.size());
        }
        const auto& path =
            m_down ? simulation.ConnectionOf(flow)->Path() : flow.Control()->Path();
        NS_TEST_EXPECT_MSG_EQ(path.hops, m_hops, "hops");
        NS_TEST_EXPECT_MSG_EQ(path.kbps, expected.kbps, "mean rate");
        NS_TEST_EXPECT_MSG_EQ(path.uneven_q16, expected.uneven_q16, "slowest links in a row");
        NS_TEST_EXPECT_MSG_GT(flow.Delivery().GoodputBytes(), 100000, "and data arrives");
    }

    const bool m_down;
    const uint32_t m_hops;
    const std::string m_linkRates;
    const std::string m_routing;
};

/** What gathers rates in the mesh is not seen outside. */
class OutsideTestCase : public TestCase
{
  public:
    OutsideTestCase()
        : TestCase("No gathered rates in the wired network")
    {
    }

  private:
    static uint32_t Options(Ptr<const Packet> packet)
    {
        std::vector<uint8_t> bytes(packet->GetSize());
        packet->CopyData(bytes.data(), bytes.size());
        uint32_t found = 0;
        for (std::size_t i = 0; i + MP_LINK_RATES_BYTES <= bytes.size(); i++)
        {
            found += mp_link_rates_is(&bytes[i]);
        }
        return found;
    }

    void Seen(Ptr<const Packet> packet)
    {
        m_outside += Options(packet);
        m_packets++;
    }

    void SentByRelay(Ptr<const Packet> packet)
    {
        m_inside += Options(packet);
    }

    void DoRun() override
    {
        auto scenario = UnevenChain(2, "piggybacked", "static");
        scenario.flows = {FtpFlow("B", "A")};
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        const auto& network = simulation.Network();
        network.WiredDevice("IG")->TraceConnectWithoutContext(
            "PhyTxBegin",
            MakeCallback(&OutsideTestCase::Seen, this));
        StaticCast<WifiNetDevice>(network.MeshDevice("RL1"))
            ->GetMac()
            ->TraceConnectWithoutContext("MacTx",
                                         MakeCallback(&OutsideTestCase::SentByRelay, this));
        simulation.Run();
        NS_TEST_EXPECT_MSG_GT(m_packets, 100, "ACKs");
        NS_TEST_EXPECT_MSG_EQ(m_outside, 0, "outside");
        NS_TEST_EXPECT_MSG_EQ_TOL(m_inside, 14.0, 2.0, "one a second inside");
    }

    uint32_t m_packets{0};
    uint32_t m_outside{0};
    uint32_t m_inside{0};
};

class LinkRatesTestSuite : public TestSuite
{
  public:
    LinkRatesTestSuite()
        : TestSuite("meshpace-link-rates", Type::UNIT)
    {
        AddTestCase(new FramesTestCase, Duration::QUICK);
        for (const bool down : {true, false})
        {
            AddTestCase(new KnowledgeTestCase(down, 3, "single", "static"), Duration::QUICK);
            AddTestCase(new KnowledgeTestCase(down, 6, "known", "static"), Duration::QUICK);
            AddTestCase(new KnowledgeTestCase(down, 3, "piggybacked", "static"), Duration::QUICK);
            AddTestCase(new KnowledgeTestCase(down, 6, "piggybacked", "aodv"), Duration::QUICK);
        }
        AddTestCase(new OutsideTestCase, Duration::QUICK);
    }
};

LinkRatesTestSuite g_linkRatesTestSuite;

} // namespace
