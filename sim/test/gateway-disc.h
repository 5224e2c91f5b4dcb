/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef GATEWAY_DISC_H
#define GATEWAY_DISC_H

#include "ns3/boolean.h"
#include "ns3/enum.h"
#include "ns3/meshpace-queue-disc.h"
#include "ns3/simulator.h"
#include "ns3/tcp-header.h"
#include "ns3/test.h"
#include "ns3/udp-header.h"

#include <functional>
#include <vector>

namespace ns3
{

/**
 * @file
 * A gateway outside a network, the segments of one connection that come to it, and what leaves it.
 */

inline const Ipv4Address HOST("10.2.2.2");
inline const Ipv4Address MESH_HOST("10.1.0.5");
inline const MeshpaceKey KEY{MESH_HOST.Get(), HOST.Get(), 5000, 80};
inline constexpr uint32_t PAYLOAD = 1000;

inline Ptr<Ipv4QueueDiscItem>
MakeItem(Ptr<Packet> packet, Ipv4Address from, Ipv4Address to, uint8_t protocol)
{
    Ipv4Header ip;
    ip.SetSource(from);
    ip.SetDestination(to);
    ip.SetProtocol(protocol);
    ip.SetPayloadSize(packet->GetSize());
    return Create<Ipv4QueueDiscItem>(packet, Mac48Address(), 0x800, ip);
}

inline TcpHeader
MakeHeader(bool down, uint32_t seq, uint32_t ack, uint8_t flags)
{
    TcpHeader tcp;
    tcp.SetSourcePort(down ? KEY.wiredPort : KEY.meshPort);
    tcp.SetDestinationPort(down ? KEY.meshPort : KEY.wiredPort);
    tcp.SetSequenceNumber(SequenceNumber32(seq));
    tcp.SetAckNumber(SequenceNumber32(ack));
    tcp.SetFlags(flags);
    tcp.SetWindowSize(64000);
    return tcp;
}

/** A segment of the test's connection. */
inline Ptr<Ipv4QueueDiscItem>
Segment(bool down, uint32_t seq, uint32_t ack, uint32_t payload, uint8_t flags = TcpHeader::ACK)
{
    auto packet = Create<Packet>(payload);
    packet->AddHeader(MakeHeader(down, seq, ack, flags));
    return MakeItem(packet, down ? HOST : MESH_HOST, down ? MESH_HOST : HOST, 6);
}

inline Ptr<Ipv4QueueDiscItem>
Data(uint32_t seq, uint32_t payload = PAYLOAD)
{
    return Segment(true, seq, 1, payload);
}

inline Ptr<Ipv4QueueDiscItem>
Ack(uint32_t ack)
{
    return Segment(false, 1, ack, 0);
}

/** Between the same two hosts, of UDP. */
inline Ptr<Ipv4QueueDiscItem>
Datagram(bool down)
{
    auto packet = Create<Packet>(PAYLOAD);
    packet->AddHeader(UdpHeader());
    return MakeItem(packet, down ? HOST : MESH_HOST, down ? MESH_HOST : HOST, 17);
}

/** Feeds a queue disc and notes what leaves it, and when. */
class DiscTestCase : public TestCase
{
  public:
    using TestCase::TestCase;

  protected:
    struct Departure
    {
        Time time;
        uint32_t seq;
        uint32_t payload;
    };

    /** @param law of the gateway @param set what else is said of it before it begins */
    void SetUpDisc(MeshpaceGateway::Law law = MeshpaceGateway::GAP,
                   const std::function<void(Ptr<MeshpaceGateway>)>& set = {})
    {
        m_gateway = CreateObjectWithAttributes<MeshpaceGateway>("Law",
                                                                EnumValue(law),
                                                                "GoodputControl",
                                                                BooleanValue(false));
        if (set)
        {
            set(m_gateway);
        }
        m_gateway->SetHops(MESH_HOST, 4);
        m_disc = CreateObject<MeshpaceMeshQueueDisc>();
        m_disc->SetGateway(m_gateway);
        m_disc->SetSendCallback([this](Ptr<QueueDiscItem> item) { Sent(item); });
        m_disc->Initialize();
    }

    void TearDownDisc()
    {
        m_disc->Dispose();
        m_gateway->Dispose();
        Simulator::Destroy();
    }

    void ToMesh(Ptr<QueueDiscItem> item)
    {
        m_disc->Enqueue(item);
        m_disc->Run();
    }

    /** Segments before the first, all of them acknowledged: their host has earned copies (budget.h). */
    void Earn()
    {
        constexpr uint32_t SEGMENTS = 5 * MP_DATA_PER_COPY;
        for (uint32_t i = 0; i < SEGMENTS; i++)
        {
            ToMesh(Data((i - SEGMENTS) * PAYLOAD));
        }
        Simulator::Schedule(Seconds(0.02), &DiscTestCase::ToWired, this, Ack(0));
    }

    MeshpaceGateway::Verdict ToWired(Ptr<QueueDiscItem> item)
    {
        return m_gateway->ToWired(item);
    }

    virtual void Sent(Ptr<QueueDiscItem> item)
    {
        auto packet = item->GetPacket()->Copy(); // with its IP header by now
        Ipv4Header ip;
        packet->RemoveHeader(ip);
        TcpHeader tcp;
        packet->RemoveHeader(tcp);
        m_departures.push_back(
            {Simulator::Now(), tcp.GetSequenceNumber().GetValue(), packet->GetSize()});
    }

    Ptr<MeshpaceGateway> m_gateway;
    Ptr<MeshpaceMeshQueueDisc> m_disc;
    std::vector<Departure> m_departures;
};

} // namespace ns3

#endif // GATEWAY_DISC_H
