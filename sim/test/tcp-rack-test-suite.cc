/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// RACK-TLP (RFC 8985): what is lost at a transfer's end, or twice, is repaired without the retransmission timer.

#include "tcp-line.h"
#include "test-scenarios.h"

#include "ns3/test.h"

#include <algorithm>
#include <numeric>

using namespace ns3;

namespace
{

/** @return a connection over which a file goes in one window, with some packets lost */
TcpLine::Settings
File(bool rack, uint32_t segments, const std::list<uint32_t>& lost)
{
    auto flow = FtpFlow("A", "B");
    flow.variant = "cubic";
    flow.initial_window = std::min(segments, 30U);
    flow.advertised_window = 400;
    flow.rack = rack;
    return {.flow = flow, .segments = segments, .kbps = 100000, .lostThere = lost};
}

/** @return when all of a file has arrived, s */
double
ArrivesS(const TcpLine::Settings& settings)
{
    TcpLine line(settings);
    line.Run(20);
    const auto& acks = line.Acks();
    const auto all = std::find_if(acks.begin(), acks.end(), [&settings](const auto& ack) {
        return ack.segments >= settings.segments;
    });
    return all == acks.end() ? 20 : all->timeS;
}

/** Losses that duplicate ACKs do not show. */
class LossTestCase : public TestCase
{
  public:
    /**
     * @param name the case
     * @param segments of the file
     * @param lost packets from the first segment on, from 0
     * @param roundTrips in which it arrives
     */
    LossTestCase(const std::string& name,
                 uint32_t segments,
                 const std::list<uint32_t>& lost,
                 double roundTrips)
        : TestCase(name),
          m_segments(segments),
          m_roundTrips(roundTrips)
    {
        for (const auto packet : lost)
        {
            m_lost.push_back(packet + TcpLine::HANDSHAKE);
        }
    }

  private:
    void DoRun() override
    {
        const auto timer = ArrivesS(File(false, m_segments, m_lost));
        const auto time = ArrivesS(File(true, m_segments, m_lost));
        NS_TEST_EXPECT_MSG_GT(timer, 0.2, "the timer's least");
        NS_TEST_EXPECT_MSG_LT(time, m_roundTrips * TcpLine::ROUND_TRIP_S * 1.15, "by time");
    }

    const uint32_t m_segments;
    std::list<uint32_t> m_lost;
    const double m_roundTrips;
};

/** Where nothing is lost, or duplicate ACKs show it, no packet more is sent than without. */
class NothingMoreTestCase : public TestCase
{
  public:
    /**
     * @param name the case
     * @param lost packets, from 0
     * @param delayedAck an ACK every so many segments
     */
    NothingMoreTestCase(const std::string& name, const std::list<uint32_t>& lost, uint32_t delayedAck)
        : TestCase(name),
          m_lost(lost),
          m_delayedAck(delayedAck)
    {
    }

  private:
    uint32_t Packets(bool rack)
    {
        auto settings = File(rack, 31, m_lost);
        settings.flow.delayed_ack = m_delayedAck;
        settings.flow.delayed_ack_s = 0.04; // as Linux holds one
        TcpLine line(settings);
        line.Run(5);
        NS_TEST_EXPECT_MSG_EQ(line.Delivered(), 31, "all");
        return line.PacketsThere();
    }

    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(Packets(true), Packets(false), "packets");
    }

    const std::list<uint32_t> m_lost;
    const uint32_t m_delayedAck;
};

/** A path that is gone is tried no oftener than by the timer, but for one probe; and the connection goes on when it is back. */
class SilenceTestCase : public TestCase
{
  public:
    SilenceTestCase()
        : TestCase("Nobody answers for a while")
    {
    }

  private:
    void DoRun() override
    {
        std::list<uint32_t> lost(14);
        std::iota(lost.begin(), lost.end(), 12); // the second half of twenty, the probe, and three of the timer's
        const auto timer = ArrivesS(File(false, 20, lost));
        const auto time = ArrivesS(File(true, 20, lost));
        NS_TEST_EXPECT_MSG_LT(time, 20, "it arrives");
        NS_TEST_EXPECT_MSG_LT(time, 2 * timer, "no later than by the timer alone, but for a doubling");
    }
};

/** The suite. */
class TcpRackTestSuite : public TestSuite
{
  public:
    TcpRackTestSuite()
        : TestSuite("meshpace-tcp-rack", Type::UNIT)
    {
        // Handshake, data, two of silence, the probe, the repair.
        AddTestCase(new LossTestCase("The tail", 10, {7, 8, 9}, 6), Duration::QUICK);
        // The last arrives, and left when the one before it did: handshake, data, a quarter, the repair.
        AddTestCase(new LossTestCase("The last but one", 3, {1}, 3), Duration::QUICK);
        AddTestCase(new LossTestCase("Two before the last", 4, {1, 2}, 3), Duration::QUICK);
        AddTestCase(new LossTestCase("Nearly all", 10, {1, 2, 3, 4, 5, 6, 7, 8, 9}, 9), Duration::QUICK);
        // Segment 20 is sent again as the 73rd, after all that slow start and limited transmit have let out.
        AddTestCase(new LossTestCase("A repair", 300, {20, 72}, 9), Duration::QUICK);
        AddTestCase(new NothingMoreTestCase("Nothing lost", {}, 1), Duration::QUICK);
        AddTestCase(new NothingMoreTestCase("ACKs held", {}, 2), Duration::QUICK);
        AddTestCase(new NothingMoreTestCase("A hole in the middle", {12}, 1), Duration::QUICK);
        AddTestCase(new SilenceTestCase, Duration::QUICK);
    }
};

TcpRackTestSuite g_tcpRackTestSuite; //!< the suite

} // namespace
