/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_GATEWAY_AODV_H
#define MESHPACE_GATEWAY_AODV_H

#include "ns3/aodv-routing-protocol.h"
#include "ns3/ipv4-address.h"
#include "ns3/wifi-net-device.h"

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * AODV in a mesh with an Internet gateway, as ns-2's wired-cum-wireless nodes have it: a mesh
 * node routes whatever lies outside the mesh towards the gateway, and the gateway looks for
 * mesh hosts on behalf of the wired network.
 *
 * Also as in ns-2, every frame given up at the retry limit breaks the routes over its receiver;
 * ns-3 does so only where packets also come from there, or are forwarded there. And a node
 * that loses a neighbour drops what its interface queue still holds for it. ns-3 leaves those packets to the MAC, which delivers many of them after all, since
 * the link is not broken but busy; that spares a TCP that floods its queue most of the price.
 */
class GatewayAodv : public aodv::RoutingProtocol
{
  public:
    /** @return the type id */
    static TypeId GetTypeId();

    /**
     * Makes this node the gateway; before its interfaces get addresses.
     * @param device its device to the wired network, on which AODV then stays silent
     * @param nextHop the router at the other end
     */
    void SetWired(Ptr<NetDevice> device, Ipv4Address nextHop);

    Ptr<Ipv4Route> RouteOutput(Ptr<Packet> packet,
                               const Ipv4Header& header,
                               Ptr<NetDevice> oif,
                               Socket::SocketErrno& sockerr) override;
    bool RouteInput(Ptr<const Packet> packet,
                    const Ipv4Header& header,
                    Ptr<const NetDevice> idev,
                    const UnicastForwardCallback& ucb,
                    const MulticastForwardCallback& mcb,
                    const LocalDeliverCallback& lcb,
                    const ErrorCallback& ecb) override;
    void NotifyInterfaceUp(uint32_t interface) override;
    void NotifyAddAddress(uint32_t interface, Ipv4InterfaceAddress address) override;
    void SetIpv4(Ptr<Ipv4> ipv4) override;

  protected:
    void DoDispose() override;

  private:
    void LinkFailed(WifiMacDropReason reason, Ptr<const WifiMpdu> mpdu);
    void Remember(Mac48Address neighbour);
    void DropQueued(Mac48Address neighbour);
    bool IsGateway() const;
    bool IsOutside(Ipv4Address address) const;
    bool IsWired(uint32_t interface) const;
    Ptr<Ipv4Route> WiredRoute(const Ipv4Header& header) const;

    Ipv4Address m_gateway;     //!< the gateway's address in the mesh
    Ipv4Address m_meshNetwork; //!< the mesh's addresses
    Ipv4Mask m_meshMask;       //!< and their mask
    Ptr<Ipv4> m_stack;
    Ptr<WifiNetDevice> m_radio;
    Ptr<NetDevice> m_wired;     //!< null on all nodes but the gateway
    Ipv4Address m_wiredNextHop; //!< router behind it
};

} // namespace ns3

#endif // MESHPACE_GATEWAY_AODV_H
