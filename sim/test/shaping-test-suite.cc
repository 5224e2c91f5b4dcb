/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "shaping-line.h"

#include "ns3/enum.h"
#include "ns3/ipv4-queue-disc-item.h"
#include "ns3/simulator.h"
#include "ns3/test.h"
#include "ns3/udp-header.h"
#include "ns3/udp-l4-protocol.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

/** What is offered more than the rate leaves at the rate, never faster, whatever the packets. */
class RateTestCase : public TestCase
{
  public:
    explicit RateTestCase(double mbps)
        : TestCase("Held to " + std::to_string(std::lround(mbps * 1e3)) + " kbps"),
          m_mbps(mbps)
    {
    }

  private:
    void DoRun() override
    {
        constexpr double SECONDS = 5;
        auto disc = CreateDisc(m_mbps);
        Line line(disc);
        line.Feed({1, 1, 1500, m_mbps});
        line.Feed({1, 2, 200, m_mbps / 4});
        RunFor(SECONDS, disc);
        NS_TEST_EXPECT_MSG_EQ_TOL(line.Mbps(1, SECONDS), m_mbps, m_mbps / 100, "the rate");
        uint64_t sent = 0;
        for (const auto& [time, bytes] : line.Departures())
        {
            // What has left before this packet takes its time.
            NS_TEST_ASSERT_MSG_LT_OR_EQ(sent * 8 / m_mbps / 1e6, time.GetSeconds() + 1e-6, "burst");
            sent += bytes;
        }
    }

    const double m_mbps;
};

/** A queue that was empty for a while has saved nothing up. */
class NoCreditTestCase : public TestCase
{
  public:
    NoCreditTestCase()
        : TestCase("Silence gives no credit")
    {
    }

  private:
    void DoRun() override
    {
        auto disc = CreateDisc(1);
        Line line(disc);
        Simulator::Schedule(Seconds(3), [&] {
            for (int i = 0; i < 10; i++)
            {
                disc->Enqueue(line.Packet({1, 1, 1500, 1}));
            }
            disc->Run();
        });
        RunFor(4, disc);
        NS_TEST_ASSERT_MSG_EQ(line.Departures().size(), 10, "all have left");
        for (std::size_t i = 0; i < 10; i++)
        {
            NS_TEST_EXPECT_MSG_EQ_TOL(line.Departures()[i].first.GetSeconds(),
                                      3 + i * 0.012,
                                      1e-6,
                                      "12 ms apart");
        }
    }
};

/** A host gets what another gets, however many flows it has. */
class HostsTestCase : public TestCase
{
  public:
    HostsTestCase(uint16_t flows, PacketEnd host)
        : TestCase(std::to_string(flows) + " flows of a host beside one of another, " +
                   (host == PacketEnd::SOURCE ? "up" : "down")),
          m_flows(flows),
          m_host(host)
    {
    }

  private:
    void DoRun() override
    {
        // The first packets of new flows go first (RFC 8290): a thousand take a second and more.
        constexpr double FROM_S = 4;
        constexpr double TO_S = 16;
        auto disc = CreateDisc(20, m_host);
        Line line(disc);
        for (uint16_t port = 1; port <= m_flows; port++)
        {
            line.Feed({1, port, 1500, 30.0 / m_flows}); // each keeps a queue
        }
        line.Feed({2, 1, 1500, 30});
        std::map<uint8_t, double> before;
        Simulator::Schedule(Seconds(FROM_S), [&] {
            before = {{1, line.Bytes(1)}, {2, line.Bytes(2)}};
        });
        RunFor(TO_S, disc);
        const auto one = line.Bytes(1) - before[1];
        const auto other = line.Bytes(2) - before[2];
        NS_TEST_EXPECT_MSG_EQ_TOL(one / other, 1, 0.05, "equal");
        NS_TEST_EXPECT_MSG_EQ_TOL((one + other) * 8 / (TO_S - FROM_S) / 1e6, 20, 0.2, "all");
    }

    const uint16_t m_flows;
    const PacketEnd m_host;
};

/** Within a host flows get the same bytes, whatever their packets. */
class FlowsTestCase : public TestCase
{
  public:
    FlowsTestCase()
        : TestCase("Flows of a host are equal")
    {
    }

  private:
    void DoRun() override
    {
        auto disc = CreateDisc(10);
        Line line(disc);
        const Source large{1, 1, 1500, 10};
        const Source small{1, 2, 300, 10};
        line.Feed(large);
        line.Feed(small);
        RunFor(5, disc);
        NS_TEST_EXPECT_MSG_EQ_TOL(line.Bytes(large) / line.Bytes(small), 1, 0.02, "bytes");
    }
};

/**
 * A turn brings as much as sch_cake's: at slow rates little, so that flows of small packets send one, not five in a row, and
 * at fast rates a full packet.
 */
