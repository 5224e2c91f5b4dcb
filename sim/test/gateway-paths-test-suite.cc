/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// What the gateway sends while the ways to its hosts change.

#include "gateway-disc.h"

#include "ns3/udp-header.h"

#include <algorithm>

using namespace ns3;

namespace
{

/** @return the same packet on its way to another next hop @param item it @param hop the hop's number */
Ptr<Ipv4QueueDiscItem>
By(Ptr<Ipv4QueueDiscItem> item, uint8_t hop)
{
    uint8_t mac[6] = {2, 0, 0, 0, 0, hop};
    Mac48Address address;
    address.CopyFrom(mac);
    return Create<Ipv4QueueDiscItem>(item->GetPacket(), address, 0x800, item->GetHeader());
}

/** @return a packet's next hop @param item it */
uint8_t
HopOf(Ptr<const QueueDiscItem> item)
{
    uint8_t mac[6];
    Mac48Address::ConvertFrom(item->GetAddress()).CopyTo(mac);
    return mac[5];
}

/** What waits leaves by the radio that it came to, when the route leads to another by then. */
class OtherRadioTestCase : public DiscTestCase
{
  public:
    explicit OtherRadioTestCase(MeshpaceRelease release)
        : DiscTestCase("A route goes from one radio to another while packets wait"),
          m_release(release)
    {
    }

  private:
    static constexpr uint32_t PACKETS = 5; // of each radio

    void DoRun() override
    {
        SetUpDisc();
        m_gateway->SetAttribute("Release", EnumValue(m_release));
        m_other = CreateObject<MeshpaceMeshQueueDisc>();
        m_other->SetGateway(m_gateway, 1);
        m_other->SetSendCallback([this](Ptr<QueueDiscItem>) { m_byOther++; });
        m_other->Initialize();
        Simulator::Schedule(Seconds(1), &OtherRadioTestCase::ToMesh, this, Data(0));
        Simulator::Schedule(Seconds(1.04), &OtherRadioTestCase::ToWired, this, Ack(PAYLOAD));
        Simulator::Schedule(Seconds(2), &OtherRadioTestCase::ByBoth, this);
        Simulator::Stop(Seconds(4));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(m_departures.size(), 1 + PACKETS, "by the first");
        NS_TEST_EXPECT_MSG_EQ(m_byOther, PACKETS, "by the other");
        NS_TEST_EXPECT_MSG_EQ(m_gateway->HeldPackets(), 0, "all");
        m_other->Dispose();
        TearDownDisc();
    }

    void ByBoth()
    {
        for (uint32_t i = 1; i <= PACKETS; i++)
        {
            ToMesh(Data(i * PAYLOAD));
        }
        for (uint32_t i = 1; i <= PACKETS; i++)
        {
            m_other->Enqueue(Data((PACKETS + i) * PAYLOAD));
            m_other->Run();
        }
    }

    const MeshpaceRelease m_release;
    Ptr<MeshpaceMeshQueueDisc> m_other;
    uint32_t m_byOther{0};
};

/** Datagrams likewise. */
class DatagramRadioTestCase : public DiscTestCase
{
  public:
    DatagramRadioTestCase()
        : DiscTestCase("The same with datagrams")
    {
    }

  private:
    static Ptr<Ipv4QueueDiscItem> Datagram()
    {
        auto packet = Create<Packet>(PAYLOAD);
        packet->AddHeader(UdpHeader());
        return MakeItem(packet, HOST, MESH_HOST, 17);
    }

    void Sent(Ptr<QueueDiscItem>) override
    {
        m_sent++;
    }

    void DoRun() override
    {
        SetUpDisc(MeshpaceGateway::EVEN);
        m_gateway->SetCap(MESH_HOST, true, 100 * PAYLOAD, 0);
        auto other = CreateObject<MeshpaceMeshQueueDisc>();
        other->SetGateway(m_gateway, 1);
        other->SetSendCallback([this](Ptr<QueueDiscItem>) { m_byOther++; });
        other->Initialize();
        Simulator::Schedule(Seconds(1), [this, other] {
            for (uint32_t i = 0; i < 3; i++)
            {
                ToMesh(Datagram());
            }
            other->Enqueue(Datagram());
            other->Run();
        });
        Simulator::Stop(Seconds(3));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(m_sent, 3, "by the first");
        NS_TEST_EXPECT_MSG_EQ(m_byOther, 1, "by the other");
        other->Dispose();
        TearDownDisc();
    }

    uint32_t m_sent{0};
    uint32_t m_byOther{0};
};

/** A disc that takes another's place sends what had come to that. */
class SecondDiscTestCase : public DiscTestCase
{
  public:
    SecondDiscTestCase()
        : DiscTestCase("A radio gets another queue disc while packets wait")
    {
    }

