/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_DIRECTION_H
#define MESHPACE_DIRECTION_H

#include "../tcp/tcp-wire.h"

#include "meshpace/meshpace.h"

#include <cstdint>

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * The data of one direction of a connection: what has left the gateway of it, and what is acknowledged.
 */
struct MeshpaceDirection
{
    mp_sent sent{};           //!< T1 of the segments, as they leave the gateway
    mp_progress progress{};   //!< as far as the receiver has acknowledged
    uint32_t segmentBytes{0}; //!< payload of the largest segment

    /**
     * A segment leaves the gateway (T1).
     * @param segment the segment, with payload
     * @param nowNs now, ns
     */
    void Data(const TcpSegment& segment, uint64_t nowNs);

    /**
     * An acknowledgement of the data comes.
     * @param ack its number
     * @return whether it counts: it is for data that was sent
     */
    bool Acknowledge(uint32_t ack);
};

} // namespace ns3

#endif // MESHPACE_DIRECTION_H
