/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "scenario.h"

#include "scenario-checks.h"

#include "people/person-config-json.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

namespace ns3
{

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RadioConfig,
                                   model,
                                   standard,
                                   data_mbps,
                                   control_mbps,
                                   broadcast_mbps,
                                   rts_cts,
                                   tx_range_m,
                                   cs_range_m,
                                   queue_packets,
                                   cts_ignores_nav,
                                   queueing,
                                   radios,
                                   data_attempts,
                                   interference,
                                   missed_frames_deafen,
                                   cts_when_idle,
                                   cts_waits_for_data,
                                   nav_reset,
                                   eifs_in_nav,
                                   always_back_off,
                                   path_loss_exponent,
                                   tx_power_dbm,
                                   sense_dbm,
                                   lock_dbm,
                                   fading,
                                   shadowing_db,
                                   topology_seed,
                                   capture,
                                   rate_control,
                                   mcs,
                                   channel_mhz,
                                   aggregation,
                                   aql_us)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RoutingConfig, protocol, metric, hello_s, tc_s, search_pause_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WiredConfig, mbps, delay_ms)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NodeConfig, name, x_m, y_m, gateway)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ClientConfig, name, to_x_m, to_y_m, speed_mps, start_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GatewayConfig,
                                   law,
                                   goodput_control,
                                   fairness,
                                   host_weight,
                                   host_least_kbps,
                                   least_kbps,
                                   local_retransmission,
                                   release,
                                   delay_bound_s,
                                   delay_bound_means,
                                   rate_kbps,
                                   host_kbps,
                                   bucket,
                                   queueing,
                                   link_rates,
                                   omit)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LinkConfig, from, to, mbps)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MapConfig,
                                   assumed_exponent,
                                   positions,
                                   least_h_cs,
                                   past_end,
                                   link_in_oid,
                                   link_learnt)

/** Reads a number of segments, or the word for thinning. */
static void
from_json(const nlohmann::json& json, DelayedAck& ack)
{
    ack.thinning = json == "thinning";
    ack.segments = ack.thinning ? 1 : json.get<uint32_t>();
}

static void
to_json(nlohmann::json& json, const DelayedAck& ack)
{
    json = ack.thinning ? nlohmann::json("thinning") : nlohmann::json(ack.segments);
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FlowConfig,
                                   name,
                                   from,
                                   to,
                                   traffic,
                                   law,
                                   start_s,
                                   rate_kbps,
                                   variant,
                                   sack,
                                   delayed_ack,
                                   advertised_window,
                                   segment_bytes,
                                   initial_window,
                                   min_rto_s,
                                   via,
                                   stop_s,
                                   delayed_ack_s,
                                   byte_counting,
                                   file_bytes,
                                   pareto_shape,
                                   pause_s,
                                   one_connection,
                                   bucket,
                                   idle_at_s,
                                   idle_s,
                                   opaque,
                                   timestamps,
                                   rack,
                                   live_departures,
                                   receiver)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PingConfig, from, to, interval_s, start_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OutageConfig, node, at_s, for_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Scenario,
                                   title,
                                   duration_s,
                                   warmup_s,
                                   radio,
                                   routing,
                                   wired,
                                   nodes,
                                   clients,
                                   links,
                                   wired_hosts,
                                   gateway,
                                   map,
                                   flows,
                                   people,
                                   pings,
                                   outages)

std::vector<FlowConfig>
TrafficOf(const Scenario& scenario)
{
    auto traffic = scenario.flows;
    for (const auto& person : scenario.people)
    {
        FlowConfig flow{};
        flow.name = "person " + person.name;
        flow.from = person.host;
        flow.to = person.node;
        flow.segment_bytes = person.segment_bytes;
        traffic.push_back(flow);
    }
    return traffic;
}

namespace
{

/** Payload of a segment with timestamps (RFC 7323) that fills a packet of 1500 bytes. */
constexpr uint32_t MOST_TIMED_SEGMENT_BYTES = 1448;

/** What sends with timestamps sends pieces that they leave room for. */
template <typename Sender>
void
FitTimestamps(Sender& sender)
{
    if (sender.timestamps)
    {
        sender.segment_bytes = std::min(sender.segment_bytes, MOST_TIMED_SEGMENT_BYTES);
    }
}

void
FitTimestamps(Scenario& scenario)
{
    std::ranges::for_each(scenario.flows, [](FlowConfig& flow) { FitTimestamps(flow); });
    std::ranges::for_each(scenario.people, [](PersonConfig& person) { FitTimestamps(person); });
}

} // namespace

Scenario
ReadScenario(const std::string& file)
{
    std::ifstream stream(file);
    if (!stream)
    {
        throw ScenarioError(file + ": cannot be read; give a resolved scenario in JSON");
    }
    try
    {
        auto scenario = nlohmann::json::parse(stream).get<Scenario>();
        Check(scenario);
        FitTimestamps(scenario);
        return scenario;
    }
    catch (const nlohmann::json::exception& error)
    {
        throw ScenarioError(file + ": " + error.what() + "; let pacelab resolve the scenario");
    }
}

} // namespace ns3
