/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "../runner/tcp-sockets.h"
#include "tcp-line.h"
#include "test-scenarios.h"

#include "ns3/boolean.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/simulator.h"
#include "ns3/tcp-byte-counting.h"
#include "ns3/tcp-vegas-ns2.h"
#include "ns3/test.h"
#include "ns3/uinteger.h"

using namespace ns3;

namespace
{

constexpr uint32_t SEGMENT_BYTES = 1000;

/** @return a sender with a window of so many segments */
Ptr<TcpSocketState>
Sender(uint32_t window, uint32_t ssThresh)
{
    auto tcb = CreateObject<TcpSocketState>();
    tcb->m_segmentSize = SEGMENT_BYTES;
    tcb->m_cWnd = window * SEGMENT_BYTES;
    tcb->m_ssThresh = ssThresh * SEGMENT_BYTES;
    return tcb;
}

/** RFC 3465 by the numbers. */
class ByteCountingTestCase : public TestCase
{
  public:
    ByteCountingTestCase()
        : TestCase("Byte counting grows by RFC 3465, without it by ACKs")
    {
    }

  private:
    /** @return by how many segments ACKs of so many segments each let a window grow */
    static double Growth(Ptr<TcpCongestionOps> control,
                         Ptr<TcpSocketState> tcb,
                         uint32_t acks,
                         uint32_t segmentsEach)
    {
        const auto before = tcb->m_cWnd.Get();
        for (uint32_t i = 0; i < acks; i++)
        {
            control->IncreaseWindow(tcb, segmentsEach);
        }
        return (tcb->m_cWnd.Get() - before) / static_cast<double>(SEGMENT_BYTES);
    }

    static Ptr<TcpCongestionOps> Counting()
    {
        return CreateObject<TcpByteCounting>(CreateObject<TcpNewReno>());
    }

    void DoRun() override
    {
        auto plain = CreateObject<TcpNewReno>();
        for (const uint32_t each : {1, 2, 4})
        {
            NS_TEST_EXPECT_MSG_EQ(Growth(plain, Sender(10, 100), 5, each), 5, "slow start, ACKs");
            NS_TEST_EXPECT_MSG_EQ(Growth(Counting(), Sender(10, 100), 5, each),
                                  5 * std::min(each, 2U),
                                  "slow start, bytes, " << each << " an ACK");
            NS_TEST_EXPECT_MSG_EQ(Growth(Counting(), Sender(20, 2), 20 / each, each),
                                  1,
                                  "a window of bytes, " << each << " an ACK");
        }
        NS_TEST_EXPECT_MSG_EQ_TOL(Growth(plain, Sender(20, 2), 5, 4),
                                  0.25,
                                  0.01,
                                  "a quarter of a window of ACKs");
        NS_TEST_EXPECT_MSG_EQ(Growth(Counting(), Sender(20, 2), 19, 1), 0, "not quite a window");

        auto control = Counting();
        auto tcb = Sender(1, 4);
        control->CongestionStateSet(tcb, TcpSocketState::CA_LOSS);
        NS_TEST_EXPECT_MSG_EQ(Growth(control, tcb, 3, 4), 3, "slow start after a timeout: L = 1");
        Growth(control, tcb, 1, 1); // ssthresh reached
        tcb->m_ssThresh = 100 * SEGMENT_BYTES;
        NS_TEST_EXPECT_MSG_EQ(Growth(control, tcb, 3, 4), 6, "the next one: L = 2");
    }
};

/** With delayed ACKs a flow's window opens faster by byte counting, with d = 1 as fast. */
class OpeningTestCase : public TestCase
{
  public:
    OpeningTestCase(const std::string& variant)
        : TestCase("How fast the window of " + variant + " opens"),
          m_variant(variant)
    {
    }

  private:
    uint32_t DeliveredIn(uint32_t delayedAck, bool byteCounting) const
    {
        auto flow = FtpFlow("A", "B");
        flow.variant = m_variant;
        flow.delayed_ack = delayedAck;
        flow.byte_counting = byteCounting;
        flow.advertised_window = 1000;
        TcpLine line({.flow = flow, .segments = 1000, .kbps = 100000, .delayS = 0.1});
        line.Run(m_variant == "vegas" ? 3 : 1.75); // Vegas: two round trips for each of others
        return line.Delivered();
    }

    void DoRun() override
    {
        const auto acks = DeliveredIn(2, false);
        NS_TEST_EXPECT_MSG_GT(DeliveredIn(2, true), 1.5 * acks, "d = 2, bytes and ACKs");
        NS_TEST_EXPECT_MSG_EQ(DeliveredIn(1, true), DeliveredIn(1, false), "d = 1");
    }

    const std::string m_variant;
};

/** Vegas keeps alpha = beta = 2 packets queued. */
class VegasQueueTestCase : public TestCase
{
  public:
    VegasQueueTestCase()
        : TestCase("Vegas keeps two packets in the queue and loses none")
    {
    }

