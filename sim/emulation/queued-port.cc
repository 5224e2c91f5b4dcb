/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "queued-port.h"

#include "ns3/ipv4-queue-disc-item.h"
#include "ns3/node.h"

namespace ns3
{

QueuedPort::QueuedPort(Ptr<NetDevice> radio, TapConfig config)
    : LinuxPort(radio, QueuedElsewhere(std::move(config)), LINK_WINDOW_PACKETS),
      m_radio(radio),
      m_layer(radio->GetNode()->GetObject<TrafficControlLayer>())
{
    radio->SetReceiveCallback(MakeCallback(&QueuedPort::Receive, this));
}

bool
QueuedPort::Send(const Content& content)
{
    if (content.type == ARP)
    {
        return m_radio->Send(content.packet, content.to, content.type);
    }
    Ipv4Header header;
    if (content.type != IPV4 || content.packet->RemoveHeader(header) == 0)
    {
        return false;
    }
    // Written anew when the packet leaves the discipline.
    header.EnableChecksum();
    m_layer->Send(m_radio,
                  Create<Ipv4QueueDiscItem>(content.packet, content.to, content.type, header));
    return true;
}

} // namespace ns3
