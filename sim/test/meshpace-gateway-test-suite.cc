/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "gateway-disc.h"

#include "ns3/tcp-option-sack.h"
#include "ns3/tcp-option-ts.h"
#include "ns3/udp-header.h"

using namespace ns3;

namespace
{

/** @return an ACK's option that tells RTT_wired @param rttWiredUs it, us */
MeshpaceFeedback
Feedback(uint32_t rttWiredUs)
{
    MeshpaceFeedback feedback{std::in_place};
    mp_option_write(feedback->data(), rttWiredUs);
    return feedback;
}

/** The option survives next to others, in a header that ns-3's own TCP can read. */
class OptionTestCase : public TestCase
{
  public:
    OptionTestCase()
        : TestCase("RTT_wired is put into an ACK beside other options")
    {
    }

  private:
    void DoRun() override
    {
        auto header = MakeHeader(true, 1, 77, TcpHeader::ACK);
        auto sack = CreateObject<TcpOptionSack>();
        sack->AddSackBlock({SequenceNumber32(100), SequenceNumber32(200)});
        header.AppendOption(sack);
        auto packet = Create<Packet>();
        packet->AddHeader(header);
        auto item = MakeItem(packet, HOST, MESH_HOST, 6);
        const auto segment = TcpSegment::Read(item);
        NS_TEST_ASSERT_MSG_EQ(segment.has_value(), true, "the ACK is readable");
        auto longer = DynamicCast<Ipv4QueueDiscItem>(InsertFeedback(item, Feedback(240123)));

        NS_TEST_EXPECT_MSG_EQ(longer->GetSize(), item->GetSize() + 8, "8 bytes longer");
        NS_TEST_EXPECT_MSG_EQ(longer->GetHeader().GetPayloadSize(),
                              longer->GetPacket()->GetSize(),
                              "and the IP header says so");
        TcpHeader read;
        longer->GetPacket()->PeekHeader(read);
        NS_TEST_EXPECT_MSG_EQ(read.GetAckNumber(), SequenceNumber32(77), "same ACK");
        NS_TEST_EXPECT_MSG_EQ(read.HasOption(TcpOption::SACK), true, "SACK is still there");
        uint32_t rttWiredUs = 0;
        const auto after = TcpSegment::Read(longer);
        mp_option_find(&after->bytes[20], after->headerBytes - 20, &rttWiredUs);
        NS_TEST_EXPECT_MSG_EQ(rttWiredUs, 240123, "and RTT_wired is what was written");
    }
};

/** A header without room is left as it is. */
class OptionNoRoomTestCase : public TestCase
{
  public:
    OptionNoRoomTestCase()
        : TestCase("An ACK whose header is full passes unchanged")
    {
    }

  private:
    void DoRun() override
    {
        auto header = MakeHeader(true, 1, 77, TcpHeader::ACK);
        auto sack = CreateObject<TcpOptionSack>();
        for (uint32_t i = 1; i <= 4; i++)
        {
            sack->AddSackBlock({SequenceNumber32(100 * i), SequenceNumber32(100 * i + 50)});
        }
        header.AppendOption(sack);
        auto packet = Create<Packet>();
        packet->AddHeader(header);
        Ptr<QueueDiscItem> item = MakeItem(packet, HOST, MESH_HOST, 6);
        const auto same = InsertFeedback(item, Feedback(1));
        NS_TEST_EXPECT_MSG_EQ(same, item, "34 bytes of options leave no room for 8");
    }
};

/** What is sent again by the gateway does not say when it was sent first; a signature stays true. */
class WithoutTimestampsTestCase : public TestCase
{
  public:
    WithoutTimestampsTestCase()
        : TestCase("Timestamps are blanked out, other options stay")
    {
    }

