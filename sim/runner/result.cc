/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "result.h"

#include "cbr-flow.h"
#include "files-flow.h"

#include "people/people-result.h"

#include "ns3/tcp-meshpace.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ns3
{

namespace
{

using Json = nlohmann::ordered_json;

constexpr const char* NS3_VERSION = "3.44";

double
Rounded(double value, int digits)
{
    const auto scale = std::pow(10.0, digits);
    return std::round(value * scale) / scale;
}

Json
RttJson(const std::vector<double>& sortedS)
{
    if (sortedS.empty())
    {
        return nullptr;
    }
    const auto count = sortedS.size();
    const auto quantile = [&](double q) {
        return Rounded(sortedS[static_cast<std::size_t>(q * (count - 1))] * 1e3, 3);
    };
    const auto mean = std::accumulate(sortedS.begin(), sortedS.end(), 0.0) / count;
    return {{"mean", Rounded(mean * 1e3, 3)}, {"p50", quantile(0.5)}, {"p95", quantile(0.95)}};
}

Json
PacingJson(const MeshpaceStatistics& statistics, bool map, const mp_link& link)
{
    const auto mean = [&](double sum) {
        return statistics.samples ? Rounded(sum / statistics.samples, 6) : 0.0;
    };
    return {{"rate_pps", mean(statistics.rateSumPps)},
            {"cov", mean(statistics.covSum)},
            {"delay_ms", Rounded(mean(statistics.delaySumS) * 1e3, 3)},
            {"samples", statistics.samples},
            {"discarded", statistics.discarded},
            {"h_cs", map ? Json(link.h_cs) : Json()}};
}

/** Of a flow shaped at its sender: as PacingJson, and the shaper's queue in packets. */
Json
ShaperJson(const TcpShaper& shaper, Ipv4Address to, uint16_t port)
{
    const auto queue = shaper.Queue(to, port);
    return {{"rate_pps", Rounded(queue.ratePps, 6)},
            {"cov", 0.0},
            {"delay_ms", 0.0},
            {"samples", queue.released},
            {"discarded", 0},
            {"h_cs", nullptr},
            {"queue_mean", Rounded(queue.meanPackets, 3)},
            {"queue_max", queue.maxPackets}};
}

std::string
Direction(const MeshNetwork& network, const FlowConfig& config)
{
    if (network.IsWired(config.from))
    {
        return "down";
    }
    return network.IsWired(config.to) ? "up" : "mesh";
}

/** Adds each file delivered, as its size and how long it took. */
void
AddTransfers(Json& json, const FilesFlow& flow)
{
    auto transfers = Json::array();
    for (const auto& file : flow.Transfers())
    {
        transfers.push_back({file.bytes, Rounded((file.end - file.start).GetSeconds(), 6)});
    }
    json["transfers"] = transfers;
    json["unfinished"] = flow.Unfinished() ? 1 : 0;
}

/** Adds what a TCP flow and the law over it have to report. */
void
AddTcp(Json& json, const Simulation& simulation, const TcpFlow& flow, bool down)
{
    const auto* connection = simulation.ConnectionOf(flow);
    json["retransmits"] = flow.Retransmits();
    json["timeouts"] = flow.Timeouts();
    json["local_retransmits"] = simulation.GatewayStatistics(flow).localRetransmits;
    json["rtt_ms"] = RttJson(flow.SortedRtts());
    if (flow.Control())
    {
        const auto& control = *flow.Control();
        json["pacing"] = PacingJson(flow.ControlStatistics(),
                                    control.GetLaw() == TcpMeshpace::MAP,
                                    control.Link());
    }
    else if (const auto shaper = simulation.ShaperOf(flow.Config()))
    {
        json["pacing"] = ShaperJson(*shaper,
                                    simulation.Network().Address(flow.Config().to),
                                    flow.ReceiverPort());
    }
    else if (down && connection)
    {
        json["pacing"] = PacingJson(simulation.GatewayStatistics(flow),
                                    simulation.GetScenario().gateway.law == "map",
                                    connection->Link());
    }
    else
    {
        json["pacing"] = nullptr;
    }
    if (const auto* files = dynamic_cast<const FilesFlow*>(&flow))
    {
        AddTransfers(json, *files);
    }
}

Json
StallsJson(const Flow& flow, const Scenario& scenario)
{
    const auto& config = flow.Config();
    const auto end = config.stop_s > 0 ? std::min(config.stop_s, scenario.duration_s)
                                       : scenario.duration_s;
    auto json = Json::array();
    for (const auto& stall : flow.Delivery().Stalls(Seconds(config.start_s), Seconds(end)))
    {
        json.push_back({{"at_s", Rounded(stall.begin.GetSeconds(), 3)},
                        {"length_s", Rounded(stall.length.GetSeconds(), 3)}});
    }
    return json;
}

Json
HandoversJson(const Simulation& simulation)
{
    auto json = Json::array();
    for (const auto& handover : simulation.Routes().Handovers())
    {
        json.push_back({{"client", handover.client},
                        {"gateway", handover.gateway},
                        {"at_s", Rounded(handover.at.GetSeconds(), 3)}});
    }
    return json;
}

Json
FlowJson(const Simulation& simulation, const Flow& flow)
{
    const auto& config = flow.Config();
    const auto& network = simulation.Network();
    const auto direction = Direction(network, config);
    const bool down = direction == "down";
    Json json{{"name", config.name},
              {"from", config.from},
              {"to", config.to},
              {"direction", direction},
              {"hops", network.HopsBetween(config.from, config.to)},
              {"law", down ? simulation.GetScenario().gateway.law : config.law},
              {"goodput_bytes", flow.Delivery().GoodputBytes()},
              {"delivered_bytes",
               flow.Delivery().Bins(Seconds(simulation.GetScenario().duration_s))},
              {"stalls", StallsJson(flow, simulation.GetScenario())}};
    const bool olsr = simulation.GetScenario().routing.protocol == "olsr";
    if (network.Gateways().size() > 1 && direction != "mesh" && !olsr)
    {
        json["via"] = network.GatewayOf(down ? config.from : config.to);
    }
    if (const auto* tcp = dynamic_cast<const TcpFlow*>(&flow))
    {
        AddTcp(json, simulation, *tcp, down);
    }
    else
    {
        json["retransmits"] = 0;
        json["timeouts"] = 0;
        json["local_retransmits"] = 0;
        json["rtt_ms"] = nullptr;
        json["pacing"] = nullptr;
        json["sent_bytes"] = dynamic_cast<const CbrFlow&>(flow).SentBytes();
    }
    return json;
}

Json
LinksJson(const MeshNetwork& network)
{
    auto json = Json::array();
    for (const auto& link : network.Links())
    {
        json.push_back({{"from", link.from},
                        {"to", link.to},
                        {"data_drops", link.dataDrops},
                        {"ack_drops", link.ackDrops},
                        {"other_drops", link.otherDrops}});
    }
    return json;
}

Json
PingsJson(const Simulation& simulation)
{
    auto json = Json::array();
    for (const auto& pinger : simulation.Pingers())
    {
        const auto rtts = pinger->SortedRtts();
        auto rttMs = RttJson(rtts);
        if (!rtts.empty())
        {
            rttMs["max"] = Rounded(rtts.back() * 1e3, 3);
        }
        json.push_back({{"from", pinger->Config().from},
                        {"to", pinger->Config().to},
                        {"sent", pinger->Sent()},
                        {"lost", pinger->Lost()},
                        {"rtt_ms", rttMs}});
    }
    return json;
}

Json
PeopleJson(const Simulation& simulation)
{
    auto json = Json::array();
    for (const auto& person : simulation.People())
    {
        const auto& config = person->Config();
        json.push_back(
            PersonJson(*person, simulation.Network().HopsBetween(config.host, config.node)));
    }
    return json;
}

/** The law of all gateways together: the longest queue of any, the sum of the throttles. */
Json
GatewayJson(const Simulation& simulation)
{
    uint32_t maxQueuePackets = 0;
    uint64_t throttles = 0;
    for (const auto& gateway : simulation.Gateways())
    {
        maxQueuePackets = std::max(maxQueuePackets, gateway->MaxHeldPackets());
        throttles += gateway->Throttles();
    }
    for (const auto& [down, up] : simulation.ShapingAtGateways())
    {
        maxQueuePackets = std::max({maxQueuePackets, down->MaxPackets(), up->MaxPackets()});
    }
    return {{"max_queue_packets", maxQueuePackets}, {"throttles", throttles}};
}

} // namespace

Json
MakeResult(const Simulation& simulation, uint32_t seed)
{
    const auto& scenario = simulation.GetScenario();
    auto flows = Json::array();
    for (const auto& flow : simulation.Flows())
    {
        flows.push_back(FlowJson(simulation, *flow));
    }
    return {{"seed", seed},
            {"duration_s", scenario.duration_s},
            {"warmup_s", scenario.warmup_s},
            {"bin_s", Flow::BIN_S},
            {"flows", flows},
            {"people", PeopleJson(simulation)},
            {"pings", PingsJson(simulation)},
            {"links", LinksJson(simulation.Network())},
            {"gateway", GatewayJson(simulation)},
            {"handovers", HandoversJson(simulation)},
            {"versions", {{"ns3", NS3_VERSION}}}};
}

} // namespace ns3
