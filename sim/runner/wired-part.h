/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_WIRED_PART_H
#define MESHPACE_WIRED_PART_H

#include "scenario.h"

#include "ns3/ipv4-address.h"
#include "ns3/net-device-container.h"
#include "ns3/node.h"
#include "ns3/point-to-point-helper.h"

#include <cstdint>
#include <map>
#include <string>

namespace ns3
{

/** Lays the wired links of a scenario and numbers them. */
class WiredLinks
{
  public:
    /** @param config what each link is like */
    explicit WiredLinks(const WiredConfig& config);

    /**
     * Lays a link; its ends have no addresses yet.
     * @param one its first end
     * @param other its second end
     * @return their devices
     */
    NetDeviceContainer Lay(Ptr<Node> one, Ptr<Node> other);

    /**
     * Gives both ends of a link the next link's addresses.
     * @param ends a link
     */
    void Number(const NetDeviceContainer& ends);

    /**
     * @param end an end, 0 or 1
     * @return the address that Number will give it next
     */
    Ipv4Address NextAddress(uint32_t end) const;

  private:
    PointToPointHelper m_helper;
    uint32_t m_next{0};
};

/**
 * The wired network behind one gateway: two routers in a line, its hosts on the second, each
 * by a link of its own.
 */
class WiredPart
{
  public:
    /**
     * Connects a gateway and its routers, all with an Internet stack.
     * @param gateway the gateway
     * @param first the router next to it
     * @param second the router behind that
     * @param links lays the links
     */
    WiredPart(Ptr<Node> gateway, Ptr<Node> first, Ptr<Node> second, WiredLinks& links);

    /**
     * Hangs a host on the second router.
     * @param name the host's name
     * @param host the host, with an Internet stack
     * @param links lays the link
     */
    void AddHost(const std::string& name, Ptr<Node> host, WiredLinks& links);

    /** Routes between gateway, routers and hosts, once all hosts are there. */
    void AddRoutes() const;

    /** @return the gateway's device to the first router */
    Ptr<NetDevice> Uplink() const;
    /** @return the first router's address on the link to the gateway */
    Ipv4Address UplinkRouter() const;
    /** @return the second router's device to the first */
    Ptr<NetDevice> LastRouterDevice() const;
    /** @return the hosts' links by name: the second router's end, the host's end */
    const std::map<std::string, NetDeviceContainer>& Hosts() const;

  private:
    NetDeviceContainer m_uplink;   //!< gateway, first router
    NetDeviceContainer m_backbone; //!< first router, second router
    std::map<std::string, NetDeviceContainer> m_hosts;
};

} // namespace ns3

#endif // MESHPACE_WIRED_PART_H
