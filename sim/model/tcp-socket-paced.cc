/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "tcp-socket-paced.h"

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
TcpSocketPaced::CreateOn(Ptr<Node> node, TypeId control)
{
    auto tcp = node->GetObject<TcpL4Protocol>();
    ObjectFactory controls;
    controls.SetTypeId(control);
    auto socket = CreateObject<TcpSocketPaced>();
    socket->SetNode(node);
    socket->SetTcp(tcp);
    socket->SetRtt(CreateObject<RttMeanDeviation>());
    socket->SetCongestionControlAlgorithm(controls.Create<TcpCongestionOps>());
    socket->SetRecoveryAlgorithm(CreateObject<TcpPrrRecovery>());
    tcp->AddSocket(socket);
    return socket;
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
