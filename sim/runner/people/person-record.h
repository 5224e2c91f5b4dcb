/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_PERSON_RECORD_H
#define MESHPACE_PERSON_RECORD_H

#include "ns3/nstime.h"

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace ns3
{

/**
 * @file
 * What a person met with. Times `at` are from the beginning of the simulation, others durations;
 * one that has no value has not come about before `end`, when nobody waited any more.
 */

/** What was begun and may have come about: a handshake, a look-up. */
struct AttemptRecord
{
    Time at;
    std::optional<Time> took;
    std::optional<Time> end; //!< nothing: he waited to his end, or that of the simulation
};

/** A web page. */
struct PageRecord
{
    Time at;
    uint64_t bytes;   //!< of all its objects
    uint32_t objects; //!< with the main one
    bool opaque;
    std::optional<Time> firstByte; //!< after how long its first byte came
    std::optional<Time> load;      //!< after how long all was there
    std::optional<Time> end;
};

/** A video's segment. */
struct SegmentRecord
{
    Time at;       //!< when it was asked for
    uint32_t kbps; //!< its bit rate
};

/** A time in which a video did not play on. */
struct StallRecord
{
    Time at;
    std::optional<Time> length; //!< nothing: to its end
};

/** A video. */
struct VideoRecord
{
    Time at;
    bool opaque;
    std::optional<Time> startup; //!< after how long it played
    std::vector<SegmentRecord> segments;
    std::vector<StallRecord> stalls;
    std::optional<Time> end;
};

/** A call: datagrams at equal distances, both ways. */
struct CallRecord
{
    enum Direction
    {
        UP,
        DOWN
    };

    Time at;
    std::array<std::vector<float>, 2> delaysS; //!< one way, of each sent; LOST: it has not arrived
    std::optional<Time> end;                   //!< when nobody listened any more

    static constexpr float LOST = -1;
};

/** All of a person. */
struct PersonRecord
{
    std::deque<PageRecord> pages; // others come, and one stays where it is
    std::vector<VideoRecord> videos;
    std::vector<CallRecord> calls;
    std::vector<AttemptRecord> lookups;
    std::vector<AttemptRecord> handshakes;
};

} // namespace ns3

#endif // MESHPACE_PERSON_RECORD_H
