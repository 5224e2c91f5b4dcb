/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "radio-line.h"
#include "test-scenarios.h"

#include "../model/pointer-attribute.h"
#include "../model/radio/station-queue-disc.h"
#include "../runner/mesh-links.h"
#include "../runner/simulation.h"
#include "../runner/sinr-links.h"

#include "ns3/mobility-model.h"
#include "ns3/propagation-loss-model.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/test.h"
#include "ns3/traffic-control-layer.h"
#include "ns3/wifi-mac-queue.h"
#include "ns3/wifi-utils.h"
#include "ns3/yans-wifi-channel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

using namespace ns3;

namespace
{

RadioConfig
FixedRadio(uint32_t mcs)
{
    auto radio = TodaysRadio();
    radio.rate_control = "fixed";
    radio.mcs = mcs;
    return radio;
}

/** @return what a saturated link delivers, Mbit/s */
double
LinkMbps(const RadioConfig& radio, double distanceM, uint32_t framesPerMs)
{
    constexpr double SECONDS = 2;
    RadioLine line({0, distanceM}, radio);
    line.Saturate(0, 1, framesPerMs);
    line.RunUntil(Seconds(SECONDS));
    return line.Received(1) * RadioLine::FRAME_BYTES * 8 / SECONDS / 1e6;
}

/** Rate control finds, at every distance, about what the best fixed bit rate would carry. */
class RateTestCase : public TestCase
{
  public:
    explicit RateTestCase(double distanceM)
        : TestCase("Minstrel over " + std::to_string(distanceM) + " m"),
          m_distanceM(distanceM)
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint32_t FRAMES_PER_MS = 8;
        const auto chosen = LinkMbps(TodaysRadio(), m_distanceM, FRAMES_PER_MS);
        double best = 0;
        for (const auto mcs : {1U, 4U, 7U})
        {
            best = std::max(best, LinkMbps(FixedRadio(mcs), m_distanceM, FRAMES_PER_MS));
        }
        NS_TEST_EXPECT_MSG_GT(best, 5, "some rate carries");
        // A tenth of the frames are samples of other rates, in ns-3 as in Linux.
        NS_TEST_EXPECT_MSG_GT(chosen, 0.8 * best, "chosen");
    }

    double m_distanceM;
};

/** A wider channel carries more. */
class WidthTestCase : public TestCase
{
  public:
    WidthTestCase(const std::string& standard, std::vector<uint32_t> widths)
        : TestCase(standard + " over wider channels"),
          m_standard(standard),
          m_widths(std::move(widths))
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint32_t FRAMES_PER_MS = 30;
        double narrower = 0;
        for (const auto mhz : m_widths)
        {
            auto radio = TodaysRadio(m_standard);
            radio.channel_mhz = mhz;
            radio.sense_dbm = -82; // a wider channel has more noise
            radio.lock_dbm = -82;
            const auto mbps = LinkMbps(radio, 3, FRAMES_PER_MS);
            NS_TEST_EXPECT_MSG_GT(mbps, std::max(40.0, 1.4 * narrower), "over " << mhz << " MHz");
            narrower = mbps;
        }
    }

    std::string m_standard;
    std::vector<uint32_t> m_widths;
};

/** The share of frames lost is that from which links follow, at every standard and width. */
class LossTestCase : public TestCase
{
  public:
    LossTestCase(const std::string& standard, uint32_t mhz)
        : TestCase(standard + ", " + std::to_string(mhz) + " MHz: frames lost"),
          m_standard(standard),
          m_mhz(mhz)
    {
    }

  private:
    void DoRun() override
    {
        constexpr double SUCCESS = 0.6;
        auto radio = TodaysRadio(m_standard);
        radio.rate_control = "fixed";
        radio.channel_mhz = m_mhz;
        radio.sense_dbm = -82; // a wider channel has more noise
        radio.lock_dbm = -82;
        radio.aggregation = false;
        const auto distanceM = SinrReachM(radio, RadioLine::FRAME_BYTES, SUCCESS);
        RadioLine line({0, distanceM}, radio);
        line.Saturate(0, 1);
        line.RunUntil(Seconds(3));
        const double attempts = line.Sent(0, WIFI_MAC_QOSDATA).size();
        NS_TEST_EXPECT_MSG_GT(attempts, 1000, "attempts");
        const auto deviation = std::sqrt(SUCCESS * (1 - SUCCESS) / attempts);
        NS_TEST_EXPECT_MSG_EQ_TOL(line.Received(1) / attempts,
                                  SUCCESS,
                                  4 * deviation,
                                  "share delivered");
    }

    std::string m_standard;
    uint32_t m_mhz;
};

/**
 * A hidden pair: two senders that do not hear each other, the third node 10 dB nearer to one. A
 * fixed rate that needs more loses what rate control brings through.
 */
