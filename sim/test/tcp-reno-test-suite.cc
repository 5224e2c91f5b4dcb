/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// TCP without SACK: what a loss costs NewReno and Reno, and that a timeout does not halve the window for good.

#include "tcp-line.h"
#include "test-scenarios.h"

#include "ns3/simulator.h"
#include "ns3/test.h"

#include <algorithm>
#include <numeric>

using namespace ns3;

namespace
{

constexpr double LEAST_RTO_S = .2;

/** @return a connection that opens with so many segments, of which some packets are lost, counted from the first segment */
TcpLine::Settings
File(const std::string& variant, uint32_t window, uint32_t segments, const std::list<uint32_t>& lost)
{
    auto flow = FtpFlow("A", "B");
    flow.variant = variant;
    flow.sack = false;
    flow.initial_window = window;
    flow.advertised_window = 400;
    flow.min_rto_s = LEAST_RTO_S;
    std::list<uint32_t> packets;
    for (const auto segment : lost)
    {
        packets.push_back(segment + TcpLine::HANDSHAKE);
    }
    return {.flow = flow, .segments = segments, .kbps = 100000, .lostThere = packets};
}

/** What became of a file. */
struct Outcome
{
    double timeS;         //!< until all was acknowledged
    uint32_t packets;     //!< that came or were lost, handshake and FIN included
    uint32_t leastWindow; //!< of the congestion window, segments
    uint32_t halvings;    //!< times that it was lowered by more than a quarter
};

Outcome
Transfer(const TcpLine::Settings& settings)
{
    TcpLine line(settings);
    Outcome outcome{20, 0, settings.flow.initial_window, 0};
    const auto segment = settings.flow.segment_bytes;
    const Callback<void, uint32_t, uint32_t> change([&outcome, segment](uint32_t before, uint32_t now) {
        outcome.halvings += now < before - before / 4;
        outcome.leastWindow = std::min(outcome.leastWindow, now / segment);
    });
    line.Sender()->TraceConnectWithoutContext("CongestionWindow", change);
    line.Run(20);
    const auto& acks = line.Acks();
    const auto all = std::find_if(acks.begin(), acks.end(), [&settings](const auto& ack) {
        return ack.segments >= settings.segments;
    });
    outcome.timeS = all == acks.end() ? 20 : all->timeS;
    outcome.packets = line.PacketsThere();
    return outcome;
}

/** A loss is repaired by duplicate ACKs: one halving, a packet more. */
class OneLossTestCase : public TestCase
{
  public:
    explicit OneLossTestCase(const std::string& variant)
        : TestCase("One segment lost, " + variant),
          m_variant(variant)
    {
    }

  private:
    void DoRun() override
    {
        // Five are acknowledged first, each by a segment more of window.
        const auto whole = Transfer(File(m_variant, 20, 100, {}));
        const auto mended = Transfer(File(m_variant, 20, 100, {5}));
        NS_TEST_EXPECT_MSG_EQ(mended.packets, whole.packets + 1, "sent again once");
        NS_TEST_EXPECT_MSG_EQ(mended.halvings, 1, "lowered once");
        NS_TEST_EXPECT_MSG_EQ(mended.leastWindow, 12, "by half");
        NS_TEST_EXPECT_MSG_LT(mended.timeS, whole.timeS + 6 * TcpLine::ROUND_TRIP_S, "without the timer");
    }

    const std::string m_variant;
};

/** Several of a window: NewReno sends one each round trip; Reno repairs the first, and waits for the timer. */
class SeveralLossesTestCase : public TestCase
{
  public:
    SeveralLossesTestCase()
        : TestCase("Three segments of a window lost")
    {
    }

  private:
    void DoRun() override
    {
        const auto newreno = Transfer(File("newreno", 20, 60, {3, 6, 9}));
        const auto reno = Transfer(File("reno", 20, 60, {3, 6, 9}));
        NS_TEST_EXPECT_MSG_EQ(newreno.leastWindow, 11, "half of what the first three made of it");
        NS_TEST_EXPECT_MSG_LT(newreno.timeS, 9 * TcpLine::ROUND_TRIP_S, "a round trip each");
        NS_TEST_EXPECT_MSG_LT(reno.leastWindow, 6, "the timer's");
        NS_TEST_EXPECT_MSG_GT(reno.timeS, LEAST_RTO_S, "by the timer");
    }
};

/**
 * The repair is lost, too. Then all is sent again from there on, also what the receiver has, which answers by ACKs that
 * repeat each other: they tell of no loss.
 */
class TimeoutTestCase : public TestCase
{
  public:
    explicit TimeoutTestCase(const std::string& variant)
        : TestCase("A timeout, " + variant),
          m_variant(variant)
    {
    }

