/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "radio-line.h"
#include "test-scenarios.h"

#include "../runner/sinr-links.h"

#include "ns3/mobility-model.h"
#include "ns3/node.h"
#include "ns3/pointer-attribute.h"
#include "ns3/propagation-loss-model.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/test.h"
#include "ns3/wifi-utils.h"
#include "ns3/yans-wifi-channel.h"

#include <algorithm>
#include <cmath>
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
    }
};

TodayRadioTestSuite g_todayRadioTestSuite; //!< the suite

} // namespace
