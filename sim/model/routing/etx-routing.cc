/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "etx-routing.h"

#include "ns3/boolean.h"
#include "ns3/inet-socket-address.h"
#include "ns3/ipv4-routing-table-entry.h"
#include "ns3/ipv4.h"
#include "ns3/node.h"
#include "ns3/simulator.h"
#include "ns3/udp-socket-factory.h"

#include <cmath>
#include <set>
#include <utility>

namespace ns3
{

namespace
{

constexpr uint16_t PORT = 698;             // OLSR's
constexpr uint16_t HALF_NUMBERS = 1 << 15; // RFC 3626, section 19: numbers wrap around

/** @return whether a number follows another */
bool
Follows(uint16_t number, uint16_t before)
{
    return number != before && static_cast<uint16_t>(number - before) < HALF_NUMBERS;
}

} // namespace

NS_OBJECT_ENSURE_REGISTERED(EtxRouting);

TypeId
EtxRouting::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::EtxRouting")
            .SetParent<Application>()
            .SetGroupName("Meshpace")
            .AddConstructor<EtxRouting>()
            .AddAttribute("HelloInterval",
                          "Between two HELLOs.",
                          TimeValue(Seconds(2)),
                          MakeTimeAccessor(&EtxRouting::m_helloInterval),
                          MakeTimeChecker())
            .AddAttribute("TcInterval",
                          "Between two TCs.",
                          TimeValue(Seconds(5)),
                          MakeTimeAccessor(&EtxRouting::m_tcInterval),
                          MakeTimeChecker())
            .AddAttribute("Gateway",
                          "Whether the node leads to the wired network.",
                          BooleanValue(false),
                          MakeBooleanAccessor(&EtxRouting::m_gateway),
                          MakeBooleanChecker())
            .AddTraceSource("Changed",
                            "Routes have changed.",
                            MakeTraceSourceAccessor(&EtxRouting::m_changed),
                            "ns3::TracedCallback");
    return tid;
}

EtxRouting::EtxRouting()
    : m_jitter(CreateObject<UniformRandomVariable>())
{
}

void
EtxRouting::DoDispose()
{
    m_radio = nullptr;
    m_table = nullptr;
    m_socket = nullptr;
    Application::DoDispose();
}

bool
EtxRouting::Route::operator==(const Route& other) const
{
    return nextHop == other.nextHop && hops == other.hops;
}

void
EtxRouting::SetUp(Ptr<NetDevice> radio, Ptr<Ipv4StaticRouting> routes)
{
    m_radio = radio;
    m_table = routes;
    const auto ipv4 = radio->GetNode()->GetObject<Ipv4>();
    const uint32_t interface = ipv4->GetInterfaceForDevice(radio);
    m_self = ipv4->GetAddress(interface, 0).GetLocal();
    m_mesh = ipv4->GetAddress(interface, 0).GetMask();
    // Who has no route is not reached: the address alone would have any node taken for a neighbour.
    for (auto i = routes->GetNRoutes(); i-- > 0;)
    {
        if (routes->GetRoute(i).IsNetwork() && routes->GetRoute(i).GetInterface() == interface)
        {
            routes->RemoveRoute(i);
        }
    }
}

void
EtxRouting::StartApplication()
{
    m_socket = Socket::CreateSocket(m_radio->GetNode(), UdpSocketFactory::GetTypeId());
    m_socket->SetAllowBroadcast(true);
    m_socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
    m_socket->BindToNetDevice(m_radio);
    m_socket->SetIpTtl(1);
    m_socket->SetRecvCallback(MakeCallback(&EtxRouting::Receive, this));
    const auto first = m_jitter->GetValue(0, m_helloInterval.GetSeconds());
    m_hello = Simulator::Schedule(Seconds(first), &EtxRouting::SendHello, this);
    m_tc = Simulator::Schedule(Next(m_tcInterval), &EtxRouting::SendTc, this);
}

void
EtxRouting::StopApplication()
{
    m_hello.Cancel();
    m_tc.Cancel();
    if (m_socket)
    {
        m_socket->Close();
    }
}

Time
EtxRouting::Next(Time interval)
{
    constexpr double LEAST = 0.75;
    return Seconds(interval.GetSeconds() * m_jitter->GetValue(LEAST, 1));
}

std::vector<EtxLink>
EtxRouting::Links() const
{
    std::vector<EtxLink> links;
    for (const auto& [address, neighbour] : m_neighbours)
    {
        const auto heard = neighbour.Heard(Simulator::Now());
        if (heard)
        {
            links.push_back({address, heard, neighbour.Hears()});
        }
    }
    return links;
}

EtxMessage
EtxRouting::Own(EtxMessage::Kind kind, uint16_t number) const
{
    EtxMessage message;
    message.kind = kind;
    message.gateway = m_gateway;
    message.origin = m_self;
    message.number = number;
    message.links = Links();
    return message;
}

void
EtxRouting::SendHello()
{
    Send(Own(EtxMessage::Kind::HELLO, ++m_helloNumber));
    FindRoutes(); // what was not heard of for long is gone
    m_hello = Simulator::Schedule(Next(m_helloInterval), &EtxRouting::SendHello, this);
}

void
EtxRouting::SendTc()
{
    Send(Own(EtxMessage::Kind::TC, ++m_tcNumber));
    m_tc = Simulator::Schedule(Next(m_tcInterval), &EtxRouting::SendTc, this);
}

void
EtxRouting::Send(const EtxMessage& message)
{
    auto packet = Create<Packet>();
    packet->AddHeader(message);
    m_socket->SendTo(packet, 0, InetSocketAddress(Ipv4Address::GetBroadcast(), PORT));
}

