/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "radio-line.h"
#include "test-scenarios.h"

#include "ns3/error-model.h"
#include "ns3/test.h"
#include "ns3/uinteger.h"
#include "ns3/wifi-remote-station-manager.h"

#include <cmath>
#include <deque>

using namespace ns3;

namespace
{

/** Loses the frames that a receiver gets as a list says; what comes after the list passes. */
class ScriptedLoss : public ErrorModel
{
  public:
    /**
     * @param losses whether each frame is lost, in the order of their arrival
     */
    explicit ScriptedLoss(std::deque<bool> losses)
        : m_losses(std::move(losses))
    {
    }

  private:
    bool DoCorrupt(Ptr<Packet>) override
    {
        if (m_losses.empty())
        {
            return false;
        }
        const auto lost = m_losses.front();
        m_losses.pop_front();
        return lost;
    }

    void DoReset() override
    {
    }

    std::deque<bool> m_losses;
};

/** What a sender does with one frame. */
struct Attempts
{
    uint32_t rts;       //!< RTS sent
    uint32_t data;      //!< data frames sent
    uint32_t delivered; //!< frames delivered
    uint32_t dropped;   //!< frames given up
};

/** A frame is given up after 7 RTS or 4 data failures, as in ns-2. */
class RetryLimitTestCase : public TestCase
{
  public:
    RetryLimitTestCase(const std::string& name,
                       bool rtsCts,
                       std::deque<bool> losses,
                       Attempts expected)
        : TestCase(name),
          m_rtsCts(rtsCts),
          m_losses(std::move(losses)),
          m_expected(expected)
    {
    }

  private:
    void DoRun() override
    {
        auto radio = PapersRadio();
        radio.rts_cts = m_rtsCts;
        RadioLine line({0, 200}, radio);
        line.Device(1)->GetPhy()->SetPostReceptionErrorModel(Create<ScriptedLoss>(m_losses));
        line.SendAt(Seconds(0), 0, line.Device(1)->GetMac()->GetAddress());
        line.RunUntil(Seconds(10));
        NS_TEST_EXPECT_MSG_EQ(line.Sent(0, WIFI_MAC_CTL_RTS).size(), m_expected.rts, "RTS");
        NS_TEST_EXPECT_MSG_EQ(line.Sent(0, WIFI_MAC_DATA).size(), m_expected.data, "data");
        NS_TEST_EXPECT_MSG_EQ(line.Received(1), m_expected.delivered, "delivered");
        NS_TEST_EXPECT_MSG_EQ(line.Dropped(0), m_expected.dropped, "dropped");
    }

    bool m_rtsCts;
    std::deque<bool> m_losses;
    Attempts m_expected;
};

/**
 * Node 1 between 0 and 2, which do not hear one another, has decoded an RTS from 2 to
 * somebody else and holds its NAV when an RTS from 0 arrives.
 */
class CtsIgnoresNavTestCase : public TestCase
{
  public:
    explicit CtsIgnoresNavTestCase(bool ignores)
        : TestCase(ignores ? "CTS although the NAV is set" : "No CTS while the NAV is set"),
          m_ignores(ignores)
    {
    }

  private:
    void DoRun() override
    {
        auto radio = PapersRadio();
        radio.cs_range_m = radio.tx_range_m;
        radio.cts_ignores_nav = m_ignores;
        RadioLine line({0, 200, 400}, radio);
        line.Device(2)->GetRemoteStationManager()->SetAttribute("MaxRtsFailures",
                                                                UintegerValue(1));
        const auto foreign = MilliSeconds(1);
        const auto ours = foreign + MicroSeconds(360); // an RTS takes 352 us
        line.SendAt(foreign, 2, RadioLine::ABSENT);
        line.SendAt(ours, 0, line.Device(1)->GetMac()->GetAddress());
        line.RunUntil(Seconds(1));

        const auto reservation = line.Sent(2, WIFI_MAC_CTL_RTS);
        const auto requests = line.Sent(0, WIFI_MAC_CTL_RTS);
        NS_TEST_EXPECT_MSG_EQ(reservation.size(), 1, "the foreign RTS is not repeated");
        const auto start = requests.front().start;
        NS_TEST_EXPECT_MSG_EQ(start, ours + RadioLine::DIFS, "our RTS is not held back");
        NS_TEST_EXPECT_MSG_GT(start, reservation.front().end, "the RTS do not collide");
        NS_TEST_EXPECT_MSG_EQ(line.Received(1), 1, "the frame arrives in the end");
        const bool answered = requests.size() == 1;
        NS_TEST_EXPECT_MSG_EQ(answered, m_ignores, "the first RTS is answered");
    }

    bool m_ignores;
};

/** With RTS/CTS off there is none. */
class NoRtsTestCase : public TestCase
{
  public:
    NoRtsTestCase()
        : TestCase("Data frames without RTS")
    {
    }

