/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// What the gateway does to the goodput of flows, in whole simulations.

#include "test-scenarios.h"

#include "../runner/simulation.h"

#include "ns3/test.h"

using namespace ns3;

namespace
{

/** Two contending flows, one of which the gateway cannot pace: control makes them fair. */
class GoodputControlTestCase : public TestCase
{
  public:
    GoodputControlTestCase()
        : TestCase("Goodput control makes oncoming flows over two chains fair")
    {
    }

  private:
    /** GAP figure 5: two chains of 5 hops, 400 m apart, a download and an upload. */
    static Scenario TwoChains()
    {
        auto scenario = ChainScenario(1, "static", 70);
        scenario.nodes = {{"IG", 0, 0, true}};
        for (uint32_t i = 0; i < 5; i++)
        {
            const auto number = std::to_string(i);
            scenario.nodes.push_back({std::string("U").append(number), -200.0 * i, 200, false});
            scenario.nodes.push_back({std::string("L").append(number), -200.0 * i, -200, false});
        }
        scenario.warmup_s = 20;
        scenario.radio.cts_ignores_nav = true;
        scenario.gateway.law = "gap";
        scenario.gateway.delay_bound_s = 0.5;
        scenario.flows = {FtpFlow("B", "U4"), FtpFlow("L4", "B")};
        scenario.flows[0].name = "down";
        scenario.flows[1].law = "gap";
        return scenario;
    }

    static double SmallerShare(bool control)
    {
        auto scenario = TwoChains();
        scenario.gateway.goodput_control = control;
        Simulation simulation(scenario, 1);
        simulation.Run();
        const double down = simulation.Flows()[0]->Delivery().GoodputBytes();
        const double up = simulation.Flows()[1]->Delivery().GoodputBytes();
        return std::min(down, up) / (down + up);
    }

    void DoRun() override
    {
        const auto off = SmallerShare(false);
        const auto on = SmallerShare(true);
        NS_TEST_EXPECT_MSG_GT(on, off + 0.04, "the smaller share grows with control");
        NS_TEST_EXPECT_MSG_GT(on, 0.45, "to nearly one half");
    }
};

/**
 * Departures fixed on arrival, a window ahead, as sch_fq does it: the law's answer comes so late that
 * the flow gets a fraction of its goodput.
 */
class DeparturesOnArrivalTestCase : public TestCase
{
  public:
    DeparturesOnArrivalTestCase()
        : TestCase("Departures fixed on arrival follow the law too late")
    {
    }

  private:
    static double GoodputBytes(const std::string& release)
    {
        auto scenario = ChainScenario(2, "static", 30);
        scenario.warmup_s = 10;
        scenario.gateway.law = "gap";
        scenario.gateway.delay_bound_s = 0.5;
        scenario.gateway.release = release;
        scenario.flows = {FtpFlow("B", "A")};
        Simulation simulation(scenario, 1);
        simulation.Run();
        return simulation.Flows()[0]->Delivery().GoodputBytes();
    }

    void DoRun() override
    {
        const auto atItsTurn = GoodputBytes("nfqueue");
        const auto onArrival = GoodputBytes("fq");
        NS_TEST_EXPECT_MSG_GT(onArrival, 0.05 * atItsTurn, "something arrives");
        NS_TEST_EXPECT_MSG_LT(onArrival, 0.6 * atItsTurn, "but much less");
    }
};

class GatewayGoodputTestSuite : public TestSuite
{
  public:
    GatewayGoodputTestSuite()
        : TestSuite("meshpace-gateway-goodput", Type::UNIT)
    {
        AddTestCase(new GoodputControlTestCase, Duration::QUICK);
        AddTestCase(new DeparturesOnArrivalTestCase, Duration::QUICK);
    }
};

GatewayGoodputTestSuite g_gatewayGoodputTestSuite;

} // namespace
