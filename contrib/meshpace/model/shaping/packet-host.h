/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_PACKET_HOST_H
#define MESHPACE_PACKET_HOST_H

#include "ns3/queue-item.h"

#include <cstdint>

namespace ns3
{

/** Which end of a packet is a host of the mesh. */
enum class PacketEnd
{
    SOURCE,
    DESTINATION
};

/**
 * @param item a packet
 * @param end which end of it is asked for
 * @return the IPv4 address there; 0 where it is no IPv4 packet
 */
uint32_t HostOf(Ptr<const QueueDiscItem> item, PacketEnd end);

} // namespace ns3

#endif // MESHPACE_PACKET_HOST_H
