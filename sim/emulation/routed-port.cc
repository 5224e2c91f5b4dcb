/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "routed-port.h"

#include "ns3/node.h"

namespace ns3
{

RoutedPort::RoutedPort(Ptr<NetDevice> radio, TapConfig config)
    : LinuxPort(radio, LinkWithoutArp(std::move(config)), LINK_WINDOW_PACKETS),
      m_aodv(radio->GetNode()->GetObject<GatewayAodv>()),
      m_peer(Mac48Address::Allocate())
{
    m_aodv->SetHost(MakeCallback(&RoutedPort::ReceiveRouted, this));
}

bool
RoutedPort::Send(const Content& content)
{
    Ipv4Header header;
    if (content.type != IPV4 || content.packet->RemoveHeader(header) == 0)
    {
        return false;
    }
    const auto destination = header.GetDestination();
    if (destination.IsBroadcast() || destination.IsMulticast())
    {
        return false;
    }
    m_aodv->SendFromHost(content.packet, header);
    return true;
}

void
RoutedPort::ReceiveRouted(Ptr<const Packet> packet, const Ipv4Header& header)
{
    auto copy = packet->Copy();
    auto checked = header;
    checked.EnableChecksum();
    copy->AddHeader(checked);
    Deliver(copy, IPV4, m_peer);
}

} // namespace ns3
