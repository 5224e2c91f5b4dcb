/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_PROGRAM_H
#define MESHPACE_PROGRAM_H

#include "scenario.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace ns3
{

/** Takes an option's value. @return whether it is one */
using Option = std::function<bool(const std::string& value)>;

/** What a program is, apart from its scenario and its seed, which all have. */
struct Program
{
    const char* name;
    const char* usage; //!< one line
    std::map<std::string, Option> options; //!< by "--name"; each has a value
    std::function<void(const Scenario& scenario, uint32_t seed)> run;
};

/**
 * Takes the arguments SCENARIO.json --seed N [--OPTION VALUE]..., reads the scenario and runs it.
 * What is wrong is said in one line on standard error.
 *
 * @param program the program
 * @param argc main's
 * @param argv main's
 * @return the exit status: 0 done, 1 failed, 2 usage or a scenario that cannot be simulated
 */
int RunProgram(const Program& program, int argc, char* argv[]);

} // namespace ns3

#endif // MESHPACE_PROGRAM_H