  private:
    void DoRun() override
    {
        SetUpDisc();
        Simulator::Schedule(Seconds(1), &SecondDiscTestCase::ToMesh, this, Data(0));
        Simulator::Schedule(Seconds(1.04), &SecondDiscTestCase::ToWired, this, Ack(PAYLOAD));
        Simulator::Schedule(Seconds(2), [this] {
            for (uint32_t i = 1; i <= 3; i++)
            {
                ToMesh(Data(i * PAYLOAD));
            }
            m_disc->Dispose();
            m_disc = CreateObject<MeshpaceMeshQueueDisc>();
            m_disc->SetGateway(m_gateway);
            m_disc->SetSendCallback([this](Ptr<QueueDiscItem> item) { Sent(item); });
            m_disc->Initialize();
            ToMesh(Data(4 * PAYLOAD));
        });
        Simulator::Stop(Seconds(4));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(m_departures.size(), 5, "all");
        TearDownDisc();
    }
};

/** What the gateway sends itself goes to the host's latest next hop, by whichever of its flows that is known. */
class CopiesTestCase : public DiscTestCase
{
  public:
    /** @param elsewhere whether the host is reached by another gateway, and nothing is sent */
    explicit CopiesTestCase(bool elsewhere)
        : DiscTestCase(elsewhere ? "No probe goes where a host is no longer"
                                 : "Copies and probes leave by the latest way to their host"),
          m_elsewhere(elsewhere)
    {
    }

  private:
    void DoRun() override
    {
        SetUpDisc(MeshpaceGateway::EVEN);
        m_gateway->SetUrgentCallback(Callback<void, Ptr<QueueDiscItem>>(
            [this](Ptr<QueueDiscItem> item) { m_hops.push_back(HopOf(item)); }));
        Simulator::Schedule(Seconds(1), &CopiesTestCase::ToMesh, this, By(Data(0), 1));
        Simulator::Schedule(Seconds(1.04), &CopiesTestCase::ToWired, this, Ack(PAYLOAD));
        Simulator::Schedule(Seconds(1.3), &CopiesTestCase::ToMesh, this, By(Data(PAYLOAD), 1));
        auto other = Create<Packet>(PAYLOAD);
        auto header = MakeHeader(true, 1, 1, TcpHeader::ACK);
        header.SetDestinationPort(KEY.meshPort + 1);
        other->AddHeader(header);
        const auto later = By(MakeItem(other, HOST, MESH_HOST, 6), 2);
        Simulator::Schedule(Seconds(1.5), &CopiesTestCase::ToMesh, this, later);
        if (m_elsewhere)
        {
            Simulator::Schedule(Seconds(1.6), &MeshpaceGateway::SetHops, m_gateway, MESH_HOST, 0);
        }
        Simulator::Stop(Seconds(20));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(m_hops.empty(), m_elsewhere, "probes");
        NS_TEST_EXPECT_MSG_EQ(std::ranges::count(m_hops, 1), 0, "the way of before");
        TearDownDisc();
    }

    const bool m_elsewhere;
    std::vector<uint8_t> m_hops;
};

/** What went by another gateway is not what this one has delivered. */
class ReturnTestCase : public DiscTestCase
{
  public:
    ReturnTestCase()
        : DiscTestCase("A flow that comes back has delivered nothing meanwhile")
    {
    }

  private:
    void DoRun() override
    {
        SetUpDisc(MeshpaceGateway::EVEN);
        m_gateway->SetAttribute("Paces", BooleanValue(false));
        Simulator::Schedule(Seconds(1), &ReturnTestCase::Exchange, this, 1);
        Simulator::Schedule(Seconds(2), &MeshpaceGateway::SetHops, m_gateway, MESH_HOST, 0);
        Simulator::Schedule(Seconds(3), &MeshpaceGateway::SetHops, m_gateway, MESH_HOST, 4);
        Simulator::Schedule(Seconds(4), &ReturnTestCase::Exchange, this, 1 + 500 * PAYLOAD);
        Simulator::Stop(Seconds(5));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(m_gateway->Find(KEY)->DownBytes(), 2 * PAYLOAD, "down");
        NS_TEST_EXPECT_MSG_EQ(m_gateway->Find(KEY)->Upload().Bytes(), 2 * PAYLOAD, "up");
        for (const bool down : {true, false})
        {
            NS_TEST_EXPECT_MSG_EQ(m_gateway->Hosts().DeliveredBytes({MESH_HOST.Get(), down}),
                                  2 * PAYLOAD,
                                  "of the host");
        }
        TearDownDisc();
    }

    /** A segment each way, and its ACK. */
    void Exchange(uint32_t seq)
    {
        ToMesh(Segment(true, seq, seq, PAYLOAD));
        ToWired(Segment(false, seq, seq + PAYLOAD, PAYLOAD));
        ToMesh(Segment(true, seq + PAYLOAD, seq + PAYLOAD, 0));
    }
};

/** The suite. */
class GatewayPathsTestSuite : public TestSuite
{
  public:
    GatewayPathsTestSuite()
        : TestSuite("meshpace-gateway-paths", Type::UNIT)
    {
        const auto add = [this](TestCase* test) { AddTestCase(test, Duration::QUICK); };
        add(new OtherRadioTestCase(MeshpaceRelease::IN_CLASS));
        add(new OtherRadioTestCase(MeshpaceRelease::ON_ARRIVAL));
        add(new DatagramRadioTestCase);
        add(new SecondDiscTestCase);
        add(new CopiesTestCase(false));
        add(new CopiesTestCase(true));
        add(new ReturnTestCase);
    }
};

GatewayPathsTestSuite g_gatewayPathsTestSuite; //!< the suite

} // namespace