  private:
    void DoRun() override
    {
        auto flow = FtpFlow("A", "B");
        flow.variant = "vegas";
        flow.advertised_window = 1000;
        // 1540 bytes in 12.3 ms, RTT 0.2 s: 16 in flight fill the path, 17 with the ACK's way.
        TcpLine line({.flow = flow, .segments = 3000, .kbps = 1000, .delayS = 0.1});
        std::vector<double> rttsS; // one when it changes
        line.Sender()->TraceConnectWithoutContext(
            "LastRTT",
            Callback<void, Time, Time>([&](Time /* before */, Time rtt) {
                if (Simulator::Now() < Seconds(20))
                {
                    rttsS.clear();
                }
                rttsS.push_back(rtt.GetSeconds());
            }));
        line.Run(30);
        constexpr double PACKET_S = 1502 * 8 / 1e6; // with 20 of TCP, 20 of IP, 2 of PPP
        constexpr double EMPTY_S = 0.2 + PACKET_S + 42 * 8 / 1e6;
        NS_TEST_ASSERT_MSG_GT(rttsS.size(), 0, "samples");
        for (const auto rttS : rttsS)
        {
            const auto queued = (rttS - EMPTY_S) / PACKET_S;
            // Half a packet is rounding, one comes or goes before a change is seen.
            NS_TEST_EXPECT_MSG_GT(queued, 2 - 1.5, "packets queued");
            NS_TEST_EXPECT_MSG_LT(queued, 2 + 1.5, "packets queued");
        }
        NS_TEST_EXPECT_MSG_GT(line.Delivered(), 20 / PACKET_S, "and fills the path");
    }
};

/** What a loss takes. */
class VegasLossTestCase : public TestCase
{
  public:
    VegasLossTestCase()
        : TestCase("A loss takes a quarter of Vegas's window, a timeout half")
    {
    }

  private:
    void DoRun() override
    {
        auto vegas = CreateObject<TcpVegasNs2>();
        auto tcb = Sender(12, 100);
        tcb->m_congState = TcpSocketState::CA_RECOVERY;
        NS_TEST_EXPECT_MSG_EQ(vegas->GetSsThresh(tcb, 0), 9 * SEGMENT_BYTES, "duplicate ACKs");
        tcb->m_congState = TcpSocketState::CA_OPEN;
        NS_TEST_EXPECT_MSG_EQ(vegas->GetSsThresh(tcb, 0), 6 * SEGMENT_BYTES, "timeout");
        tcb->m_cWnd = 2 * SEGMENT_BYTES;
        NS_TEST_EXPECT_MSG_EQ(vegas->GetSsThresh(tcb, 0), 2 * SEGMENT_BYTES, "never below two");
    }
};

/** A first SYN that is lost costs today's hosts a second (RFC 6298), those of the papers three (RFC 2988). */
class LostSynTestCase : public TestCase
{
  public:
    LostSynTestCase()
        : TestCase("How long after a lost SYN the next one leaves")
    {
    }

  private:
    /** @return segments that arrive in some time, s, when the first SYN is lost */
    static uint32_t DeliveredIn(double durationS, bool rack)
    {
        auto flow = FtpFlow("A", "B");
        flow.rack = rack;
        TcpLine line({.flow = flow, .segments = 5, .lostThere = {0}});
        line.Run(durationS);
        return line.Delivered();
    }

    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(DeliveredIn(0.9, true), 0, "not yet");
        NS_TEST_EXPECT_MSG_EQ(DeliveredIn(1.5, true), 5, "today");
        NS_TEST_EXPECT_MSG_EQ(DeliveredIn(2.9, false), 0, "not yet");
        NS_TEST_EXPECT_MSG_EQ(DeliveredIn(3.5, false), 5, "in the papers");
    }
};

/** What is in flight its receiver's window bounds, never its sender's buffer. */
class SendBufferTestCase : public TestCase
{
  public:
    SendBufferTestCase()
        : TestCase("A sender's buffer holds its receiver's window")
    {
    }

  private:
    void DoRun() override
    {
        NodeContainer node(1);
        InternetStackHelper().Install(node);
        for (const uint32_t window : {64, 400, 1400})
        {
            auto flow = FtpFlow("A", "B");
            flow.advertised_window = window;
            UintegerValue bytes;
            CreateTcpSender(flow, node.Get(0), nullptr)->GetAttribute("SndBufSize", bytes);
            NS_TEST_EXPECT_MSG_EQ(bytes.Get(),
                                  std::max(window, 400U) * flow.segment_bytes,
                                  "beside a window of " << window);
        }
        Simulator::Destroy();
    }
};

class TcpWindowTestSuite : public TestSuite
{
  public:
    TcpWindowTestSuite()
        : TestSuite("meshpace-tcp-window", Type::UNIT)
    {
        AddTestCase(new ByteCountingTestCase, Duration::QUICK);
        AddTestCase(new OpeningTestCase("newreno"), Duration::QUICK);
        AddTestCase(new OpeningTestCase("westwood"), Duration::QUICK);
        AddTestCase(new OpeningTestCase("vegas"), Duration::QUICK);
        AddTestCase(new VegasQueueTestCase, Duration::QUICK);
        AddTestCase(new VegasLossTestCase, Duration::QUICK);
        AddTestCase(new LostSynTestCase, Duration::QUICK);
        AddTestCase(new SendBufferTestCase, Duration::QUICK);
    }
};

TcpWindowTestSuite g_tcpWindowTestSuite; //!< the suite

} // namespace
