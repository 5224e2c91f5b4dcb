/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "person-site.h"

namespace ns3
{

namespace
{

constexpr uint64_t FNV_OFFSET = 0xcbf29ce484222325; // FNV-1a, RFC 9923
constexpr uint64_t FNV_PRIME = 0x100000001b3;
constexpr int64_t STREAMS = 100; // of a person, more than he uses
constexpr int FREE_BITS = 9;     // so that STREAMS of them stay below 2^62

} // namespace

int64_t
PersonStreamNumber(const std::string& name, PersonStream which)
{
    auto hash = FNV_OFFSET;
    for (const auto letter : name)
    {
        hash = (hash ^ static_cast<uint8_t>(letter)) * FNV_PRIME;
    }
    return static_cast<int64_t>(hash >> FREE_BITS) * STREAMS + static_cast<int64_t>(which);
}

} // namespace ns3
