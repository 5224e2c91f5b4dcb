/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "scenario.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

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

// pacelab has checked what users write; these guard the simulator against anything else.

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
CheckRange(const std::string& key, double value, double least, double most)
{
    if (!(value >= least && value <= most))
    {
        std::ostringstream text;
        text << key << " = " << value << " is out of range; from " << least << " to " << most;
        throw ScenarioError(text.str());
    }
}

/** Bounds only to keep times and sizes representable, and integers from having been negative. */
constexpr double LEAST = 1e-6;
constexpr double MOST = 1e6;
constexpr double MOST_SEGMENT_BYTES = 1460; // fills a packet of 1500

void
CheckNumbers(const Scenario& scenario)
{
    CheckRange("duration_s", scenario.duration_s, LEAST, MOST);
    CheckRange("warmup_s", scenario.warmup_s, 0, scenario.duration_s);
    CheckRange("radio.tx_range_m", scenario.radio.tx_range_m, LEAST, MOST);
    CheckRange("radio.cs_range_m", scenario.radio.cs_range_m, scenario.radio.tx_range_m, MOST);
    CheckRange("radio.queue_packets", scenario.radio.queue_packets, 1, MOST);
    CheckRange("wired.mbps", scenario.wired.mbps, LEAST, MOST);
    CheckRange("wired.delay_ms", scenario.wired.delay_ms, 0, MOST);
    CheckRange("gateway.delay_bound_s", scenario.gateway.delay_bound_s, 0, MOST);
}

void
CheckFlow(const FlowConfig& flow, const std::set<std::string>& names)
{
    const auto key = "flow \"" + flow.name + "\" ";
    CheckKnown(key + "traffic", flow.traffic, {"ftp", "cbr"});
    CheckKnown(key + "law", flow.law, {"off", "gap", "ap"});
    CheckKnown(key + "variant", flow.variant, {"newreno", "cubic", "bbr", "vegas", "westwood"});
    CheckRange(key + "start_s", flow.start_s, 0, MOST);
    CheckRange(key + "rate_kbps", flow.rate_kbps, flow.traffic == "cbr" ? LEAST : 0, MOST);
    CheckRange(key + "delayed_ack", flow.delayed_ack, 1, MOST);
    CheckRange(key + "advertised_window", flow.advertised_window, 1, MOST);
    CheckRange(key + "segment_bytes", flow.segment_bytes, 1, MOST_SEGMENT_BYTES);
    CheckRange(key + "initial_window", flow.initial_window, 1, MOST);
    CheckRange(key + "min_rto_s", flow.min_rto_s, LEAST, MOST);
    for (const auto& end : {flow.from, flow.to})
    {
        if (names.count(end) == 0)
        {
            throw ScenarioError(key + "ends at \"" + end + "\", which is not there; name a " +
                                "mesh node or a wired host");
        }
    }
}

void
CheckGateways(const std::vector<NodeConfig>& nodes)
{
    const auto gateways = std::count_if(nodes.begin(), nodes.end(), [](const NodeConfig& node) {
        return node.gateway;
    });
    if (gateways != 1)
    {
        throw ScenarioError("nodes: " + std::to_string(gateways) +
                            " gateways; make exactly one node the gateway");
    }
}

/** @return the names of all mesh nodes and wired hosts, of which no two are the same */
std::set<std::string>
CollectNames(const Scenario& scenario)
{
    auto all = scenario.wired_hosts;
    for (const auto& node : scenario.nodes)
    {
        all.push_back(node.name);
    }
    std::set<std::string> names;
    for (const auto& name : all)
    {
        if (!names.insert(name).second)
        {
            throw ScenarioError("two nodes are named \"" + name + "\"; rename one");
        }
    }
    return names;
}

void
Check(const Scenario& scenario)
{
    CheckKnown("radio.model", scenario.radio.model, {"range"});
    CheckKnown("radio.standard", scenario.radio.standard, {"802.11b"});
    CheckKnown("radio.queueing", scenario.radio.queueing, {"fifo", "fq_codel", "codel"});
    CheckKnown("routing.protocol", scenario.routing.protocol, {"static", "aodv"});
    CheckKnown("gateway.law", scenario.gateway.law, {"off", "gap"});
    CheckNumbers(scenario);
    CheckGateways(scenario.nodes);
    const auto names = CollectNames(scenario);
    for (const auto& flow : scenario.flows)
    {
        CheckFlow(flow, names);
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
