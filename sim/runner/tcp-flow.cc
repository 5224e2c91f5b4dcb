/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "tcp-flow.h"

#include "tcp-sockets.h"

#include "ns3/inet-socket-address.h"
#include "ns3/simulator.h"

#include <algorithm>

namespace ns3
{

namespace
{

/** After a try to connect that found no route. */
constexpr double CONNECT_AGAIN_S = 1;

} // namespace

TcpFlow::TcpFlow(const FlowConfig& config,
                 const FlowEnds& ends,
                 Time warmup,
                 Ptr<TcpMeshpace> control)
    : Flow(config, ends, warmup),
      m_control(control)
{
}

void
TcpFlow::Install()
{
    Simulator::ScheduleWithContext(m_ends.receiver->GetId(), Seconds(0), &TcpFlow::Listen, this);
    Simulator::ScheduleWithContext(m_ends.sender->GetId(),
                                   Seconds(m_config.start_s),
                                   &TcpFlow::Start,
                                   this);
    if (m_config.stop_s > 0)
    {
        Simulator::ScheduleWithContext(m_ends.sender->GetId(),
                                       Seconds(m_config.stop_s),
                                       &TcpFlow::Stop,
                                       this);
    }
}

void
TcpFlow::Listen()
{
    m_listener = CreateTcpReceiver(m_config, m_ends.receiver);
    m_listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), m_ends.port));
    m_listener->Listen();
    m_listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                  Callback<void, Ptr<Socket>, const Address&>(
                                      [this](Ptr<Socket> socket, const Address& /* from */) {
                                          Accepted(socket);
                                      }));
}

void
TcpFlow::Connect()
{
    m_sender = CreateTcpSender(m_config, m_ends.sender, m_control);
    m_sender->TraceConnectWithoutContext("LastRTT", MakeCallback(&TcpFlow::RttSampled, this));
    m_sender->TraceConnectWithoutContext("RTO", MakeCallback(&TcpFlow::RtoChanged, this));
    m_sender->TraceConnectWithoutContext("Retransmission",
                                         MakeCallback(&TcpFlow::Retransmitted, this));
    m_sender->SetConnectCallback(MakeCallback(&TcpFlow::Fill, this),
                                 MakeNullCallback<void, Ptr<Socket>>());
    m_sender->SetSendCallback(Callback<void, Ptr<Socket>, uint32_t>(
        [this](Ptr<Socket> socket, uint32_t /* free */) { Fill(socket); }));
    m_sender->Bind();
    TryToConnect();
}

/** Without a route yet, as before routing has converged, it is tried again. */
void
TcpFlow::TryToConnect()
{
    const InetSocketAddress receiver(m_ends.receiverAddress, m_ends.port);
    if (m_sender->Connect(receiver) < 0 && m_sender->GetErrno() == Socket::ERROR_NOROUTETOHOST)
    {
        m_retry = Simulator::Schedule(Seconds(CONNECT_AGAIN_S), &TcpFlow::TryToConnect, this);
    }
}

void
TcpFlow::Stop()
{
    m_retry.Cancel();
    m_sender->Abort();
}

void
TcpFlow::Accepted(Ptr<Socket> socket)
{
    socket->SetRecvCallback(MakeCallback(&TcpFlow::Drain, this));
}

void
TcpFlow::Delivered(uint32_t bytes)
{
    m_delivery.Count(bytes);
}

void
TcpFlow::Drain(Ptr<Socket> socket)
{
    while (auto packet = socket->Recv())
    {
        Delivered(packet->GetSize());
    }
}

void
TcpFlow::RttSampled(Time /* before */, Time after)
{
    m_rttsS.push_back(after.GetSeconds());
}

void
TcpFlow::RtoChanged(Time before, Time after)
{
    // Only an expired timer doubles the timeout to the nanosecond.
    if (after == before * 2)
    {
        m_timeouts++;
    }
}

void
TcpFlow::Retransmitted(Ptr<const Packet> /* packet */,
                       const TcpHeader& /* header */,
                       const Address& /* from */,
                       const Address& /* to */,
                       Ptr<const TcpSocketBase> /* socket */)
{
    m_retransmits++;
}

void
TcpFlow::ResetStatistics()
{
    m_retransmits = 0;
    m_timeouts = 0;
    m_rttsS.clear();
    if (m_control)
    {
        m_control->ResetStatistics();
    }
}

uint64_t
TcpFlow::Retransmits() const
{
    return m_retransmits;
}

uint64_t
TcpFlow::Timeouts() const
{
    return m_timeouts;
}

std::vector<double>
TcpFlow::SortedRtts() const
{
    auto rtts = m_rttsS;
    std::sort(rtts.begin(), rtts.end());
    return rtts;
}

Ptr<TcpMeshpace>
TcpFlow::Control() const
{
    return m_control;
}

MeshpaceStatistics
TcpFlow::ControlStatistics() const
{
    return m_control ? m_control->Statistics() : MeshpaceStatistics{};
}

uint16_t
TcpFlow::ReceiverPort() const
{
    return m_ends.port;
}

uint16_t
TcpFlow::SenderPort() const
{
    Address address;
    if (!m_sender || m_sender->GetSockName(address) != 0)
    {
        return 0;
    }
    return InetSocketAddress::ConvertFrom(address).GetPort();
}

} // namespace ns3
