/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// What the mesh has lost is sent again from the gateway's retransmit cache.

#include "gateway-disc.h"

#include "ns3/tcp-option-sack.h"

#include <utility>

using namespace ns3;

namespace
{

/** A duplicate ACK is answered here, once, and is not passed on. */
class LocalRetransmissionTestCase : public DiscTestCase
{
  public:
    LocalRetransmissionTestCase()
        : DiscTestCase("A hole is filled from the gateway's retransmit cache")
    {
    }

  private:
    void DoRun() override
    {
        SetUpDisc();
        Simulator::Schedule(Seconds(0.5), &LocalRetransmissionTestCase::Earn, this);
        Simulator::Schedule(Seconds(1.9), &LocalRetransmissionTestCase::SendFive, this);
        Simulator::Schedule(Seconds(2), &LocalRetransmissionTestCase::Duplicates, this);
        Simulator::Schedule(Seconds(2.04), &LocalRetransmissionTestCase::Filled, this);
        Simulator::Stop(Seconds(3));
        Simulator::Run();
        TearDownDisc();
    }

    void SendFive()
    {
        for (uint32_t i = 0; i < 5; i++)
        {
            ToMesh(Data(i * PAYLOAD));
        }
    }

    void ExpectVerdict(uint32_t ack, MeshpaceGateway::Verdict wanted, const std::string& what)
    {
        NS_TEST_EXPECT_MSG_EQ((ToWired(Ack(ack)) == wanted), true, what);
    }

    void Duplicates()
    {
        using Verdict = MeshpaceGateway::Verdict;
        ExpectVerdict(PAYLOAD, Verdict::PASS, "the first segment arrived");
        const auto before = m_departures.size();
        ExpectVerdict(PAYLOAD, Verdict::WITHHELD, "first duplicate");
        ExpectVerdict(PAYLOAD, Verdict::WITHHELD, "second duplicate");
        NS_TEST_ASSERT_MSG_EQ(m_departures.size(), before + 1, "one retransmission for both");
        NS_TEST_EXPECT_MSG_EQ(m_departures.back().seq, PAYLOAD, "of the missing segment");
        NS_TEST_EXPECT_MSG_EQ(m_departures.back().payload, PAYLOAD, "in full");
    }

    void Filled()
    {
        ExpectVerdict(5 * PAYLOAD, MeshpaceGateway::Verdict::PASS, "the hole is filled");
        const auto& statistics = m_gateway->Find(KEY)->Statistics();
        NS_TEST_EXPECT_MSG_EQ(statistics.localRetransmits, 1, "counted");
        NS_TEST_EXPECT_MSG_EQ(statistics.samples, 2, "no sample over a hole (Karn)");
        const auto ahead = m_departures.size();
        ExpectVerdict(5 * PAYLOAD, MeshpaceGateway::Verdict::PASS, "nothing outstanding");
        NS_TEST_EXPECT_MSG_EQ(m_departures.size(), ahead, "and nothing sent again");
    }
};

/** A frame with several segments was lost: SACK tells of all, and their sender hears of none. */
class HolesTestCase : public DiscTestCase
{
  public:
    HolesTestCase(MeshpaceGateway::Law law, const std::string& name)
        : DiscTestCase(name),
          m_law(law)
    {
    }

  private:
    using Verdict = MeshpaceGateway::Verdict;

    void DoRun() override
    {
        SetUpDisc(m_law);
        Simulator::Schedule(Seconds(0.5), &HolesTestCase::Earn, this);
        Simulator::Schedule(Seconds(1), &HolesTestCase::SendSixteen, this);
        Simulator::Schedule(Seconds(2), &HolesTestCase::News, this);
        Simulator::Schedule(Seconds(2.1), &HolesTestCase::Spent, this);
        Simulator::Stop(Seconds(3));
        Simulator::Run();
        TearDownDisc();
    }

    void SendSixteen()
    {
        for (uint32_t i = 0; i < 16; i++)
        {
            ToMesh(Data(i * PAYLOAD));
        }
    }

    /** @return an ACK of all before a segment @param ack it @param blocks segments that are there */
    static Ptr<QueueDiscItem> Told(uint32_t ack, std::vector<std::pair<uint32_t, uint32_t>> blocks)
    {
        auto option = CreateObject<TcpOptionSack>();
        for (const auto& [left, right] : blocks)
        {
            option->AddSackBlock({SequenceNumber32(left * PAYLOAD), SequenceNumber32(right * PAYLOAD)});
        }
        auto header = MakeHeader(false, 1, ack * PAYLOAD, TcpHeader::ACK);
        header.AppendOption(option);
        auto packet = Create<Packet>();
        packet->AddHeader(header);
        return MakeItem(packet, MESH_HOST, HOST, 6);
    }

    void News()
    {
        const bool even = m_law == MeshpaceGateway::EVEN;
        const auto before = m_departures.size();
        const auto told = Told(1, {{6, 7}, {3, 4}});
        NS_TEST_EXPECT_MSG_EQ((ToWired(told) == (even ? Verdict::PLAIN : Verdict::PASS)), true, "news");
        std::vector<uint32_t> again;
        for (auto i = before; i < m_departures.size(); i++)
        {
            again.push_back(m_departures[i].seq / PAYLOAD);
        }
        const auto wanted = even ? std::vector<uint32_t>{1, 2, 4, 5} : std::vector<uint32_t>{};
        NS_TEST_EXPECT_MSG_EQ((again == wanted), true, "all that is missing, and nothing else");
        NS_TEST_EXPECT_MSG_EQ((ToWired(Told(1, {{6, 8}, {3, 4}})) == Verdict::WITHHELD), true, "a duplicate");
        const auto plain = TcpSegment::Read(told)->WithoutSack();
        NS_TEST_EXPECT_MSG_EQ(plain.Sack().bytes, 0, "without its SACK");
        NS_TEST_EXPECT_MSG_EQ(plain.Ack(), PAYLOAD, "what it acknowledges");
    }

    /** Of seven copies that the host has earned four are spent: the sender is asked for the fourth more. */
    void Spent()
    {
        if (m_law != MeshpaceGateway::EVEN)
        {
            return;
        }
        const auto before = m_departures.size();
        NS_TEST_EXPECT_MSG_EQ((ToWired(Told(3, {{14, 15}})) == Verdict::PLAIN), true, "more is missing");
        NS_TEST_EXPECT_MSG_EQ(m_departures.size(), before + 3, "no more than is earned");
        NS_TEST_EXPECT_MSG_EQ((ToWired(Told(11, {{14, 15}})) == Verdict::PASS), true, "the sender hears of it");
    }

    MeshpaceGateway::Law m_law;
};

class RepairTestSuite : public TestSuite
{
  public:
    RepairTestSuite()
        : TestSuite("meshpace-repair", Type::UNIT)
    {
        AddTestCase(new LocalRetransmissionTestCase, Duration::QUICK);
        AddTestCase(new HolesTestCase(MeshpaceGateway::EVEN, "even goes by SACK"), Duration::QUICK);
        AddTestCase(new HolesTestCase(MeshpaceGateway::GAP, "the papers' law does not"), Duration::QUICK);
    }
};

RepairTestSuite g_repairTestSuite;

} // namespace
