/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// What the gateway takes for its flows, and for what waits of them.

#include "gateway-disc.h"

#include "ns3/tcp-option-winscale.h"
#include "ns3/udp-header.h"

#include <optional>

using namespace ns3;

namespace
{

/** The download waits while data of it does, whatever waits of the upload's ACKs, in whichever order. */
class WaitsTestCase : public DiscTestCase
{
  public:
    WaitsTestCase()
        : DiscTestCase("A download does not wait where a capped upload's ACK does")
    {
    }

  private:
    static constexpr uint32_t SEGMENTS = 4;

    void DoRun() override
    {
        SetUpDisc(MeshpaceGateway::EVEN);
        Simulator::Schedule(Seconds(1), &WaitsTestCase::UploadHeld, this);
        Simulator::Schedule(Seconds(1.02), &WaitsTestCase::Expect, this, false, "ACKs");
        Simulator::Schedule(Seconds(1.03), &WaitsTestCase::ToMesh, this, Data(1));
        Simulator::Schedule(Seconds(1.04), &WaitsTestCase::Expect, this, true, "data behind them");
        Simulator::Stop(Seconds(1.4));
        Simulator::Run();
        TearDownDisc();
    }

    void UploadHeld()
    {
        for (uint32_t i = 0; i < SEGMENTS; i++)
        {
            ToWired(Segment(false, 1 + i * PAYLOAD, 1, PAYLOAD));
        }
        m_gateway->SetCap(MESH_HOST, false, 100, 100);
        for (uint32_t i = 1; i <= SEGMENTS; i++)
        {
            ToMesh(Segment(true, 1, 1 + i * PAYLOAD, 0));
        }
    }

    void Expect(bool waits, std::string what)
    {
        const auto* connection = m_gateway->Find(KEY);
        NS_TEST_EXPECT_MSG_EQ(connection->Holds(), true, "something waits");
        const auto demand = connection->DownDemand(Simulator::Now().GetNanoSeconds());
        NS_TEST_EXPECT_MSG_EQ(demand.waits, waits, what);
    }
};

/** A law that is named when the gateway is there already is the law. */
class LateLawTestCase : public DiscTestCase
{
  public:
    LateLawTestCase()
        : DiscTestCase("A law that is set after construction is taken whole")
    {
    }

  private:
    uint64_t IntervalNs(bool late)
    {
        const auto law = MeshpaceGateway::EVEN;
        SetUpDisc(late ? MeshpaceGateway::GAP : law, [law](Ptr<MeshpaceGateway> gateway) {
            gateway->SetAttribute("Law", EnumValue(law));
        });
        Simulator::Schedule(Seconds(1), &LateLawTestCase::ToMesh, this, Data(0));
        Simulator::Schedule(Seconds(1.04), &LateLawTestCase::ToWired, this, Ack(PAYLOAD));
        Simulator::Stop(Seconds(2));
        Simulator::Run();
        const auto intervalNs = m_gateway->Find(KEY)->IntervalNs();
        TearDownDisc();
        return intervalNs;
    }

    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(IntervalNs(true), IntervalNs(false), "interval after a sample");
    }
};

/** A pacing queue is bounded by the window where its scale is known: the handshake told it. */
class ScaleTestCase : public DiscTestCase
{
  public:
    explicit ScaleTestCase(std::optional<uint8_t> shift)
        : DiscTestCase("A window of which the scale is " +
                       (shift ? std::to_string(*shift) : "unknown")),
          m_shift(shift)
    {
    }

  private:
    static constexpr uint32_t PACKETS = 200; // more than 64000 bytes

    void DoRun() override
    {
        SetUpDisc();
        if (m_shift)
        {
            auto header = MakeHeader(false, 0, 0, TcpHeader::SYN);
            auto option = CreateObject<TcpOptionWinScale>();
            option->SetScale(*m_shift);
            header.AppendOption(option);
            auto packet = Create<Packet>();
            packet->AddHeader(header);
            ToWired(MakeItem(packet, MESH_HOST, HOST, 6));
        }
        ToMesh(Data(0));
        ToWired(Ack(PAYLOAD)); // advertises 64000, unscaled
        for (uint32_t i = 1; i <= PACKETS; i++)
        {
            m_disc->Enqueue(Data(i * PAYLOAD));
        }
        NS_TEST_EXPECT_MSG_EQ(m_gateway->HeldPackets(), PACKETS, "all wait");
        const auto demand = m_gateway->Find(KEY)->DownDemand(0);
        NS_TEST_EXPECT_MSG_EQ(demand.window_bytes, (m_shift ? 64000U << *m_shift : 0), "the window");
        TearDownDisc();
    }

