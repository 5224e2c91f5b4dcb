/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_TEST_SCENARIOS_H
#define MESHPACE_TEST_SCENARIOS_H

#include "../runner/scenario.h"

#include <string>
#include <vector>

namespace ns3
{

/** @return the papers' radio: 802.11b, 11/1 Mbit/s, RTS/CTS, 250 m and 550 m */
RadioConfig PapersRadio();

/**
 * @param standard IEEE's, of those with aggregates
 * @return the radio that people have: rate control, capture, no RTS
 */
RadioConfig TodaysRadio(const std::string& standard = "802.11n");

/**
 * Lays out the papers' chain, without flows: IG, relays, A, 200 m apart, one wired host B.
 *
 * @param hops wireless hops from IG to A, at least 1
 * @param routing "static" or "aodv"
 * @param durationS how long it runs, s; no warm-up
 * @return the scenario
 */
Scenario ChainScenario(uint32_t hops, const std::string& routing, double durationS);

/**
 * @param from the sender
 * @param to the receiver
 * @return a greedy NewReno flow with SACK from the start on
 */
FlowConfig FtpFlow(const std::string& from, const std::string& to);

/**
 * @param from the sender
 * @param to the receiver
 * @param rateKbps payload rate, kbit/s
 * @return a UDP flow from the start on
 */
FlowConfig UdpFlow(const std::string& from, const std::string& to, double rateKbps);

/**
 * @param node where he is
 * @param host who serves him
 * @param does what he does
 * @return a person who is there from 1 s on and stays, with CUBIC, nothing opaque
 */
PersonConfig PersonAt(const std::string& node,
                      const std::string& host,
                      const std::vector<std::string>& does);

} // namespace ns3

#endif // MESHPACE_TEST_SCENARIOS_H