void
EtxRouting::Receive(Ptr<Socket> socket)
{
    while (auto packet = socket->Recv())
    {
        EtxMessage message;
        if (!packet->RemoveHeader(message) || message.origin == m_self)
        {
            continue;
        }
        if (message.kind == EtxMessage::Kind::TC)
        {
            ReceiveTc(message);
            continue;
        }
        auto& neighbour = m_neighbours.try_emplace(message.origin, m_helloInterval).first->second;
        uint8_t hears = 0;
        for (const auto& link : message.links)
        {
            hears = link.neighbour == m_self ? link.heard : hears;
        }
        neighbour.Hear(message.number, hears, Simulator::Now());
        FindRoutes();
    }
}

void
EtxRouting::ReceiveTc(const EtxMessage& message)
{
    const auto known = m_told.find(message.origin);
    if (known != m_told.end() && !Follows(message.number, known->second.number))
    {
        return;
    }
    const auto until = Simulator::Now() + EtxNeighbour::HOLD_INTERVALS * m_tcInterval;
    m_told[message.origin] = {message.number, message.gateway, message.links, until};
    // Not all at once: those who heard it together would collide (RFC 3626, section 3.4).
    const auto wait = m_jitter->GetValue(0, m_helloInterval.GetSeconds() / 4);
    Simulator::Schedule(Seconds(wait), &EtxRouting::Send, this, message);
    FindRoutes();
}

std::vector<EtxLink>
EtxRouting::LinksOf(Ipv4Address node) const
{
    if (node == m_self)
    {
        return Links();
    }
    const auto told = m_told.find(node);
    if (told == m_told.end() || told->second.until < Simulator::Now())
    {
        return {};
    }
    return told->second.links;
}

EtxRouting::Routes
EtxRouting::BestPaths() const
{
    Routes best{{m_self, {m_self, 0, 0}}};
    std::set<Ipv4Address> done;
    while (done.size() < best.size())
    {
        const std::pair<const Ipv4Address, Route>* nearest = nullptr;
        for (const auto& one : best)
        {
            if (done.count(one.first) == 0 && (!nearest || one.second.etx < nearest->second.etx))
            {
                nearest = &one;
            }
        }
        const auto [node, route] = *nearest;
        done.insert(node);
        for (const auto& link : LinksOf(node))
        {
            const auto etx = route.etx + EtxOfLink(link.heard, link.hears);
            const auto known = best.find(link.neighbour);
            if (std::isfinite(etx) && (known == best.end() || etx < known->second.etx))
            {
                const auto nextHop = node == m_self ? link.neighbour : route.nextHop;
                best[link.neighbour] = {nextHop, route.hops + 1, etx};
            }
        }
    }
    best.erase(m_self);
    return best;
}

std::optional<EtxRouting::Route>
EtxRouting::WayOut() const
{
    std::optional<Route> nearest;
    for (const auto& [node, route] : m_routes)
    {
        const auto told = m_told.find(node);
        if (!m_gateway && told != m_told.end() && told->second.gateway &&
            (!nearest || route.etx < nearest->etx))
        {
            nearest = route;
        }
    }
    return nearest;
}

void
EtxRouting::FindRoutes()
{
    const auto routes = BestPaths();
    if (routes != m_routes)
    {
        SetRoutes(routes);
    }
    // By a gateway that has told of itself only now, too.
    SetWayOut();
}

void
EtxRouting::SetRoutes(const Routes& routes)
{
    const auto before = std::exchange(m_routes, routes);
    for (const auto& [node, route] : before)
    {
        const auto now = routes.find(node);
        SetHostRoute(node, &route, now == routes.end() ? nullptr : &now->second);
    }
    for (const auto& [node, route] : routes)
    {
        if (before.count(node) == 0)
        {
            SetHostRoute(node, nullptr, &route);
        }
    }
    m_changed();
}

void
EtxRouting::SetHostRoute(Ipv4Address destination, const Route* before, const Route* now)
{
    if (before && now && before->nextHop == now->nextHop)
    {
        return;
    }
    for (uint32_t i = m_table->GetNRoutes(); before && i-- > 0;)
    {
        const auto entry = m_table->GetRoute(i);
        if (entry.IsHost() && entry.GetDest() == destination)
        {
            m_table->RemoveRoute(i);
        }
    }
    if (now)
    {
        const auto ipv4 = m_radio->GetNode()->GetObject<Ipv4>();
        m_table->AddHostRouteTo(destination,
                                now->nextHop,
                                ipv4->GetInterfaceForDevice(m_radio));
    }
}

void
EtxRouting::SetWayOut()
{
    const auto before = std::exchange(m_wayOut, WayOut());
    if (before == m_wayOut)
    {
        return;
    }
    for (uint32_t i = m_table->GetNRoutes(); before && i-- > 0;)
    {
        if (m_table->GetRoute(i).IsDefault())
        {
            m_table->RemoveRoute(i);
        }
    }
    if (m_wayOut)
    {
        const auto ipv4 = m_radio->GetNode()->GetObject<Ipv4>();
        m_table->SetDefaultRoute(m_wayOut->nextHop, ipv4->GetInterfaceForDevice(m_radio));
    }
    m_changed();
}

std::optional<uint32_t>
EtxRouting::Hops(Ipv4Address destination) const
{
    const auto found = m_routes.find(destination);
    if (found != m_routes.end())
    {
        return found->second.hops;
    }
    const bool outside = !m_mesh.IsMatch(destination, m_self);
    return outside && m_wayOut ? std::optional(m_wayOut->hops) : std::nullopt;
}

} // namespace ns3
