/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_PERSON_CHECKS_H
#define MESHPACE_PERSON_CHECKS_H

#include "../scenario.h"

#include <set>
#include <string>

namespace ns3
{

/**
 * Checks the people of a resolved scenario.
 * @param scenario the scenario
 * @param names of its mesh nodes and wired hosts
 * @throws ScenarioError where one cannot be simulated
 */
void CheckPeople(const Scenario& scenario, const std::set<std::string>& names);

} // namespace ns3

#endif // MESHPACE_PERSON_CHECKS_H
