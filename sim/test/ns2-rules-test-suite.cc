/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "radio-line.h"
#include "test-scenarios.h"

#include "ns3/error-model.h"
#include "ns3/test.h"
#include "ns3/uinteger.h"
#include "ns3/wifi-remote-station-manager.h"

#include <functional>
#include <set>

using namespace ns3;

namespace
{

// Distances on the line: NEAR is decoded; FAR is sensed, 12 dB weaker; nodes FAR and -NEAR from
// one in the middle do not sense one another.
constexpr double NEAR_M = 200;
constexpr double FAR_M = 400;

/** Less than a frame takes to arrive over FAR: who starts so late does not know better. */
const Time UNNOTICED = MicroSeconds(1);

const Time START = MilliSeconds(10);
const Time SIFS = MicroSeconds(10);
const Time DATA_AIRTIME = MicroSeconds(192 + 1117); // FRAME_BYTES and 36 of headers, 11 Mbit/s
const Time CONTROL_AIRTIME = MicroSeconds(304);     // CTS or ACK

/** Sets one rule. */
using Rule = std::function<void(RadioConfig&)>;

/** The papers' radio, and a rule on or off. */
RadioConfig
Radio(bool on, const Rule& rule)
{
    auto radio = PapersRadio();
    if (on)
    {
        rule(radio);
    }
    return radio;
}

/** Loses the first frame that a receiver would pass on to its MAC. */
class FirstLost : public ErrorModel
{
  private:
    bool DoCorrupt(Ptr<Packet>) override
    {
        const auto lost = !m_done;
        m_done = true;
        return lost;
    }

    void DoReset() override
    {
    }

    bool m_done{false};
};

/** A test of a rule, run with it off and on. */
class RuleTestCase : public TestCase
{
  public:
    RuleTestCase(const std::string& name, bool on)
        : TestCase(name + (on ? ": on" : ": off")),
          m_on(on)
    {
    }

  protected:
    bool m_on;
};

/** Two interferers, each 12 dB weaker, 9 dB together. */
class PairwiseTestCase : public RuleTestCase
{
  public:
    explicit PairwiseTestCase(bool on)
        : RuleTestCase("Interferers by themselves", on)
    {
    }

  private:
    void DoRun() override
    {
        const auto radio = Radio(m_on, [](auto& r) { r.interference = "pairwise"; });
        RadioLine line({0, -NEAR_M, FAR_M, FAR_M + 1}, radio);
        line.BroadcastAt(START, 1);
        line.BroadcastAt(START + MilliSeconds(1), 2);
        line.BroadcastAt(START + MilliSeconds(1), 3);
        line.RunUntil(Seconds(1));
        const auto second = line.Sent(2, WIFI_MAC_DATA).at(0).start;
        NS_TEST_EXPECT_MSG_EQ(second, line.Sent(3, WIFI_MAC_DATA).at(0).start, "both at once");
        NS_TEST_EXPECT_MSG_LT(second, line.Sent(1, WIFI_MAC_DATA).at(0).end, "they overlap");
        NS_TEST_EXPECT_MSG_EQ(line.Received(0), m_on ? 1 : 0, "frames decoded");
    }
};

/** By itself, too, an interferer less than 10 dB weaker spoils a frame. */
class PairwiseCollisionTestCase : public TestCase
{
  public:
    PairwiseCollisionTestCase()
        : TestCase("An interferer by itself")
    {
    }

  private:
    void DoRun() override
    {
        auto radio = PapersRadio();
        radio.interference = "pairwise";
        constexpr double LESS_THAN_10_DB_M = 353;
        RadioLine line({0, -NEAR_M, LESS_THAN_10_DB_M}, radio);
        line.BroadcastAt(START, 1);
        line.BroadcastAt(START + MilliSeconds(1), 2);
        line.RunUntil(Seconds(1));
        NS_TEST_EXPECT_MSG_EQ(line.Received(0), 0, "frames decoded");
    }
};

/**
 * Node 0 sends an RTS; a far frame begins meanwhile and lasts longer. The CTS comes in 12 dB
 * above it, but in ns-2 the receiver is still occupied.
 */
class DeafTestCase : public RuleTestCase
{
  public:
    explicit DeafTestCase(bool on)
        : RuleTestCase("A missed frame deafens", on)
    {
    }

