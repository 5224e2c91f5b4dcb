/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_ROUTED_PORT_H
#define MESHPACE_ROUTED_PORT_H

#include "linux-port.h"

#include "../model/routing/gateway-aodv.h"

namespace ns3
{

/**
 * A mesh node that routes by itself, as a router with Linux behind it: its TAP interface is a
 * link without ARP to the node's AODV, which keeps its addresses, its queue during a route
 * discovery and its interface queue. Linux has the node's address.
 *
 * The interface queue is wholly the MAC's: AODV drops what is in it for a lost neighbour.
 */
class RoutedPort : public LinuxPort
{
  public:
    /**
     * Becomes the node's host.
     * @param radio the node's radio; the node runs GatewayAodv
     * @param config the interface; its queue length is filled in here, it needs no ARP
     */
    RoutedPort(Ptr<NetDevice> radio, TapConfig config);

  private:
    bool Send(const Content& content) override;
    void ReceiveRouted(Ptr<const Packet> packet, const Ipv4Header& header);

    Ptr<GatewayAodv> m_aodv;
    Mac48Address m_peer; //!< the sender that Linux sees
};

} // namespace ns3

#endif // MESHPACE_ROUTED_PORT_H
