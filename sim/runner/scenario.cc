/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "scenario.h"

#include <fstream>
#include <nlohmann/json.hpp>

namespace ns3
{

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RadioConfig,
                                   model,
                                   standard,
                                   data_mbps,
                                   control_mbps,
                                   rts_cts,
                                   tx_range_m,
                                   cs_range_m,
                                   queue_packets,
                                   cts_ignores_nav,
                                   queueing)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RoutingConfig, protocol)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WiredConfig, mbps, delay_ms)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NodeConfig, name, x_m, y_m, gateway)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GatewayConfig,
                                   law,
                                   goodput_control,
                                   local_retransmission,
                                   delay_bound_s)
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
                                   min_rto_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Scenario,
                                   title,
                                   duration_s,
                                   warmup_s,
                                   radio,
                                   routing,
                                   wired,
                                   nodes,
                                   wired_hosts,
                                   gateway,
                                   flows)

namespace
{

/** pacelab has checked the values; this guards against what the simulator cannot build. */
void
CheckKnown(const std::string& key,
           const std::string& value,
           const std::vector<std::string>& known)
{
    if (std::find(known.begin(), known.end(), value) != known.end())
    {
        return;
    }
    std::string list;
    for (const auto& name : known)
    {
        list += (list.empty() ? "" : ", ") + name;
    }
    throw ScenarioError(key + " = \"" + value + "\" is not simulated; one of: " + list);
}

void
Check(const Scenario& scenario)
{
    CheckKnown("radio.model", scenario.radio.model, {"range"});
    CheckKnown("radio.standard", scenario.radio.standard, {"802.11b"});
    CheckKnown("radio.queueing", scenario.radio.queueing, {"fifo", "fq_codel", "codel"});
    CheckKnown("routing.protocol", scenario.routing.protocol, {"static", "aodv"});
    CheckKnown("gateway.law", scenario.gateway.law, {"off", "gap"});
    for (const auto& flow : scenario.flows)
    {
        const auto key = "flow \"" + flow.name + "\" ";
        CheckKnown(key + "traffic", flow.traffic, {"ftp", "cbr"});
        CheckKnown(key + "law", flow.law, {"off", "gap", "ap"});
        CheckKnown(key + "variant",
                   flow.variant,
                   {"newreno", "cubic", "bbr", "vegas", "westwood"});
    }
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
        const auto scenario = nlohmann::json::parse(stream).get<Scenario>();
        Check(scenario);
        return scenario;
    }
    catch (const nlohmann::json::exception& error)
    {
        throw ScenarioError(file + ": " + error.what() + "; let pacelab resolve the scenario");
    }
}

} // namespace ns3
