/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef HOST_ECHO_H
#define HOST_ECHO_H

#include "../icmp/echo-socket.h"

#include "ns3/callback.h"
#include "ns3/node.h"
#include "ns3/nstime.h"

#include <cstdint>
#include <map>
#include <memory>

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * Asks hosts of the mesh for an answer (ICMP echo, RFC 792), and tells how long it took. An answer that comes behind that
 * to a later ask does not count, as at the kernel's gateway.
 */
class HostEcho
{
  public:
    /**
     * @param node the gateway
     * @param answered takes a host's address and the round trip
     */
    HostEcho(Ptr<Node> node, Callback<void, uint32_t, Time> answered);

    /** @param host address of a host that is asked now */
    void Ask(uint32_t host);

  private:
    /** What a host was asked, and has not answered yet. */
    struct Asked
    {
        uint16_t sequence{0};          //!< of the latest
        std::map<uint16_t, Time> open; //!< when, by sequence number
    };

    void Answered(Ipv4Address host, uint16_t sequence);

    Ptr<Node> m_node;
    Callback<void, uint32_t, Time> m_answered;
    std::unique_ptr<EchoSocket> m_socket; //!< made with the first ask
    std::map<uint32_t, Asked> m_asked; //!< by address
};

} // namespace ns3

#endif // HOST_ECHO_H
