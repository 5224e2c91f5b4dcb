/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "simulation.h"

#include "cbr-flow.h"
#include "files-flow.h"
#include "ftp-flow.h"
#include "link-rates.h"
#include "outages.h"
#include "radio.h"
#include "tcp-sockets.h"

#include "../model/gateway/meshpace-queue-disc.h"
#include "../model/gateway/path-reader.h"
#include "../model/sender/tcp-meshpace.h"
#include "../model/tcp/udp-encapsulation.h"

#include "ns3/boolean.h"
#include "ns3/enum.h"
#include "ns3/object-factory.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/traffic-control-layer.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace ns3
{

namespace
{

constexpr uint16_t FIRST_PORT = 5000;
constexpr uint16_t FIRST_PERSON_PORT = 20000;

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

/**
 * @param name what [gateway] omit says
 * @return the part of the law even, of mp_omit; 0: none
 */
uint32_t
PartOmitted(const std::string& name)
{
    static const std::map<std::string, uint32_t> parts{{"", 0},
                                                       {"fast", MP_OMIT_FAST},
                                                       {"damping", MP_OMIT_DAMPING},
                                                       {"arrived", MP_OMIT_ARRIVED},
                                                       {"binds", MP_OMIT_BINDS},
                                                       {"least", MP_OMIT_LEAST},
                                                       {"cut", MP_OMIT_CUT},
                                                       {"waits", MP_OMIT_WAITS},
                                                       {"silence", MP_OMIT_SILENCE},
                                                       {"probes", MP_OMIT_PROBES},
                                                       {"lossy", MP_OMIT_LOSSY},
                                                       {"feedback", MP_OMIT_FEEDBACK},
                                                       {"sack", MP_OMIT_SACK}};
    return parts.at(name);
}

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

/** What is stated of a host, or else of all. */
static double
Stated(const std::map<std::string, double>& values, const std::string& name, double otherwise)
{
    const auto found = values.find(name);
    return found == values.end() ? otherwise : found->second;
}

Ptr<MeshpaceGateway>
Simulation::CreateGateway() const
{
    const auto& config = m_scenario.gateway;
    static const std::map<std::string, MeshpaceGateway::Law> laws{
        {"gap", MeshpaceGateway::GAP},
        {"map", MeshpaceGateway::MAP},
        {"shaper", MeshpaceGateway::SHAPER},
        {"even", MeshpaceGateway::EVEN}};
    static const std::map<std::string, MeshpaceFairness> fairness = {
        {"trials", MeshpaceFairness::TRIALS},
        {"air", MeshpaceFairness::AIR},
        {"rate", MeshpaceFairness::RATE}};
    return CreateObjectWithAttributes<MeshpaceGateway>(
        "BitRate",
        UintegerValue(DataKbps(m_scenario.radio)),
        "Law",
        EnumValue(laws.at(config.law)),
        "ShaperRate",
        UintegerValue(std::llround(config.rate_kbps * 1e3)),
        "Bucket",
        UintegerValue(config.bucket),
        "LeastHcs",
        UintegerValue(m_scenario.map.least_h_cs),
        "PastEnd",
        BooleanValue(m_scenario.map.past_end),
        "Omit",
        UintegerValue(PartOmitted(m_scenario.gateway.omit)),
        "GoodputControl",
        BooleanValue(config.goodput_control),
        "Fairness",
        EnumValue(fairness.at(config.fairness)),
        "LocalRetransmission",
        BooleanValue(config.local_retransmission),
        "Release",
        EnumValue(config.release == "fq" ? MeshpaceRelease::ON_ARRIVAL : MeshpaceRelease::AT_TURN),
        "DelayBound",
        TimeValue(Seconds(config.delay_bound_s)));
}

/** One law for all radios of a gateway, and only for the flows of the hosts behind it. */
void
Simulation::InstallGateway(const std::string& name)
{
    auto gateway = CreateGateway();
    m_gateways.push_back(gateway);
    for (const auto& node : m_scenario.nodes)
    {
        const auto address = m_network->Address(node.name);
        gateway->SetHops(address, m_network->HopsBetween(node.name, name));
        if (!node.gateway)
        {
            const auto& stated = m_scenario.gateway;
            const auto leastKbps = Stated(stated.host_least_kbps, node.name, stated.least_kbps);
            gateway->SetRights(address,
                               Stated(stated.host_weight, node.name, 1),
                               std::llround(leastKbps * 1e3 / 8));
        }
    }
    for (const auto& host : m_scenario.wired_hosts)
    {
        if (m_scenario.routing.protocol != "olsr" && m_network->GatewayOf(host) != name)
        {
            gateway->SetForeignHost(m_network->Address(host));
        }
    }
    const auto node = m_network->GetNode(name);
    for (uint32_t radio = 0; radio < m_network->Radios(); radio++)
    {
        auto mesh = CreateObject<MeshpaceMeshQueueDisc>();
        mesh->SetGateway(gateway, radio);
        SetRootQueueDisc(node, m_network->MeshDevice(name, radio), mesh);
    }
    TellLinks(gateway, name);
    auto wired = CreateObject<MeshpaceWiredQueueDisc>();
    wired->SetGateway(gateway);
    SetRootQueueDisc(node, m_network->WiredDevice(name), wired);
    m_wakeUps.push_back(std::make_unique<TcpWakeUp>(node));
    gateway->SetWakeUpCallback(MakeCallback(&TcpWakeUp::Send, m_wakeUps.back().get()));
    m_routes->Tell(name, gateway);
}

/** What the law `map` wants to know of paths, and the bit rates of their links. */
void
Simulation::TellLinks(Ptr<MeshpaceGateway> gateway, const std::string& name) const
{
    for (const auto& flow : TrafficOf(m_scenario))
    {
        const bool paced = m_network->IsWired(flow.from) &&
                           m_network->GatewayOf(flow.from) == name &&
                           m_network->HopsBetween(flow.from, flow.to) > 0;
        if (paced && m_scenario.gateway.law == "map")
        {
            gateway->SetLink(m_network->Address(flow.to), LinkBetween(flow.from, flow.to));
        }
        if (paced && m_scenario.gateway.link_rates == "known")
        {
            gateway->SetLinkRates(m_network->Address(flow.to),
                                  PathRates(*m_network, flow.from, flow.to));
        }
    }
}

mp_link
Simulation::LinkBetween(const std::string& from, const std::string& to) const
{
    std::vector<Ptr<WifiNetDevice>> radios;
    for (const auto& node : m_network->MeshPath(from, to))
    {
        radios.push_back(DynamicCast<WifiNetDevice>(m_network->MeshDevice(node)));
    }
    if (radios.size() < 2)
    {
        return {}; // from the gateway into the wires: no link to know of
    }
    return ReadLink(radios, {m_scenario.map.assumed_exponent, m_scenario.map.positions});
}

Ptr<TcpMeshpace>
Simulation::CreateSenderLaw(const FlowConfig& config) const
{
    if (config.law == "off" || config.law == "shaper")
    {
        return nullptr;
    }
    static const std::map<std::string, TcpMeshpace::Law> laws{{"gap", TcpMeshpace::GAP},
                                                              {"ap", TcpMeshpace::AP},
                                                              {"map", TcpMeshpace::MAP},
                                                              {"even", TcpMeshpace::EVEN}};
    const auto law = laws.at(config.law);
    auto control = CreateObjectWithAttributes<TcpMeshpace>(
        "Law",
        EnumValue(law),
        "LeastHcs",
        UintegerValue(m_scenario.map.least_h_cs),
        "PastEnd",
        BooleanValue(m_scenario.map.past_end),
        "Omit",
        UintegerValue(PartOmitted(m_scenario.gateway.omit)),
        "Hops",
        UintegerValue(m_network->HopsBetween(config.from, config.to)),
        "BitRate",
        UintegerValue(DataKbps(m_scenario.radio)),
        "DelayBound",
        TimeValue(Seconds(m_scenario.gateway.delay_bound_s)));
    if (law == TcpMeshpace::MAP)
    {
        control->SetLink(LinkBetween(config.from, config.to));
    }
    if (m_scenario.gateway.link_rates == "known")
    {
        control->SetLinkRates(PathRates(*m_network, config.from, config.to));
    }
    m_routes->Tell(config, control);
    return control;
}

void
Simulation::Shape(const FlowConfig& config, const FlowEnds& ends)
{
    auto& shaper = m_shapers[config.from];
    if (!shaper)
    {
        shaper = CreateObject<TcpShaper>();
        shaper->Install(ends.sender);
    }
    shaper->Shape(ends.receiverAddress,
                  ends.port,
                  mp_shaper_interval_ns(config.segment_bytes, std::llround(config.rate_kbps * 1e3)),
                  config.bucket);
}

Ptr<const TcpShaper>
Simulation::ShaperOf(const FlowConfig& config) const
{
    const auto found = m_shapers.find(config.from);
    return config.law == "shaper" && found != m_shapers.end() ? found->second : nullptr;
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

std::function<Ptr<TcpMeshpace>()>
Simulation::LawOf(const PersonConfig& person) const
{
    if (person.law == "off")
    {
        return {};
    }
    FlowConfig up{};
    up.name = "person " + person.name;
    up.from = person.node;
    up.to = person.host;
    up.law = person.law;
    return [this, up] { return CreateSenderLaw(up); };
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