  private:
    void DoRun() override
    {
        const auto radio = Radio(m_on, [](auto& r) { r.missed_frames_deafen = true; });
        RadioLine line({0, -NEAR_M, FAR_M}, radio);
        line.SendAt(START, 0, line.Device(1)->GetMac()->GetAddress());
        line.BroadcastAt(START + UNNOTICED, 2);
        line.RunUntil(Seconds(1));
        const auto requests = line.Sent(0, WIFI_MAC_CTL_RTS);
        const auto far = line.Sent(2, WIFI_MAC_DATA).at(0);
        NS_TEST_EXPECT_MSG_LT(far.start, requests.at(0).end, "begins during the RTS");
        NS_TEST_EXPECT_MSG_GT(far.end, line.Sent(1, WIFI_MAC_CTL_CTS).at(0).end, "lasts longer");
        NS_TEST_EXPECT_MSG_EQ((requests.size() > 1), m_on, "the first CTS is missed");
        NS_TEST_EXPECT_MSG_EQ(line.Received(1), 1, "the frame arrives in the end");
    }
};

/** A far frame begins during an RTS, which is decoded all the same. */
class CtsWhenIdleTestCase : public RuleTestCase
{
  public:
    explicit CtsWhenIdleTestCase(bool on)
        : RuleTestCase("CTS on an idle medium only", on)
    {
    }

  private:
    void DoRun() override
    {
        const auto radio = Radio(m_on, [](auto& r) { r.cts_when_idle = true; });
        RadioLine line({0, -NEAR_M, FAR_M}, radio);
        line.SendAt(START, 1, line.Device(0)->GetMac()->GetAddress());
        line.BroadcastAt(START + MicroSeconds(100), 2);
        line.RunUntil(Seconds(1));
        const auto requests = line.Sent(1, WIFI_MAC_CTL_RTS);
        const auto far = line.Sent(2, WIFI_MAC_DATA).at(0);
        NS_TEST_EXPECT_MSG_LT(far.start, requests.at(0).end, "begins during the RTS");
        const auto answered = line.Sent(0, WIFI_MAC_CTL_CTS).at(0).start;
        NS_TEST_EXPECT_MSG_EQ((answered > far.end), m_on, "waits for the far frame's end");
        NS_TEST_EXPECT_MSG_EQ(line.Received(0), 1, "the frame arrives in the end");
    }
};

/** A CTS gets lost; who sent it has a frame to send. */
class CtsWaitsTestCase : public RuleTestCase
{
  public:
    explicit CtsWaitsTestCase(bool on)
        : RuleTestCase("A CTS waits for its data", on)
    {
    }

  private:
    void DoRun() override
    {
        const auto radio = Radio(m_on, [](auto& r) { r.cts_waits_for_data = true; });
        RadioLine line({0, NEAR_M}, radio);
        line.Device(0)->GetPhy()->SetPostReceptionErrorModel(Create<FirstLost>());
        line.Device(0)->GetRemoteStationManager()->SetAttribute("MaxRtsFailures",
                                                                UintegerValue(1));
        line.SendAt(START, 0, line.Device(1)->GetMac()->GetAddress());
        line.BroadcastAt(START + MilliSeconds(1), 1);
        line.RunUntil(Seconds(1));
        const auto waits = line.Sent(1, WIFI_MAC_CTL_CTS).at(0).end + SIFS + DATA_AIRTIME;
        const auto start = line.Sent(1, WIFI_MAC_DATA).at(0).start;
        NS_TEST_EXPECT_MSG_EQ(line.Sent(0, WIFI_MAC_DATA).size(), 0, "no data frame");
        NS_TEST_EXPECT_MSG_EQ((start > waits), m_on, "waits until it would have ended");
    }
};

/** An RTS to nobody; a node that decoded it has a frame to send. */
class NavResetTestCase : public RuleTestCase
{
  public:
    explicit NavResetTestCase(bool on)
        : RuleTestCase("NAV of an RTS that nothing follows is kept", on)
    {
    }

  private:
    void DoRun() override
    {
        const auto radio = Radio(m_on, [](auto& r) { r.nav_reset = false; });
        RadioLine line({0, NEAR_M}, radio);
        line.Device(0)->GetRemoteStationManager()->SetAttribute("MaxRtsFailures",
                                                                UintegerValue(1));
        line.SendAt(START, 0, RadioLine::ABSENT);
        line.BroadcastAt(START + MicroSeconds(200), 1);
        line.RunUntil(Seconds(1));
        const auto reserved = line.Sent(0, WIFI_MAC_CTL_RTS).at(0).end + 3 * SIFS +
                              2 * CONTROL_AIRTIME + DATA_AIRTIME;
        const auto start = line.Sent(1, WIFI_MAC_DATA).at(0).start;
        NS_TEST_EXPECT_MSG_EQ((start > reserved), m_on, "waits as long as the RTS announced");
    }
};

/** @return how long after a far frame's end a node sends the frame that it held back */
Time
WaitAfterFarFrame(bool eifsInNav)
{
    auto radio = PapersRadio();
    // Another rule, which plays no part: both runs draw the same random numbers.
    radio.cts_ignores_nav = true;
    radio.eifs_in_nav = eifsInNav;
    RadioLine line({0, FAR_M}, radio);
    line.BroadcastAt(START, 1);
    line.BroadcastAt(START + MilliSeconds(1), 0);
    line.RunUntil(Seconds(1));
    return line.Sent(0, WIFI_MAC_DATA).at(0).start - line.Sent(1, WIFI_MAC_DATA).at(0).end;
}

/** After a frame that cannot be decoded ns-2 waits for EIFS, then for DIFS. */
class EifsTestCase : public TestCase
{
  public:
    EifsTestCase()
        : TestCase("DIFS follow EIFS")
    {
    }