class TurnTestCase : public TestCase
{
  public:
    /**
     * @param mbps the rate
     * @param inARow packets of 300 bytes that a flow sends in a turn
     */
    TurnTestCase(double mbps, uint32_t inARow)
        : TestCase("A turn at " + std::to_string(std::lround(mbps)) + " Mbps"),
          m_mbps(mbps),
          m_inARow(inARow)
    {
    }

  private:
    void DoRun() override
    {
        auto disc = CreateDisc(m_mbps);
        Line line(disc);
        const std::vector<uint32_t> packetBytes{300, 299, 298};
        for (const auto bytes : packetBytes)
        {
            line.Feed({static_cast<uint8_t>(300 - bytes + 1), 1, bytes, m_mbps});
        }
        RunFor(1, disc);
        uint32_t longest = 0;
        uint32_t row = 0;
        uint32_t before = 0;
        for (const auto& [time, bytes] : line.Departures())
        {
            row = bytes == before ? row + 1 : 1;
            before = bytes;
            longest = time > Seconds(0.5) ? std::max(longest, row) : 0; // by when all keep a queue
        }
        NS_TEST_EXPECT_MSG_EQ(longest, m_inARow, "in a row");
    }

    const double m_mbps;
    const uint32_t m_inARow;
};

/** A flow without a queue does not wait for those of others that keep one, its own host's neither. */
class SparseTestCase : public TestCase
{
  public:
    explicit SparseTestCase(uint8_t bulkHost)
        : TestCase("A call beside bulk of " +
                   std::string(bulkHost == 1 ? "its own host" : "another host")),
          m_bulkHost(bulkHost)
    {
    }

  private:
    void DoRun() override
    {
        auto disc = CreateDisc(5);
        Line line(disc);
        const Source call{1, 1, 200, 0.08}; // 50 packets a second
        const Source bulk{m_bulkHost, 2, 1500, 8};
        line.Feed(bulk);
        line.Feed(call, 1); // by when bulk is new no more
        RunFor(5, disc);
        NS_TEST_EXPECT_MSG_EQ_TOL(line.Bytes(call), 4 * 50 * 200, 2 * 200, "all of it");
        NS_TEST_EXPECT_MSG_LT_OR_EQ(line.LongestWait(call), MicroSeconds(2401),
                                    "for the packet that is being sent, no other");
        NS_TEST_EXPECT_MSG_GT(line.LongestWait(bulk), MilliSeconds(20), "where bulk waits");
    }

    const uint8_t m_bulkHost;
};

/** CoDel marks what can be marked, and drops what cannot. */
class EcnTestCase : public TestCase
{
  public:
    explicit EcnTestCase(bool ecn)
        : TestCase(ecn ? "ECN marks" : "Losses without ECN"),
          m_ecn(ecn)
    {
    }

  private:
    void DoRun() override
    {
        auto disc = CreateDisc(10);
        Line line(disc);
        line.Feed({1, 1, 1500, 11, m_ecn});
        Simulator::Schedule(Seconds(1.99), [&] { m_drops = disc->GetStats().nTotalDroppedPackets; });
        RunFor(2, disc);
        NS_TEST_EXPECT_MSG_EQ((line.Marked() > 0), m_ecn, "marked");
        NS_TEST_EXPECT_MSG_EQ((m_drops > 0), !m_ecn, "dropped");
    }

    const bool m_ecn;
    uint32_t m_drops{0};
};

/** As in sch_cake, four packets at a slow rate are no standing queue, nor are two of each flow that keeps one. */
class StandingTestCase : public TestCase
{
  public:
    /**
     * @param flows how many keep a queue
     * @param packets how many of each wait
     * @param isMarked whether CoDel acts
     */
    StandingTestCase(uint16_t flows, uint32_t packets, bool isMarked)
        : TestCase(std::to_string(packets) + " packets wait of each of " + std::to_string(flows)),
          m_flows(flows),
          m_packets(packets),
          m_isMarked(isMarked)
    {
    }

  private:
    void DoRun() override
    {
        const double mbps = 1;
        auto disc = CreateDisc(mbps);
        Line line(disc);
        for (uint16_t port = 1; port <= m_flows; port++)
        {
            const Source source{1, port, 1500, mbps / m_flows, true};
            Simulator::ScheduleNow([this, disc, &line, source] {
                for (uint32_t i = 0; i < m_packets; i++)
                {
                    disc->Enqueue(line.Packet(source));
                }
            });
            line.Feed(source);
        }
        RunFor(5, disc);
        NS_TEST_EXPECT_MSG_EQ((line.Marked() > 0), m_isMarked, "marked");
    }

    const uint16_t m_flows;
    const uint32_t m_packets;
    const bool m_isMarked;
};

/** Who fills the buffer loses, nobody else; and the buffer has an end. */
class FullTestCase : public TestCase
{
  public:
    FullTestCase()
        : TestCase("A full buffer")
    {
    }

