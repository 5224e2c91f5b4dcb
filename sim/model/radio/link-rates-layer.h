/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_LINK_RATES_LAYER_H
#define MESHPACE_LINK_RATES_LAYER_H

#include "ns3/ipv4-address.h"
#include "ns3/nstime.h"
#include "ns3/tcp-wire.h"
#include "ns3/traffic-control-layer.h"

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * Gathers the bit rates of a path's links on the flow's own pure ACKs, in a TCP option (see
 * meshpace/endpoint/linkrates.h): between a mesh node's IP and its queues, for packets that leave by its radios.
 * An ACK that enters the mesh here gets the option once in a while, and every ACK that has it gets
 * the rate of the link that it goes over next.
 *
 * Every node of a path has to have this: it breaks the rule that no relay is changed.
 */
class LinkRatesLayer : public TrafficControlLayer
{
  public:
    /** @return the type id */
    static TypeId GetTypeId();

    LinkRatesLayer();

    /**
     * Comes between IP and a radio's queues.
     * @param node the node
     * @param device its radio, with an address
     * @param behind wired hosts behind the node, whose ACKs enter the mesh here as its own do
     */
    void Install(Ptr<Node> node, Ptr<NetDevice> device, const std::set<Ipv4Address>& behind = {});

    void Send(Ptr<NetDevice> device, Ptr<QueueDiscItem> item) override;

    /** A flow's ACKs get the option so often. */
    static constexpr double EVERY_S = 1.0;

  protected:
    void DoDispose() override;

  private:
    using Flow = std::tuple<uint32_t, uint32_t, uint16_t, uint16_t>;

    /** Whether an ACK enters the mesh at this node, and it is time for its flow's rates. */
    bool IsDue(const Ipv4Header& header, const TcpSegment& segment);

    Ptr<TrafficControlLayer> m_below; //!< the node's own
    std::set<Ipv4Address> m_sources;  //!< whose ACKs enter the mesh here
    std::map<Flow, Time> m_next;      //!< when the next option is due
};

} // namespace ns3

#endif // MESHPACE_LINK_RATES_LAYER_H