  private:
    void DoRun() override
    {
        const auto usual = WaitAfterFarFrame(false);
        NS_TEST_EXPECT_MSG_GT_OR_EQ(usual, MicroSeconds(364), "EIFS");
        NS_TEST_EXPECT_MSG_EQ(WaitAfterFarFrame(true), usual + RadioLine::DIFS, "and DIFS");
    }
};

/** Single frames on an idle medium. */
class BackoffTestCase : public RuleTestCase
{
  public:
    explicit BackoffTestCase(bool on)
        : RuleTestCase("Every frame backs off", on)
    {
    }

  private:
    void DoRun() override
    {
        const auto radio = Radio(m_on, [](auto& r) { r.always_back_off = true; });
        RadioLine line({0, NEAR_M}, radio);
        constexpr uint32_t FRAMES = 40;
        for (uint32_t i = 0; i < FRAMES; i++)
        {
            line.BroadcastAt(START + MilliSeconds(20 * i), 0);
        }
        line.RunUntil(Seconds(1));
        const auto sent = line.Sent(0, WIFI_MAC_DATA);
        NS_TEST_ASSERT_MSG_EQ(sent.size(), FRAMES, "frames sent");
        std::set<Time> waits;
        for (uint32_t i = 0; i < FRAMES; i++)
        {
            waits.insert(sent[i].start - START - MilliSeconds(20 * i));
        }
        const auto slots = MicroSeconds(31 * 20);
        NS_TEST_EXPECT_MSG_LT_OR_EQ(*waits.rbegin(), RadioLine::DIFS + slots, "31 slots at most");
        if (m_on)
        {
            NS_TEST_EXPECT_MSG_GT(waits.size(), FRAMES / 4, "different waits");
        }
        else
        {
            NS_TEST_EXPECT_MSG_LT_OR_EQ(*waits.rbegin(), RadioLine::DIFS, "none");
        }
    }
};

/** What a relay forwards: it gets the frame in the SIFS before its own ACK. */
class RelayTestCase : public RuleTestCase
{
  public:
    explicit RelayTestCase(bool on)
        : RuleTestCase("A relay backs off after its ACK", on)
    {
    }

  private:
    void DoRun() override
    {
        const auto radio = Radio(m_on, [](auto& r) { r.always_back_off = true; });
        RadioLine line({0, NEAR_M, 2 * NEAR_M}, radio);
        const auto relay = line.Device(1);
        const auto next = line.Device(2)->GetAddress();
        NetDevice::ReceiveCallback forward =
            [relay, next](Ptr<NetDevice>, Ptr<const Packet> packet, uint16_t protocol, auto&) {
                return relay->Send(packet->Copy(), next, protocol);
            };
        relay->SetReceiveCallback(forward);
        constexpr uint32_t FRAMES = 20;
        for (uint32_t i = 0; i < FRAMES; i++)
        {
            line.SendAt(START + MilliSeconds(40 * i), 0, relay->GetMac()->GetAddress());
        }
        line.RunUntil(Seconds(1));
        const auto acks = line.Sent(1, WIFI_MAC_CTL_ACK);
        const auto requests = line.Sent(1, WIFI_MAC_CTL_RTS);
        NS_TEST_ASSERT_MSG_EQ(acks.size(), FRAMES, "frames received");
        NS_TEST_ASSERT_MSG_EQ(requests.size(), FRAMES, "frames forwarded");
        uint32_t atOnce = 0;
        for (uint32_t i = 0; i < FRAMES; i++)
        {
            atOnce += requests[i].start == acks[i].end + RadioLine::DIFS ? 1 : 0;
        }
        NS_TEST_EXPECT_MSG_EQ((atOnce == FRAMES), !m_on, "without backoff: " << atOnce);
        NS_TEST_EXPECT_MSG_EQ((atOnce < FRAMES / 4), m_on, "without backoff: " << atOnce);
    }
};

class Ns2RulesTestSuite : public TestSuite
{
  public:
    Ns2RulesTestSuite()
        : TestSuite("meshpace-ns2-rules", Type::SYSTEM)
    {
        const auto add = [this](TestCase* test) { AddTestCase(test, Duration::QUICK); };
        for (const bool on : {false, true})
        {
            add(new PairwiseTestCase(on));
            add(new DeafTestCase(on));
            add(new CtsWhenIdleTestCase(on));
            add(new CtsWaitsTestCase(on));
            add(new NavResetTestCase(on));
            add(new BackoffTestCase(on));
            add(new RelayTestCase(on));
        }
        add(new PairwiseCollisionTestCase);
        add(new EifsTestCase);
    }
};

Ns2RulesTestSuite g_ns2RulesTestSuite; //!< the suite

} // namespace