  private:
    void DoRun() override
    {
        auto header = MakeHeader(true, 1, 77, TcpHeader::ACK);
        auto times = CreateObject<TcpOptionTS>();
        times->SetTimestamp(5);
        times->SetEcho(6);
        header.AppendOption(times);
        auto sack = CreateObject<TcpOptionSack>();
        sack->AddSackBlock({SequenceNumber32(100), SequenceNumber32(200)});
        header.AppendOption(sack);
        auto packet = Create<Packet>();
        packet->AddHeader(header);
        const auto segment = TcpSegment::Read(MakeItem(packet, HOST, MESH_HOST, 6));
        const auto blanked = segment->WithoutTimestamps();
        NS_TEST_EXPECT_MSG_EQ(segment->Timestamps().first, 5, "they were there");
        NS_TEST_EXPECT_MSG_EQ(blanked.Timestamps().first, 0, "and are not");
        NS_TEST_EXPECT_MSG_EQ(blanked.headerBytes, segment->headerBytes, "the length stays");
        NS_TEST_EXPECT_MSG_GT(blanked.Sack().bytes, 0, "and SACK");
        auto isSigned = *segment;
        std::fill_n(&isSigned.bytes[20 + 10], 10, 1); // in place of SACK, MD5's kind and two bytes of it
        isSigned.bytes[30] = 19;
        isSigned.bytes[31] = 10;
        NS_TEST_EXPECT_MSG_EQ(isSigned.WithoutTimestamps().Timestamps().first, 5, "signed");
    }
};

/** What nothing acknowledges counts for a host that is there: one that ever got a datagram. */
class DatagramCountsTestCase : public DiscTestCase
{
  public:
    DatagramCountsTestCase()
        : DiscTestCase("Datagrams from the mesh count for who got some")
    {
    }

  private:
    void DoRun() override
    {
        SetUpDisc(MeshpaceGateway::EVEN);
        const auto fromMesh = [this]() {
            return m_gateway->Hosts().DeliveredBytes({MESH_HOST.Get(), false});
        };
        ToWired(Datagram(false));
        NS_TEST_EXPECT_MSG_EQ(fromMesh(), 0, "of an address to which nothing came");
        ToMesh(Datagram(true));
        ToWired(Datagram(false));
        NS_TEST_EXPECT_MSG_EQ(fromMesh(), PAYLOAD + 28, "with its headers");
        TearDownDisc();
    }
};

/** Packets leave at the law's interval, in order, nothing before its data. */
class PacingTestCase : public DiscTestCase
{
  public:
    PacingTestCase()
        : DiscTestCase("Departures are one interval apart and in order")
    {
    }

  private:
    static constexpr uint32_t PACKETS = 30;

    void DoRun() override
    {
        SetUpDisc();
        // The first packet is acknowledged after 40 ms, which is the only sample.
        Simulator::Schedule(Seconds(1), &PacingTestCase::ToMesh, this, Data(0));
        Simulator::Schedule(Seconds(1.04), &PacingTestCase::ToWired, this, Ack(PAYLOAD));
        for (uint32_t i = 1; i <= PACKETS; i++)
        {
            Simulator::Schedule(Seconds(2), &PacingTestCase::ToMesh, this, Data(i * PAYLOAD));
        }
        const auto fin = Segment(true, (PACKETS + 1) * PAYLOAD, 1, 0, TcpHeader::FIN);
        Simulator::Schedule(Seconds(2), &PacingTestCase::ToMesh, this, fin);
        Simulator::Stop(Seconds(10));
        Simulator::Run();

        // GAP eq. (4) at h = 4: FHD = 2 (RTT / h + (s_data - s_ACK) / b), and CoV = 0.
        const double intervalS = 2 * (0.04 / 4 + (1040 - 40) * 8 / 11e6);
        NS_TEST_ASSERT_MSG_EQ(m_departures.size(), PACKETS + 2, "everything leaves");
        for (uint32_t i = 2; i <= PACKETS; i++)
        {
            const auto gap = m_departures[i].time - m_departures[i - 1].time;
            NS_TEST_EXPECT_MSG_EQ_TOL(gap.GetSeconds(), intervalS, 1e-6, "gap " << i);
            NS_TEST_EXPECT_MSG_EQ(m_departures[i].seq, i * PAYLOAD, "order");
        }
        NS_TEST_EXPECT_MSG_EQ(m_departures.back().payload, 0, "the FIN comes last");
        TearDownDisc();
    }
};

/** The law learns while a packet waits: it leaves by the new interval, or, in a class of HTB, the one behind it does. */
class InForceTestCase : public DiscTestCase
{
  public:
    explicit InForceTestCase(MeshpaceRelease release)
        : DiscTestCase("An interval in force is kept to the next departure by HTB alone"),
          m_release(release)
    {
    }

