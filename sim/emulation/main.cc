/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * meshpace-mesh: runs the network of one resolved scenario in real time, its ends in Linux.
 */

#include "realtime-mesh.h"

#include "../runner/program.h"

#include <iostream>
#include <optional>
#include <string>

using namespace ns3;

namespace
{

/** @return the place that NETNS:INTERFACE names, if it does */
std::optional<PortPlace>
ParsePlace(const std::string& text)
{
    const auto colon = text.rfind(':');
    if (colon == text.npos || colon == 0 || colon + 1 == text.size())
    {
        return std::nullopt;
    }
    return PortPlace{text.substr(0, colon), text.substr(colon + 1)};
}

/** Takes NODE=NETNS:INTERFACE apart. @return whether it is one, of a node not named before */
bool
AddPort(PortPlaces& places, const std::string& text)
{
    const auto equals = text.find('=');
    const auto place = equals == text.npos ? std::nullopt : ParsePlace(text.substr(equals + 1));
    return place && equals > 0 && places.nodes.emplace(text.substr(0, equals), *place).second;
}

/** Takes the gateway's NETNS:INTERFACE apart. @return whether it is one, the first one */
bool
SetWired(PortPlaces& places, const std::string& text)
{
    const bool first = !places.wired;
    places.wired = ParsePlace(text);
    return first && places.wired;
}

} // namespace

int
main(int argc, char* argv[])
{
    PortPlaces places;
    std::string lagFile;
    Program program{"meshpace-mesh",
                    "usage: meshpace-mesh SCENARIO.json --seed N --port NODE=NETNS:INTERFACE... "
                    "[--wired NETNS:INTERFACE] [--lag FILE]",
                    {},
                    {}};
    program.options["--port"] = [&](const auto& value) { return AddPort(places, value); };
    program.options["--wired"] = [&](const auto& value) { return SetWired(places, value); };
    program.options["--lag"] = [&](const auto& file) {
        lagFile = file;
        return !file.empty();
    };
    program.run = [&](const auto& scenario, auto seed) {
        RealtimeMesh mesh(scenario, seed, places);
        mesh.Run(lagFile);
        std::cout << mesh.Report().dump() << '\n';
    };
    return RunProgram(program, argc, argv);
}
