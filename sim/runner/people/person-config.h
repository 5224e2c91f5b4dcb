/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_PERSON_CONFIG_H
#define MESHPACE_PERSON_CONFIG_H

#include <cstdint>
#include <string>
#include <vector>

namespace ns3
{

/** A person at a mesh node, as pacelab has resolved `[[person]]`; members as the file's keys. */
struct PersonConfig
{
    std::string name;
    std::string node;              //!< where he is
    std::string host;              //!< the wired host that serves him
    double start_s;                //!< when he arrives
    double stop_s;                 //!< when he leaves; 0: he stays
    std::string leaves;            //!< "closes", "dies", "fades"
    double pause_at_s;             //!< when he falls silent
    double pause_s;                //!< for how long; 0: never
    std::vector<std::string> does; //!< "web", "video", "call", "download", "upload", "lookups"
    double opaque;                 //!< part of his pages and videos that the gateway cannot read
    double page_scale;             //!< sizes of objects, in those of 3GPP
    double reading_s;              //!< mean time for which he reads a page
    double lookup_s;               //!< mean time between two look-ups
    std::string law;               //!< at his end: "off", "gap", "ap", "map", "even"
    // TCP, as of a flow.
    std::string variant;
    bool sack;
    uint32_t delayed_ack; //!< segments; no thinning
    double delayed_ack_s;
    bool byte_counting;
    uint32_t advertised_window;
    uint32_t segment_bytes;
    uint32_t initial_window;
    double min_rto_s;
    bool timestamps;
    bool rack;
};

} // namespace ns3

#endif // MESHPACE_PERSON_CONFIG_H
