/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_PEOPLE_RESULT_H
#define MESHPACE_PEOPLE_RESULT_H

#include "person.h"

#include <cstdint>
#include <nlohmann/json.hpp>

namespace ns3
{

/**
 * What a person met with, as a result has it (docs/research/scenarios.md). Left out is what nobody
 * can judge: begun too shortly before his end, or that of the simulation, to have come about.
 *
 * @param person a person
 * @param hops of his node to the gateway at the start
 * @return the document
 */
nlohmann::ordered_json PersonJson(const Person& person, uint32_t hops);

} // namespace ns3

#endif // MESHPACE_PEOPLE_RESULT_H
