/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "traffic.h"

#include "../model/tcp-meshpace.h"
#include "../model/tcp-socket-paced.h"

#include "ns3/boolean.h"
#include "ns3/inet-socket-address.h"
#include "ns3/object-factory.h"
#include "ns3/simulator.h"
#include "ns3/tcp-vegas.h"
#include "ns3/udp-socket-factory.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <limits>
#include <map>

namespace ns3
{

DeliveryMeter::DeliveryMeter(Time warmup, Time bin)
    : m_warmup(warmup),
      m_bin(bin)
{
}

void
DeliveryMeter::Count(uint32_t bytes)
{
    const auto now = Simulator::Now();
    const std::size_t bin = now.GetNanoSeconds() / m_bin.GetNanoSeconds();
    if (m_bins.size() <= bin)
    {
        m_bins.resize(bin + 1);
    }
    m_bins[bin] += bytes;
    if (now >= m_warmup)
    {
        m_goodputBytes += bytes;
    }
}

uint64_t
DeliveryMeter::GoodputBytes() const
{
    return m_goodputBytes;
}

std::vector<uint64_t>
DeliveryMeter::Bins(Time end) const
{
    auto bins = m_bins;
    bins.resize((end + m_bin - NanoSeconds(1)).GetNanoSeconds() / m_bin.GetNanoSeconds());
    return bins;
}

Flow::Flow(const FlowConfig& config, const FlowEnds& ends, Time warmup)
    : m_config(config),
      m_ends(ends),
      m_delivery(warmup, Seconds(BIN_S))
{
}

void
Flow::ResetStatistics()
{
}

const FlowConfig&
Flow::Config() const
{
    return m_config;
}

const DeliveryMeter&
Flow::Delivery() const
{
    return m_delivery;
}

namespace
{

/**
 * @param variant a TCP variant as a scenario names it
 * @return its congestion control in ns-3
 */
TypeId
CongestionControl(const std::string& variant)
{
    static const std::map<std::string, std::string> names{{"newreno", "ns3::TcpNewReno"},
                                                          {"cubic", "ns3::TcpCubic"},
                                                          {"bbr", "ns3::TcpBbr"},
                                                          {"vegas", "ns3::TcpVegas"},
                                                          {"westwood", "ns3::TcpWestwoodPlus"}};
    return TypeId::LookupByName(names.at(variant));
}

/** The papers' Vegas keeps between alpha and beta packets queued on its path. */
constexpr uint32_t VEGAS_ALPHA = 2;
constexpr uint32_t VEGAS_BETA = 2;

/** Enough that the window, never the buffer, bounds what is in flight. */
constexpr uint32_t SEND_BUFFER_SEGMENTS = 400;

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
}

Ptr<TcpSocketBase>
TcpFlow::CreateSocket(Ptr<Node> node, TypeId control) const
{
    auto socket = TcpSocketPaced::CreateOn(node, control);
    const auto segment = m_config.segment_bytes;
    socket->SetAttribute("SegmentSize", UintegerValue(segment));
    socket->SetAttribute("InitialCwnd", UintegerValue(m_config.initial_window));
    socket->SetAttribute("DelAckCount", UintegerValue(m_config.delayed_ack));
    socket->SetAttribute("RcvBufSize", UintegerValue(m_config.advertised_window * segment));
    socket->SetAttribute("SndBufSize", UintegerValue(SEND_BUFFER_SEGMENTS * segment));
    socket->SetAttribute("MinRto", TimeValue(Seconds(m_config.min_rto_s)));
    // As Linux has it: RTO = SRTT + max(min_rto, 4 RTTVAR). A paced flow's RTT hardly varies; by
    // 4 RTTVAR alone a small rise times every segment out, and Karn's rule then bars the samples
    // that would end it (ns-3 gives up the backoff with every ACK).
    socket->SetAttribute("ClockGranularity", TimeValue(Seconds(m_config.min_rto_s)));
    socket->SetAttribute("Sack", BooleanValue(m_config.sack));
    // With timestamps a segment of 1460 bytes would not fit a packet of 1500.
    socket->SetAttribute("Timestamp", BooleanValue(false));
    // ns-3 gives up after 6 retransmissions; a starved flow is to starve, not to close.
    const auto never = std::numeric_limits<uint32_t>::max();
    socket->SetAttribute("DataRetries", UintegerValue(never));
    socket->SetAttribute("ConnCount", UintegerValue(never));
    return socket;
}

void
TcpFlow::Listen()
{
    m_listener = CreateSocket(m_ends.receiver, CongestionControl(m_config.variant));
    m_listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), m_ends.port));
    m_listener->Listen();
    m_listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                  MakeCallback(&TcpFlow::Accepted, this));
}

