/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_KEY_CHECKS_H
#define MESHPACE_KEY_CHECKS_H

#include <set>
#include <string>
#include <vector>

namespace ns3
{

/**
 * @file
 * What is checked of many keys of a resolved scenario. pacelab has checked what users write; these
 * guard the simulator against anything else. All throw ScenarioError.
 */

// Bounds only to keep times and sizes representable, and integers from having been negative.
constexpr double LEAST = 1e-6;
constexpr double MOST = 1e6;
constexpr double MOST_SEGMENT_BYTES = 1460; // fills a packet of 1500

/** Checks that a word is one of those known. */
void CheckKnown(const std::string& key,
                const std::string& value,
                const std::vector<std::string>& known);

/** Checks that a number is from one bound to another, and is a number. */
void CheckRange(const std::string& key, double value, double least, double most);

/** Checks that a TCP variant's losses can be found and repaired so. */
void CheckRecovery(const std::string& key, const std::string& variant, bool sack, bool rack);

/** Checks that what a key names as ends is there. */
void CheckEnds(const std::string& key,
               const std::vector<std::string>& ends,
               const std::set<std::string>& names);

} // namespace ns3

#endif // MESHPACE_KEY_CHECKS_H