    const std::optional<uint8_t> m_shift;
};

/** Data beyond what its receiver has room for counts for nothing, where its windows' scale is known. */
class AstrayTestCase : public DiscTestCase
{
  public:
    explicit AstrayTestCase(MeshpaceRelease release)
        : DiscTestCase("Data for which its receiver has no room"),
          m_release(release)
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint32_t AHEAD = 1000 * PAYLOAD; // of 64000 bytes
        SetUpDisc();
        m_gateway->SetAttribute("Release", EnumValue(m_release));
        m_gateway->SetAttribute("Paces", BooleanValue(false));
        ToWired(Segment(false, 0, 0, 0, TcpHeader::SYN)); // of unscaled windows
        Simulator::Schedule(Seconds(1), &AstrayTestCase::ToMesh, this, Data(1));
        Simulator::Schedule(Seconds(1.04), &AstrayTestCase::ToWired, this, Ack(1 + PAYLOAD));
        Simulator::Schedule(Seconds(1.1), &AstrayTestCase::ToMesh, this, Data(AHEAD));
        Simulator::Stop(Seconds(2));
        Simulator::Run();
        const auto& down = m_gateway->Find(KEY)->Down();
        NS_TEST_EXPECT_MSG_EQ(down.sent.max_end, 1 + PAYLOAD, "it does not count");
        TearDownDisc();
    }

    const MeshpaceRelease m_release;
};

/** More than a window went past unread: the flow is seen again from where its receiver has room. */
class UnreadTestCase : public DiscTestCase
{
  public:
    UnreadTestCase()
        : DiscTestCase("A flow of which much went past unread goes on")
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint32_t AHEAD = 1000 * PAYLOAD; // of 64000 bytes
        SetUpDisc();
        m_gateway->SetAttribute("Paces", BooleanValue(false));
        ToWired(Segment(false, 0, 0, 0, TcpHeader::SYN)); // of unscaled windows
        Simulator::Schedule(Seconds(1), &UnreadTestCase::ToMesh, this, Data(1));
        Simulator::Schedule(Seconds(1.04), &UnreadTestCase::ToWired, this, Ack(1 + PAYLOAD));
        Simulator::Schedule(Seconds(2), &UnreadTestCase::ToWired, this, Ack(AHEAD));
        Simulator::Schedule(Seconds(2.1), &UnreadTestCase::ToMesh, this, Data(AHEAD));
        Simulator::Schedule(Seconds(2.14), &UnreadTestCase::ToWired, this, Ack(AHEAD + PAYLOAD));
        Simulator::Stop(Seconds(3));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(m_gateway->Find(KEY)->DownBytes(), 2 * PAYLOAD, "what was seen");
        NS_TEST_EXPECT_MSG_EQ(m_gateway->Find(KEY)->Statistics().samples, 2, "samples");
        TearDownDisc();
    }
};

/** The gateway's own connections into the wired network are no flows of the mesh. */
class OwnTestCase : public DiscTestCase
{
  public:
    OwnTestCase()
        : DiscTestCase("What is not between the mesh and the wires is no flow")
    {
    }

  private:
    static Ptr<Ipv4QueueDiscItem> Between(Ipv4Address from, Ipv4Address to)
    {
        auto packet = Create<Packet>(PAYLOAD);
        packet->AddHeader(MakeHeader(true, 1, 1, TcpHeader::ACK));
        return MakeItem(packet, from, to, 6);
    }

    void DoRun() override
    {
        SetUpDisc();
        const Ipv4Address own("10.2.0.1");
        ToWired(Between(own, HOST));
        ToWired(Between(MESH_HOST, Ipv4Address("10.1.0.9")));
        ToMesh(Between(HOST, own));
        NS_TEST_EXPECT_MSG_EQ(m_gateway->Connections(), 0, "none");
        ToWired(Between(MESH_HOST, HOST));
        NS_TEST_EXPECT_MSG_EQ(m_gateway->Connections(), 1, "but that");
        TearDownDisc();
    }
};

