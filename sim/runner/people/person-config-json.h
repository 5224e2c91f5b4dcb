/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_PERSON_CONFIG_JSON_H
#define MESHPACE_PERSON_CONFIG_JSON_H

#include "person-config.h"

#include <nlohmann/json.hpp>

namespace ns3
{

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PersonConfig,
                                   name,
                                   node,
                                   host,
                                   start_s,
                                   stop_s,
                                   leaves,
                                   pause_at_s,
                                   pause_s,
                                   does,
                                   opaque,
                                   page_scale,
                                   reading_s,
                                   lookup_s,
                                   law,
                                   variant,
                                   sack,
                                   delayed_ack,
                                   delayed_ack_s,
                                   byte_counting,
                                   advertised_window,
                                   segment_bytes,
                                   initial_window,
                                   min_rto_s,
                                   timestamps,
                                   rack)

} // namespace ns3

#endif // MESHPACE_PERSON_CONFIG_JSON_H
