/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_SCENARIO_CHECKS_H
#define MESHPACE_SCENARIO_CHECKS_H

#include "scenario.h"

namespace ns3
{

/**
 * Checks a resolved scenario.
 * @param scenario the scenario
 * @throws ScenarioError when the simulator cannot make a run of it, or its parts contradict each other
 */
void Check(const Scenario& scenario);

} // namespace ns3

#endif // MESHPACE_SCENARIO_CHECKS_H
