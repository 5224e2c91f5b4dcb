/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "addresses.h"

#include "ns3/ipv4-static-routing-helper.h"
#include "ns3/ipv4.h"

namespace ns3
{

Ipv4Address
MeshNetworkAddress()
{
    return Ipv4Address("10.1.0.0");
}

Ipv4Mask
MeshNetworkMask()
{
    return Ipv4Mask("255.255.0.0");
}

void
AssignAddress(Ptr<NetDevice> device, Ipv4Address address, Ipv4Mask mask)
{
    auto ipv4 = device->GetNode()->GetObject<Ipv4>();
    const auto interface = ipv4->AddInterface(device);
    ipv4->AddAddress(interface, Ipv4InterfaceAddress(address, mask));
    ipv4->SetMetric(interface, 1);
    ipv4->SetUp(interface);
}

Ipv4Address
AddressOf(Ptr<NetDevice> device)
{
    const auto ipv4 = device->GetNode()->GetObject<Ipv4>();
    return ipv4->GetAddress(ipv4->GetInterfaceForDevice(device), 0).GetLocal();
}

uint32_t
InterfaceOf(Ptr<NetDevice> device)
{
    return device->GetNode()->GetObject<Ipv4>()->GetInterfaceForDevice(device);
}

Ptr<Ipv4StaticRouting>
StaticRoutesOf(Ptr<Node> node)
{
    return Ipv4StaticRoutingHelper().GetStaticRouting(node->GetObject<Ipv4>());
}

} // namespace ns3