/** What was due while the device was busy is due now. */
class OverdueTestCase : public DiscTestCase
{
  public:
    OverdueTestCase()
        : DiscTestCase("A departure that is past is now")
    {
    }

  private:
    void DoRun() override
    {
        SetUpDisc();
        m_gateway->SetAttribute("Release", EnumValue(MeshpaceRelease::ON_ARRIVAL));
        m_gateway->SetDueCallback(MakeNullCallback<void>());
        Simulator::Schedule(Seconds(1), &OverdueTestCase::ToMesh, this, Data(0));
        Simulator::Schedule(Seconds(1.04), &OverdueTestCase::ToWired, this, Ack(PAYLOAD));
        Simulator::Schedule(Seconds(2), [this] {
            for (uint32_t i = 1; i <= 3; i++)
            {
                m_gateway->ToMesh(Data(i * PAYLOAD));
            }
        });
        Simulator::Schedule(Seconds(3), [this] {
            NS_TEST_EXPECT_MSG_GT(m_gateway->HeldPackets(), 0, "something waits");
            NS_TEST_EXPECT_MSG_EQ(m_gateway->NextDeparture(), Simulator::Now(), "now");
        });
        Simulator::Stop(Seconds(3));
        Simulator::Run();
        TearDownDisc();
    }
};

/** A mark that somebody else has set is one. */
class MarkedTestCase : public TestCase
{
  public:
    MarkedTestCase()
        : TestCase("A packet that is marked already is not lost for that")
    {
    }

  private:
    void DoRun() override
    {
        for (const auto ecn : {Ipv4Header::ECN_ECT0, Ipv4Header::ECN_ECT1, Ipv4Header::ECN_CE})
        {
            NS_TEST_EXPECT_MSG_EQ(MarkIfCapable(With(ecn)), true, "capable: " << ecn);
        }
        NS_TEST_EXPECT_MSG_EQ(MarkIfCapable(With(Ipv4Header::ECN_NotECT)), false, "not capable");
    }

    static Ptr<QueueDiscItem> With(Ipv4Header::EcnType ecn)
    {
        auto header = Data(0)->GetHeader();
        header.SetEcn(ecn);
        return Create<Ipv4QueueDiscItem>(Create<Packet>(), Mac48Address(), 0x800, header);
    }
};

/** A host that gets datagrams is there, however they are released. */
class StampedDatagramTestCase : public DiscTestCase
{
  public:
    StampedDatagramTestCase()
        : DiscTestCase("Datagrams that are stamped on arrival count")
    {
    }

  private:
    void DoRun() override
    {
        SetUpDisc(MeshpaceGateway::EVEN);
        m_gateway->SetAttribute("Release", EnumValue(MeshpaceRelease::ON_ARRIVAL));
        Simulator::Schedule(Seconds(1), &StampedDatagramTestCase::ToMesh, this, Datagram(true));
        Simulator::Schedule(Seconds(1), &StampedDatagramTestCase::ToWired, this, Datagram(false));
        Simulator::Stop(Seconds(1.1));
        Simulator::Run();
        for (const bool down : {true, false})
        {
            NS_TEST_EXPECT_MSG_EQ(m_gateway->Hosts().DeliveredBytes({MESH_HOST.Get(), down}),
                                  PAYLOAD + 28,
                                  (down ? "down" : "up"));
        }
        TearDownDisc();
    }
};

/** The suite. */
class GatewayFlowsTestSuite : public TestSuite
{
  public:
    GatewayFlowsTestSuite()
        : TestSuite("meshpace-gateway-flows", Type::UNIT)
    {
        const auto add = [this](TestCase* test) { AddTestCase(test, Duration::QUICK); };
        add(new WaitsTestCase);
        add(new LateLawTestCase);
        add(new ScaleTestCase(7));
        add(new ScaleTestCase(std::nullopt));
        add(new AstrayTestCase(MeshpaceRelease::IN_CLASS));
        add(new AstrayTestCase(MeshpaceRelease::ON_ARRIVAL));
        add(new UnreadTestCase);
        add(new OwnTestCase);
        add(new OverdueTestCase);
        add(new MarkedTestCase);
        add(new StampedDatagramTestCase);
    }
};

GatewayFlowsTestSuite g_gatewayFlowsTestSuite; //!< the suite

} // namespace
