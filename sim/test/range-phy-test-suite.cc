/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "radio-line.h"
#include "test-scenarios.h"

#include "../model/radio/range-phy.h"

#include "ns3/dsss-error-rate-model.h"
#include "ns3/nist-error-rate-model.h"
#include "ns3/test.h"
#include "ns3/wifi-phy-common.h"
#include "ns3/wifi-tx-vector.h"

using namespace ns3;

namespace
{

/** A frame is decoded inside the transmission range, not outside. */
class DecodeTestCase : public TestCase
{
  public:
    DecodeTestCase(uint32_t txRangeM, uint32_t distanceM, bool decoded)
        : TestCase("Range " + std::to_string(txRangeM) + " m, receiver at " +
                   std::to_string(distanceM) + " m"),
          m_txRangeM(txRangeM),
          m_distanceM(distanceM),
          m_decoded(decoded)
    {
    }

  private:
    void DoRun() override
    {
        auto radio = PapersRadio();
        radio.tx_range_m = m_txRangeM;
        RadioLine line({0, m_distanceM}, radio);
        constexpr uint32_t FRAMES = 10;
        for (uint32_t i = 0; i < FRAMES; i++)
        {
            line.BroadcastAt(MilliSeconds(20 * i), 0);
        }
        line.RunUntil(Seconds(1));
        NS_TEST_EXPECT_MSG_EQ(line.Sent(0, WIFI_MAC_DATA).size(), FRAMES, "frames sent");
        const auto expected = m_decoded ? FRAMES : 0;
        NS_TEST_EXPECT_MSG_EQ(line.Received(1), expected, "frames decoded");
    }

    double m_txRangeM;
    double m_distanceM;
    bool m_decoded;
};

/** A node waits for a transmission inside the carrier-sense range, not for one outside. */
class SenseTestCase : public TestCase
{
  public:
    SenseTestCase(uint32_t distanceM, bool sensed)
        : TestCase("Transmission from " + std::to_string(distanceM) + " m"),
          m_distanceM(distanceM),
          m_sensed(sensed)
    {
    }

  private:
    void DoRun() override
    {
        RadioLine line({0, m_distanceM}, PapersRadio());
        const auto late = MilliSeconds(1);
        line.BroadcastAt(Seconds(0), 0);
        line.BroadcastAt(late, 1);
        line.RunUntil(Seconds(1));
        const auto first = line.Sent(0, WIFI_MAC_DATA).at(0);
        const auto second = line.Sent(1, WIFI_MAC_DATA).at(0);
        NS_TEST_EXPECT_MSG_GT(first.end, late, "the first is still on the air");
        if (m_sensed)
        {
            NS_TEST_EXPECT_MSG_GT(second.start, first.end, "the second waits");
        }
        else
        {
            NS_TEST_EXPECT_MSG_EQ(second.start,
                                  late + RadioLine::DIFS,
                                  "the second does not wait");
        }
    }

    double m_distanceM;
    bool m_sensed;
};

/**
 * A receiver at 0 between two senders that do not sense one another. Whichever comes first
 * it stays with; it decodes that one if it is near and 10 dB above the other.
 */
class InterferenceTestCase : public TestCase
{
  public:
    InterferenceTestCase(int32_t firstM, int32_t secondM, bool decoded)
        : TestCase("Frame from " + std::to_string(firstM) + " m, then one from " +
                   std::to_string(secondM) + " m"),
          m_firstM(firstM),
          m_secondM(secondM),
          m_decoded(decoded)
    {
    }

  private:
    void DoRun() override
    {
        RadioLine line({0, m_firstM, m_secondM}, PapersRadio());
        line.BroadcastAt(MilliSeconds(1), 1);
        line.BroadcastAt(MilliSeconds(2), 2);
        line.RunUntil(Seconds(1));
        const auto first = line.Sent(1, WIFI_MAC_DATA).at(0);
        const auto second = line.Sent(2, WIFI_MAC_DATA).at(0);
        NS_TEST_EXPECT_MSG_LT(second.start, first.end, "the frames overlap");
        const auto expected = m_decoded ? 1 : 0;
        NS_TEST_EXPECT_MSG_EQ(line.Received(0), expected, "frames decoded");
    }

