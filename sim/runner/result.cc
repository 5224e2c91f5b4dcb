/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "result.h"

#include "../model/tcp-meshpace.h"

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
PacingJson(const MeshpaceStatistics& statistics)
{
    const auto mean = [&](double sum) {
        return statistics.samples ? Rounded(sum / statistics.samples, 6) : 0.0;
    };
    return {{"rate_pps", mean(statistics.rateSumPps)},
            {"cov", mean(statistics.covSum)},
            {"delay_ms", Rounded(mean(statistics.delaySumS) * 1e3, 3)},
            {"samples", statistics.samples},
            {"discarded", statistics.discarded}};
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

/** Adds what a TCP flow and the law over it have to report. */
void
AddTcp(Json& json, const Simulation& simulation, const TcpFlow& flow, bool down)
{
    const auto* connection = simulation.ConnectionOf(flow);
    json["retransmits"] = flow.Retransmits();
    json["timeouts"] = flow.Timeouts();
    json["local_retransmits"] = connection ? connection->Statistics().localRetransmits : 0;
    json["rtt_ms"] = RttJson(flow.SortedRtts());
    if (flow.Control())
    {
        json["pacing"] = PacingJson(flow.Control()->Statistics());
    }
    else
    {
        json["pacing"] = down && connection ? PacingJson(connection->Statistics()) : Json();
    }
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
               flow.Delivery().Bins(Seconds(simulation.GetScenario().duration_s))}};
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

} // namespace

Json
MakeResult(const Simulation& simulation, uint32_t seed)
{
    const auto& scenario = simulation.GetScenario();
    const auto gateway = simulation.Gateway();
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
            {"links", LinksJson(simulation.Network())},
            {"gateway",
             {{"max_queue_packets", gateway ? gateway->MaxHeldPackets() : 0},
              {"throttles", gateway ? gateway->Throttles() : 0}}},
            {"versions", {{"ns3", NS3_VERSION}}}};
}

} // namespace ns3
