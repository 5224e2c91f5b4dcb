/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "person-connection.h"

#include "../tcp-sockets.h"

#include "ns3/inet-socket-address.h"
#include "ns3/simulator.h"
#include "ns3/udp-encapsulation.h"

#include <algorithm>
#include <utility>

namespace ns3
{

namespace
{

/** After a try to connect that found no route. */
constexpr double CONNECT_AGAIN_S = 1;

uint16_t
LocalPort(Ptr<Socket> socket)
{
    Address address;
    socket->GetSockName(address);
    return InetSocketAddress::ConvertFrom(address).GetPort();
}

/** @return a person's TCP as that of a flow, as the functions that make sockets take it */
FlowConfig
TcpOf(const PersonConfig& person)
{
    FlowConfig flow{};
    flow.traffic = "person";
    flow.variant = person.variant;
    flow.sack = person.sack;
    flow.delayed_ack = person.delayed_ack;
    flow.delayed_ack_s = person.delayed_ack_s;
    flow.byte_counting = person.byte_counting;
    flow.advertised_window = person.advertised_window;
    flow.segment_bytes = person.segment_bytes;
    flow.initial_window = person.initial_window;
    flow.min_rto_s = person.min_rto_s;
    flow.timestamps = person.timestamps;
    flow.rack = person.rack;
    return flow;
}

} // namespace

PersonConnection::PersonConnection(PersonSite& site, PersonListener& listener)
    : m_site(site),
      m_listener(listener),
      m_handshake(site.record.handshakes.size())
{
    site.record.handshakes.push_back({Simulator::Now(), {}, {}});
    m_client = CreateTcpSender(listener.Tcp(),
                               site.ends.node,
                               site.law ? site.law() : Ptr<TcpMeshpace>());
    m_client->SetConnectCallback(
        Callback<void, Ptr<Socket>>([this](Ptr<Socket> /* socket */) { Connected(); }),
        MakeNullCallback<void, Ptr<Socket>>());
    m_client->SetSendCallback(Callback<void, Ptr<Socket>, uint32_t>(
        [this](Ptr<Socket> /* socket */, uint32_t /* free */) { FillUp(); }));
    m_client->SetRecvCallback(MakeCallback(&PersonConnection::DrainDown, this));
    m_client->Bind();
    m_port = LocalPort(m_client);
    m_listener.m_waiting[m_port] = this;
    Connect();
}

PersonConnection::~PersonConnection()
{
    Detach();
}

void
PersonConnection::Connect()
{
    const InetSocketAddress host(m_site.ends.hostAddress, m_listener.Port());
    if (m_client->Connect(host) < 0 && m_client->GetErrno() == Socket::ERROR_NOROUTETOHOST)
    {
        m_retry = Simulator::Schedule(Seconds(CONNECT_AGAIN_S), &PersonConnection::Connect, this);
    }
}

void
PersonConnection::Connected()
{
    auto& handshake = m_site.record.handshakes[m_handshake];
    handshake.took = Simulator::Now() - handshake.at;
    m_connected = true;
    FillUp();
}

void
PersonConnection::Accepted(Ptr<Socket> socket)
{
    m_server = socket;
    socket->SetRecvCallback(MakeCallback(&PersonConnection::DrainUp, this));
    socket->SetSendCallback(Callback<void, Ptr<Socket>, uint32_t>(
        [this](Ptr<Socket> /* socket */, uint32_t /* free */) { FillDown(); }));
    // The host has nothing of its own to say: it closes when the person has.
    socket->SetCloseCallbacks(Callback<void, Ptr<Socket>>([](Ptr<Socket> one) { one->Close(); }),
                              MakeNullCallback<void, Ptr<Socket>>());
}

void
PersonConnection::Ask(const Exchange& exchange)
{
    m_requests.push_back({exchange.requestBytes, exchange.answerBytes});
    m_answers.push_back({exchange.answerBytes, false, exchange.begun, exchange.done});
    const bool endless = exchange.requestBytes == Exchange::ENDLESS;
    m_up.toSend = endless ? Exchange::ENDLESS : m_up.toSend + exchange.requestBytes;
    FillUp();
}

std::size_t
PersonConnection::Outstanding() const
{
    return m_answers.size();
}

void
PersonConnection::Fill(Ptr<Socket> socket, Stream& stream)
{
    while (!m_paused && stream.toSend > 0)
    {
        const auto piece = std::min<uint64_t>(stream.toSend, m_listener.Tcp().segment_bytes);
        if (socket->GetTxAvailable() < piece || socket->Send(Create<Packet>(piece)) < 0)
        {
            return; // TCP asks again when it has room
        }
        stream.given += piece;
        stream.toSend -= stream.toSend == Exchange::ENDLESS ? 0 : piece;
    }
}

void
PersonConnection::FillUp()
{
    if (m_connected)
    {
        Fill(m_client, m_up);
    }
}

void
PersonConnection::FillDown()
{
    if (m_server)
    {
        Fill(m_server, m_down);
    }
}

uint64_t
PersonConnection::Drain(Ptr<Socket> socket, Stream& stream)
{
    uint64_t bytes = 0;
    while (auto packet = socket->Recv())
    {
        bytes += packet->GetSize();
    }
    if (bytes > 0)
    {
        m_site.delivery.Count(bytes);
        stream.delivered += bytes;
    }
    return bytes;
}

void
PersonConnection::DrainUp(Ptr<Socket> socket)
{
    Heard(Drain(socket, m_up));
    TellSilent();
}

void
PersonConnection::DrainDown(Ptr<Socket> socket)
{
    Got(Drain(socket, m_down));
    TellSilent();
}

/** The host has heard some more of what is asked. */
void
PersonConnection::Heard(uint64_t bytes)
{
    while (bytes > 0 && !m_requests.empty())
    {
        auto& request = m_requests.front();
        if (request.left == Exchange::ENDLESS)
        {
            return;
        }
        const auto part = std::min(bytes, request.left);
        bytes -= part;
        request.left -= part;
        if (request.left == 0)
        {
            const bool endless = request.answerBytes == Exchange::ENDLESS;
            m_down.toSend = endless ? Exchange::ENDLESS : m_down.toSend + request.answerBytes;
            m_requests.pop_front();
        }
    }
    FillDown();
}

/** The person has got some more of the answers. */
void
PersonConnection::Got(uint64_t bytes)
{
    while (bytes > 0 && !m_answers.empty())
    {
        auto& answer = m_answers.front();
        const auto part = std::min(bytes, answer.left);
        bytes -= part;
        answer.left -= answer.left == Exchange::ENDLESS ? 0 : part;
        const auto begun = answer.begun ? std::function<void()>() : answer.onBegun;
        answer.begun = true;
        std::function<void()> done;
        if (answer.left == 0)
        {
            done = answer.onDone;
            m_answers.pop_front();
        }
        for (const auto& tell : {begun, done})
        {
            if (tell)
            {
                tell();
            }
        }
    }
}

void
PersonConnection::Pause(std::function<void()> silent)
{
    m_paused = true;
    m_onSilent = std::move(silent);
    TellSilent();
}

void
PersonConnection::TellSilent()
{
    if (m_onSilent && m_up.delivered == m_up.given && m_down.delivered == m_down.given)
    {
        std::exchange(m_onSilent, nullptr)();
    }
}

void
PersonConnection::Resume()
{
    m_paused = false;
    m_onSilent = nullptr;
    FillUp();
    FillDown();
}

void
PersonConnection::Close()
{
    EndHandshake();
    m_client->Close();
}

void
PersonConnection::Leave(Leaving leaving)
{
    EndHandshake();
    m_retry.Cancel();
    if (leaving == Leaving::CLOSES)
    {
        m_client->AbortAndForget();
    }
    else
    {
        m_client->Fade();
    }
    m_answers.clear();
    m_onSilent = nullptr;
}

/** Nobody waits for the connection any more. */
void
PersonConnection::EndHandshake()
{
    auto& handshake = m_site.record.handshakes[m_handshake];
    if (!handshake.took && !handshake.end)
    {
        handshake.end = Simulator::Now();
    }
}

void
PersonConnection::Detach()
{
    m_retry.Cancel();
    const auto nobody = MakeNullCallback<void, Ptr<Socket>>();
    const auto nobodyAsked = MakeNullCallback<void, Ptr<Socket>, uint32_t>();
    m_listener.m_waiting.erase(m_port);
    m_client->SetConnectCallback(nobody, nobody);
    for (const auto& socket : {Ptr<Socket>(m_client), m_server})
    {
        if (socket)
        {
            socket->SetRecvCallback(nobody);
            socket->SetSendCallback(nobodyAsked);
        }
    }
}

PersonListener::PersonListener(PersonSite& site, bool opaque)
    : m_site(site),
      m_opaque(opaque),
      m_tcp(opaque ? AsOpaque(TcpOf(site.config)) : TcpOf(site.config))
{
}

PersonListener::~PersonListener()
{
    if (m_socket)
    {
        m_socket->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                    MakeNullCallback<void, Ptr<Socket>, const Address&>());
    }
}

uint16_t
PersonListener::Port() const
{
    return m_opaque ? m_site.OpaquePort() : m_site.TcpPort();
}

const FlowConfig&
PersonListener::Tcp() const
{
    return m_tcp;
}

void
PersonListener::Listen()
{
    if (m_opaque)
    {
        UdpEncapsulation::On(m_site.ends.node)->Encapsulate(Port());
        UdpEncapsulation::On(m_site.ends.host)->Encapsulate(Port());
    }
    m_socket = CreateTcpReceiver(m_tcp, m_site.ends.host);
    m_socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), Port()));
    m_socket->Listen();
    m_socket->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                MakeCallback(&PersonListener::Accept, this));
}

void
PersonListener::Accept(Ptr<Socket> socket, const Address& from)
{
    const auto waiting = m_waiting.find(InetSocketAddress::ConvertFrom(from).GetPort());
    if (waiting == m_waiting.end())
    {
        socket->Close(); // the person has given it up meanwhile
        return;
    }
    waiting->second->Accepted(socket);
    m_waiting.erase(waiting);
}

} // namespace ns3
