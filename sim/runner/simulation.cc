/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "simulation.h"

#include "../model/meshpace-queue-disc.h"
#include "../model/tcp-meshpace.h"

#include "ns3/boolean.h"
#include "ns3/enum.h"
#include "ns3/object-factory.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/traffic-control-layer.h"
#include "ns3/uinteger.h"

#include <cmath>

namespace ns3
{

namespace
{

constexpr uint16_t FIRST_PORT = 5000;

uint32_t
BitRateKbps(const Scenario& scenario)
{
    return std::lround(scenario.radio.data_mbps * 1000);
}

/**
 * Puts a queue disc on a device.
 * @param node the device's node
 * @param device the device
 * @param disc the queue disc
 */
void
SetRootQueueDisc(Ptr<Node> node, Ptr<NetDevice> device, Ptr<QueueDisc> disc)
{
    auto layer = node->GetObject<TrafficControlLayer>();
    layer->SetRootQueueDiscOnDevice(device, disc);
}

} // namespace

Simulation::Simulation(const Scenario& scenario, uint32_t seed)
    : m_scenario(scenario)
{
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(seed);
    m_network = std::make_unique<MeshNetwork>(scenario);
    if (scenario.gateway.law != "off")
    {
        InstallGateway();
    }
    auto port = FIRST_PORT;
    for (const auto& config : scenario.flows)
    {
        m_flows.push_back(CreateFlow(config, port++));
        m_flows.back()->Install();
    }
}

Simulation::~Simulation()
{
    m_gateway = nullptr;
    Simulator::Destroy();
}

void
Simulation::InstallGateway()
{
    const auto& config = m_scenario.gateway;
    m_gateway = CreateObjectWithAttributes<MeshpaceGateway>(
        "BitRate",
        UintegerValue(BitRateKbps(m_scenario)),
        "GoodputControl",
        BooleanValue(config.goodput_control),
        "LocalRetransmission",
        BooleanValue(config.local_retransmission),
        "DelayBound",
        TimeValue(Seconds(config.delay_bound_s)));
    for (const auto& node : m_scenario.nodes)
    {
        m_gateway->SetHops(m_network->Address(node.name), m_network->Hops(node.name));
    }
    auto mesh = CreateObject<MeshpaceMeshQueueDisc>();
    mesh->SetGateway(m_gateway);
    SetRootQueueDisc(m_network->Gateway(), m_network->GatewayMeshDevice(), mesh);
    auto wired = CreateObject<MeshpaceWiredQueueDisc>();
    wired->SetGateway(m_gateway);
    SetRootQueueDisc(m_network->Gateway(), m_network->GatewayWiredDevice(), wired);
}

Ptr<TcpMeshpace>
Simulation::CreateSenderLaw(const FlowConfig& config) const
{
    if (config.law == "off")
    {
        return nullptr;
    }
    return CreateObjectWithAttributes<TcpMeshpace>(
        "Law",
        EnumValue(config.law == "ap" ? TcpMeshpace::AP : TcpMeshpace::GAP),
        "Hops",
        UintegerValue(m_network->HopsBetween(config.from, config.to)),
        "BitRate",
        UintegerValue(BitRateKbps(m_scenario)),
        "DelayBound",
        TimeValue(Seconds(m_scenario.gateway.delay_bound_s)));
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
    return std::make_unique<TcpFlow>(config, ends, warmup, CreateSenderLaw(config));
}

void
Simulation::EndWarmup()
{
    m_network->ResetStatistics();
    if (m_gateway)
    {
        m_gateway->ResetStatistics();
    }
    for (auto& flow : m_flows)
    {
        flow->ResetStatistics();
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

Ptr<MeshpaceGateway>
Simulation::Gateway() const
{
    return m_gateway;
}

const MeshpaceConnection*
Simulation::ConnectionOf(const Flow& flow) const
{
    const auto* tcp = dynamic_cast<const TcpFlow*>(&flow);
    if (!m_gateway || !tcp)
    {
        return nullptr;
    }
    const auto& config = flow.Config();
    const bool down = m_network->IsWired(config.from);
    return m_gateway->Find({m_network->Address(down ? config.to : config.from).Get(),
                            m_network->Address(down ? config.from : config.to).Get(),
                            down ? tcp->ReceiverPort() : tcp->SenderPort(),
                            down ? tcp->SenderPort() : tcp->ReceiverPort()});
}

} // namespace ns3