  private:
    void DoRun() override
    {
        auto radio = PapersRadio();
        radio.rts_cts = false;
        RadioLine line({0, 200}, radio);
        line.SendAt(Seconds(0), 0, line.Device(1)->GetMac()->GetAddress());
        line.RunUntil(Seconds(1));
        NS_TEST_EXPECT_MSG_EQ(line.Sent(0, WIFI_MAC_CTL_RTS).size(), 0, "RTS");
        NS_TEST_EXPECT_MSG_EQ(line.Received(1), 1, "delivered");
    }
};

/**
 * Frames last as long as 802.11b's long preamble and the bit rates have it; CTS and ACK go
 * out at the control rate, even though an ad hoc MAC would send ACKs as fast as data.
 */
class AirtimeTestCase : public TestCase
{
  public:
    AirtimeTestCase(const std::string& name, double dataMbps, double controlMbps)
        : TestCase("Airtime: " + name),
          m_dataMbps(dataMbps),
          m_controlMbps(controlMbps)
    {
    }

  private:
    /** @return the airtime of a frame, us */
    static double AirtimeUs(uint32_t bytes, double mbps)
    {
        constexpr double LONG_PREAMBLE_US = 192;
        return LONG_PREAMBLE_US + std::ceil(bytes * 8 / mbps);
    }

    void DoRun() override
    {
        constexpr uint32_t RTS_BYTES = 20;
        constexpr uint32_t CTS_BYTES = 14;
        constexpr uint32_t MAC_AND_LLC_BYTES = 24 + 8 + 4;
        auto radio = PapersRadio();
        radio.data_mbps = m_dataMbps;
        radio.control_mbps = m_controlMbps;
        RadioLine line({0, 200}, radio);
        line.SendAt(Seconds(0), 0, line.Device(1)->GetMac()->GetAddress());
        line.RunUntil(Seconds(1));
        const auto control = [&](uint32_t bytes) { return AirtimeUs(bytes, m_controlMbps); };
        const auto measured = [&](uint32_t node, WifiMacType type) {
            const auto frame = line.Sent(node, type).at(0);
            return (frame.end - frame.start).GetMicroSeconds();
        };
        NS_TEST_EXPECT_MSG_EQ(measured(0, WIFI_MAC_CTL_RTS), control(RTS_BYTES), "RTS");
        NS_TEST_EXPECT_MSG_EQ(measured(1, WIFI_MAC_CTL_CTS), control(CTS_BYTES), "CTS");
        NS_TEST_EXPECT_MSG_EQ(measured(1, WIFI_MAC_CTL_ACK), control(CTS_BYTES), "ACK");
        NS_TEST_EXPECT_MSG_EQ(measured(0, WIFI_MAC_DATA),
                              AirtimeUs(RadioLine::FRAME_BYTES + MAC_AND_LLC_BYTES, m_dataMbps),
                              "data");
    }

    double m_dataMbps;
    double m_controlMbps;
};

/** @return that many lost frames */
std::deque<bool>
Lost(uint32_t frames)
{
    return std::deque<bool>(frames, true);
}

/** @return 6 lost RTS, one that passes, then a lost data frame; and so on, that many times */
std::deque<bool>
LateCts(uint32_t times)
{
    std::deque<bool> losses;
    for (uint32_t i = 0; i < times; i++)
    {
        losses.insert(losses.end(), 6, true);
        losses.push_back(false);
        losses.push_back(true);
    }
    return losses;
}

/** @return RTS pass, that many data frames are lost */
std::deque<bool>
LostData(uint32_t frames)
{
    std::deque<bool> losses;
    for (uint32_t i = 0; i < frames; i++)
    {
        losses.push_back(false);
        losses.push_back(true);
    }
    return losses;
}

class RangeMacTestSuite : public TestSuite
{
  public:
    RangeMacTestSuite()
        : TestSuite("meshpace-range-mac", Type::SYSTEM)
    {
        const auto add = [this](TestCase* test) { AddTestCase(test, Duration::QUICK); };
        add(new RetryLimitTestCase("6 RTS lost", true, Lost(6), {7, 1, 1, 0}));
        add(new RetryLimitTestCase("7 RTS lost", true, Lost(7), {7, 0, 0, 1}));
        add(new RetryLimitTestCase("3 data frames lost", true, LostData(3), {4, 4, 1, 0}));
        add(new RetryLimitTestCase("4 data frames lost", true, LostData(4), {4, 4, 0, 1}));
        add(new RetryLimitTestCase("A CTS forgives lost RTS", true, LateCts(3), {22, 4, 1, 0}));
        add(new RetryLimitTestCase("6 lost without RTS", false, Lost(6), {0, 7, 1, 0}));
        add(new RetryLimitTestCase("7 lost without RTS", false, Lost(7), {0, 7, 0, 1}));
        add(new CtsIgnoresNavTestCase(false));
        add(new CtsIgnoresNavTestCase(true));
        add(new NoRtsTestCase);
        add(new AirtimeTestCase("11 and 1 Mbps", 11, 1));
        add(new AirtimeTestCase("5.5 and 2 Mbps", 5.5, 2));
        add(new AirtimeTestCase("2 and 2 Mbps", 2, 2));
    }
};

RangeMacTestSuite g_rangeMacTestSuite; //!< the suite

} // namespace
