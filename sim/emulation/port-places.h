/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_PORT_PLACES_H
#define MESHPACE_PORT_PLACES_H

#include "../runner/scenario.h"

#include <map>
#include <optional>
#include <string>

namespace ns3
{

/** Where an interface goes. */
struct PortPlace
{
    std::string netns;     //!< network namespace, a name or a path
    std::string interface; //!< name of the interface there
};

/** Where all of them go. */
struct PortPlaces
{
    std::map<std::string, PortPlace> nodes; //!< mesh nodes and wired hosts, by name
    std::optional<PortPlace> wired;         //!< the gateway's wired side
};

/** @return name of a scenario's gateway */
std::string GatewayName(const Scenario& scenario);

/**
 * Checks that everything that Linux is to be has a place.
 * @param scenario the scenario
 * @param places the places
 * @throws ScenarioError when one is missing, or is for a node that is not there
 */
void CheckPlaces(const Scenario& scenario, const PortPlaces& places);

} // namespace ns3

#endif // MESHPACE_PORT_PLACES_H
