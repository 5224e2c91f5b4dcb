/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_TCP_SOCKETS_H
#define MESHPACE_TCP_SOCKETS_H

#include "scenario.h"

#include "ns3/node.h"
#include "ns3/tcp-meshpace.h"
#include "ns3/tcp-socket-paced.h"

namespace ns3
{

/**
 * @file
 * TCP sockets as a scenario's flow states them.
 */

/**
 * Creates the socket that sends a flow's data.
 *
 * @param config the flow
 * @param node where it begins
 * @param control its congestion control, null: what the variant names
 * @return the socket, neither bound nor connected
 */
Ptr<TcpSocketPaced> CreateTcpSender(const FlowConfig& config,
                                    Ptr<Node> node,
                                    Ptr<TcpMeshpace> control);

/**
 * Creates the socket that waits for a flow's connections; those have its attributes.
 *
 * @param config the flow
 * @param node where it ends
 * @return the socket, not bound
 */
Ptr<TcpSocketPaced> CreateTcpReceiver(const FlowConfig& config, Ptr<Node> node);

/**
 * What a flow's connections are like that go as datagrams (UdpEncapsulation): segments that fill
 * QUIC's datagrams, ACKs as QUIC has them.
 *
 * @param flow the flow
 * @return the same flow with these
 */
FlowConfig AsOpaque(FlowConfig flow);

} // namespace ns3

#endif // MESHPACE_TCP_SOCKETS_H
