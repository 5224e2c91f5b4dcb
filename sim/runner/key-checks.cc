/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "key-checks.h"

#include "scenario.h"

#include <algorithm>
#include <sstream>

namespace ns3
{

void
CheckKnown(const std::string& key,
           const std::string& value,
           const std::vector<std::string>& known)
{
    if (std::find(known.begin(), known.end(), value) != known.end())
    {
        return;
    }
    std::string list;
    for (const auto& name : known)
    {
        list += (list.empty() ? "" : ", ") + name;
    }
    throw ScenarioError(key + " = \"" + value + "\" is not simulated; one of: " + list);
}

void
CheckRange(const std::string& key, double value, double least, double most)
{
    if (!(value >= least && value <= most))
    {
        std::ostringstream text;
        text << key << " = " << value << " is out of range; from " << least << " to " << most;
        throw ScenarioError(text.str());
    }
}

void
CheckRecovery(const std::string& key, const std::string& variant, bool sack, bool rack)
{
    if (sack && variant == "reno")
    {
        throw ScenarioError(key + "variant = \"reno\" has no SACK; set sack = false, or variant = \"newreno\"");
    }
    if (rack && !sack)
    {
        throw ScenarioError(key + "rack goes by what SACK tells; remove it, or set sack = true");
    }
}

void
CheckEnds(const std::string& key,
          const std::vector<std::string>& ends,
          const std::set<std::string>& names)
{
    for (const auto& end : ends)
    {
        if (names.count(end) == 0)
        {
            throw ScenarioError(key + "ends at \"" + end + "\", which is not there; name a " +
                                "mesh node or a wired host");
        }
    }
}

} // namespace ns3
