/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "tcp-line.h"
#include "test-scenarios.h"

#include "ns3/tcp-socket-thinning.h"
#include "ns3/test.h"

using namespace ns3;

namespace
{

constexpr double HELD_S = 0.15; //!< below min_rto_s, else the sender would time out meanwhile

/** A connection whose first window holds all its segments. */
TcpLine::Settings
Burst(uint32_t segments, DelayedAck ack)
{
    auto flow = FtpFlow("A", "B");
    flow.initial_window = segments;
    flow.delayed_ack = ack;
    flow.delayed_ack_s = HELD_S;
    return {.flow = flow, .segments = segments};
}

DelayedAck
Thinning()
{
    DelayedAck ack;
    ack.thinning = true;
    return ack;
}

/** @return what each ACK acknowledges in all, segments, up to the one of the last segment */
std::vector<uint32_t>
Acknowledged(const TcpLine& line)
{
    std::vector<uint32_t> segments;
    for (const auto& ack : line.Acks())
    {
        if (ack.segments < line.Delivered())
        {
            segments.push_back(ack.segments);
        }
    }
    return segments;
}

std::string
Text(const std::vector<uint32_t>& numbers)
{
    std::string text;
    for (const auto number : numbers)
    {
        text += std::to_string(number) + " ";
    }
    return text;
}

/** ACKs on the wire, one by one. */
class AcksTestCase : public TestCase
{
  public:
    /**
     * @param name the case
     * @param settings the connection
     * @param expected what each ACK before that of the last segment acknowledges in all, segments
     */
    AcksTestCase(const std::string& name,
                 const TcpLine::Settings& settings,
                 const std::vector<uint32_t>& expected)
        : TestCase(name),
          m_settings(settings),
          m_expected(expected)
    {
    }

  private:
    void DoRun() override
    {
        TcpLine line(m_settings);
        line.Run(5);
        NS_TEST_EXPECT_MSG_EQ(Text(Acknowledged(line)), Text(m_expected), "ACKs");
        NS_TEST_EXPECT_MSG_EQ(line.Delivered(), m_settings.segments, "delivered");
    }

    const TcpLine::Settings m_settings;
    const std::vector<uint32_t> m_expected;
};

/** What is held is acknowledged when the timer ends. */
class TimerTestCase : public TestCase
{
  public:
    TimerTestCase()
        : TestCase("A segment is held no longer than the timer says")
    {
    }

  private:
    void DoRun() override
    {
        auto settings = Burst(4, DelayedAck(5));
        settings.flow.advertised_window = 1;
        TcpLine line(settings);
        line.Run(5);
        const auto& acks = line.Acks();
        NS_TEST_ASSERT_MSG_GT_OR_EQ(acks.size(), 3, "ACKs");
        NS_TEST_EXPECT_MSG_EQ(acks[1].segments, 2, "one segment alone");
        constexpr double RTT_S = 0.02;
        NS_TEST_EXPECT_MSG_EQ_TOL(acks[1].timeS - acks[0].timeS, RTT_S + HELD_S, 0.005, "held");
        NS_TEST_EXPECT_MSG_EQ_TOL(acks[2].timeS - acks[1].timeS, RTT_S + HELD_S, 0.005, "again");
    }
};

/** The thresholds of Altman and Jimenez. */
class ThresholdsTestCase : public TestCase
{
  public:
    ThresholdsTestCase()
        : TestCase("d grows to 2, 3, 4 at segments 2, 5, 9")
    {
    }

  private:
    void DoRun() override
    {
        const std::vector<uint32_t> expected{1, 2, 2, 2, 3, 3, 3, 3, 4, 4};
        for (uint32_t segment = 1; segment <= expected.size(); segment++)
        {
            NS_TEST_EXPECT_MSG_EQ(TcpSocketThinning::DelayFactor(segment),
                                  expected[segment - 1],
                                  "d of segment " << segment);
        }
        NS_TEST_EXPECT_MSG_EQ(TcpSocketThinning::DelayFactor(1000000), 4, "d stays at 4");
    }
};

/** Whichever packet is lost, a connection delivers everything, ends, and is quiet then. */
class EndTestCase : public TestCase
{
  public:
    EndTestCase()
        : TestCase("A connection ends whatever packet is lost")
    {
    }

  private:
    void Check(const std::list<uint32_t>& there, const std::list<uint32_t>& back)
    {
        auto settings = Burst(SEGMENTS, DelayedAck(2));
        settings.flow.traffic = "files";
        settings.lostThere = there;
        settings.lostBack = back;
        TcpLine line(settings);
        line.Run(60);
        const auto which = there.empty() ? "back " + std::to_string(back.front())
                                         : "there " + std::to_string(there.front());
        NS_TEST_EXPECT_MSG_EQ(line.Delivered(), SEGMENTS, "delivered, lost " << which);
        NS_TEST_EXPECT_MSG_LT(line.LastPacketS(), 10, "quiet, lost " << which);
    }

    void DoRun() override
    {
        auto settings = Burst(SEGMENTS, DelayedAck(2));
        settings.flow.traffic = "files";
        uint32_t there = 0;
        uint32_t back = 0;
        {
            TcpLine line(settings);
            line.Run(60);
            there = line.PacketsThere();
            back = line.PacketsBack();
        }
        NS_TEST_ASSERT_MSG_GT_OR_EQ(there, SEGMENTS + 3, "SYN, ACK, segments, ACK of FIN");
        for (uint32_t i = 0; i < there; i++)
        {
            Check({i}, {});
        }
        for (uint32_t i = 0; i < back; i++)
        {
            Check({}, {i});
        }
    }

    static constexpr uint32_t SEGMENTS = 6;
};

class TcpReceiverTestSuite : public TestSuite
{
  public:
    TcpReceiverTestSuite()
        : TestSuite("meshpace-tcp-receiver", Type::UNIT)
    {
        const auto add = [this](TestCase* test) { AddTestCase(test, Duration::QUICK); };
        // The first segment is acknowledged at once, the last ones with their FIN.
        add(new AcksTestCase("d = 1", Burst(6, DelayedAck(1)), {1, 2, 3, 4, 5}));
        add(new AcksTestCase("d = 2", Burst(8, DelayedAck(2)), {1, 3, 5, 7}));
        add(new AcksTestCase("d = 3", Burst(14, DelayedAck(3)), {1, 4, 7, 10, 13}));
        add(new AcksTestCase("d = 4", Burst(15, DelayedAck(4)), {1, 5, 9, 13}));
        add(new AcksTestCase("d = 5", Burst(18, DelayedAck(5)), {1, 6, 11, 16}));
        add(new AcksTestCase("Thinning", Burst(24, Thinning()), {1, 3, 6, 10, 14, 18, 22}));
        AddLosses();
        add(new TimerTestCase);
        add(new ThresholdsTestCase);
        add(new EndTestCase);
    }

  private:
    void AddLosses()
    {
        // SYN and ACK are packets 0 and 1. What comes after the gap is acknowledged at once, what
        // fills it too; then d is what it was.
        auto delayed = Burst(14, DelayedAck(4));
        delayed.lostThere = {7}; // the sixth segment
        AddTestCase(new AcksTestCase("d = 4, a segment lost",
                                     delayed,
                                     {1, 5, 5, 5, 5, 5, 5, 5, 5, 5}),
                    Duration::QUICK);
    }
};

TcpReceiverTestSuite g_tcpReceiverTestSuite; //!< the suite

} // namespace
