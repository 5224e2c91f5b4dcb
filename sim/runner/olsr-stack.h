/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_OLSR_STACK_H
#define MESHPACE_OLSR_STACK_H

#include "scenario.h"

#include "ns3/ipv4-address.h"
#include "ns3/net-device.h"
#include "ns3/node.h"
#include "ns3/olsr-helper.h"
#include "ns3/olsr-routing-protocol.h"

#include <cstdint>
#include <optional>

namespace ns3
{

/**
 * @file
 * OLSR (RFC 3626) as ns-3 has it, on mesh nodes, gateways, routers and wired hosts.
 */

/**
 * @param scenario the scenario
 * @return what makes OLSR the routing protocol of an Internet stack, with the scenario's intervals
 */
OlsrHelper CreateOlsrHelper(const Scenario& scenario);

/** @return a node's OLSR; null: it has none */
Ptr<olsr::RoutingProtocol> OlsrOf(Ptr<Node> node);

/**
 * @param node a node with OLSR
 * @param destination an address of another
 * @return hops of its route there, over all kinds of links; nothing without a route
 */
std::optional<uint32_t> OlsrDistance(Ptr<Node> node, Ipv4Address destination);

/**
 * @param node a node with OLSR
 * @param destination an address of another
 * @return the device with which its route there begins, null without a route
 */
Ptr<NetDevice> OlsrDevice(Ptr<Node> node, Ipv4Address destination);

} // namespace ns3

#endif // MESHPACE_OLSR_STACK_H
