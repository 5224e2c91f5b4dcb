/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "scenario-checks.h"

#include "key-checks.h"
#include "sinr-phy.h"

#include "people/person-checks.h"

#include "meshpace/meshpace.h"

#include <algorithm>
#include <set>

namespace ns3
{

namespace
{

// pacelab has checked what users write; these guard the simulator against anything else.

constexpr double LEAST_KBPS = 1e-3; // a bit a second
constexpr double MOST_EXPONENT = 10;
constexpr double MOST_DBM = 120;
constexpr double MOST_SHADOWING_DB = 30;
constexpr double MOST_MCS = 11; // of one stream, 802.11ax
constexpr double MOST_RADIOS = 2;
constexpr double MOST_FILE_BYTES = 1e9;
constexpr double LEAST_SHAPE = 1.01; // at 1 Pareto's law has no mean
constexpr double LEAST_PING_S = 0.001;

void
CheckNumbers(const Scenario& scenario)
{
    CheckRange("duration_s", scenario.duration_s, LEAST, MOST);
    CheckRange("warmup_s", scenario.warmup_s, 0, scenario.duration_s);
    CheckRange("radio.tx_range_m", scenario.radio.tx_range_m, LEAST, MOST);
    CheckRange("radio.cs_range_m", scenario.radio.cs_range_m, scenario.radio.tx_range_m, MOST);
    CheckRange("radio.queue_packets", scenario.radio.queue_packets, 1, MOST);
    CheckRange("radio.radios", scenario.radio.radios, 1, MOST_RADIOS);
    CheckRange("radio.data_attempts", scenario.radio.data_attempts, 0, MOST);
    CheckRange("radio.path_loss_exponent", scenario.radio.path_loss_exponent, 1, MOST_EXPONENT);
    CheckRange("radio.tx_power_dbm", scenario.radio.tx_power_dbm, -MOST_DBM, MOST_DBM);
    CheckRange("radio.sense_dbm", scenario.radio.sense_dbm, -MOST_DBM, 0);
    CheckRange("radio.lock_dbm", scenario.radio.lock_dbm, scenario.radio.sense_dbm, 0);
    CheckRange("radio.shadowing_db", scenario.radio.shadowing_db, 0, MOST_SHADOWING_DB);
    CheckRange("radio.mcs", scenario.radio.mcs, 0, MOST_MCS);
    CheckRange("radio.aql_us", scenario.radio.aql_us, 0, MOST);
    CheckRange("map.assumed_exponent", scenario.map.assumed_exponent, 1, MOST_EXPONENT);
    CheckRange("map.least_h_cs", scenario.map.least_h_cs, 1, MP_REACH_HOPS);
    CheckRange("routing.hello_s", scenario.routing.hello_s, LEAST, MOST);
    CheckRange("routing.tc_s", scenario.routing.tc_s, LEAST, MOST);
    CheckRange("routing.search_pause_s", scenario.routing.search_pause_s, 0, MOST);
    CheckRange("wired.mbps", scenario.wired.mbps, LEAST, MOST);
    CheckRange("wired.delay_ms", scenario.wired.delay_ms, 0, MOST);
    CheckRange("gateway.delay_bound_s", scenario.gateway.delay_bound_s, 0, MOST);
    CheckRange("gateway.delay_bound_means", scenario.gateway.delay_bound_means, 0, 1000);
}

const std::vector<std::string> QUEUEING{"fifo", "fq_codel", "codel", "yang"};

void
CheckGateway(const GatewayConfig& gateway)
{
    CheckKnown("gateway.law", gateway.law, {"off", "gap", "map", "shaper", "even", "cake", "hosts"});
    CheckKnown("gateway.omit",
               gateway.omit,
               {"",
                "fast",
                "damping",
                "arrived",
                "binds",
                "least",
                "cut",
                "waits",
                "silence",
                "probes",
                "feedback",
                "sack",
                "moment",
                "opaque"});
    if (!gateway.queueing.empty())
    {
        CheckKnown("gateway.queueing", gateway.queueing, QUEUEING);
    }
    CheckKnown("gateway.link_rates", gateway.link_rates, {"single", "known", "piggybacked"});
    const bool rated = gateway.law == "shaper" || gateway.law == "cake";
    CheckRange("gateway.rate_kbps", gateway.rate_kbps, rated ? LEAST_KBPS : 0, MOST);
    CheckRange("gateway.bucket", gateway.bucket, 1, MOST);
}

/** Figures of mesh nodes by their names, which only one law knows. */
struct OfHosts
{
    std::string key;                             //!< of the gateway
    const std::map<std::string, double>& values; //!< by name
    std::string law;                             //!< for which they have a meaning
    double least;                                //!< of their range
    double most;                                 //!< of their range
};

/** Checks that figures are of mesh nodes, and for the law that there is. */
void
CheckOfHosts(const Scenario& scenario, const OfHosts& of)
{
    if (!of.values.empty() && scenario.gateway.law != of.law)
    {
        throw ScenarioError("gateway." + of.key + " has a meaning for gateway.law = \"" + of.law +
                            "\" only; remove it");
    }
    for (const auto& [name, value] : of.values)
    {
        CheckRange("gateway." + of.key + "." + name, value, of.least, of.most);
        if (std::none_of(scenario.nodes.begin(), scenario.nodes.end(), [&](const auto& node) {
                return node.name == name && !node.gateway;
            }))
        {
            throw ScenarioError("gateway." + of.key + "." + name +
                                " is of no mesh node but a gateway; name another");
        }
    }
}

/** Checks what single hosts have. */
void
CheckHosts(const Scenario& scenario)
{
    const auto& gateway = scenario.gateway;
    CheckOfHosts(scenario, {"host_kbps", gateway.host_kbps, "hosts", LEAST_KBPS, MOST});
    CheckOfHosts(scenario, {"host_weight", gateway.host_weight, "even", 0.01, 100});
    CheckOfHosts(scenario, {"host_least_kbps", gateway.host_least_kbps, "even", 0, MOST});
    CheckRange("gateway.least_kbps", gateway.least_kbps, 0, gateway.law == "even" ? MOST : 0);
}

/** Checks that links with rates of their own join mesh nodes, of a standard that has such rates. */
void
CheckLinks(const Scenario& scenario)
{
    const auto isNode = [&scenario](const std::string& name) {
        return std::any_of(scenario.nodes.begin(), scenario.nodes.end(), [&](const auto& node) {
            return node.name == name;
        });
    };
    for (const auto& link : scenario.links)
    {
        const auto key = "link between \"" + link.from + "\" and \"" + link.to + "\"";
        if (!isNode(link.from) || !isNode(link.to) || link.from == link.to)
        {
            throw ScenarioError(key + " does not join two mesh nodes; name two");
        }
        if (scenario.radio.standard != "802.11b" && scenario.radio.standard != "802.11g")
        {
            throw ScenarioError(key + " has a bit rate of its own, which is simulated for "
                                "802.11b and 802.11g only; remove it");
        }
    }
}

void
CheckFlow(const FlowConfig& flow, const std::set<std::string>& names)
{
    const auto key = "flow \"" + flow.name + "\" ";
    CheckKnown(key + "traffic", flow.traffic, {"ftp", "cbr", "files"});
    CheckKnown(key + "law", flow.law, {"off", "gap", "ap", "map", "shaper", "even"});
    CheckKnown(key + "variant", flow.variant, {"newreno", "reno", "cubic", "bbr", "vegas", "westwood"});
    CheckRecovery(key, flow.variant, flow.sack, flow.rack);
    CheckRange(key + "start_s", flow.start_s, 0, MOST);
    const bool rated = flow.traffic == "cbr" || flow.law == "shaper";
    CheckRange(key + "rate_kbps", flow.rate_kbps, rated ? LEAST : 0, MOST);
    CheckRange(key + "bucket", flow.bucket, 1, MOST);
    CheckRange(key + "delayed_ack", flow.delayed_ack.segments, 1, MOST);
    CheckRange(key + "delayed_ack_s", flow.delayed_ack_s, LEAST, MOST);
    CheckRange(key + "file_bytes", flow.file_bytes, 1, MOST_FILE_BYTES);
    CheckRange(key + "pareto_shape", flow.pareto_shape, LEAST_SHAPE, MOST);
    CheckRange(key + "pause_s", flow.pause_s, 0, MOST);
    CheckRange(key + "advertised_window", flow.advertised_window, 1, MOST);
    CheckRange(key + "segment_bytes", flow.segment_bytes, 1, MOST_SEGMENT_BYTES);
    CheckRange(key + "initial_window", flow.initial_window, 1, MOST);
    CheckRange(key + "min_rto_s", flow.min_rto_s, LEAST, MOST);
    CheckRange(key + "stop_s", flow.stop_s, 0, MOST);
    if (flow.stop_s > 0 && flow.stop_s <= flow.start_s)
    {
        throw ScenarioError(key + "stop_s is not after start_s; give more, or 0: never");
    }
    CheckRange(key + "idle_at_s", flow.idle_at_s, 0, MOST);
    CheckRange(key + "idle_s", flow.idle_s, 0, flow.traffic == "ftp" ? MOST : 0);
    CheckEnds(key, {flow.from, flow.to}, names);
    if (flow.opaque && (flow.traffic != "ftp" || flow.law != "off"))
    {
        throw ScenarioError(key + "is opaque, which only ftp without a law is; remove it");
    }
}

void
CheckPing(const PingConfig& ping, const std::set<std::string>& names)
{
    const auto key = "ping from \"" + ping.from + "\" to \"" + ping.to + "\" ";
    CheckRange(key + "interval_s", ping.interval_s, LEAST_PING_S, MOST);
    CheckRange(key + "start_s", ping.start_s, 0, MOST);
    CheckEnds(key, {ping.from, ping.to}, names);
}

void
CheckOutage(const OutageConfig& outage, const Scenario& scenario)
{
    const auto key = "outage of \"" + outage.node + "\" ";
    CheckRange(key + "at_s", outage.at_s, 0, MOST);
    CheckRange(key + "for_s", outage.for_s, LEAST, MOST);
    if (std::none_of(scenario.nodes.begin(),
                     scenario.nodes.end(),
                     [&outage](const NodeConfig& node) { return node.name == outage.node; }))
    {
        throw ScenarioError(key + "is of no mesh node; name one");
    }
    if (std::any_of(scenario.clients.begin(),
                    scenario.clients.end(),
                    [&outage](const ClientConfig& one) { return one.name == outage.node; }))
    {
        throw ScenarioError(key + "is of a client that walks, which is not simulated; name "
                                  "another node");
    }
}

/** Checks that there are gateways, that AODV can do with them, and that flows name such. */
void
CheckGateways(const Scenario& scenario)
{
    std::set<std::string> gateways;
    for (const auto& node : scenario.nodes)
    {
        if (node.gateway)
        {
            gateways.insert(node.name);
        }
    }
    if (gateways.empty())
    {
        throw ScenarioError("nodes: no gateway; make at least one node a gateway");
    }
    const bool etx = scenario.routing.metric == "etx";
    if ((scenario.routing.protocol == "aodv" || etx) && gateways.size() > 1)
    {
        throw ScenarioError((etx ? "routing.metric = \"etx\"" : "routing.protocol = \"aodv\"") +
                            std::string(" knows one gateway, the scenario has ") +
                            std::to_string(gateways.size()) +
                            "; use static routes, or olsr by hops");
    }
    if (scenario.routing.protocol != "static" && scenario.radio.radios > 1)
    {
        throw ScenarioError("routing.protocol = \"" + scenario.routing.protocol +
                            "\" knows one radio a node; use static routes, or radio.radios = 1");
    }
    const auto& hosts = scenario.wired_hosts;
    const auto wired = [&hosts](const std::string& end) {
        return std::find(hosts.begin(), hosts.end(), end) != hosts.end();
    };
    for (const auto& flow : scenario.flows)
    {
        if (!flow.via.empty() && scenario.routing.protocol == "olsr")
        {
            throw ScenarioError("flow \"" + flow.name +
                                "\" has a via, but OLSR chooses the gateway; remove it");
        }
        if (!flow.via.empty() && gateways.count(flow.via) == 0)
        {
            throw ScenarioError("flow \"" + flow.name + "\" via \"" + flow.via +
                                "\" is no gateway; name one");
        }
        if (!flow.via.empty() && !wired(flow.from) && !wired(flow.to))
        {
            throw ScenarioError("flow \"" + flow.name +
                                "\" has a via but no wired end; remove it");
        }
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

/** Checks that clients are mesh nodes, and that routes follow them. */
void
CheckClients(const Scenario& scenario)
{
    for (const auto& client : scenario.clients)
    {
        const auto key = "client \"" + client.name + "\" ";
        CheckRange(key + "speed_mps", client.speed_mps, 0, MOST);
        CheckRange(key + "start_s", client.start_s, 0, MOST);
        CheckRange(key + "to_x_m", client.to_x_m, -MOST, MOST);
        CheckRange(key + "to_y_m", client.to_y_m, -MOST, MOST);
        const auto node = std::find_if(
            scenario.nodes.begin(),
            scenario.nodes.end(),
            [&client](const NodeConfig& one) { return one.name == client.name; });
        if (node == scenario.nodes.end() || node->gateway)
        {
            throw ScenarioError(key + "is no mesh node that may walk; name one, not a gateway");
        }
    }
    const bool map = scenario.gateway.law == "map" ||
                     std::any_of(scenario.flows.begin(),
                                 scenario.flows.end(),
                                 [](const FlowConfig& flow) { return flow.law == "map"; }) ||
                     std::any_of(scenario.people.begin(),
                                 scenario.people.end(),
                                 [](const PersonConfig& one) { return one.law == "map"; });
    if (!scenario.clients.empty() && map)
    {
        throw ScenarioError("the law map knows the links of nodes that stand still, and clients "
                            "walk; use gap");
    }
    if (scenario.routing.protocol == "olsr" && scenario.gateway.link_rates == "known")
    {
        throw ScenarioError("gateway.link_rates = \"known\" means links of paths that do not "
                            "change, unlike OLSR's; use piggybacked");
    }
    if (!scenario.clients.empty() && scenario.routing.protocol == "static")
    {
        throw ScenarioError("routing.protocol = \"static\" follows no client that walks; use "
                            "olsr, or aodv");
    }
}

/** Checks what only the sinr radio has. */
void
CheckSinr(const RadioConfig& radio)
{
    CheckKnown("radio.standard",
               radio.standard,
               {"802.11b", "802.11g", "802.11n", "802.11ac", "802.11ax"});
    if (SinrAggregates(radio))
    {
        CheckKnown("radio.channel_mhz", std::to_string(radio.channel_mhz), SinrWidths(radio));
        CheckRange("radio.mcs", radio.mcs, 0, SinrMostMcs(radio));
    }
}

} // namespace

void
Check(const Scenario& scenario)
{
    CheckKnown("radio.model", scenario.radio.model, {"range", "sinr"});
    if (scenario.radio.model == "sinr")
    {
        CheckSinr(scenario.radio);
    }
    else
    {
        CheckKnown("radio.standard", scenario.radio.standard, {"802.11b", "802.11g"});
    }
    CheckKnown("radio.fading", scenario.radio.fading, {"none", "nakagami"});
    CheckKnown("radio.rate_control", scenario.radio.rate_control, {"minstrel", "fixed"});
    CheckKnown("radio.interference", scenario.radio.interference, {"additive", "pairwise"});
    if (scenario.radio.cts_ignores_nav && scenario.radio.cts_when_idle)
    {
        throw ScenarioError("radio.cts_ignores_nav and radio.cts_when_idle exclude each other; "
                            "set one");
    }
    CheckKnown("radio.queueing", scenario.radio.queueing, QUEUEING);
    CheckKnown("routing.protocol", scenario.routing.protocol, {"static", "aodv", "olsr"});
    CheckKnown("routing.metric", scenario.routing.metric, {"hops", "etx"});
    CheckGateway(scenario.gateway);
    CheckHosts(scenario);
    CheckNumbers(scenario);
    CheckGateways(scenario);
    CheckClients(scenario);
    const auto names = CollectNames(scenario);
    CheckLinks(scenario);
    for (const auto& flow : scenario.flows)
    {
        CheckFlow(flow, names);
    }
    CheckPeople(scenario, names);
    for (const auto& ping : scenario.pings)
    {
        CheckPing(ping, names);
    }
    for (const auto& outage : scenario.outages)
    {
        CheckOutage(outage, scenario);
    }
}

} // namespace ns3
