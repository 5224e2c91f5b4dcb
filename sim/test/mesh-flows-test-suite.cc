/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "test-scenarios.h"

#include "../runner/result.h"
#include "../runner/simulation.h"

#include "ns3/rng-seed-manager.h"
#include "ns3/test.h"

using namespace ns3;

namespace
{

/** Flows between mesh nodes: no gateway and no wired host has a part in them. */
class MeshFlowsTestCase : public TestCase
{
  public:
    MeshFlowsTestCase(const std::string& routing, const std::string& law)
        : TestCase("Two flows in the mesh, " + routing + " routes, law " + law),
          m_routing(routing),
          m_law(law)
    {
    }

  private:
    void DoRun() override
    {
        // OLSR has to find its routes first.
        const double startS = m_routing == "olsr" ? 15 : 0;
        auto scenario = ChainScenario(6, m_routing, startS + 15);
        scenario.warmup_s = startS;
        scenario.wired_hosts.clear();
        scenario.flows = {FtpFlow("A", "RL4"), FtpFlow("RL5", "RL4")};
        for (auto& flow : scenario.flows)
        {
            flow.law = m_law;
            flow.start_s = startS;
        }
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        simulation.Run();
        const auto result = MakeResult(simulation, 1);
        const std::vector<uint32_t> hops{4, 1};
        // Unpaced, the near flow starves the far one.
        const auto least = m_law == "off" ? 10000 : 100000;
        for (uint32_t i = 0; i < 2; i++)
        {
            const auto& flow = result["flows"][i];
            NS_TEST_EXPECT_MSG_EQ(flow["direction"], "mesh", "direction");
            NS_TEST_EXPECT_MSG_EQ(flow["hops"], hops[i], "hops");
            NS_TEST_EXPECT_MSG_EQ(flow["law"], m_law, "law");
            NS_TEST_EXPECT_MSG_GT(flow["goodput_bytes"], least, "counts in the result");
            if (m_law == "off")
            {
                NS_TEST_EXPECT_MSG_EQ(flow["pacing"].is_null(), true, "unpaced");
            }
            else
            {
                NS_TEST_EXPECT_MSG_GT(flow["pacing"]["samples"], 100, "paced");
                NS_TEST_EXPECT_MSG_GT(flow["pacing"]["rate_pps"], 1, "at a rate");
            }
        }
        const auto& path = simulation.Flows()[0]->Config();
        const auto control = dynamic_cast<const TcpFlow&>(*simulation.Flows()[0]).Control();
        NS_TEST_EXPECT_MSG_EQ((control ? control->Path().hops : hops[0]), hops[0], path.name);
    }

    std::string m_routing;
    std::string m_law;
};

class MeshFlowsTestSuite : public TestSuite
{
  public:
    MeshFlowsTestSuite()
        : TestSuite("meshpace-mesh-flows", Type::SYSTEM)
    {
        for (const std::string routing : {"static", "aodv", "olsr"})
        {
            AddTestCase(new MeshFlowsTestCase(routing, "ap"), Duration::QUICK);
        }
        AddTestCase(new MeshFlowsTestCase("aodv", "off"), Duration::QUICK);
    }
};

MeshFlowsTestSuite g_meshFlowsTestSuite; //!< the suite

} // namespace
