/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "directions.h"

#include "../runner/radio.h"

#include "ns3/ipv4-routing-protocol.h"
#include "ns3/ipv4.h"
#include "ns3/mac48-address.h"
#include "ns3/node.h"
#include "ns3/path-reader.h"

#include <sstream>

namespace ns3
{

namespace
{

using Json = nlohmann::ordered_json;

template <typename T>
std::string
Text(const T& value)
{
    std::ostringstream text;
    text << value;
    return text.str();
}

/** Writes the directions of one network. */
class Writer
{
  public:
    Writer(const Scenario& scenario, const MeshNetwork& network, const PortPlaces& places)
        : m_scenario(scenario),
          m_network(network),
          m_places(places),
          m_gateway(GatewayName(scenario))
    {
    }

    Json Write() const
    {
        auto ports = Json::array();
        for (const auto& [name, place] : m_places.nodes)
        {
            ports.push_back(m_network.IsWired(name) ? WiredPort(name, place)
                                                    : MeshPort(name, place));
        }
        if (m_places.wired)
        {
            ports.push_back(WiredPort(m_gateway, *m_places.wired));
        }
        return {{"gateway", m_gateway}, {"ports", ports}, {"neighbours", Neighbours()}};
    }

  private:
    Json MeshPort(const std::string& name, const PortPlace& place) const;
    Json WiredPort(const std::string& name, const PortPlace& place) const;
    Json Neighbours() const;
    Json RadioTowards(const std::string& from, const std::string& to) const;
    Json Route(const std::string& to, Ipv4Address via) const;
    Ipv4Address NextHop(const std::string& from, const std::string& to) const;

    const Scenario& m_scenario;
    const MeshNetwork& m_network;
    const PortPlaces& m_places;
    const std::string m_gateway;
};

/** What every port has. */
Json
Port(const std::string& name, const std::string& side, const PortPlace& place)
{
    return {{"node", name},
            {"side", side},
            {"netns", place.netns},
            {"interface", place.interface}};
}

void
AddAddress(Json& port, Ipv4Address address, Ipv4Mask mask, Ptr<NetDevice> device)
{
    port["address"] = Text(address);
    port["prefix_length"] = mask.GetPrefixLength();
    port["mac"] = Text(Mac48Address::ConvertFrom(device->GetAddress()));
}

Json
Writer::Route(const std::string& to, Ipv4Address via) const
{
    return {{"to", to}, {"address", Text(m_network.Address(to))}, {"via", Text(via)}};
}

/** With AODV routes are the relays' business: to Linux everybody in the mesh is on the link. */
Ipv4Address
Writer::NextHop(const std::string& from, const std::string& to) const
{
    if (m_scenario.routing.protocol == "aodv")
    {
        return m_network.Address(to);
    }
    const auto stack = m_network.GetNode(from)->GetObject<Ipv4>();
    Ipv4Header header;
    header.SetDestination(m_network.Address(to));
    Socket::SocketErrno error;
    const auto route =
        stack->GetRoutingProtocol()->RouteOutput(Create<Packet>(), header, nullptr, error);
    // Every route of the static mesh names a next hop, the last one the destination itself.
    return route ? route->GetGateway() : header.GetDestination();
}

Json
Writer::MeshPort(const std::string& name, const PortPlace& place) const
{
    auto port = Port(name, "mesh", place);
    const auto device = m_network.MeshDevice(name);
    AddAddress(port, m_network.Address(name), MeshMask(), device);
    port["hops"] = m_network.Hops(name);
    port["routes"] = Json::array();
    for (const auto& [to, ignored] : m_places.nodes)
    {
        const bool wired = m_network.IsWired(to);
        if (to != name && !(wired && name == m_gateway))
        {
            port["routes"].push_back(Route(to, NextHop(name, wired ? m_gateway : to)));
        }
    }
    port["mbps"] = DataKbps(m_scenario.radio) / 1e3;
    if (name != m_gateway)
    {
        port["default_via"] = Text(NextHop(name, m_gateway));
        port["radio_here"] = RadioTowards(name, m_gateway);
        port["radio_at_gateway"] = RadioTowards(m_gateway, name);
    }
    return port;
}

/** What the driver would tell, and the operator configure, of a radio: [radio] of meshpace. */
Json
Writer::RadioTowards(const std::string& from, const std::string& to) const
{
    std::vector<Ptr<WifiNetDevice>> path;
    for (const auto& node : m_network.MeshPath(from, to))
    {
        path.push_back(DynamicCast<WifiNetDevice>(m_network.MeshDevice(node)));
    }
    const auto exponent = m_scenario.map.assumed_exponent;
    const auto radio = ReadRadio(path[0], path[1], exponent);
    const auto link = ReadLink(path, {exponent, false});
    constexpr double Q8 = 256;
    return {{"sense_dbm", radio.sense_dbm_q8 / Q8},
            {"antenna_dbi", radio.antenna_db_q8 / Q8},
            {"path_loss_exponent", exponent},
            {"tx_power_dbm", radio.tx_power_dbm_q8 / Q8},
            {"signal_dbm", radio.signal_dbm_q8 / Q8},
            {"frequency_mhz", radio.frequency_mhz},
            {"base_mbps", link.base_kbps / 1e3},
            {"cw", link.cw},
            {"slot_us", link.slot_us},
            {"rts_cts", static_cast<bool>(link.rts_cts)}};
}

Json
Writer::WiredPort(const std::string& name, const PortPlace& place) const
{
    auto port = Port(name, "wired", place);
    const auto device = m_network.WiredDevice(name);
    const auto stack = device->GetNode()->GetObject<Ipv4>();
    const auto interface = stack->GetInterfaceForDevice(device);
    AddAddress(port, stack->GetAddress(interface, 0).GetLocal(), WiredMask(), device);
    port["hops"] = 0;
    port["routes"] = Json::array();
    const auto router = m_network.WiredRouter(name);
    for (const auto& [to, ignored] : m_places.nodes)
    {
        // The gateway reaches the mesh by its other port.
        if (to != name && (name != m_gateway || m_network.IsWired(to)))
        {
            port["routes"].push_back(Route(to, router));
        }
    }
    port["default_via"] = Text(router);
    return port;
}

Json
Writer::Neighbours() const
{
    auto neighbours = Json::array();
    for (const auto& node : m_scenario.nodes)
    {
        const auto device = m_network.MeshDevice(node.name);
        neighbours.push_back({{"node", node.name},
                              {"address", Text(m_network.Address(node.name))},
                              {"mac", Text(Mac48Address::ConvertFrom(device->GetAddress()))}});
    }
    return neighbours;
}

} // namespace

Ipv4Mask
MeshMask()
{
    return Ipv4Mask("255.255.0.0");
}

Ipv4Mask
WiredMask()
{
    return Ipv4Mask("255.255.255.0");
}

Json
Directions(const Scenario& scenario, const MeshNetwork& network, const PortPlaces& places)
{
    return Writer(scenario, network, places).Write();
}

} // namespace ns3
