/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_LINK_DROPS_H
#define MESHPACE_LINK_DROPS_H

#include "ns3/mac48-address.h"
#include "ns3/net-device-container.h"
#include "ns3/wifi-mac.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace ns3
{

/** Packets that a directed wireless link gave up on at the retry limit. */
struct LinkDrops
{
    std::string from;       //!< node that could not deliver
    std::string to;         //!< next hop
    uint64_t dataDrops{0};  //!< TCP segments with payload
    uint64_t ackDrops{0};   //!< TCP segments without
    uint64_t otherDrops{0}; //!< anything else (UDP, routing)
};

/** Counts them for every link of a mesh. */
class LinkDropMeter
{
  public:
    LinkDropMeter() = default;
    LinkDropMeter(const LinkDropMeter&) = delete;
    LinkDropMeter& operator=(const LinkDropMeter&) = delete;

    /**
     * Watches radios, for as long as the simulation lasts.
     * @param devices a radio of each node, in the nodes' order
     */
    void Watch(const NetDeviceContainer& devices);

    /**
     * @param names the nodes' names, in their order
     * @return the links on which packets were dropped since Reset, by their nodes
     */
    std::vector<LinkDrops> Links(const std::vector<std::string>& names) const;

    /** Forgets the drops. */
    void Reset();

  private:
    void Dropped(uint32_t node, WifiMacDropReason reason, Ptr<const WifiMpdu> mpdu);

    std::map<Mac48Address, uint32_t> m_byMac;
    std::map<std::pair<uint32_t, uint32_t>, LinkDrops> m_drops;
};

} // namespace ns3

#endif // MESHPACE_LINK_DROPS_H
