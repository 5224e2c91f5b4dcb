/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "aodv-stack.h"

#include "../model/routing/gateway-aodv.h"

#include "ns3/boolean.h"
#include "ns3/node.h"
#include "ns3/uinteger.h"

namespace ns3
{

namespace
{

// ns-2's AODV and its constants: link breaks are noticed by the link layer, not by hellos.
// With hellos off, ns-3 takes a neighbour for lost that it has not *forwarded* to for the
// active route timeout, or has heard a route request from two hello intervals ago; that would
// break every route each few seconds, at the gateway and at both ends of a flow, which forward
// nothing. So neither routes nor neighbours age here; ns-2's last while they are used.
constexpr double ACTIVE_ROUTE_TIMEOUT_S = 1e6;
constexpr double HELLO_INTERVAL_S = ACTIVE_ROUTE_TIMEOUT_S;
constexpr double MY_ROUTE_TIMEOUT_S = 2 * ACTIVE_ROUTE_TIMEOUT_S;
constexpr double NODE_TRAVERSAL_TIME_S = 0.03;
constexpr uint32_t NETWORK_DIAMETER = 30;
constexpr double NETWORK_TRAVERSAL_TIME_S = 2 * NODE_TRAVERSAL_TIME_S * NETWORK_DIAMETER;
constexpr uint32_t RREQ_TTL_START = 5;
constexpr uint32_t RREQ_RETRIES = 3;

} // namespace

GatewayAodvHelper::GatewayAodvHelper(double searchPauseS)
    : m_searchPauseS(searchPauseS)
{
}

GatewayAodvHelper*
GatewayAodvHelper::Copy() const
{
    return new GatewayAodvHelper(*this);
}

Ptr<Ipv4RoutingProtocol>
GatewayAodvHelper::Create(Ptr<Node> node) const
{
    auto aodv = CreateObjectWithAttributes<GatewayAodv>(
        "EnableHello",
        BooleanValue(false),
        "HelloInterval",
        TimeValue(Seconds(HELLO_INTERVAL_S)),
        "ActiveRouteTimeout",
        TimeValue(Seconds(ACTIVE_ROUTE_TIMEOUT_S)),
        "MyRouteTimeout",
        TimeValue(Seconds(MY_ROUTE_TIMEOUT_S)),
        "NodeTraversalTime",
        TimeValue(Seconds(NODE_TRAVERSAL_TIME_S)),
        "NetDiameter",
        UintegerValue(NETWORK_DIAMETER),
        "NetTraversalTime",
        TimeValue(Seconds(NETWORK_TRAVERSAL_TIME_S)),
        "TtlStart",
        UintegerValue(RREQ_TTL_START),
        "RreqRetries",
        UintegerValue(RREQ_RETRIES),
        "SearchPause",
        TimeValue(Seconds(m_searchPauseS)));
    node->AggregateObject(aodv);
    return aodv;
}

} // namespace ns3
