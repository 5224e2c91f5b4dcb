/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_TCP_WAKE_UP_H
#define MESHPACE_TCP_WAKE_UP_H

#include "../gateway/meshpace-key.h"

#include "ns3/node.h"
#include "ns3/socket.h"

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * Tells the senders of uploads that a segment of theirs found its host unreachable, by ICMP: whose
 * time-out is doubled takes that back (RFC 6069), as Linux does and TcpSocketPaced here.
 */
class TcpWakeUp
{
  public:
    /** @param node what sends the messages */
    explicit TcpWakeUp(Ptr<Node> node);

    /**
     * Wakes up the sender in the mesh.
     *
     * @param key its connection
     * @param seq the first byte of its that is not acknowledged
     */
    void Send(const MeshpaceKey& key, uint32_t seq);

  private:
    Ptr<Socket> m_socket;
};

} // namespace ns3

#endif // MESHPACE_TCP_WAKE_UP_H