class HiddenTestCase : public TestCase
{
  public:
    HiddenTestCase()
        : TestCase("A hidden sender, with and without rate control")
    {
    }

  private:
    uint32_t Delivered(RadioConfig radio)
    {
        radio.lock_dbm = -82; // the hidden sender's frames are but interference
        RadioLine line({0, 25, 50, 75}, radio);
        line.Saturate(0, 1, 8);
        line.Saturate(3, 2);
        line.RunUntil(Seconds(3));
        return line.Received(2);
    }

    void DoRun() override
    {
        const auto fixed = Delivered(FixedRadio(4));
        const auto chosen = Delivered(TodaysRadio());
        NS_TEST_EXPECT_MSG_GT(chosen, 2 * fixed, "Minstrel beside MCS 4: " << fixed);
    }
};

/** Two frames overlap at a receiver, the weaker first: which of them it leaves for the stronger. */
class CaptureTestCase : public TestCase
{
  public:
    /** What is tried, and whether the stronger frame is received. */
    struct Case
    {
        std::string name;
        bool capture;
        double lockDbm;
        Time later; //!< than the weaker the stronger comes
        bool received;
    };

    explicit CaptureTestCase(Case tried)
        : TestCase(tried.name),
          m_case(std::move(tried))
    {
    }

  private:
    void DoRun() override
    {
        // Signals of 20 dB and 4.5 dB above the noise, -74 and -89.5 dBm, 15.5 dB apart.
        auto radio = TodaysRadio();
        radio.sense_dbm = -89.9;
        radio.lock_dbm = m_case.lockDbm;
        radio.capture = m_case.capture;
        RadioLine line({0, -20, 58}, radio);
        line.BroadcastAt(MilliSeconds(1), 2);
        line.BroadcastAt(MilliSeconds(1) + m_case.later, 1);
        line.RunUntil(MilliSeconds(10));
        NS_TEST_EXPECT_MSG_EQ(line.Received(0), m_case.received ? 1 : 0, "the stronger");
    }

    Case m_case;
};

/** @return the loss model of a line's channel */
Ptr<PropagationLossModel>
LossOf(const RadioLine& line)
{
    return PointerAttribute<PropagationLossModel>(line.Device(0)->GetChannel(),
                                                  "PropagationLossModel");
}

Ptr<MobilityModel>
PlaceOf(const RadioLine& line, uint32_t node)
{
    return line.Device(node)->GetNode()->GetObject<MobilityModel>();
}

/** Fading changes a signal from frame to frame, its mean not. */
class FadingTestCase : public TestCase
{
  public:
    explicit FadingTestCase(double distanceM)
        : TestCase("Fading over " + std::to_string(distanceM) + " m"),
          m_distanceM(distanceM)
    {
    }

  private:
    void DoRun() override
    {
        auto radio = TodaysRadio();
        radio.fading = "nakagami";
        const RadioLine line({0, m_distanceM}, radio);
        const auto meanW = DbmToW(
            SinrDistanceLoss(radio)->CalcRxPower(radio.tx_power_dbm,
                                                 PlaceOf(line, 0),
                                                 PlaceOf(line, 1)));
        constexpr uint32_t DRAWS = 20000;
        double sum = 0;
        double squares = 0;
        for (uint32_t i = 0; i < DRAWS; i++)
        {
            const auto part = DbmToW(LossOf(line)->CalcRxPower(radio.tx_power_dbm,
                                                               PlaceOf(line, 0),
                                                               PlaceOf(line, 1))) /
                              meanW;
            sum += part / DRAWS;
            squares += part * part / DRAWS;
        }
        // The power is gamma distributed: its variance is 1 / m, m 1.5 up to 80 m, then 0.75.
        const auto variance = 1 / (m_distanceM < 80 ? 1.5 : 0.75);
        NS_TEST_EXPECT_MSG_EQ_TOL(sum, 1, 4 * std::sqrt(variance / DRAWS), "mean");
        NS_TEST_EXPECT_MSG_EQ_TOL(squares - sum * sum, variance, 0.1 * variance, "variance");
    }

    double m_distanceM;
};

/** Shadowing is a link's, in both directions and in every run; another mesh has another. */
class ShadowingTestCase : public TestCase
{
  public:
    ShadowingTestCase()
        : TestCase("Shadowing")
    {
    }

  private:
    static constexpr uint32_t NODES = 40;
    static constexpr double DEVIATION_DB = 8;

