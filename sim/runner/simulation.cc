/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "simulation.h"

#include "cbr-flow.h"
#include "files-flow.h"
#include "ftp-flow.h"
#include "link-rates.h"
#include "outages.h"
#include "tcp-sockets.h"

#include "ns3/object-factory.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/tcp-meshpace.h"
#include "ns3/udp-encapsulation.h"

#include <algorithm>
#include <map>

namespace ns3
{

namespace
{

constexpr uint16_t FIRST_PORT = 5000;
constexpr uint16_t FIRST_PERSON_PORT = 20000;

} // namespace

Simulation::Simulation(const Scenario& scenario, uint32_t seed)
    : m_scenario(scenario)
{
    // Events come in the same order by any scheduler; this one is the fastest here.
    Simulator::SetScheduler(ObjectFactory("ns3::PriorityQueueScheduler"));
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(seed);
    m_network = std::make_unique<MeshNetwork>(scenario);
    m_routes = std::make_unique<LiveRoutes>(scenario, *m_network);
    if (scenario.gateway.link_rates == "piggybacked")
    {
        InstallGathering(scenario, *m_network);
    }
    for (const auto& gateway : m_network->Gateways())
    {
        if (IsShaping(scenario.gateway.law))
        {
            m_shaping.push_back(InstallShaping(scenario, *m_network, gateway));
        }
        else if (scenario.gateway.law != "off")
        {
            InstallGateway(gateway);
        }
    }
    auto port = FIRST_PORT;
    for (const auto& config : scenario.flows)
    {
        m_flows.push_back(CreateFlow(config, port++));
        if (config.stop_s > 0)
        {
            // Ahead of the flow's own event, after which the gateway may forget it.
            Simulator::Schedule(Seconds(config.stop_s),
                                &Simulation::KeepConnection,
                                this,
                                m_flows.back().get());
        }
        m_flows.back()->Install();
    }
    InstallPingers();
    InstallPeople();
    ScheduleOutages(scenario, *m_network);
}

Simulation::~Simulation()
{
    m_people.clear(); // while their events can still be cancelled
    m_stopped.clear();
    m_gateways.clear();
    m_shaping.clear();
    for (const auto& [node, shaper] : m_shapers)
    {
        shaper->Dispose();
    }
    Simulator::Destroy();
}

std::unique_ptr<Flow>
Simulation::CreateFlow(const FlowConfig& config, uint16_t port)
{
    const FlowEnds ends{m_network->GetNode(config.from),
                        m_network->GetNode(config.to),
                        m_network->Address(config.to),
                        port};
    const auto warmup = Seconds(m_scenario.warmup_s);
    if (config.traffic == "cbr")
    {
        return std::make_unique<CbrFlow>(config, ends, warmup);
    }
    if (config.law == "shaper")
    {
        Shape(config, ends);
    }
    if (config.traffic == "files")
    {
        auto flow =
            std::make_unique<FilesFlow>(config, ends, warmup, CreateSenderLaw(config));
        flow->SetEndCallback(
            [this, one = flow.get()](uint16_t senderPort) { KeepStatistics(one, senderPort); });
        flow->SetLawCallback(
            [this, &config](Ptr<TcpMeshpace> law) { m_routes->Tell(config, law); });
        return flow;
    }
    if (config.opaque)
    {
        UdpEncapsulation::On(ends.sender)->Encapsulate(port);
        UdpEncapsulation::On(ends.receiver)->Encapsulate(port);
        return std::make_unique<FtpFlow>(AsOpaque(config), ends, warmup, nullptr);
    }
    return std::make_unique<FtpFlow>(config, ends, warmup, CreateSenderLaw(config));
}

void
Simulation::InstallPingers()
{
    for (const auto& config : m_scenario.pings)
    {
        m_pingers.push_back(std::make_unique<Pinger>(config,
                                                     m_network->GetNode(config.from),
                                                     m_network->Address(config.to),
                                                     m_pingers.size() + 1,
                                                     Seconds(m_scenario.warmup_s)));
        m_pingers.back()->Install();
    }
}

void
Simulation::InstallPeople()
{
    uint16_t port = FIRST_PERSON_PORT;
    for (const auto& config : m_scenario.people)
    {
        const PersonEnds ends{m_network->GetNode(config.node),
                              m_network->GetNode(config.host),
                              m_network->Address(config.node),
                              m_network->Address(config.host),
                              port};
        m_people.push_back(std::make_unique<Person>(config,
                                                    ends,
                                                    LawOf(config),
                                                    Seconds(m_scenario.duration_s),
                                                    Seconds(Flow::BIN_S)));
        m_people.back()->Install();
        port += PersonEnds::PORTS;
    }
}

void
Simulation::EndWarmup()
{
    m_network->ResetStatistics();
    for (const auto& gateway : m_gateways)
    {
        gateway->ResetStatistics();
    }
    for (const auto& [down, up] : m_shaping)
    {
        down->ResetStatistics();
        up->ResetStatistics();
    }
    for (auto& flow : m_flows)
    {
        flow->ResetStatistics();
    }
    for (auto& [flow, ended] : m_ended)
    {
        ended.statistics = {};
    }
    for (const auto& [node, shaper] : m_shapers)
    {
        shaper->ResetStatistics();
    }
}

void
Simulation::Run()
{
    Simulator::Schedule(Seconds(m_scenario.warmup_s), &Simulation::EndWarmup, this);
    Simulator::Stop(Seconds(m_scenario.duration_s));
    Simulator::Run();
}

const Scenario&
Simulation::GetScenario() const
{
    return m_scenario;
}

const MeshNetwork&
Simulation::Network() const
{
    return *m_network;
}

const std::vector<std::unique_ptr<Flow>>&
Simulation::Flows() const
{
    return m_flows;
}

const std::vector<std::unique_ptr<Pinger>>&
Simulation::Pingers() const
{
    return m_pingers;
}

const std::vector<std::unique_ptr<Person>>&
Simulation::People() const
{
    return m_people;
}

const std::vector<Ptr<MeshpaceGateway>>&
Simulation::Gateways() const
{
    return m_gateways;
}

const std::vector<Shaping>&
Simulation::ShapingAtGateways() const
{
    return m_shaping;
}

const LiveRoutes&
Simulation::Routes() const
{
    return *m_routes;
}

const MeshpaceConnection*
Simulation::ConnectionOf(const Flow& flow) const
{
    if (const auto stopped = m_stopped.find(&flow); stopped != m_stopped.end())
    {
        return &stopped->second;
    }
    const auto* tcp = dynamic_cast<const TcpFlow*>(&flow);
    return tcp ? FindConnection(*tcp, tcp->SenderPort()) : nullptr;
}

const MeshpaceConnection*
Simulation::FindConnection(const TcpFlow& flow, uint16_t senderPort) const
{
    const auto& config = flow.Config();
    const bool down = m_network->IsWired(config.from);
    const auto& host = down ? config.from : config.to;
    if (m_gateways.empty() || !m_network->IsWired(host))
    {
        return nullptr;
    }
    const MeshpaceKey key{m_network->Address(down ? config.to : config.from).Get(),
                          m_network->Address(down ? config.from : config.to).Get(),
                          down ? flow.ReceiverPort() : senderPort,
                          down ? senderPort : flow.ReceiverPort()};
    const MeshpaceConnection* most = nullptr;
    for (const auto& gateway : m_gateways)
    {
        const auto* one = gateway->Find(key);
        if (one && (!most || one->Statistics().samples > most->Statistics().samples))
        {
            most = one;
        }
    }
    return most;
}

MeshpaceStatistics
Simulation::GatewayStatistics(const Flow& flow) const
{
    const auto ended = m_ended.find(&flow);
    const auto known = ended != m_ended.end();
    auto all = known ? ended->second.statistics : MeshpaceStatistics{};
    const auto* tcp = dynamic_cast<const TcpFlow*>(&flow);
    const auto* connection = ConnectionOf(flow);
    if (connection && !(known && tcp && ended->second.lastPort == tcp->SenderPort()))
    {
        all.Add(connection->Statistics());
    }
    return all;
}

void
Simulation::KeepConnection(const Flow* flow)
{
    if (const auto* connection = ConnectionOf(*flow))
    {
        m_stopped.emplace(flow, *connection);
    }
}

void
Simulation::KeepStatistics(const TcpFlow* flow, uint16_t senderPort)
{
    auto& ended = m_ended[flow];
    if (const auto* connection = FindConnection(*flow, senderPort))
    {
        ended.statistics.Add(connection->Statistics());
    }
    ended.lastPort = senderPort;
}

} // namespace ns3
