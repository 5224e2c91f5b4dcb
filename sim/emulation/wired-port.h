/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_WIRED_PORT_H
#define MESHPACE_WIRED_PORT_H

#include "linux-port.h"

#include "ns3/point-to-point-net-device.h"

namespace ns3
{

/**
 * One end of a wired link whose host is Linux. The link's rate, delay and queue are ns-3's, so
 * frames are read at once, and wait, or are dropped, in the queue of the ns-3 device.
 */
class WiredPort : public LinuxPort
{
  public:
    /**
     * Takes an end over: what its device receives goes to Linux.
     * @param device the link's end
     * @param config the interface; its queue length is filled in here, it needs no ARP
     */
    WiredPort(Ptr<PointToPointNetDevice> device, TapConfig config);

  private:
    bool Send(const Content& content) override;

    Ptr<PointToPointNetDevice> m_link;
};

} // namespace ns3

#endif // MESHPACE_WIRED_PORT_H