    /** @return the power that arrives over each link, there and back, dBm */
    std::vector<double> Powers(double deviationDb, uint32_t seed, uint32_t run)
    {
        RngSeedManager::SetRun(run);
        auto radio = TodaysRadio();
        radio.shadowing_db = deviationDb;
        radio.topology_seed = seed;
        const RadioLine line(std::vector<double>(NODES, 0), radio);
        std::vector<double> powers;
        for (uint32_t a = 0; a < NODES; a++)
        {
            for (uint32_t b = 0; b < a; b++)
            {
                powers.push_back(LossOf(line)->CalcRxPower(0, PlaceOf(line, a), PlaceOf(line, b)));
                powers.push_back(LossOf(line)->CalcRxPower(0, PlaceOf(line, b), PlaceOf(line, a)));
            }
        }
        RngSeedManager::SetRun(1);
        return powers;
    }

    void DoRun() override
    {
        const auto powers = Powers(DEVIATION_DB, 1, 1);
        const auto plain = Powers(0, 1, 1);
        double squares = 0;
        for (std::size_t i = 0; i < powers.size(); i += 2)
        {
            NS_TEST_EXPECT_MSG_EQ(powers[i], powers[i + 1], "there and back");
            squares += std::pow(powers[i] - plain[i], 2) / (powers.size() / 2.0);
        }
        // 780 links: the deviation of their deviation is 1 / sqrt(2 * 780) of it.
        NS_TEST_EXPECT_MSG_EQ_TOL(std::sqrt(squares), DEVIATION_DB, 0.1 * DEVIATION_DB, "dB");
        NS_TEST_EXPECT_MSG_EQ((powers == Powers(DEVIATION_DB, 1, 2)), true, "in another run");
        NS_TEST_EXPECT_MSG_EQ((powers == Powers(DEVIATION_DB, 2, 1)), false, "in another mesh");
    }
};

/** A chain of two hops, as today's radio has it. */
Scenario
TodaysChain(uint32_t hops, double durationS)
{
    auto scenario = ChainScenario(hops, "static", durationS);
    scenario.radio = TodaysRadio();
    scenario.radio.queueing = "fq_codel";
    scenario.wired = {.mbps = 100, .delay_ms = 1};
    for (uint32_t i = 0; i < scenario.nodes.size(); i++)
    {
        scenario.nodes[i].x_m = 25.0 * i;
    }
    return scenario;
}

/** What the MAC of a gateway holds is bounded by its airtime, and all of it is given back. */
class AirtimeTestCase : public TestCase
{
  public:
    explicit AirtimeTestCase(bool outage)
        : TestCase(std::string("What the MAC holds, ") +
                   (outage ? "of a neighbour that is gone" : "of a slow neighbour")),
          m_outage(outage)
    {
    }

  private:
    /** Watches the first node's MAC. */
    struct Most
    {
        uint32_t frames{0};
        Time pending;
    };

    Most Watch(Simulation& simulation)
    {
        const auto& network = simulation.Network();
        const auto radio = DynamicCast<WifiNetDevice>(network.MeshDevice("IG"));
        const auto station = Mac48Address::ConvertFrom(network.MeshDevice("A")->GetAddress());
        const auto disc = DynamicCast<StationQueueDisc>(
            network.GetNode("IG")->GetObject<TrafficControlLayer>()->GetRootQueueDiscOnDevice(
                radio));
        Most most;
        for (double atS = 0.5; atS < 5.9; atS += 0.001)
        {
            Simulator::Schedule(Seconds(atS), [&most, radio, disc, station] {
                const auto queue = radio->GetMac()->GetTxopQueue(AC_BE);
                most.frames = std::max(most.frames, queue->GetNPackets());
                most.pending = disc ? Max(most.pending, disc->Pending(station)) : Time(0);
            });
        }
        simulation.Run();
        if (disc)
        {
            NS_TEST_EXPECT_MSG_EQ(disc->Pending(station), Time(0), "given back");
        }
        return most;
    }

    Scenario Slow(double aqlUs)
    {
        auto scenario = TodaysChain(1, m_outage ? 20 : 6);
        scenario.radio.rate_control = "fixed";
        scenario.radio.mcs = 0; // 6.5 Mbit/s: a packet of 1500 bytes takes 1.9 ms
        scenario.radio.aql_us = aqlUs;
        // A little more than the link carries: all that waits is through, or given up, at the end.
        scenario.flows = {UdpFlow("B", "A", m_outage ? 2500 : 10000)};
        scenario.flows[0].stop_s = 2;
        if (m_outage)
        {
            scenario.outages = {{.node = "A", .at_s = 1, .for_s = 10}};
        }
        return scenario;
    }

    Most Run(double aqlUs, double* kbps)
    {
        RngSeedManager::ResetNextStreamIndex();
        const auto scenario = Slow(aqlUs);
        Simulation simulation(scenario, 1);
        const auto most = Watch(simulation);
        *kbps = simulation.Flows()[0]->Delivery().GoodputBytes() * 8 / 1000.0;
        return most;
    }

