/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_REPLAY_EXCEPTIONS_H
#define MESHPACE_REPLAY_EXCEPTIONS_H

#include "trace.h"

#include <algorithm>
#include <iterator>
#include <set>

/** What a trace may have that ns-3's gateway has not, and why; core/test/traces/README.md lists the same. */
struct ReplayException
{
    const char* what;
    const char* why;
    bool (*is)(const trace_event& event);
};

/** Hosts that are further addresses of others: an exception once a packet has one. */
inline std::set<uint32_t> g_aliases;

inline constexpr ReplayException REPLAY_EXCEPTIONS[] = {
    {"IPv6",
     "the simulated networks are IPv4",
     [](const trace_event& event) { return event.packet.flow.v6; }},
    {"segs",
     "a simulated device takes packets one by one",
     [](const trace_event& event) { return event.packet.segments > 1; }},
    {"own",
     "no simulated gateway has sockets of its own",
     [](const trace_event& event) { return event.packet.own_ns > 0; }},
    {"outside",
     "a simulated gateway's mesh is one network",
     [](const trace_event& event) { return event.kind == TRACE_HOST && event.outside; }},
    {"alias",
     "a simulated host has one address",
     [](const trace_event& event) { return g_aliases.contains(event.packet.flow.host); }},
    {"unsent",
     "what ns-3's gateway has a copy of it can send",
     [](const trace_event& event) { return event.kind == TRACE_UNSENT; }},
    {"mark",
     "ns-3's gateway marks the packet itself, no later one",
     [](const trace_event& event) { return event.kind == TRACE_MARK; }},
    {"forget",
     "ns-3's gateway forgets both directions of a connection together",
     [](const trace_event& event) { return event.kind == TRACE_FORGET; }},
};

/** Ends the program, with the exit code of a test that is skipped, at an event that is an exception. */
inline void
RefuseException(const trace_event& event)
{
    const auto* found = std::find_if(std::begin(REPLAY_EXCEPTIONS),
                                     std::end(REPLAY_EXCEPTIONS),
                                     [&event](const auto& one) { return one.is(event); });
    if (found != std::end(REPLAY_EXCEPTIONS))
    {
        fprintf(stderr, "not for ns-3: %s: %s\n", found->what, found->why);
        exit(77);
    }
}

#endif // MESHPACE_REPLAY_EXCEPTIONS_H