    double m_firstM;
    double m_secondM;
    bool m_decoded;
};

/** Saturated senders that do not sense one another: who loses frames, and who must not. */
class HiddenTerminalTestCase : public TestCase
{
  public:
    HiddenTerminalTestCase(uint32_t otherSender, uint32_t otherReceiver, bool loses)
        : TestCase("1 to 2 against " + std::to_string(otherSender) + " to " +
                   std::to_string(otherReceiver)),
          m_otherSender(otherSender),
          m_otherReceiver(otherReceiver),
          m_loses(loses)
    {
    }

  private:
    void DoRun() override
    {
        // Numbered from 1 as in the papers; 200 m apart.
        RadioLine line({-200, 0, 200, 400, 600, 800, 1000}, PapersRadio());
        line.Saturate(1, 2);
        line.Saturate(m_otherSender, m_otherReceiver);
        line.RunUntil(Seconds(10));
        const auto requests = line.Sent(1, WIFI_MAC_CTL_RTS).size();
        const auto answers = line.Sent(2, WIFI_MAC_CTL_CTS).size();
        NS_TEST_EXPECT_MSG_GT(answers, 100, "some frames get through");
        NS_TEST_EXPECT_MSG_GT(line.Received(m_otherReceiver), 1000, "the other pair transmits");
        if (m_loses)
        {
            NS_TEST_EXPECT_MSG_LT(answers, requests * 8 / 10, "RTS get lost at 2");
            NS_TEST_EXPECT_MSG_GT(line.Dropped(1), 0, "frames are given up");
        }
        else
        {
            // The last exchange may be under way.
            NS_TEST_EXPECT_MSG_GT_OR_EQ(answers + 1, requests, "no RTS gets lost");
            NS_TEST_EXPECT_MSG_EQ(line.Dropped(1), 0, "no frame is given up");
        }
    }

    uint32_t m_otherSender;
    uint32_t m_otherReceiver;
    bool m_loses;
};

/**
 * The interposed ErrorRateModel::GetChunkSuccessRate asks the range model for 802.11b and
 * computes for every other model what ns-3 does.
 */
class InterposedErrorRateTestCase : public TestCase
{
  public:
    InterposedErrorRateTestCase()
        : TestCase("The interposed error rate leaves other models alone")
    {
    }

  private:
    static double Rate(Ptr<ErrorRateModel> model, const std::string& mode, double snr)
    {
        WifiTxVector vector;
        vector.SetMode(WifiMode(mode));
        vector.SetChannelWidth(MHz_u{mode.starts_with("Dsss") ? 22.0 : 20.0});
        return model->GetChunkSuccessRate(WifiMode(mode), vector, snr, BITS, 1,
                                          WIFI_PPDU_FIELD_DATA, SU_STA_ID);
    }

    void DoRun() override
    {
        constexpr double SNR = 0.6;
        using Dsss = DsssErrorRateModel;
        auto nist = CreateObject<NistErrorRateModel>();
        NS_TEST_EXPECT_MSG_EQ(Rate(nist, "DsssRate1Mbps", SNR),
                              Dsss::GetDsssDbpskSuccessRate(SNR, BITS), "1 Mbit/s");
        NS_TEST_EXPECT_MSG_EQ(Rate(nist, "DsssRate2Mbps", SNR),
                              Dsss::GetDsssDqpskSuccessRate(SNR, BITS), "2 Mbit/s");
        NS_TEST_EXPECT_MSG_EQ(Rate(nist, "DsssRate5_5Mbps", SNR),
                              Dsss::GetDsssDqpskCck5_5SuccessRate(SNR, BITS), "5.5 Mbit/s");
        NS_TEST_EXPECT_MSG_EQ(Rate(nist, "DsssRate11Mbps", SNR),
                              Dsss::GetDsssDqpskCck11SuccessRate(SNR, BITS), "11 Mbit/s");
        const auto ofdm = Rate(nist, "OfdmRate54Mbps", 300);
        NS_TEST_EXPECT_MSG_GT(ofdm, 0, "OFDM goes to the model");
        NS_TEST_EXPECT_MSG_LT(ofdm, 1, "OFDM goes to the model");

        auto reception = Create<RangeReception>();
        reception->powerW = 1e-9;
        auto range = CreateObject<RangeErrorRateModel>();
        range->SetReception(reception);
        NS_TEST_EXPECT_MSG_EQ(Rate(range, "DsssRate11Mbps", 10), 1, "clear by 10 dB");
        NS_TEST_EXPECT_MSG_EQ(Rate(range, "DsssRate11Mbps", 9.99), 0, "clear by less");
    }