    void DoRun() override
    {
        double boundKbps = 0;
        double freeKbps = 0;
        const auto bound = Run(12000, &boundKbps);
        const auto free = Run(0, &freeKbps);
        // The limit, and the packet that passed it.
        NS_TEST_EXPECT_MSG_LT(bound.pending, MicroSeconds(12000 + 2000), "airtime held");
        NS_TEST_EXPECT_MSG_GT(bound.pending, MicroSeconds(11000), "the bound is used");
        NS_TEST_EXPECT_MSG_LT(bound.frames, 9, "frames held");
        NS_TEST_EXPECT_MSG_GT(free.frames, 100, "frames held without a bound");
        if (!m_outage)
        {
            NS_TEST_EXPECT_MSG_GT(boundKbps, 0.85 * freeKbps, "what is carried");
        }
    }

    bool m_outage;
};

/** Routes under rate control: its slowest rate reaches over two hops, and they are not skipped. */
class RoutesTestCase : public TestCase
{
  public:
    RoutesTestCase()
        : TestCase("Routes under rate control")
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = TodaysChain(4, 1);
        scenario.flows = {FtpFlow("B", "A")};
        const MeshLinks links(scenario);
        NS_TEST_EXPECT_MSG_GT(links.ReachM(), 50, "the slowest rate reaches the second next");
        const auto tree = links.PathsTo(0);
        for (uint32_t i = 1; i < scenario.nodes.size(); i++)
        {
            NS_TEST_EXPECT_MSG_EQ(tree.hops[i], i, "hops of " << i);
            NS_TEST_EXPECT_MSG_EQ(tree.nextHop[i], i - 1, "next hop of " << i);
        }
        scenario.radio.shadowing_db = 8;
        const MeshLinks shadowed(scenario);
        NS_TEST_EXPECT_MSG_NE(shadowed.RadioDistanceM(0, 1), 25, "shadowed");
        NS_TEST_EXPECT_MSG_EQ(shadowed.RadioDistanceM(0, 1),
                              shadowed.RadioDistanceM(1, 0),
                              "both ways");
    }
};

/** Least cost, and of paths as cheap the one of fewer hops. */
class CheapestTestCase : public TestCase
{
  public:
    CheapestTestCase()
        : TestCase("Cheapest paths")
    {
    }

  private:
    void DoRun() override
    {
        const auto none = std::numeric_limits<double>::infinity();
        // 2 has a dear link to 0; 3 costs the same by 1 and by 2; 4 has no link.
        const std::vector<std::vector<double>> costs{{none, 1, 5, none, none},
                                                     {1, none, 1, 6, none},
                                                     {5, 1, none, 5, none},
                                                     {none, 6, 5, none, none},
                                                     {none, none, none, none, none}};
        const auto tree = FindCheapestPaths(costs.size(), 0, [&](uint32_t a, uint32_t b) {
            return costs[a][b];
        });
        const std::vector<uint32_t> hops{0, 1, 2, 2, MeshTree::UNREACHED};
        const std::vector<uint32_t> next{0, 0, 1, 1, 0};
        NS_TEST_EXPECT_MSG_EQ((tree.hops == hops), true, "hops");
        NS_TEST_EXPECT_MSG_EQ((tree.nextHop == next), true, "next hops");
    }
};

class TodayRadioTestSuite : public TestSuite
{
  public:
    TodayRadioTestSuite()
        : TestSuite("meshpace-today-radio", Type::UNIT)
    {
        const auto add = [this](TestCase* test) { AddTestCase(test, Duration::QUICK); };
        for (const auto distanceM : {5.0, 25.0, 45.0})
        {
            add(new RateTestCase(distanceM));
        }
        add(new WidthTestCase("802.11n", {20, 40}));
        add(new WidthTestCase("802.11ac", {20, 40, 80}));
        add(new WidthTestCase("802.11ax", {20, 40, 80}));
        add(new LossTestCase("802.11n", 20));
        add(new LossTestCase("802.11n", 40));
        add(new LossTestCase("802.11ac", 80));
        add(new LossTestCase("802.11ax", 20));
        add(new LossTestCase("802.11ax", 80));
        add(new HiddenTestCase);
        const auto preamble = MicroSeconds(10);
        const auto payload = MicroSeconds(500);
        add(new CaptureTestCase({"Capture, in the preamble", true, -89.9, preamble, true}));
        add(new CaptureTestCase({"No capture, in the preamble", false, -89.9, preamble, false}));
        add(new CaptureTestCase({"Capture, in the payload", true, -89.9, payload, false}));
        add(new CaptureTestCase({"Too weak to lock on", false, -82, payload, true}));
        add(new FadingTestCase(25));
        add(new FadingTestCase(150));
        add(new ShadowingTestCase);
        add(new AirtimeTestCase(false));
        add(new AirtimeTestCase(true));
        add(new RoutesTestCase);
        add(new CheapestTestCase);
    }
};

TodayRadioTestSuite g_todayRadioTestSuite; //!< the suite

} // namespace
