/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_ADDRESSES_H
#define MESHPACE_ADDRESSES_H

#include "ns3/ipv4-address.h"
#include "ns3/ipv4-static-routing.h"
#include "ns3/net-device.h"
#include "ns3/node.h"

namespace ns3
{

/**
 * @file
 * Addresses and interfaces. The mesh is 10.1.0.0/16, wired link n is 10.2.n.0/24.
 */

/** @return the mesh's network address */
Ipv4Address MeshNetworkAddress();
/** @return the mesh's mask */
Ipv4Mask MeshNetworkMask();

/**
 * Gives a device an address; unlike Ipv4AddressHelper without a queue disc that nobody
 * asked for.
 *
 * @param device the device, of a node with an Internet stack
 * @param address the address
 * @param mask its mask
 */
void AssignAddress(Ptr<NetDevice> device, Ipv4Address address, Ipv4Mask mask);

/** @return the address that a device was given */
Ipv4Address AddressOf(Ptr<NetDevice> device);

/** @return the number of a device's interface at its node */
uint32_t InterfaceOf(Ptr<NetDevice> device);

/** @return a node's static routes */
Ptr<Ipv4StaticRouting> StaticRoutesOf(Ptr<Node> node);

} // namespace ns3

#endif // MESHPACE_ADDRESSES_H
