/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "tcp-socket-paced.h"

#include "tcp-byte-counting.h"

#include "ns3/icmpv4.h"
#include "ns3/node.h"
#include "ns3/object-factory.h"
#include "ns3/rtt-estimator.h"
#include "ns3/simulator.h"
#include "ns3/tcp-congestion-ops.h"
#include "ns3/tcp-prr-recovery.h"
#include "ns3/tcp-tx-buffer.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(TcpSocketPaced);

TypeId
TcpSocketPaced::GetTypeId()
{
    static TypeId tid = TypeId("ns3::TcpSocketPaced")
                            .SetParent<TcpSocketBase>()
                            .SetGroupName("Meshpace")
                            .AddConstructor<TcpSocketPaced>();
    return tid;
}

Ptr<TcpSocketPaced>
TcpSocketPaced::CreateOn(Ptr<Node> node, TypeId control, TypeId type)
{
    auto tcp = node->GetObject<TcpL4Protocol>();
    ObjectFactory controls;
    controls.SetTypeId(control);
    ObjectFactory sockets;
    sockets.SetTypeId(type);
    auto socket = sockets.Create<TcpSocketPaced>();
    socket->SetNode(node);
    socket->SetTcp(tcp);
    socket->SetRtt(CreateObject<RttMeanDeviation>());
    socket->SetCongestionControlAlgorithm(controls.Create<TcpCongestionOps>());
    socket->SetRecoveryAlgorithm(CreateObject<TcpPrrRecovery>());
    socket->m_icmpCallback = MakeCallback(&TcpSocketPaced::Unreachable, PeekPointer(socket));
    tcp->AddSocket(socket);
    return socket;
}

void
TcpSocketPaced::Abort()
{
    if (m_state != CLOSED)
    {
        SendRST();
        m_state = CLOSED;
    }
}

void
TcpSocketPaced::AbortAndForget()
{
    Abort();
    CancelAllTimers();
    DeallocateEndPoint();
}

void
TcpSocketPaced::Fade()
{
    m_faded = true;
    CancelAllTimers();
}

bool
TcpSocketPaced::IsFaded() const
{
    return m_faded;
}

void
TcpSocketPaced::CountBytes()
{
    SetCongestionControlAlgorithm(CreateObject<TcpByteCounting>(m_congestionControl));
}

void
TcpSocketPaced::FollowRate()
{
    m_followsRate = true;
}

uint32_t
TcpSocketPaced::SendDataPacket(SequenceNumber32 seq, uint32_t maxSize, bool withAck)
{
    // What a loss has sent again at once does not wait for the pacer, which goes on as it was.
    const bool waits = m_pacingTimer.IsRunning();
    const auto bytes = TcpSocketBase::SendDataPacket(seq, maxSize, withAck);
    if (!waits)
    {
        m_departed = Simulator::Now();
        m_departedBytes = bytes;
    }
    return bytes;
}

void
TcpSocketPaced::MoveDeparture()
{
    if (!m_pacingTimer.IsRunning())
    {
        return;
    }
    UpdatePacingRate();
    const Time interval = m_tcb->m_pacingRate.Get().CalculateBytesTxTime(m_departedBytes);
    m_pacingTimer.Cancel();
    m_pacingTimer.Schedule(Max(m_departed + interval - Simulator::Now(), Time(0)));
}

void
TcpSocketPaced::DoForwardUp(Ptr<Packet> packet, const Address& from, const Address& to)
{
    if (m_faded)
    {
        return;
    }
    TcpHeader header;
    const bool data = packet->PeekHeader(header) < packet->GetSize();
    const bool fin = header.GetFlags() & TcpHeader::FIN;
    if (m_state == TIME_WAIT && fin)
    {
        SendEmptyPacket(TcpHeader::ACK);
    }
    else if (m_state == LAST_ACK && (fin || data))
    {
        SendEmptyPacket(TcpHeader::FIN | TcpHeader::ACK);
    }
    else
    {
        TcpSocketBase::DoForwardUp(packet, from, to);
        if (m_followsRate)
        {
            MoveDeparture();
        }
    }
}

void
TcpSocketPaced::Unreachable(Ipv4Address, uint8_t, uint8_t type, uint8_t code, uint32_t seq)
{
    const bool unreachable = type == Icmpv4Header::ICMPV4_DEST_UNREACH &&
                             code == Icmpv4DestinationUnreachable::ICMPV4_HOST_UNREACHABLE;
    const bool doubled = m_dataRetrCount < m_dataRetries;
    const bool first = (m_txBuffer->HeadSequence().GetValue() & 0xffff) == seq;
    if (!unreachable || !doubled || !first || !m_retxEvent.IsPending())
    {
        return;
    }
    const Time elapsed = m_rto.Get() - Simulator::GetDelayLeft(m_retxEvent);
    const Time variation = Max(m_clockGranularity, m_rtt->GetVariation() * 4);
    m_rto = Max(m_rto.Get() / 2, Max(m_rtt->GetEstimate() + variation, m_minRto));
    m_retxEvent.Cancel();
    m_retxEvent = Simulator::Schedule(Max(m_rto.Get() - elapsed, Time(0)),
                                      &TcpSocketPaced::ReTxTimeout,
                                      this);
}

Ptr<TcpSocketBase>
TcpSocketPaced::Fork()
{
    return CopyObject<TcpSocketPaced>(this);
}

void
TcpSocketPaced::NewAck(const SequenceNumber32& ack, bool resetRto)
{
    TcpSocketBase::NewAck(ack, resetRto);
    if (m_state == ESTABLISHED && ack >= m_tcb->m_highTxMark)
    {
        m_retxEvent.Cancel();
    }
}

} // namespace ns3