  private:
    void DoRun() override
    {
        SetUpDisc();
        m_gateway->SetAttribute("Release", EnumValue(m_release));
        Simulator::Schedule(Seconds(1), &InForceTestCase::ToMesh, this, Data(0));
        Simulator::Schedule(Seconds(1.04), &InForceTestCase::ToWired, this, Ack(PAYLOAD));
        Simulator::Schedule(Seconds(2), &InForceTestCase::Note, this);
        for (uint32_t i = 1; i <= 3; i++)
        {
            Simulator::Schedule(Seconds(2), &InForceTestCase::ToMesh, this, Data(i * PAYLOAD));
        }
        Simulator::Schedule(Seconds(2.01), &InForceTestCase::ToWired, this, Ack(2 * PAYLOAD));
        Simulator::Schedule(Seconds(2.011), &InForceTestCase::Note, this);
        Simulator::Stop(Seconds(4));
        Simulator::Run();

        NS_TEST_ASSERT_MSG_EQ(m_departures.size(), 4, "everything leaves");
        NS_TEST_ASSERT_MSG_NE(m_intervals[0], m_intervals[1], "the law has learnt");
        const bool kept = m_release == MeshpaceRelease::IN_CLASS;
        NS_TEST_EXPECT_MSG_EQ(GapNs(2), m_intervals[kept ? 0 : 1], "what waited");
        NS_TEST_EXPECT_MSG_EQ(GapNs(3), m_intervals[1], "what came behind it");
        TearDownDisc();
    }

    void Note()
    {
        m_intervals.push_back(m_gateway->Find(KEY)->IntervalNs());
    }

    uint64_t GapNs(uint32_t to) const
    {
        return (m_departures[to].time - m_departures[to - 1].time).GetNanoSeconds();
    }

    MeshpaceRelease m_release;
    std::vector<uint64_t> m_intervals;
};

/** An ACK that waited here is told apart from one that the mesh held up. */
class HeldAckTestCase : public DiscTestCase
{
  public:
    HeldAckTestCase()
        : DiscTestCase("RTT_wired has what an ACK waited behind paced data")
    {
    }

  private:
    static constexpr uint32_t PACKETS = 10;

    void DoRun() override
    {
        SetUpDisc();
        Simulator::Schedule(Seconds(1), &HeldAckTestCase::ToMesh, this, Data(0));
        Simulator::Schedule(Seconds(1.04), &HeldAckTestCase::ToWired, this, Ack(PAYLOAD));
        const auto up = Segment(false, 1, PAYLOAD, PAYLOAD);
        Simulator::Schedule(Seconds(2), &HeldAckTestCase::ToWired, this, up);
        for (uint32_t i = 1; i <= PACKETS; i++)
        {
            Simulator::Schedule(Seconds(2), &HeldAckTestCase::ToMesh, this, Data(i * PAYLOAD));
        }
        const auto ack = Segment(true, (PACKETS + 1) * PAYLOAD, 1 + PAYLOAD, 0);
        Simulator::Schedule(Seconds(2), &HeldAckTestCase::ToMesh, this, ack);
        Simulator::Stop(Seconds(10));
        Simulator::Run();

        const auto waited = m_departures.back().time - Seconds(2);
        NS_TEST_EXPECT_MSG_GT(waited, Seconds(0.1), "it waited behind data");
        NS_TEST_EXPECT_MSG_EQ_TOL(m_rttWiredUs, waited.GetMicroSeconds(), 20, "and says so");
        TearDownDisc();
    }