  private:
    void DoRun() override
    {
        // The first seven of twenty, and the first's repair: the packet behind them and two of limited transmit.
        const auto outcome = Transfer(File(m_variant, 20, 200, {0, 1, 2, 3, 4, 5, 6, 22}));
        NS_TEST_EXPECT_MSG_EQ(outcome.leastWindow, 1, "it begins slowly");
        NS_TEST_EXPECT_MSG_EQ(outcome.halvings, 2, "by duplicates, by the timeout, and never again");
        NS_TEST_EXPECT_MSG_LT(outcome.timeS, 1, "it goes on");
    }

    const std::string m_variant;
};

/** Nobody answers for a while, then somebody does. */
class SilentTestCase : public TestCase
{
  public:
    SilentTestCase()
        : TestCase("Nobody answers for a while")
    {
    }

  private:
    void DoRun() override
    {
        std::list<uint32_t> lost(23);
        std::iota(lost.begin(), lost.end(), 0); // the window, and three of the timer's
        const auto outcome = Transfer(File("reno", 20, 60, lost));
        NS_TEST_EXPECT_MSG_GT(outcome.timeS, (1 + 2 + 4) * LEAST_RTO_S, "the timer doubles");
        NS_TEST_EXPECT_MSG_LT(outcome.timeS, 20, "it arrives");
        NS_TEST_EXPECT_MSG_EQ(outcome.leastWindow, 1, "slowly");
    }
};

/** Whatever packet is lost, with the one that would be sent next or its own repair, on either way: all arrives. */
class AnyLossTestCase : public TestCase
{
  public:
    explicit AnyLossTestCase(const std::string& variant)
        : TestCase("Any two packets lost, " + variant),
          m_variant(variant)
    {
    }

  private:
    void DoRun() override
    {
        for (uint32_t packet = 0; packet < 30; packet++)
        {
            for (const uint32_t after : {1, 3, 10})
            {
                auto there = File(m_variant, 4, 20, {packet, packet + after});
                auto back = File(m_variant, 4, 20, {});
                back.lostBack = {packet, packet + after};
                for (const auto& settings : {there, back})
                {
                    TcpLine line(settings);
                    line.Run(60);
                    NS_TEST_EXPECT_MSG_EQ(line.Delivered(), 20, "without packets " << packet << " and " << after << " later");
                }
            }
        }
    }

    const std::string m_variant;
};

/** No more is sent than the receiver offers, whatever duplicates add. */
class OfferedTestCase : public TestCase
{
  public:
    OfferedTestCase()
        : TestCase("A small receiver")
    {
    }

  private:
    void DoRun() override
    {
        auto settings = File("newreno", 20, 60, {2});
        settings.flow.advertised_window = 20;
        TcpLine line(settings);
        uint32_t most = 0;
        const Callback<void, uint32_t, uint32_t> change([&most](uint32_t, uint32_t now) { most = std::max(most, now); });
        line.Sender()->TraceConnectWithoutContext("BytesInFlight", change);
        line.Run(20);
        NS_TEST_EXPECT_MSG_EQ(line.Delivered(), 60, "all");
        NS_TEST_EXPECT_MSG_LT_OR_EQ(most, 20 * settings.flow.segment_bytes, "under way");
    }
};

/** The suite. */
class TcpRenoTestSuite : public TestSuite
{
  public:
    TcpRenoTestSuite()
        : TestSuite("meshpace-tcp-reno", Type::UNIT)
    {
        for (const std::string variant : {"newreno", "reno"})
        {
            AddTestCase(new OneLossTestCase(variant), Duration::QUICK);
            AddTestCase(new TimeoutTestCase(variant), Duration::QUICK);
            AddTestCase(new AnyLossTestCase(variant), Duration::QUICK);
        }
        AddTestCase(new SeveralLossesTestCase, Duration::QUICK);
        AddTestCase(new SilentTestCase, Duration::QUICK);
        AddTestCase(new OfferedTestCase, Duration::QUICK);
    }
};

TcpRenoTestSuite g_tcpRenoTestSuite; //!< the suite

} // namespace
