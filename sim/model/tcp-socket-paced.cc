/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "tcp-socket-paced.h"

#include "tcp-byte-counting.h"

#include "ns3/node.h"
#include "ns3/object-factory.h"
#include "ns3/rtt-estimator.h"
#include "ns3/tcp-congestion-ops.h"
#include "ns3/tcp-prr-recovery.h"

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
TcpSocketPaced::CountBytes()
{
    SetCongestionControlAlgorithm(CreateObject<TcpByteCounting>(m_congestionControl));
}

void
TcpSocketPaced::DoForwardUp(Ptr<Packet> packet, const Address& from, const Address& to)
{
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
    }
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