    void Sent(Ptr<QueueDiscItem> item) override
    {
        DiscTestCase::Sent(item);
        auto packet = item->GetPacket()->Copy();
        Ipv4Header ip;
        packet->RemoveHeader(ip);
        const auto segment = TcpSegment::Read(MakeItem(packet, HOST, MESH_HOST, 6));
        mp_option_find(&segment->bytes[20], segment->headerBytes - 20, &m_rttWiredUs);
    }

    uint32_t m_rttWiredUs{0};
};

/** A pacing queue holds an advertised window at most. */
class WindowTestCase : public DiscTestCase
{
  public:
    WindowTestCase()
        : DiscTestCase("A pacing queue holds at most the advertised window")
    {
    }

  private:
    void DoRun() override
    {
        SetUpDisc();
        ToWired(Segment(false, 0, 0, 0, TcpHeader::SYN)); // of unscaled windows
        ToMesh(Data(0));
        ToWired(Ack(PAYLOAD)); // advertises 64000 bytes; after 0 s no sample can pace
        m_gateway->SetUrgentCallback(MakeNullCallback<void, Ptr<QueueDiscItem>>());
        for (uint32_t i = 1; i <= 80; i++)
        {
            m_disc->Enqueue(Data(i * PAYLOAD));
        }
        NS_TEST_EXPECT_MSG_EQ(m_gateway->HeldPackets(), 64, "64 segments of 1000 bytes");
        NS_TEST_EXPECT_MSG_EQ(m_disc->GetStats().GetNDroppedPackets(
                                  MeshpaceMeshQueueDisc::PACING_QUEUE_FULL),
                              16,
                              "what is beyond is dropped");
        TearDownDisc();
    }
};

/** What is none of the gateway's business passes at once. */
class PassingTestCase : public DiscTestCase
{
  public:
    PassingTestCase()
        : DiscTestCase("What is not TCP between mesh and wired network passes")
    {
    }

  private:
    void ExpectPass(Ptr<QueueDiscItem> item, const std::string& what)
    {
        const auto verdict = m_gateway->ToMesh(item).verdict;
        NS_TEST_EXPECT_MSG_EQ((verdict == MeshpaceGateway::Verdict::PASS), true, what);
    }

    void DoRun() override
    {
        SetUpDisc();
        ExpectPass(MakeItem(Create<Packet>(100), HOST, MESH_HOST, 17), "UDP");
        ExpectPass(MakeItem(Create<Packet>(19), HOST, MESH_HOST, 6), "a truncated header");
        uint8_t bytes[40] = {};
        bytes[12] = 0xf0;
        ExpectPass(MakeItem(Create<Packet>(bytes, 40), HOST, MESH_HOST, 6), "a header too long");
        bytes[12] = 0x10;
        ExpectPass(MakeItem(Create<Packet>(bytes, 40), HOST, MESH_HOST, 6), "a header too short");
        auto between = Create<Packet>(PAYLOAD);
        between->AddHeader(MakeHeader(true, 1, 1, TcpHeader::ACK));
        ExpectPass(MakeItem(between, Ipv4Address("10.1.0.9"), MESH_HOST, 6), "mesh to mesh");
        ExpectPass(Segment(true, 1, 1, 0), "an ACK of an unknown connection");
        ExpectPass(Segment(true, 1, 1, 0, TcpHeader::FIN), "the end of an unknown connection");
        NS_TEST_EXPECT_MSG_EQ(m_gateway->Find(KEY), nullptr, "and nothing was adopted");
        TearDownDisc();
    }
};

/** State is soft: adopted in mid-life, gone after a reset or in silence. */
class LifeTestCase : public DiscTestCase
{
  public:
    LifeTestCase()
        : DiscTestCase("Connections are adopted, end, and are forgotten")
    {
    }

