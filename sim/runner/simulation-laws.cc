/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// The laws of a run: at its gateways, and at senders.

#include "link-rates.h"
#include "radio.h"
#include "simulation.h"

#include "ns3/boolean.h"
#include "ns3/enum.h"
#include "ns3/meshpace-helper.h"
#include "ns3/path-reader.h"
#include "ns3/tcp-meshpace.h"
#include "ns3/uinteger.h"

#include <cmath>
#include <map>

namespace ns3
{

namespace
{

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
                                                       {"feedback", MP_OMIT_FEEDBACK},
                                                       {"sack", MP_OMIT_SACK},
                                                       {"moment", MP_OMIT_MOMENT},
                                                       {"opaque", MP_OMIT_OPAQUE}};
    return parts.at(name);
}

/** What is stated of a host, or else of all. */
double
Stated(const std::map<std::string, double>& values, const std::string& name, double otherwise)
{
    const auto found = values.find(name);
    return found == values.end() ? otherwise : found->second;
}

} // namespace

Ptr<MeshpaceGateway>
Simulation::CreateGateway() const
{
    const auto& config = m_scenario.gateway;
    static const std::map<std::string, MeshpaceGateway::Law> laws{
        {"gap", MeshpaceGateway::GAP},
        {"map", MeshpaceGateway::MAP},
        {"shaper", MeshpaceGateway::SHAPER},
        {"even", MeshpaceGateway::EVEN}};
    static const std::map<std::string, mp_fairness> fairness = {{"air", MP_FAIRNESS_AIR},
                                                                {"rate", MP_FAIRNESS_RATE}};
    static const std::map<std::string, MeshpaceRelease> releases = {
        {"nfqueue", MeshpaceRelease::AT_TURN},
        {"htb", MeshpaceRelease::IN_CLASS},
        {"fq", MeshpaceRelease::ON_ARRIVAL}};
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
        "LinkInOid",
        BooleanValue(m_scenario.map.link_in_oid),
        "LinkLearnt",
        BooleanValue(m_scenario.map.link_learnt),
        "Omit",
        UintegerValue(PartOmitted(m_scenario.gateway.omit)),
        "GoodputControl",
        BooleanValue(config.goodput_control),
        "Fairness",
        EnumValue(fairness.at(config.fairness)),
        "LocalRetransmission",
        BooleanValue(config.local_retransmission),
        "Release",
        EnumValue(releases.at(config.release)),
        "DelayBound",
        TimeValue(Seconds(config.delay_bound_s)),
        "DelayBoundMeans",
        UintegerValue(config.delay_bound_means));
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
    NetDeviceContainer radios;
    for (uint32_t radio = 0; radio < m_network->Radios(); radio++)
    {
        radios.Add(m_network->MeshDevice(name, radio));
    }
    MeshpaceHelper::Install(gateway, radios, m_network->WiredDevice(name));
    TellLinks(gateway, name);
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
        "LinkInOid",
        BooleanValue(m_scenario.map.link_in_oid),
        "LinkLearnt",
        BooleanValue(m_scenario.map.link_learnt),
        "Omit",
        UintegerValue(PartOmitted(m_scenario.gateway.omit)),
        "Hops",
        UintegerValue(m_network->HopsBetween(config.from, config.to)),
        "BitRate",
        UintegerValue(DataKbps(m_scenario.radio)),
        "DelayBound",
        TimeValue(Seconds(m_scenario.gateway.delay_bound_s)),
        "DelayBoundMeans",
        UintegerValue(m_scenario.gateway.delay_bound_means));
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

} // namespace ns3
