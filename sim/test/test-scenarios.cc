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
            .broadcast_mbps = 0,
            .rts_cts = true,
            .tx_range_m = 250,
            .cs_range_m = 550,
            .queue_packets = 50,
            .cts_ignores_nav = false,
            .queueing = "fifo",
            .radios = 1,
            .data_attempts = 0,
            .interference = "additive",
            .missed_frames_deafen = false,
            .cts_when_idle = false,
            .cts_waits_for_data = false,
            .nav_reset = true,
            .eifs_in_nav = false,
            .always_back_off = false,
            .path_loss_exponent = 3,
            .tx_power_dbm = 16,
            .sense_dbm = -82,
            .lock_dbm = -82,
            .fading = "none",
            .shadowing_db = 0,
            .topology_seed = 1,
            .capture = false,
            .rate_control = "fixed",
            .mcs = 4,
            .channel_mhz = 20,
            .aggregation = true,
            .aql_us = 0};
}

RadioConfig
TodaysRadio(const std::string& standard)
{
    auto radio = PapersRadio();
    radio.model = "sinr";
    radio.standard = standard;
    radio.rts_cts = false;
    radio.path_loss_exponent = 3.3;
    radio.sense_dbm = -89;
    radio.lock_dbm = -89;
    radio.queue_packets = 500;
    radio.capture = true;
    radio.rate_control = "minstrel";
    return radio;
}

Scenario
ChainScenario(uint32_t hops, const std::string& routing, double durationS)
{
    constexpr double SPACING_M = 200;
    Scenario scenario{.title = "Chain",
                      .duration_s = durationS,
                      .warmup_s = 0,
                      .radio = PapersRadio(),
                      .routing = {.protocol = routing,
                                  .metric = "hops",
                                  .hello_s = 2,
                                  .tc_s = 5,
                                  .search_pause_s = 0},
                      .wired = {.mbps = 10, .delay_ms = 40},
                      .nodes = {{.name = "IG", .x_m = 0, .y_m = 0, .gateway = true}},
                      .clients = {},
                      .links = {},
                      .wired_hosts = {"B"},
                      .gateway = {.law = "off",
                                  .goodput_control = false,
                                  .fairness = "air",
                                  .host_weight = {},
                                  .host_least_kbps = {},
                                  .least_kbps = 0,
                                  .local_retransmission = false,
                                  .release = "nfqueue",
                                  .delay_bound_s = 0,
                                  .delay_bound_means = 0,
                                  .rate_kbps = 0,
                                  .host_kbps = {},
                                  .bucket = 1,
                                  .queueing = "",
                                  .link_rates = "single",
                                  .omit = ""},
                      .map = {.assumed_exponent = 3,
                              .positions = false,
                              .least_h_cs = 1,
                              .past_end = false,
                              .link_in_oid = false,
                              .link_learnt = false},
                      .flows = {},
                      .people = {},
                      .pings = {},
                      .outages = {}};
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
            .min_rto_s = 0.2,
            .via = "",
            .stop_s = 0,
            .delayed_ack_s = 0.2,
            .byte_counting = false,
            .file_bytes = 30000,
            .pareto_shape = 1.5,
            .pause_s = 1,
            .one_connection = false,
            .bucket = 1,
            .idle_at_s = 0,
            .idle_s = 0,
            .opaque = false,
            .timestamps = false,
            .rack = false,
            .live_departures = false,
            .receiver = "honest"};
}

FlowConfig
UdpFlow(const std::string& from, const std::string& to, double rateKbps)
{
    auto flow = FtpFlow(from, to);
    flow.traffic = "cbr";
    flow.rate_kbps = rateKbps;
    return flow;
}

PersonConfig
PersonAt(const std::string& node, const std::string& host, const std::vector<std::string>& does)
{
    return {.name = "one",
            .node = node,
            .host = host,
            .start_s = 1,
            .stop_s = 0,
            .leaves = "closes",
            .pause_at_s = 0,
            .pause_s = 0,
            .does = does,
            .opaque = 0,
            .page_scale = 1,
            .reading_s = 1,
            .lookup_s = 1,
            .law = "off",
            .variant = "cubic",
            .sack = true,
            .delayed_ack = 2,
            .delayed_ack_s = 0.2,
            .byte_counting = false,
            .advertised_window = 400,
            .segment_bytes = 1460,
            .initial_window = 10,
            .min_rto_s = 0.2,
            .timestamps = false,
            .rack = false};
}

} // namespace ns3
