/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * meshpace-sim: runs one resolved scenario with one seed and prints one JSON result.
 */

#include "result.h"
#include "scenario.h"
#include "simulation.h"

#include "../model/law-clock.h"

#include "ns3/simulator.h"

#include <ctime>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>

using namespace ns3;

namespace
{

constexpr int EXIT_DONE = 0;
constexpr int EXIT_FAILED = 1;
constexpr int EXIT_USAGE = 2;

constexpr const char* USAGE = "usage: meshpace-sim SCENARIO.json --seed N [--timing FILE]";

struct Arguments
{
    std::string scenario;
    uint32_t seed{0};
    std::string timing;
};

/**
 * @param text a number as given
 * @return it, nothing when it is no positive number of 32 bits
 */
std::optional<uint32_t>
ParseSeed(const std::string& text)
{
    if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != text.npos)
    {
        return std::nullopt;
    }
    const auto seed = std::stoul(text);
    return seed > 0 ? std::optional<uint32_t>(seed) : std::nullopt;
}

std::optional<Arguments>
ParseArguments(int argc, char* argv[])
{
    Arguments arguments;
    for (int i = 1; i < argc; i++)
    {
        const std::string argument = argv[i];
        const bool hasValue = i + 1 < argc;
        if (argument == "--seed" && hasValue)
        {
            const auto seed = ParseSeed(argv[++i]);
            if (!seed)
            {
                return std::nullopt;
            }
            arguments.seed = *seed;
        }
        else if (argument == "--timing" && hasValue)
        {
            arguments.timing = argv[++i];
        }
        else if (arguments.scenario.empty() && argument.front() != '-')
        {
            arguments.scenario = argument;
        }
        else
        {
            return std::nullopt;
        }
    }
    return arguments.scenario.empty() || arguments.seed == 0 ? std::nullopt
                                                            : std::optional(arguments);
}

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
    const auto arguments = ParseArguments(argc, argv);
    if (!arguments)
    {
        std::cerr << USAGE << '\n';
        return EXIT_USAGE;
    }
    try
    {
        const auto scenario = ReadScenario(arguments->scenario);
        if (!arguments->timing.empty())
        {
            LawClock::Enable();
        }
        Simulation simulation(scenario, arguments->seed);
        simulation.Run();
        std::cout << MakeResult(simulation, arguments->seed).dump(1) << '\n';
        if (!arguments->timing.empty())
        {
            WriteTiming(arguments->timing, scenario.duration_s);
        }
    }
    catch (const ScenarioError& error)
    {
        std::cerr << "meshpace-sim: " << error.what() << '\n';
        return EXIT_USAGE;
    }
    catch (const std::exception& error)
    {
        std::cerr << "meshpace-sim: " << error.what() << '\n';
        return EXIT_FAILED;
    }
    std::cout.flush();
    return std::cout ? EXIT_DONE : EXIT_FAILED;
}
