/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "test-scenarios.h"

namespace ns3
{

RadioConfig
PapersRadio()
{
    return {.model = "range",
            .standard = "802.11b",
            .data_mbps = 11,
            .control_mbps = 1,
            .rts_cts = true,
            .tx_range_m = 250,
            .cs_range_m = 550,
            .queue_packets = 50,
            .cts_ignores_nav = false,
            .queueing = "fifo"};
}

Scenario
ChainScenario(uint32_t hops, const std::string& routing, double durationS)
{
    constexpr double SPACING_M = 200;
    Scenario scenario{.title = "Chain",
                      .duration_s = durationS,
                      .warmup_s = 0,
                      .radio = PapersRadio(),
                      .routing = {.protocol = routing},
                      .wired = {.mbps = 10, .delay_ms = 40},
                      .nodes = {{.name = "IG", .x_m = 0, .y_m = 0, .gateway = true}},
                      .wired_hosts = {"B"},
                      .gateway = {.law = "off",
                                  .goodput_control = false,
                                  .local_retransmission = false,
                                  .delay_bound_s = 0},
                      .flows = {}};
    for (uint32_t hop = 1; hop <= hops; hop++)
    {
        scenario.nodes.push_back({.name = hop == hops ? "A" : "RL" + std::to_string(hops - hop),
                                  .x_m = hop * SPACING_M,
                                  .y_m = 0,
                                  .gateway = false});
    }
    return scenario;
}

FlowConfig
FtpFlow(const std::string& from, const std::string& to)
{
    return {.name = from + " to " + to,
            .from = from,
            .to = to,
            .traffic = "ftp",
            .law = "off",
            .start_s = 0,
            .rate_kbps = 0,
            .variant = "newreno",
            .sack = true,
            .delayed_ack = 1,
            .advertised_window = 64,
            .segment_bytes = 1460,
            .initial_window = 2,
            .min_rto_s = 0.2};
}

FlowConfig
UdpFlow(const std::string& from, const std::string& to, double rateKbps)
{
    auto flow = FtpFlow(from, to);
    flow.traffic = "cbr";
    flow.rate_kbps = rateKbps;
    return flow;
}

} // namespace ns3
