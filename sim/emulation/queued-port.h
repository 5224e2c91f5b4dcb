/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_QUEUED_PORT_H
#define MESHPACE_QUEUED_PORT_H

#include "linux-port.h"

#include "ns3/traffic-control-layer.h"

namespace ns3
{

/**
 * A mesh node whose host is Linux and whose packets wait in ns-3: what Linux sends goes into the
 * queue discipline of the simulated node, with its airtime bound, and from there to the radio. On
 * a TAP none of Linux' own would build up, since a TAP never stops its queue.
 *
 * The interface has the radio's MAC address, and Linux chooses the next hop. What the discipline
 * drops Linux does not see.
 */
class QueuedPort : public LinuxPort
{
  public:
    /**
     * Takes a node over: what its radio receives goes to Linux, no longer to its own stack.
     * @param radio the node's radio, with a queue discipline
     * @param config the interface; its queue length is filled in here
     */
    QueuedPort(Ptr<NetDevice> radio, TapConfig config);

  private:
    bool Send(const Content& content) override;

    Ptr<NetDevice> m_radio;
    Ptr<TrafficControlLayer> m_layer;
};

} // namespace ns3

#endif // MESHPACE_QUEUED_PORT_H