  private:
    void DoRun() override
    {
        SetUpDisc();
        Simulator::Schedule(Seconds(1), &LifeTestCase::ToMesh, this, Data(123456789));
        Simulator::Schedule(Seconds(2), &LifeTestCase::Expect, this, true, "adopted");
        const auto reset = Segment(false, 1, 1, 0, TcpHeader::RST);
        Simulator::Schedule(Seconds(3), &LifeTestCase::ToWired, this, reset);
        Simulator::Schedule(Seconds(12), &LifeTestCase::Expect, this, false, "gone after RST");
        Simulator::Schedule(Seconds(20), &LifeTestCase::ToMesh, this, Data(5));
        Simulator::Schedule(Seconds(190), &LifeTestCase::Expect, this, true, "not silent long");
        Simulator::Schedule(Seconds(210), &LifeTestCase::Expect, this, false, "gone in silence");
        Simulator::Stop(Seconds(211));
        Simulator::Run();
        TearDownDisc();
    }

    void Expect(bool there, std::string what)
    {
        NS_TEST_EXPECT_MSG_EQ((m_gateway->Find(KEY) != nullptr), there, what);
    }
};

/** Between two files, or while its sender waits for the wires, a download wants no more of the mesh. */
class WantsTestCase : public DiscTestCase
{
  public:
    WantsTestCase()
        : DiscTestCase("A download wants more while it is in the mesh")
    {
    }

  private:
    void DoRun() override
    {
        SetUpDisc();
        Simulator::Schedule(Seconds(1), &WantsTestCase::ToMesh, this, Data(1));
        Simulator::Schedule(Seconds(1.5), &WantsTestCase::ToWired, this, Ack(1));
        Simulator::Schedule(Seconds(4), &WantsTestCase::Expect, this, true, "outstanding");
        Simulator::Schedule(Seconds(5), &WantsTestCase::ToWired, this, Ack(1 + PAYLOAD));
        Simulator::Schedule(Seconds(5.1), &WantsTestCase::Expect, this, false, "acknowledged");
        Simulator::Stop(Seconds(6));
        Simulator::Run();
        TearDownDisc();
    }

    void Expect(bool wants, std::string what)
    {
        const auto demand = m_gateway->Find(KEY)->DownDemand(Simulator::Now().GetNanoSeconds());
        NS_TEST_EXPECT_MSG_EQ(mp_flow_wants(&demand), wants, what);
    }
};

class MeshpaceGatewayTestSuite : public TestSuite
{
  public:
    MeshpaceGatewayTestSuite()
        : TestSuite("meshpace-gateway", Type::UNIT)
    {
        AddTestCase(new OptionTestCase, Duration::QUICK);
        AddTestCase(new OptionNoRoomTestCase, Duration::QUICK);
        AddTestCase(new WithoutTimestampsTestCase, Duration::QUICK);
        AddTestCase(new DatagramCountsTestCase, Duration::QUICK);
        AddTestCase(new PacingTestCase, Duration::QUICK);
        AddTestCase(new InForceTestCase(MeshpaceRelease::AT_TURN), Duration::QUICK);
        AddTestCase(new InForceTestCase(MeshpaceRelease::IN_CLASS), Duration::QUICK);
        AddTestCase(new HeldAckTestCase, Duration::QUICK);
        AddTestCase(new WindowTestCase, Duration::QUICK);
        AddTestCase(new PassingTestCase, Duration::QUICK);
        AddTestCase(new LifeTestCase, Duration::QUICK);
        AddTestCase(new WantsTestCase, Duration::QUICK);
    }
};

MeshpaceGatewayTestSuite g_meshpaceGatewayTestSuite;

} // namespace
