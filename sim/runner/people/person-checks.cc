/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "person-checks.h"

#include "../key-checks.h"

#include <algorithm>

namespace ns3
{

namespace
{

/** Their ports, from FIRST_PERSON_PORT on, are all below those that ns-3 gives to clients. */
constexpr std::size_t MOST_PEOPLE = 4000;
constexpr double MOST_PAGE_SCALE = 1000;

void
CheckTimes(const PersonConfig& person, const std::string& key)
{
    CheckRange(key + "start_s", person.start_s, 0, MOST);
    CheckRange(key + "stop_s", person.stop_s, 0, MOST);
    CheckRange(key + "pause_at_s", person.pause_at_s, 0, MOST);
    CheckRange(key + "pause_s", person.pause_s, 0, MOST);
    CheckRange(key + "page_scale", person.page_scale, LEAST, MOST_PAGE_SCALE);
    CheckRange(key + "reading_s", person.reading_s, LEAST, MOST);
    CheckRange(key + "lookup_s", person.lookup_s, LEAST, MOST);
    if (person.stop_s > 0 && person.stop_s <= person.start_s)
    {
        throw ScenarioError(key + "stop_s is not after start_s; give more, or 0: he stays");
    }
    if (person.pause_s > 0 && person.pause_at_s <= person.start_s)
    {
        throw ScenarioError(key + "pause_at_s is not after start_s; give more");
    }
}

void
CheckTcp(const PersonConfig& person, const std::string& key)
{
    CheckKnown(key + "law", person.law, {"off", "gap", "ap", "map", "even"});
    CheckKnown(key + "variant",
               person.variant,
               {"newreno", "reno", "cubic", "bbr", "vegas", "westwood"});
    CheckRecovery(key, person.variant, person.sack, person.rack);
    CheckRange(key + "delayed_ack", person.delayed_ack, 1, MOST);
    CheckRange(key + "delayed_ack_s", person.delayed_ack_s, LEAST, MOST);
    CheckRange(key + "advertised_window", person.advertised_window, 1, MOST);
    CheckRange(key + "segment_bytes", person.segment_bytes, 1, MOST_SEGMENT_BYTES);
    CheckRange(key + "initial_window", person.initial_window, 1, MOST);
    CheckRange(key + "min_rto_s", person.min_rto_s, LEAST, MOST);
}

void
CheckPerson(const PersonConfig& person, const Scenario& scenario, const std::string& key)
{
    CheckKnown(key + "leaves", person.leaves, {"closes", "dies", "fades"});
    for (const auto& name : person.does)
    {
        CheckKnown(key + "does",
                   name,
                   {"web", "video", "call", "download", "upload", "lookups"});
    }
    CheckRange(key + "opaque", person.opaque, 0, 1);
    CheckTimes(person, key);
    CheckTcp(person, key);
    const auto& hosts = scenario.wired_hosts;
    const auto wired = [&hosts](const std::string& end) {
        return std::find(hosts.begin(), hosts.end(), end) != hosts.end();
    };
    if (wired(person.node) || !wired(person.host))
    {
        throw ScenarioError(key + "is not between a mesh node and a wired host; name one each");
    }
}

} // namespace

void
CheckPeople(const Scenario& scenario, const std::set<std::string>& names)
{
    CheckRange("people", scenario.people.size(), 0, MOST_PEOPLE);
    std::set<std::string> known;
    for (const auto& person : scenario.people)
    {
        const auto key = "person \"" + person.name + "\" ";
        CheckEnds(key, {person.node, person.host}, names);
        CheckPerson(person, scenario, key);
        if (!known.insert(person.name).second)
        {
            throw ScenarioError("two people are named \"" + person.name + "\"; rename one");
        }
    }
}

} // namespace ns3
