/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_SAME_RUN_TEST_CASE_H
#define MESHPACE_SAME_RUN_TEST_CASE_H

#include "../runner/simulation.h"

#include "ns3/rng-seed-manager.h"
#include "ns3/test.h"

namespace ns3
{

/** The same scenario and seed give the same run, another seed another. */
class SameRunTestCase : public TestCase
{
  public:
    /**
     * @param scenario the scenario; its first flow is compared, second by second
     */
    explicit SameRunTestCase(const Scenario& scenario)
        : TestCase("Same seed, same run"),
          m_scenario(scenario)
    {
    }

  private:
    std::vector<uint64_t> Run(uint32_t seed) const
    {
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(m_scenario, seed);
        simulation.Run();
        return simulation.Flows().at(0)->Delivery().Bins(Seconds(m_scenario.duration_s));
    }

    void DoRun() override
    {
        const auto first = Run(1);
        NS_TEST_EXPECT_MSG_EQ((Run(1) == first), true, "the same seed");
        NS_TEST_EXPECT_MSG_EQ((Run(2) == first), false, "another seed");
    }

    Scenario m_scenario;
};

} // namespace ns3

#endif // MESHPACE_SAME_RUN_TEST_CASE_H
