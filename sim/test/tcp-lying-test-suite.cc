/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "tcp-line.h"
#include "test-scenarios.h"

#include "ns3/test.h"

#include <algorithm>

using namespace ns3;

namespace
{

constexpr uint32_t SEGMENTS = 10;

/** Ten segments in one window to a receiver that lies. */
TcpLine::Settings
To(const std::string& receiver, const std::list<uint32_t>& lost = {})
{
    auto flow = FtpFlow("A", "B");
    flow.initial_window = SEGMENTS;
    flow.receiver = receiver;
    return {.flow = flow, .segments = SEGMENTS, .lostThere = lost};
}

/** What is lost is acknowledged, and never sent again. */
class LosslessTestCase : public TestCase
{
  public:
    LosslessTestCase()
        : TestCase("What is lost is acknowledged")
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint32_t LOST = 5;
        TcpLine line(To("lossless", {TcpLine::HANDSHAKE + LOST}));
        line.Run(5);
        NS_TEST_EXPECT_MSG_EQ(line.Delivered(), SEGMENTS - 1, "one never comes");
        const auto& acks = line.Acks();
        const bool all = std::any_of(acks.begin(), acks.end(), [](const auto& ack) {
            return ack.segments >= SEGMENTS;
        });
        NS_TEST_EXPECT_MSG_EQ(all, true, "all are acknowledged");
    }
};

/** Sixteen ACKs a segment. */
class SplitsTestCase : public TestCase
{
  public:
    SplitsTestCase()
        : TestCase("A segment is acknowledged in sixteen parts")
    {
    }

  private:
    void DoRun() override
    {
        TcpLine line(To("splits"));
        line.Run(5);
        NS_TEST_EXPECT_MSG_EQ(line.Delivered(), SEGMENTS, "all arrive");
        NS_TEST_EXPECT_MSG_GT_OR_EQ(line.PacketsBack(), 16 * SEGMENTS, "ACKs");
    }
};

/** An ACK is for more than has come. */
class EarlyTestCase : public TestCase
{
  public:
    EarlyTestCase()
        : TestCase("What is under way is acknowledged")
    {
    }

  private:
    void DoRun() override
    {
        TcpLine line(To("early"));
        line.Run(5);
        NS_TEST_ASSERT_MSG_GT(line.Acks().size(), 1, "ACKs");
        NS_TEST_EXPECT_MSG_EQ(line.Acks()[0].segments, 2, "after the first segment");
        NS_TEST_EXPECT_MSG_EQ(line.Acks()[1].segments, 4, "after the second");
        NS_TEST_EXPECT_MSG_EQ(line.Delivered(), 0, "the application gets nothing");
    }
};

/** Each answer comes 0.3 s late. */
class LateTestCase : public TestCase
{
  public:
    LateTestCase()
        : TestCase("Answers come late")
    {
    }

  private:
    void DoRun() override
    {
        auto settings = To("late");
        settings.flow.min_rto_s = 1;
        TcpLine line(settings);
        line.Run(5);
        NS_TEST_EXPECT_MSG_EQ(line.Delivered(), SEGMENTS, "all arrive");
        constexpr double THREE_WAYS_S = 0.03;
        NS_TEST_ASSERT_MSG_GT(line.Acks().size(), 0, "ACKs");
        NS_TEST_EXPECT_MSG_EQ_TOL(line.Acks()[0].timeS, THREE_WAYS_S + 0.3, 0.01, "the first");
    }
};

/** A connection is taken, and no data answered. */
class MuteTestCase : public TestCase
{
  public:
    MuteTestCase()
        : TestCase("Data are never answered")
    {
    }

  private:
    void DoRun() override
    {
        TcpLine line(To("mute"));
        line.Run(5);
        constexpr uint32_t SYN_ACK = 1;
        NS_TEST_EXPECT_MSG_EQ(line.PacketsBack(), SYN_ACK, "nothing comes back");
        NS_TEST_EXPECT_MSG_GT(line.PacketsThere(), SEGMENTS + 2, "it is tried again");
    }
};

/** The suite. */
class TcpLyingTestSuite : public TestSuite
{
  public:
    TcpLyingTestSuite()
        : TestSuite("meshpace-tcp-lying", Type::UNIT)
    {
        AddTestCase(new LosslessTestCase, Duration::QUICK);
        AddTestCase(new SplitsTestCase, Duration::QUICK);
        AddTestCase(new EarlyTestCase, Duration::QUICK);
        AddTestCase(new LateTestCase, Duration::QUICK);
        AddTestCase(new MuteTestCase, Duration::QUICK);
    }
};

TcpLyingTestSuite g_tcpLyingTestSuite; //!< the suite

} // namespace
