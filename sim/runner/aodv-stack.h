/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_AODV_STACK_H
#define MESHPACE_AODV_STACK_H

#include "ns3/ipv4-routing-helper.h"

namespace ns3
{

/** Makes an Internet stack's routing protocol GatewayAodv, with ns-2's constants. */
class GatewayAodvHelper : public Ipv4RoutingHelper
{
  public:
    /**
     * @param searchPauseS after a search for a route that failed, before the next, s
     */
    explicit GatewayAodvHelper(double searchPauseS);

    GatewayAodvHelper* Copy() const override;
    Ptr<Ipv4RoutingProtocol> Create(Ptr<Node> node) const override;

  private:
    double m_searchPauseS;
};

} // namespace ns3

#endif // MESHPACE_AODV_STACK_H
