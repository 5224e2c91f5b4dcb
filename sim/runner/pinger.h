/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_PINGER_H
#define MESHPACE_PINGER_H

#include "scenario.h"

#include "ns3/echo-socket.h"
#include "ns3/ipv4-address.h"
#include "ns3/node.h"
#include "ns3/nstime.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace ns3
{

/**
 * ICMP echo requests at a constant rate to the end of the simulation, as the program ping sends
 * them. What was sent before the end of the warm-up does not count.
 *
 * ns-3's own Ping numbers what it means to send and keeps what was sent: one request that finds no
 * route, as before OLSR has converged, and answers are taken for those to others.
 */
class Pinger
{
  public:
    /**
     * @param config the ping as the scenario states it
     * @param sender the node that asks
     * @param receiver the address that answers
     * @param identifier ICMP's, unique in the scenario
     * @param warmup what is sent before does not count
     */
    Pinger(const PingConfig& config,
           Ptr<Node> sender,
           Ipv4Address receiver,
           uint16_t identifier,
           Time warmup);

    Pinger(const Pinger&) = delete;
    Pinger& operator=(const Pinger&) = delete;

    /** Schedules its beginning. */
    void Install();

    /** @return the ping as the scenario states it */
    const PingConfig& Config() const;

    /** @return requests sent after the warm-up, without those that may be under way */
    uint32_t Sent() const;

    /** @return of these, those without an answer */
    uint32_t Lost() const;

    /** @return round-trip times of these, s, in ascending order */
    std::vector<double> SortedRtts() const;

    static constexpr uint32_t DATA_BYTES = 56; //!< of a request, as ping's

    /** At the end of the simulation a request that is not answered is lost if it is older, else it may be under way. */
    static constexpr double UNDER_WAY_S = 5;

  private:
    /** A request. */
    struct Request
    {
        Time sent;
        Time rtt; //!< 0: no answer
    };

    void Start();
    void Send();
    void Answered(Ipv4Address receiver, uint16_t sequence);

    const PingConfig m_config;
    const Ptr<Node> m_node;
    const Ipv4Address m_receiver;
    const uint16_t m_identifier;
    const Time m_warmup;
    std::unique_ptr<EchoSocket> m_socket;
    std::vector<Request> m_requests; //!< all, in the order of their numbers
};

} // namespace ns3

#endif // MESHPACE_PINGER_H
