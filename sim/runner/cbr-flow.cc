/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "cbr-flow.h"

#include "ns3/inet-socket-address.h"
#include "ns3/simulator.h"
#include "ns3/udp-socket-factory.h"

namespace ns3
{

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
    if (m_config.stop_s > 0 && Simulator::Now() >= Seconds(m_config.stop_s))
    {
        return;
    }
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
