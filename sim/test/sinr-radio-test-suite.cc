/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "radio-line.h"
#include "test-scenarios.h"

#include "../runner/radio.h"
#include "../runner/sinr-links.h"

#include "ns3/test.h"

#include <cmath>
#include <string>

using namespace ns3;

namespace
{

RadioConfig
SinrRadio(const std::string& standard)
{
    auto radio = PapersRadio();
    radio.model = "sinr";
    radio.standard = standard;
    radio.rts_cts = false;
    return radio;
}

/**
 * The probability from which links follow is the one with which the simulated radio delivers.
 */
class DeliveryTestCase : public TestCase
{
  public:
    explicit DeliveryTestCase(double success)
        : TestCase("Frames at a distance that lets " + std::to_string(success) + " through"),
          m_success(success)
    {
    }

  private:
    void DoRun() override
    {
        auto radio = SinrRadio("802.11b");
        radio.sense_dbm = -93; // so that it is the error model which decides
        radio.lock_dbm = -93;
        const auto distanceM = SinrReachM(radio, RadioLine::FRAME_BYTES, m_success);
        RadioLine line({0, distanceM}, radio);
        line.Saturate(0, 1);
        line.RunUntil(Seconds(4));
        // ACKs, short and slow, always come back: what is received has succeeded once.
        const double attempts = line.Sent(0, WIFI_MAC_DATA).size();
        NS_TEST_EXPECT_MSG_GT(attempts, 300, "attempts");
        const auto measured = line.Received(1) / attempts;
        const auto deviation = std::sqrt(m_success * (1 - m_success) / attempts);
        NS_TEST_EXPECT_MSG_EQ_TOL(measured, m_success, 4 * deviation, "share delivered");
    }

    double m_success;
};

/** Links reach as far as stated, for every standard, and less far for longer packets. */
class ReachTestCase : public TestCase
{
  public:
    ReachTestCase(const std::string& standard, uint32_t dataKbps)
        : TestCase("Reach of " + standard),
          m_standard(standard),
          m_dataKbps(dataKbps)
    {
    }

  private:
    void DoRun() override
    {
        auto radio = SinrRadio(m_standard);
        radio.sense_dbm = -89;
        radio.lock_dbm = -89;
        if (m_standard == "802.11g")
        {
            radio.data_mbps = 54;
        }
        NS_TEST_EXPECT_MSG_EQ(DataKbps(radio), m_dataKbps, "bit rate");
        constexpr uint32_t PACKET_BYTES = 1500;
        const auto reachM = SinrReachM(radio, PACKET_BYTES, LINK_SUCCESS);
        NS_TEST_EXPECT_MSG_GT(SinrSuccess(radio, 0.99 * reachM, PACKET_BYTES), LINK_SUCCESS, "in");
        NS_TEST_EXPECT_MSG_LT(SinrSuccess(radio, 1.01 * reachM, PACKET_BYTES), LINK_SUCCESS, "out");
        NS_TEST_EXPECT_MSG_LT(reachM, SinrReachM(radio, PACKET_BYTES / 10, LINK_SUCCESS), "short");
    }

    std::string m_standard;
    uint32_t m_dataKbps;
};

/** Data crosses a good link of every standard, acknowledged. */
class UnicastTestCase : public TestCase
{
  public:
    UnicastTestCase(const std::string& standard, bool aggregation)
        : TestCase(standard + (aggregation ? ", aggregation" : ", no aggregation")),
          m_standard(standard),
          m_aggregation(aggregation)
    {
    }

  private:
    void DoRun() override
    {
        auto radio = SinrRadio(m_standard);
        radio.data_mbps = m_standard == "802.11g" ? 54 : 11;
        radio.aggregation = m_aggregation;
        RadioLine line({0, 10}, radio);
        line.Saturate(0, 1);
        line.RunUntil(Seconds(1));
        // A frame each millisecond is offered, which only 802.11b's 11 Mbit/s cannot carry.
        const auto least = m_standard == "802.11b" ? 400U : 980U;
        NS_TEST_EXPECT_MSG_GT(line.Received(1), least, "frames received");
        NS_TEST_EXPECT_MSG_EQ(line.Dropped(0), 0, "frames given up");
    }

    std::string m_standard;
    bool m_aggregation;
};

/** Frames that wait together share a transmission when aggregation is on, and only then. */
class AggregationTestCase : public TestCase
{
  public:
    AggregationTestCase(const std::string& standard, bool aggregation)
        : TestCase(standard + (aggregation ? ", frames aggregated" : ", frames one by one")),
          m_standard(standard),
          m_aggregation(aggregation)
    {
    }

  private:
    void DoRun() override
    {
        auto radio = SinrRadio(m_standard);
        radio.aggregation = m_aggregation;
        RadioLine line({0, 10}, radio);
        constexpr uint32_t FRAMES = 40;
        const auto to = Mac48Address::ConvertFrom(line.Device(1)->GetAddress());
        for (uint32_t i = 0; i < FRAMES; i++)
        {
            line.SendAt(Seconds(0), 0, to);
        }
        line.RunUntil(Seconds(1));
        NS_TEST_EXPECT_MSG_EQ(line.Received(1), FRAMES, "frames received");
        const auto transmissions = line.Sent(0, WIFI_MAC_QOSDATA).size();
        if (m_aggregation)
        {
            NS_TEST_EXPECT_MSG_LT(transmissions, FRAMES / 2, "transmissions");
        }
        else
        {
            NS_TEST_EXPECT_MSG_EQ(transmissions, FRAMES, "transmissions");
        }
    }

    std::string m_standard;
    bool m_aggregation;
};

/** A carrier-sense threshold below what a standard's preambles need is refused, in one line. */
class DeafTestCase : public TestCase
{
  public:
    DeafTestCase()
        : TestCase("Sensing below the noise")
    {
    }

  private:
    void DoRun() override
    {
        auto radio = SinrRadio("802.11n");
        radio.sense_dbm = -92;
        radio.lock_dbm = -92;
        std::string message;
        try
        {
            RadioLine line({0, 10}, radio);
        }
        catch (const ScenarioError& error)
        {
            message = error.what();
        }
        NS_TEST_EXPECT_MSG_NE(message.find("at least -89.9"), message.npos, "told: " << message);
        NS_TEST_EXPECT_MSG_EQ(message.find('\n'), message.npos, "one line: " << message);
    }
};

class SinrRadioTestSuite : public TestSuite
{
  public:
    SinrRadioTestSuite()
        : TestSuite("meshpace-sinr-radio", Type::UNIT)
    {
        const auto add = [this](TestCase* test) { AddTestCase(test, Duration::QUICK); };
        add(new DeliveryTestCase(0.9));
        add(new DeliveryTestCase(0.5));
        add(new DeliveryTestCase(0.2));
        add(new ReachTestCase("802.11b", 11000));
        add(new ReachTestCase("802.11g", 54000));
        add(new ReachTestCase("802.11n", 39000));
        add(new ReachTestCase("802.11ac", 39000));
        add(new UnicastTestCase("802.11b", false));
        add(new UnicastTestCase("802.11g", false));
        add(new UnicastTestCase("802.11n", false));
        add(new UnicastTestCase("802.11n", true));
        add(new UnicastTestCase("802.11ac", true));
        add(new AggregationTestCase("802.11n", false));
        add(new AggregationTestCase("802.11n", true));
        add(new AggregationTestCase("802.11ac", true));
        add(new DeafTestCase);
    }
};

SinrRadioTestSuite g_sinrRadioTestSuite; //!< the suite

} // namespace
