/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_RESULT_H
#define MESHPACE_RESULT_H

#include "simulation.h"

#include <nlohmann/json.hpp>

namespace ns3
{

/**
 * What a finished run is reported as: flows (goodput_bytes and everything else after the
 * warm-up, delivered_bytes per bin from time 0), links with their drops, the gateway.
 *
 * @param simulation the run
 * @param seed its number
 * @return the document; the same for the same scenario, seed and program
 */
nlohmann::ordered_json MakeResult(const Simulation& simulation, uint32_t seed);

} // namespace ns3

#endif // MESHPACE_RESULT_H
