/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * meshpace-sim: runs one resolved scenario with one seed and prints one JSON result.
 */

#include "program.h"
#include "result.h"
#include "simulation.h"

#include "ns3/law-clock.h"
#include "ns3/simulator.h"

#include <ctime>
#include <fstream>
#include <iostream>
#include <string>

using namespace ns3;

namespace
{

/** Writes what the run cost; apart from the result, because it is never the same twice. */
void
WriteTiming(const std::string& file, double simulatedS)
{
    const nlohmann::ordered_json timing{
        {"cpu_s", static_cast<double>(std::clock()) / CLOCKS_PER_SEC},
        {"sim_s", simulatedS},
        {"law_s", LawClock::Seconds()},
        {"events", Simulator::GetEventCount()}};
    std::ofstream(file) << timing.dump() << '\n';
}

} // namespace

int
main(int argc, char* argv[])
{
    std::string timing;
    Program program{"meshpace-sim",
                    "usage: meshpace-sim SCENARIO.json --seed N [--timing FILE]",
                    {},
                    {}};
    program.options["--timing"] = [&](const auto& file) {
        timing = file;
        return !file.empty();
    };
    program.run = [&](const auto& scenario, auto seed) {
        if (!timing.empty())
        {
            LawClock::Enable();
        }
        Simulation simulation(scenario, seed);
        simulation.Run();
        std::cout << MakeResult(simulation, seed).dump(1) << '\n';
        if (!timing.empty())
        {
            WriteTiming(timing, scenario.duration_s);
        }
    };
    return RunProgram(program, argc, argv);
}
