/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_GATEWAY_AODV_H
#define MESHPACE_GATEWAY_AODV_H

#include "ns3/aodv-routing-protocol.h"
#include "ns3/callback.h"
#include "ns3/ipv4-address.h"
#include "ns3/wifi-net-device.h"

#include <map>

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
 * that loses a neighbour drops what its interface queue still holds for it. ns-3 leaves those
 * packets to the MAC, which delivers many of them after all, since the link is not broken but
 * busy; that spares a TCP that floods its queue most of the price.
 *
 * Optionally, and as in ns-2, a node whose search for a route got no answer is silent for a while
 * before it searches for the same destination again (SearchPause). ns-3 begins anew with the next
 * packet.
 *
 * A packet that AODV kept during a discovery goes out with its own source; ns-3 writes the
 * node's, as if no node ever kept a packet of another.
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

    /** Takes a packet for the node's host. Its header is not in the packet. */
    using HostCallback = Callback<void, Ptr<const Packet>, const Ipv4Header&>;

    /**
     * Separates the node's host from it: whatever reaches the node by radio and is for its host,
     * or at the gateway for the wired network, goes there. AODV's own packets do not.
     * @param host takes the packets
     */
    void SetHost(HostCallback host);

    /**
     * Sends a packet of that host, as one of an application on the node would be sent: without
     * a route AODV looks for one and keeps the packet.
     * @param packet what follows the header
     * @param header its header
     */
    void SendFromHost(Ptr<Packet> packet, const Ipv4Header& header);

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
    void DeliverToHost(LocalDeliverCallback local,
                       Ptr<const Packet> packet,
                       const Ipv4Header& header,
                       uint32_t interface);
    void LeaveMesh(UnicastForwardCallback forward,
                   Ptr<const Packet> packet,
                   const Ipv4Header& header) const;
    void SearchFailed(ErrorCallback error,
                      Ptr<const Packet> packet,
                      const Ipv4Header& header,
                      Socket::SocketErrno reason);
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
    HostCallback m_host;        //!< null: the node is its own host
    Time m_searchPause;         //!< after a search that failed, before the next; 0: none
    bool m_keeping{false};      //!< whether AODV is just taking a packet to keep
    std::map<Ipv4Address, Time> m_pausedUntil; //!< destinations that are not searched for
};

} // namespace ns3

#endif // MESHPACE_GATEWAY_AODV_H
