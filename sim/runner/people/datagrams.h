/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_DATAGRAMS_H
#define MESHPACE_DATAGRAMS_H

#include "ns3/inet-socket-address.h"
#include "ns3/node.h"
#include "ns3/packet.h"
#include "ns3/socket.h"

#include <cstdint>

namespace ns3
{

/**
 * @file
 * Datagrams with two numbers at their beginning, where their protocols have such ones.
 */

/** What stands at the beginning of a datagram. */
struct DatagramNumbers
{
    uint32_t first;
    uint32_t second;
};

/**
 * @param numbers what it begins with
 * @param bytes its payload, at least 8
 * @return a datagram
 */
Ptr<Packet> MakeDatagram(const DatagramNumbers& numbers, uint32_t bytes);

/** @return what a datagram begins with */
DatagramNumbers ReadDatagram(Ptr<const Packet> packet);

/**
 * @param node a node
 * @param port the port that it listens on, 0: any
 * @param receive is called when something has come
 * @return a UDP socket
 */
Ptr<Socket> OpenDatagrams(Ptr<Node> node, uint16_t port, Callback<void, Ptr<Socket>> receive);

} // namespace ns3

#endif // MESHPACE_DATAGRAMS_H