  private:
    void DoRun() override
    {
        auto disc = CreateDisc(10);
        Line line(disc);
        const Source other{2, 1, 1500, 3};
        line.Feed({1, 1, 1500, 200, true}); // marked, so that CoDel drops nothing
        line.Feed(other);
        uint32_t most = 0;
        std::function<void()> look = [&] {
            most = std::max(most, disc->GetNBytes());
            Simulator::Schedule(MilliSeconds(1), look);
        };
        look();
        RunFor(3, disc);
        NS_TEST_EXPECT_MSG_EQ_TOL(line.Bytes(other) * 8 / 3e6, 3, 0.02, "it loses nothing");
        NS_TEST_EXPECT_MSG_LT_OR_EQ(most, 4U << 20, "4 MiB");
        NS_TEST_EXPECT_MSG_GT(most, (4U << 20) - 2000, "all used");
    }
};

/** Rates of hosts: each its own, others any; none waits for another. */
class RatesTestCase : public TestCase
{
  public:
    RatesTestCase()
        : TestCase("Each named host has its rate, others pass")
    {
    }

  private:
    void DoRun() override
    {
        constexpr double SECONDS = 5;
        auto disc = CreateObject<RatedQueueDisc>();
        disc->SetHostRate(Ipv4Address(Line::HostAddress(1)), 4'000'000);
        disc->SetHostRate(Ipv4Address(Line::HostAddress(2)), 1'000'000);
        Line line(disc);
        line.Feed({1, 1, 1500, 10});
        line.Feed({2, 1, 1500, 10});
        line.Feed({3, 1, 1500, 30});
        RunFor(SECONDS, disc);
        NS_TEST_EXPECT_MSG_EQ_TOL(line.Mbps(1, SECONDS), 4, 0.02, "the first");
        NS_TEST_EXPECT_MSG_EQ_TOL(line.Mbps(2, SECONDS), 1, 0.01, "the second");
        NS_TEST_EXPECT_MSG_EQ_TOL(line.Mbps(3, SECONDS), 30, 0.02, "one that is not named");
    }
};

/** Every packet is sent, lost or waits; what waits is freed with the queue. */
class FreedTestCase : public TestCase
{
  public:
    FreedTestCase()
        : TestCase("Nothing is left when it ends")
    {
    }

  private:
    void DoRun() override
    {
        auto disc = CreateDisc(1);
        Line line(disc);
        std::vector<Ptr<Ipv4QueueDiscItem>> items;
        for (uint16_t i = 0; i < 3000; i++)
        {
            // Ever new flows: idle ones are used again.
            Simulator::Schedule(MilliSeconds(2 * i), [&, i] {
                items.push_back(line.Packet({1, i, i < 2500 ? 150U : 1500U, 1}));
                disc->Enqueue(items.back());
                disc->Run();
            });
        }
        Simulator::Stop(Seconds(6));
        Simulator::Run();
        const auto& stats = disc->GetStats();
        NS_TEST_EXPECT_MSG_GT(disc->GetNPackets(), 100, "packets wait");
        NS_TEST_EXPECT_MSG_EQ(line.Departures().size() + stats.nTotalDroppedPackets +
                                  disc->GetNPackets(),
                              3000,
                              "each is somewhere");
        const auto queue = disc->GetQueueDiscClass(0)->GetQueueDisc();
        NS_TEST_EXPECT_MSG_LT(DynamicCast<HostFairQueueDisc>(queue)->Flows(), 1700, "queues");
        disc->Dispose();
        Simulator::Destroy();
        for (const auto& item : items)
        {
            NS_TEST_ASSERT_MSG_EQ(item->GetReferenceCount(), 1, "nobody else has it");
        }
    }
};

class ShapingTestSuite : public TestSuite
{
  public:
    ShapingTestSuite()
        : TestSuite("meshpace-shaping", Type::UNIT)
    {
        const auto add = [this](TestCase* test) { AddTestCase(test, Duration::QUICK); };
        for (const double mbps : {0.5, 10.0, 100.0})
        {
            add(new RateTestCase(mbps));
        }
        add(new NoCreditTestCase);
        for (const auto host : {PacketEnd::SOURCE, PacketEnd::DESTINATION})
        {
            add(new HostsTestCase(8, host));
        }
        add(new HostsTestCase(1000, PacketEnd::DESTINATION));
        add(new FlowsTestCase);
        add(new TurnTestCase(5, 2));   // 300 bytes, and what was left
        add(new TurnTestCase(20, 3));  // 610
        add(new TurnTestCase(100, 6)); // 1514
        add(new SparseTestCase(1));
        add(new SparseTestCase(2));
        add(new EcnTestCase(true));
        add(new EcnTestCase(false));
        add(new StandingTestCase(1, 3, false)); // 36 ms, where 1.5 packets take 18
        add(new StandingTestCase(1, 6, true));
        add(new StandingTestCase(8, 1, false)); // 8 packets at the rate of all
        add(new StandingTestCase(8, 3, true));
        add(new FullTestCase);
        add(new RatesTestCase);
        add(new FreedTestCase);
    }
};

ShapingTestSuite g_shapingTestSuite;

} // namespace
