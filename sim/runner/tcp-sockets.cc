/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "tcp-sockets.h"

#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/nstime.h"
#include "ns3/tcp-socket-lying.h"
#include "ns3/tcp-socket-rack.h"
#include "ns3/tcp-socket-reno.h"
#include "ns3/tcp-socket-thinning.h"
#include "ns3/tcp-vegas-ns2.h"
#include "ns3/udp-encapsulation.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <limits>
#include <map>

namespace ns3
{

namespace
{

/**
 * @param variant a TCP variant as a scenario names it
 * @return its congestion control
 */
TypeId
CongestionControl(const std::string& variant)
{
    static const std::map<std::string, std::string> names{{"newreno", "ns3::TcpNewReno"},
                                                          {"reno", "ns3::TcpNewReno"},
                                                          {"cubic", "ns3::TcpCubic"},
                                                          {"bbr", "ns3::TcpBbr"},
                                                          {"vegas", "ns3::TcpVegasNs2"},
                                                          {"westwood", "ns3::TcpWestwoodPlus"}};
    return TypeId::LookupByName(names.at(variant));
}

/** At the least; it is no less than the receiver's window, which is to bound what is in flight. */
constexpr uint32_t SEND_BUFFER_SEGMENTS = 400;

/** FINs that a receiver sends again before it gives up; its peer may have gone. */
constexpr uint32_t FIN_RETRIES = 6;

/** Retransmissions before a person's host gives up, who has data to send: Linux's tcp_retries2. */
constexpr uint32_t HOST_RETRIES = 15;

/** How long a person's end lingers in TIME_WAIT is twice this: 60 s, as in Linux. */
constexpr double PERSON_SEGMENT_LIFETIME_S = 30;

/** RFC 9000, 13.2.2: an ACK at least every second packet; 18.2: max_ack_delay. */
constexpr uint32_t QUIC_PACKETS_AN_ACK = 2;
constexpr double QUIC_ACK_DELAY_S = 0.025;

/** First timeout of a SYN of today's hosts (RFC 6298, 2.1); before 2011 it was 3 s (RFC 2988), as in the papers. */
constexpr double SYN_TIMEOUT_S = 1;

void
SetAttributes(Ptr<TcpSocketPaced> socket, const FlowConfig& config)
{
    const auto segment = config.segment_bytes;
    socket->SetAttribute("SegmentSize", UintegerValue(segment));
    socket->SetAttribute("InitialCwnd", UintegerValue(config.initial_window));
    socket->SetAttribute("DelAckCount", UintegerValue(config.delayed_ack.segments));
    socket->SetAttribute("DelAckTimeout", TimeValue(Seconds(config.delayed_ack_s)));
    socket->SetAttribute("RcvBufSize", UintegerValue(config.advertised_window * segment));
    socket->SetAttribute("SndBufSize", UintegerValue(std::max(SEND_BUFFER_SEGMENTS, config.advertised_window) * segment));
    socket->SetAttribute("MinRto", TimeValue(Seconds(config.min_rto_s)));
    // As Linux has it: RTO = SRTT + max(min_rto, 4 RTTVAR). A paced flow's RTT hardly varies; by
    // 4 RTTVAR alone a small rise times every segment out, and Karn's rule then bars the samples
    // that would end it (ns-3 gives up the backoff with every ACK).
    socket->SetAttribute("ClockGranularity", TimeValue(Seconds(config.min_rto_s)));
    socket->SetAttribute("Sack", BooleanValue(config.sack));
    socket->SetAttribute("Timestamp", BooleanValue(config.timestamps));
    // ns-3 gives up after 6 retransmissions; a starved flow is to starve, not to close.
    const auto never = std::numeric_limits<uint32_t>::max();
    socket->SetAttribute("DataRetries", UintegerValue(never));
    socket->SetAttribute("ConnCount", UintegerValue(never));
    if (config.traffic == "person")
    {
        socket->SetAttribute("MaxSegLifetime", DoubleValue(PERSON_SEGMENT_LIFETIME_S));
    }
    const bool many = config.traffic == "files" || config.traffic == "person";
    if (many || config.rack)
    {
        socket->SetAttribute("ConnTimeout", TimeValue(Seconds(SYN_TIMEOUT_S)));
    }
    if (many)
    {
        // Nagle's rule would hold a file's last segment back for a round trip: ns-3 knows no
        // exception for the one that FIN goes with.
        socket->SetAttribute("TcpNoDelay", BooleanValue(true));
    }
}

} // namespace

namespace
{

/** @return the type of a flow's sockets, but for a receiver that thins ACKs, or lies */
TypeId
SocketType(const FlowConfig& config)
{
    if (!config.sack)
    {
        return TcpSocketReno::GetTypeId();
    }
    return config.rack ? TcpSocketRack::GetTypeId() : TcpSocketPaced::GetTypeId();
}

/** @return the type of a flow's receiver */
TypeId
ReceiverType(const FlowConfig& config)
{
    if (TcpSocketLying::Lies(config.receiver))
    {
        return TcpSocketLying::GetTypeId();
    }
    return config.delayed_ack.thinning ? TcpSocketThinning::GetTypeId() : SocketType(config);
}

} // namespace

Ptr<TcpSocketPaced>
CreateTcpSender(const FlowConfig& config, Ptr<Node> node, Ptr<TcpMeshpace> control)
{
    auto socket = TcpSocketPaced::CreateOn(node, CongestionControl(config.variant), SocketType(config));
    SetAttributes(socket, config);
    if (config.variant == "reno")
    {
        DynamicCast<TcpSocketReno>(socket)->EndAtPartialAcks();
    }
    if (control)
    {
        control->Attach(socket);
        if (config.live_departures)
        {
            socket->FollowRate();
        }
    }
    else if (config.variant == "vegas")
    {
        // The papers' Vegas keeps two packets queued on its path: TcpVegasNs2's defaults.
        socket->SetCongestionControlAlgorithm(CreateObjectWithAttributes<TcpVegasNs2>(
            "ByteCounting",
            BooleanValue(config.byte_counting)));
        return socket;
    }
    if (config.byte_counting)
    {
        socket->CountBytes();
    }
    return socket;
}

Ptr<TcpSocketPaced>
CreateTcpReceiver(const FlowConfig& config, Ptr<Node> node)
{
    auto socket = TcpSocketPaced::CreateOn(node,
                                           CongestionControl(config.variant),
                                           ReceiverType(config));
    SetAttributes(socket, config);
    if (auto lying = DynamicCast<TcpSocketLying>(socket))
    {
        lying->LieAs(config.receiver);
    }
    socket->SetAttribute("DataRetries",
                         UintegerValue(config.traffic == "person" ? HOST_RETRIES : FIN_RETRIES));
    return socket;
}

FlowConfig
AsOpaque(FlowConfig flow)
{
    flow.segment_bytes =
        std::min(flow.segment_bytes,
                 UdpEncapsulation::DATAGRAM_BYTES - UdpEncapsulation::OVERHEAD_BYTES);
    flow.timestamps = false;
    flow.delayed_ack = QUIC_PACKETS_AN_ACK;
    flow.delayed_ack_s = QUIC_ACK_DELAY_S;
    return flow;
}

} // namespace ns3
