/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "wired-port.h"

namespace ns3
{

WiredPort::WiredPort(Ptr<PointToPointNetDevice> device, TapConfig config)
    : LinuxPort(device, LinkWithoutArp(std::move(config)), LINK_WINDOW_PACKETS),
      m_link(device)
{
    device->SetReceiveCallback(MakeCallback(&WiredPort::Receive, this));
}

bool
WiredPort::Send(const Content& content)
{
    if (content.type != IPV4)
    {
        return false;
    }
    // Into a full queue it is lost, as in the simulation.
    m_link->Send(content.packet, m_link->GetBroadcast(), content.type);
    return true;
}

} // namespace ns3
