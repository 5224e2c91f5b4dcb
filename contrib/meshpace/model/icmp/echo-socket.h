/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ECHO_SOCKET_H
#define ECHO_SOCKET_H

#include "ns3/callback.h"
#include "ns3/ipv4-address.h"
#include "ns3/node.h"
#include "ns3/socket.h"

#include <cstdint>

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * A raw socket of a node that sends ICMP echo requests (RFC 792), and tells of their answers: of those to its own
 * identifier alone, for a raw socket gets all of the node's ICMP.
 */
class EchoSocket
{
  public:
    /**
     * @param node whose socket it is
     * @param identifier ICMP's, unique at the node
     * @param answered takes who answered, and to which sequence number
     */
    EchoSocket(Ptr<Node> node,
               uint16_t identifier,
               Callback<void, Ipv4Address, uint16_t> answered);
    ~EchoSocket();

    EchoSocket(const EchoSocket&) = delete;
    EchoSocket& operator=(const EchoSocket&) = delete;

    /**
     * Asks; what finds no route is lost like any other request.
     * @param receiver whom
     * @param sequence the sequence number
     * @param dataBytes of data
     */
    void Ask(Ipv4Address receiver, uint16_t sequence, uint32_t dataBytes);

  private:
    void Receive(Ptr<Socket> socket);

    const uint16_t m_identifier;
    const Callback<void, Ipv4Address, uint16_t> m_answered;
    const Ptr<Socket> m_socket;
};

} // namespace ns3

#endif // ECHO_SOCKET_H