void
TcpFlow::Start()
{
    m_sender = CreateSocket(m_ends.sender, CongestionControl(m_config.variant));
    if (m_config.variant == "vegas")
    {
        auto vegas = CreateObjectWithAttributes<TcpVegas>("Alpha", UintegerValue(VEGAS_ALPHA),
                                                          "Beta", UintegerValue(VEGAS_BETA));
        m_sender->SetCongestionControlAlgorithm(vegas);
    }
    if (m_control)
    {
        m_control->Attach(m_sender);
    }
    m_sender->TraceConnectWithoutContext("LastRTT", MakeCallback(&TcpFlow::RttSampled, this));
    m_sender->TraceConnectWithoutContext("RTO", MakeCallback(&TcpFlow::RtoChanged, this));
    m_sender->TraceConnectWithoutContext("Retransmission",
                                         MakeCallback(&TcpFlow::Retransmitted, this));
    m_sender->SetConnectCallback(MakeCallback(&TcpFlow::Connected, this),
                                 MakeNullCallback<void, Ptr<Socket>>());
    m_sender->SetSendCallback(MakeCallback(&TcpFlow::Fill, this));
    m_sender->Bind();
    m_sender->Connect(InetSocketAddress(m_ends.receiverAddress, m_ends.port));
}

void
TcpFlow::Accepted(Ptr<Socket> socket, const Address& /* from */)
{
    socket->SetRecvCallback(MakeCallback(&TcpFlow::Drain, this));
}

void
TcpFlow::Connected(Ptr<Socket> socket)
{
    Fill(socket, socket->GetTxAvailable());
}

void
TcpFlow::Fill(Ptr<Socket> socket, uint32_t /* free */)
{
    while (socket->GetTxAvailable() >= m_config.segment_bytes)
    {
        if (socket->Send(Create<Packet>(m_config.segment_bytes)) < 0)
        {
            return;
        }
    }
}

void
TcpFlow::Drain(Ptr<Socket> socket)
{
    while (auto packet = socket->Recv())
    {
        m_delivery.Count(packet->GetSize());
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

void
CbrFlow::Install()
{
    Simulator::ScheduleWithContext(m_ends.sender->GetId(),
                                   Seconds(m_config.start_s),
                                   &CbrFlow::Start,
                                   this);
}

void
CbrFlow::Start()
{
    m_receiver = Socket::CreateSocket(m_ends.receiver, UdpSocketFactory::GetTypeId());
    m_receiver->Bind(InetSocketAddress(Ipv4Address::GetAny(), m_ends.port));
    m_receiver->SetRecvCallback(MakeCallback(&CbrFlow::Drain, this));
    m_sender = Socket::CreateSocket(m_ends.sender, UdpSocketFactory::GetTypeId());
    m_sender->Bind();
    m_sender->Connect(InetSocketAddress(m_ends.receiverAddress, m_ends.port));
    Send();
}

void
CbrFlow::Send()
{
    m_sender->Send(Create<Packet>(m_config.segment_bytes + HEADER_DIFFERENCE_BYTES));
    m_sentBytes += m_config.segment_bytes;
    Simulator::Schedule(Seconds(m_config.segment_bytes * 8 / (m_config.rate_kbps * 1e3)),
                        &CbrFlow::Send,
                        this);
}

void
CbrFlow::Drain(Ptr<Socket> socket)
{
    while (auto packet = socket->Recv())
    {
        m_delivery.Count(packet->GetSize() - HEADER_DIFFERENCE_BYTES);
    }
}

void
CbrFlow::ResetStatistics()
{
    m_sentBytes = 0;
}

uint64_t
CbrFlow::SentBytes() const
{
    return m_sentBytes;
}

} // namespace ns3
