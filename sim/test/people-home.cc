/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "people-home.h"

#include "../runner/result.h"

#include "ns3/ipv4-l3-protocol.h"
#include "ns3/rng-seed-manager.h"

namespace ns3
{

Scenario
Home(const std::vector<std::string>& does, double durationS)
{
    auto scenario = ChainScenario(1, "static", durationS);
    scenario.wired = {.mbps = 100, .delay_ms = 5};
    scenario.people = {PersonAt("A", "B", does)};
    return scenario;
}

nlohmann::ordered_json
Simulated(const Scenario& scenario,
          const std::function<void(const Simulation&)>& begin,
          const std::function<void(const Simulation&)>& end,
          uint32_t seed)
{
    RngSeedManager::ResetNextStreamIndex();
    Simulation simulation(scenario, seed);
    if (begin)
    {
        begin(simulation);
    }
    simulation.Run();
    if (end)
    {
        end(simulation);
    }
    return MakeResult(simulation, seed)["people"];
}

double
Sum(const nlohmann::ordered_json& bins, std::size_t from, std::size_t to)
{
    double sum = 0;
    for (auto bin = from; bin < to; bin++)
    {
        sum += bins.at(bin).get<double>();
    }
    return sum;
}

Wiretap::Wiretap(Ptr<Node> node)
{
    auto ip = node->GetObject<Ipv4L3Protocol>();
    ip->TraceConnectWithoutContext("LocalDeliver", MakeCallback(&Wiretap::Received, this));
    ip->TraceConnectWithoutContext("SendOutgoing", MakeCallback(&Wiretap::Sent, this));
}

void
Wiretap::Received(const Ipv4Header& header, Ptr<const Packet> /* packet */, uint32_t /* from */)
{
    m_received[header.GetProtocol()]++;
}

void
Wiretap::Sent(const Ipv4Header& header, Ptr<const Packet> /* packet */, uint32_t /* to */)
{
    m_sent[header.GetProtocol()]++;
}

} // namespace ns3
