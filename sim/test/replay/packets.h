/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_REPLAY_PACKETS_H
#define MESHPACE_REPLAY_PACKETS_H

#include "trace.h"

#include "ns3/ipv4-address.h"
#include "ns3/ipv4-queue-disc-item.h"
#include "ns3/meshpace-key.h"

/**
 * @param host a trace's number of a mesh host
 * @return its address
 */
ns3::Ipv4Address MeshAddress(uint32_t host);

/**
 * @param flow a trace's
 * @return its ends
 */
ns3::MeshpaceKey KeyOf(const trace_flow& flow);

/**
 * @param packet a trace's
 * @param down whether it goes to the mesh
 * @return it, byte for byte, as a queue disc has it
 */
ns3::Ptr<ns3::Ipv4QueueDiscItem> MakeItem(const trace_packet& packet, bool down);

#endif // MESHPACE_REPLAY_PACKETS_H
