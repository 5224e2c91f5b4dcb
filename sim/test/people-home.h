/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef PEOPLE_HOME_H
#define PEOPLE_HOME_H

#include "test-scenarios.h"

#include "../runner/simulation.h"

#include "ns3/ipv4-header.h"
#include "ns3/tcp-l4-protocol.h"
#include "ns3/udp-l4-protocol.h"

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ns3
{

/**
 * @file
 * Where the people of the tests are, and what is seen of them.
 */

inline constexpr double WIRED_S = 0.015;      // three links of 5 ms, one way
inline constexpr double RTT_S = 2 * WIRED_S;  // and what the radio adds
inline constexpr double RADIO_S = 0.02;       // at most, both ways, while nothing else is on the air

inline constexpr uint8_t TCP = TcpL4Protocol::PROT_NUMBER;
inline constexpr uint8_t UDP = UdpL4Protocol::PROT_NUMBER;

/**
 * @param does what he does
 * @param durationS of the run
 * @return one hop of the papers' radio (4.5 Mbit/s of payload), and a person there
 */
Scenario Home(const std::vector<std::string>& does, double durationS);

/**
 * @param scenario what is run
 * @param begin looks at it before
 * @param end looks at it afterwards
 * @param seed of the run
 * @return what the run reports of its people
 */
nlohmann::ordered_json Simulated(const Scenario& scenario,
                                 const std::function<void(const Simulation&)>& begin = {},
                                 const std::function<void(const Simulation&)>& end = {},
                                 uint32_t seed = 1);

/**
 * @param bins a list of numbers
 * @param from the first of them
 * @param to behind the last
 * @return their sum
 */
double Sum(const nlohmann::ordered_json& bins, std::size_t from, std::size_t to);

/** Counts what a node's IP hands to a transport and takes from one, by protocol. */
class Wiretap
{
  public:
    /** @param node whose */
    explicit Wiretap(Ptr<Node> node);

    /** Forgets what was counted. */
    void Reset()
    {
        m_received.clear();
        m_sent.clear();
    }

    /** @return packets received */
    uint32_t In(uint8_t protocol)
    {
        return m_received[protocol];
    }

    /** @return packets sent */
    uint32_t Out(uint8_t protocol)
    {
        return m_sent[protocol];
    }

  private:
    void Received(const Ipv4Header& header, Ptr<const Packet> packet, uint32_t from);
    void Sent(const Ipv4Header& header, Ptr<const Packet> packet, uint32_t to);

    std::map<uint8_t, uint32_t> m_received;
    std::map<uint8_t, uint32_t> m_sent;
};

} // namespace ns3

#endif // PEOPLE_HOME_H
