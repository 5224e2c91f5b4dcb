/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "tcp-line.h"

#include "../runner/tcp-sockets.h"

#include "ns3/inet-socket-address.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/pointer.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

namespace ns3
{

namespace
{

constexpr uint16_t PORT = 5000;

Ptr<ErrorModel>
Losses(const std::list<uint32_t>& packets)
{
    auto losses = CreateObject<ReceiveListErrorModel>();
    losses->SetList(packets);
    return losses;
}

} // namespace

TcpLine::TcpLine(const Settings& settings)
    : m_settings(settings)
{
    m_nodes.Create(2);
    PointToPointHelper wire;
    wire.SetDeviceAttribute("DataRate", StringValue(std::to_string(settings.kbps) + "kbps"));
    wire.SetChannelAttribute("Delay", TimeValue(Seconds(settings.delayS)));
    wire.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1000p"));
    const auto devices = wire.Install(m_nodes);
    InternetStackHelper().Install(m_nodes);
    Ipv4AddressHelper addresses("10.9.0.0", "255.255.255.0");
    const auto interfaces = addresses.Assign(devices);
    devices.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(Losses(settings.lostThere)));
    devices.Get(0)->SetAttribute("ReceiveErrorModel", PointerValue(Losses(settings.lostBack)));
    for (const auto trace : {"PhyRxEnd", "PhyRxDrop"})
    {
        devices.Get(1)->TraceConnectWithoutContext(
            trace,
            MakeCallback(&TcpLine::Arrived, this).Bind(&m_there));
        devices.Get(0)->TraceConnectWithoutContext(
            trace,
            MakeCallback(&TcpLine::Arrived, this).Bind(&m_back));
    }

    m_listener = CreateTcpReceiver(settings.flow, m_nodes.Get(1));
    m_listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
    m_listener->Listen();
    m_listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                  MakeCallback(&TcpLine::Accepted, this));
    m_sender = CreateTcpSender(settings.flow, m_nodes.Get(0), nullptr);
    m_sender->SetAttribute("SndBufSize",
                           UintegerValue(settings.segments * settings.flow.segment_bytes + 1));
    m_sender->SetConnectCallback(MakeCallback(&TcpLine::Connected, this),
                                 MakeNullCallback<void, Ptr<Socket>>());
    m_sender->Bind();
    // Nodes are ready from time 0 on.
    Simulator::Schedule(Time(), [this, to = InetSocketAddress(interfaces.GetAddress(1), PORT)] {
        m_sender->Connect(to);
    });
}

TcpLine::~TcpLine()
{
    Simulator::Destroy();
}

void
TcpLine::Run(double durationS)
{
    Simulator::Stop(Seconds(durationS));
    Simulator::Run();
}

void
TcpLine::Connected(Ptr<Socket> socket)
{
    for (uint32_t i = 0; i < m_settings.segments; i++)
    {
        socket->Send(Create<Packet>(m_settings.flow.segment_bytes));
    }
    socket->Close();
}

void
TcpLine::Accepted(Ptr<Socket> socket, const Address& /* from */)
{
    socket->SetRecvCallback(MakeCallback(&TcpLine::Received, this));
    socket->SetCloseCallbacks(Callback<void, Ptr<Socket>>([](Ptr<Socket> one) { one->Close(); }),
                              MakeNullCallback<void, Ptr<Socket>>());
    socket->TraceConnectWithoutContext("Tx", MakeCallback(&TcpLine::AckSent, this));
}

void
TcpLine::Received(Ptr<Socket> socket)
{
    while (auto packet = socket->Recv())
    {
        m_bytes += packet->GetSize();
    }
}

void
TcpLine::AckSent(Ptr<const Packet> payload,
                 const TcpHeader& header,
                 Ptr<const TcpSocketBase> /* socket */)
{
    if (payload->GetSize() == 0 && header.GetFlags() == TcpHeader::ACK)
    {
        const auto bytes = header.GetAckNumber().GetValue() - 1; // the SYN took one
        m_acks.push_back({Simulator::Now().GetSeconds(), bytes / m_settings.flow.segment_bytes});
    }
}

void
TcpLine::Arrived(uint32_t* count, Ptr<const Packet> /* packet */)
{
    (*count)++;
    m_lastS = Simulator::Now().GetSeconds();
}

const std::vector<TcpLine::Ack>&
TcpLine::Acks() const
{
    return m_acks;
}

uint32_t
TcpLine::Delivered() const
{
    return m_bytes / m_settings.flow.segment_bytes;
}

uint32_t
TcpLine::PacketsThere() const
{
    return m_there;
}

uint32_t
TcpLine::PacketsBack() const
{
    return m_back;
}

double
TcpLine::LastPacketS() const
{
    return m_lastS;
}

Ptr<TcpSocketPaced>
TcpLine::Sender() const
{
    return m_sender;
}

} // namespace ns3