    static constexpr uint64_t BITS = 1000;
};

/**
 * 802.11g at 54 Mbit/s, by hand: DIFS 28 us, on average 7.5 slots of 9 us, and at 6 and 54 Mbit/s,
 * each with 20 us of preamble and 6 us at the end, RTS 58 us, CTS 50 us, 1536 bytes 254 us, ACK 50
 * us, with three SIFS of 10 us between them.
 */
class OfdmTestCase : public TestCase
{
  public:
    OfdmTestCase()
        : TestCase("How long an exchange takes with 802.11g")
    {
    }

  private:
    void DoRun() override
    {
        constexpr double EXCHANGE_US = 28 + 7.5 * 9 + 58 + 10 + 50 + 10 + 254 + 10 + 50;
        auto radio = PapersRadio();
        radio.standard = "802.11g";
        radio.data_mbps = 54;
        radio.control_mbps = 6;
        RadioLine line({0, 249, 499}, radio);
        line.Saturate(0, 1); // a frame each millisecond
        line.Saturate(0, 1);
        line.RunUntil(Seconds(2));
        NS_TEST_EXPECT_MSG_EQ_TOL(2e6 / line.Received(1), EXCHANGE_US, 6, "a frame");
        NS_TEST_EXPECT_MSG_EQ(line.Dropped(0), 0, "frames given up");
        NS_TEST_EXPECT_MSG_EQ(line.Received(2), 0, "nothing for the third");
        const auto duration = [&line](uint32_t node, WifiMacType type) {
            const auto frame = line.Sent(node, type).at(0);
            return (frame.end - frame.start).GetMicroSeconds();
        };
        NS_TEST_EXPECT_MSG_EQ(duration(0, WIFI_MAC_CTL_RTS), 58, "RTS");
        NS_TEST_EXPECT_MSG_EQ(duration(1, WIFI_MAC_CTL_CTS), 50, "CTS");
        NS_TEST_EXPECT_MSG_EQ(duration(0, WIFI_MAC_DATA), 254, "data");
        NS_TEST_EXPECT_MSG_EQ(duration(1, WIFI_MAC_CTL_ACK), 50, "ACK");
    }
};

class RangePhyTestSuite : public TestSuite
{
  public:
    RangePhyTestSuite()
        : TestSuite("meshpace-range-phy", Type::SYSTEM)
    {
        const auto add = [this](TestCase* test) { AddTestCase(test, Duration::QUICK); };
        add(new DecodeTestCase(250, 249, true));
        add(new DecodeTestCase(250, 250, true));
        add(new DecodeTestCase(250, 251, false));
        add(new DecodeTestCase(120, 119, true));
        add(new DecodeTestCase(120, 121, false));
        add(new SenseTestCase(549, true));
        add(new SenseTestCase(551, false));
        // 10 dB are a ratio of distances of 1.778.
        add(new InterferenceTestCase(-200, 360, true));
        add(new InterferenceTestCase(-200, 353, false));
        add(new InterferenceTestCase(400, -200, false));
        // 4 is 600 m from 1 and 400 m from 2; 5 is 600 m from 2.
        add(new HiddenTerminalTestCase(4, 5, true));
        add(new HiddenTerminalTestCase(5, 6, false));
        add(new InterposedErrorRateTestCase);
        add(new OfdmTestCase);
    }
};

RangePhyTestSuite g_rangePhyTestSuite; //!< the suite

} // namespace
