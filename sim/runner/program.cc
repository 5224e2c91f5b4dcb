/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "program.h"

#include <charconv>
#include <iostream>
#include <optional>

namespace ns3
{

namespace
{

constexpr int EXIT_DONE = 0;
constexpr int EXIT_FAILED = 1;
constexpr int EXIT_USAGE = 2;

struct Arguments
{
    std::string scenario;
    uint32_t seed{0};
};

bool
ParseSeed(const std::string& text, uint32_t& seed)
{
    const auto* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, seed);
    return parsed.ec == std::errc() && parsed.ptr == end && seed > 0;
}

std::optional<Arguments>
ParseArguments(std::map<std::string, Option> options, int argc, char* argv[])
{
    Arguments arguments;
    options["--seed"] = [&](const auto& value) { return ParseSeed(value, arguments.seed); };
    for (int i = 1; i < argc; i++)
    {
        const std::string argument = argv[i];
        const auto option = options.find(argument);
        if (option != options.end() && i + 1 < argc && option->second(argv[i + 1]))
        {
            i++;
        }
        else if (arguments.scenario.empty() && !argument.starts_with('-'))
        {
            arguments.scenario = argument;
        }
        else
        {
            return std::nullopt;
        }
    }
    const bool complete = !arguments.scenario.empty() && arguments.seed > 0;
    return complete ? std::optional(arguments) : std::nullopt;
}

} // namespace

int
RunProgram(const Program& program, int argc, char* argv[])
{
    const auto arguments = ParseArguments(program.options, argc, argv);
    if (!arguments)
    {
        std::cerr << program.usage << '\n';
        return EXIT_USAGE;
    }
    try
    {
        program.run(ReadScenario(arguments->scenario), arguments->seed);
    }
    catch (const ScenarioError& error)
    {
        std::cerr << program.name << ": " << error.what() << '\n';
        return EXIT_USAGE;
    }
    catch (const std::exception& error)
    {
        std::cerr << program.name << ": " << error.what() << '\n';
        return EXIT_FAILED;
    }
    std::cout.flush();
    return std::cout ? EXIT_DONE : EXIT_FAILED;
}

} // namespace ns3
