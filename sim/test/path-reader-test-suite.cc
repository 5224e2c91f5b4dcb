/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "radio-line.h"
#include "test-scenarios.h"

#include "ns3/path-reader.h"
#include "ns3/test.h"
#include "ns3/wifi-phy.h"
#include "ns3/wifi-utils.h"

#include <cmath>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

/** More hops than any sender here is sensed over. */
constexpr uint32_t HOPS = 16;

/** Well inside a frame of RadioLine::FRAME_BYTES at 1 Mbit/s, which takes 12 ms. */
const Time DURING = MilliSeconds(8);

RadioConfig
SinrRadio(double exponent)
{
    auto radio = PapersRadio();
    radio.model = "sinr";
    radio.rts_cts = false;
    radio.path_loss_exponent = exponent;
    return radio;
}

std::vector<double>
EquallySpaced(double spacingM)
{
    std::vector<double> positions;
    for (uint32_t hop = 0; hop <= HOPS; hop++)
    {
        positions.push_back(hop * spacingM);
    }
    return positions;
}

std::vector<Ptr<WifiNetDevice>>
PathOf(const RadioLine& line)
{
    std::vector<Ptr<WifiNetDevice>> path;
    for (uint32_t node = 0; node <= HOPS; node++)
    {
        path.push_back(line.Device(node));
    }
    return path;
}

/**
 * Has node 0 transmit and looks at the others' PHYs meanwhile.
 * @return the first node whose PHY does not find the channel busy
 */
uint32_t
FirstIdle(RadioLine& line)
{
    line.BroadcastAt(Seconds(0), 0);
    line.RunUntil(DURING);
    uint32_t node = 1;
    while (node <= HOPS && !line.Device(node)->GetPhy()->IsStateIdle())
    {
        node++;
    }
    return node;
}

/** What the law makes of the radios' signals is what their PHYs really sense. */
class TruthTestCase : public TestCase
{
  public:
    /**
     * @param name the case
     * @param radio the radio
     * @param positionsM where the nodes stand
     * @param assumptions what the law is told
     * @param error by how many hops the law is to err
     */
    TruthTestCase(const std::string& name,
                  const RadioConfig& radio,
                  const std::vector<double>& positionsM,
                  const PathAssumptions& assumptions,
                  int error)
        : TestCase(name),
          m_radio(radio),
          m_positionsM(positionsM),
          m_assumptions(assumptions),
          m_error(error)
    {
    }

  private:
    void DoRun() override
    {
        RadioLine line(m_positionsM, m_radio);
        const int law = ReadLink(PathOf(line), m_assumptions).h_cs;
        const int truth = FirstIdle(line);
        NS_TEST_EXPECT_MSG_EQ(line.Sent(0, WIFI_MAC_DATA).size(), 1, "node 0 transmits");
        NS_TEST_EXPECT_MSG_LT(truth, HOPS, "the chain is long enough");
        NS_TEST_EXPECT_MSG_EQ(law - truth, m_error, "law " << law << ", truth " << truth);
    }

    RadioConfig m_radio;
    std::vector<double> m_positionsM;
    PathAssumptions m_assumptions;
    int m_error;
};

/** The law is told what the simulated MAC and PHY really use. */
class LinkTestCase : public TestCase
{
  public:
    LinkTestCase(const std::string& name, const RadioConfig& radio, double senseDbm)
        : TestCase(name),
          m_radio(radio),
          m_senseDbm(senseDbm)
    {
    }

  private:
    void DoRun() override
    {
        constexpr double SPACING_M = 50;
        RadioLine line(EquallySpaced(SPACING_M), m_radio);
        const auto link = ReadLink(PathOf(line), {});
        const auto defaults = mp_link_80211b();
        NS_TEST_EXPECT_MSG_EQ(link.base_kbps, m_radio.control_mbps * 1000, "b_base");
        NS_TEST_EXPECT_MSG_EQ(link.cw, defaults.cw, "cw_cur");
        NS_TEST_EXPECT_MSG_EQ(+link.slot_us, +defaults.slot_us, "t_slot");
        NS_TEST_EXPECT_MSG_EQ(+link.rts_cts, m_radio.rts_cts, "RTS/CTS");
        NS_TEST_EXPECT_MSG_EQ_TOL(CarrierSenseDbm(line.Device(0)), m_senseDbm, 0.01, "T_cs");
        const auto radio = ReadRadio(line.Device(0), line.Device(1), 3);
        const auto received = ReceivedDbm(line.Device(1), line.Device(0));
        NS_TEST_EXPECT_MSG_EQ_TOL(radio.signal_dbm_q8 / 256.0, received, 0.01, "P_rx");
        NS_TEST_EXPECT_MSG_EQ(radio.frequency_mhz, 2412, "f_c");
    }

    RadioConfig m_radio;
    double m_senseDbm;
};

/** The received power that the law is told is the one at which frames arrive. */
class SignalTestCase : public TestCase
{
  public:
    SignalTestCase()
        : TestCase("Signal of the next hop")
    {
    }

  private:
    void DoRun() override
    {
        RadioLine line(EquallySpaced(40), SinrRadio(3.3));
        line.Device(0)->GetPhy()->TraceConnectWithoutContext(
            "PhyRxBegin",
            MakeCallback(&SignalTestCase::Begun, this));
        const auto told = ReceivedDbm(line.Device(1), line.Device(0));
        line.BroadcastAt(Seconds(0), 1);
        line.RunUntil(DURING);
        NS_TEST_EXPECT_MSG_EQ_TOL(told, m_arrivedDbm, 0.001, "power");
    }

    void Begun(Ptr<const Packet> /* frame */, RxPowerWattPerChannelBand watts)
    {
        m_arrivedDbm = WToDbm(watts.begin()->second);
    }

    double m_arrivedDbm{0};
};

class PathReaderTestSuite : public TestSuite
{
  public:
    PathReaderTestSuite()
        : TestSuite("meshpace-path-reader", Type::UNIT)
    {
        const auto add = [this](TestCase* test) { AddTestCase(test, Duration::QUICK); };
        add(new LinkTestCase("Inputs, range radio", PapersRadio(), -78.07));
        auto sinr = SinrRadio(3);
        sinr.sense_dbm = -85;
        sinr.lock_dbm = -82; // what is weaker is sensed all the same
        add(new LinkTestCase("Inputs, sinr radio", sinr, -85));
        add(new SignalTestCase);
        AddRangeTruths();
        AddSinrTruths();
        AddPositions();
    }

  private:
    void AddTruth(const std::string& name,
                  const RadioConfig& radio,
                  const std::vector<double>& positionsM,
                  const PathAssumptions& assumptions,
                  int error)
    {
        AddTestCase(new TruthTestCase(name, radio, positionsM, assumptions, error),
                    TestCase::Duration::QUICK);
    }

    /** As docs/understand/law.md has it: 4 is right from 70 m up, 3 is too small. */
    void AddRangeTruths()
    {
        for (int spacingM = 70; spacingM <= 240; spacingM += 10)
        {
            AddTruth("Range radio, " + std::to_string(spacingM) + " m",
                     PapersRadio(),
                     EquallySpaced(spacingM),
                     {.exponent = 4},
                     0);
        }
        AddTruth("Range radio, 50 m", PapersRadio(), EquallySpaced(50), {.exponent = 4}, -3);
        AddTruth("Range radio, MAP's 3, 100 m", PapersRadio(), EquallySpaced(100), {}, 4);
        AddTruth("Range radio, MAP's 3, 200 m", PapersRadio(), EquallySpaced(200), {}, 1);
    }

    void AddSinrTruths()
    {
        for (const double exponent : {2.5, 3.0, 3.5, 4.0})
        {
            for (const double signalDbm : {-60.0, -67.0, -75.0, -81.0, -83.0})
            {
                auto radio = SinrRadio(exponent);
                constexpr double SPACING_M = 60;
                // Any power will do: the spacing is the same, the signal is what counts.
                radio.tx_power_dbm = signalDbm + 40.1 + 10 * exponent * std::log10(SPACING_M);
                AddTruth("Sinr radio, exponent " + std::to_string(exponent) + ", signal " +
                             std::to_string(signalDbm) + " dBm",
                         radio,
                         EquallySpaced(SPACING_M),
                         {.exponent = exponent},
                         0);
            }
        }
    }

    /** Nodes crowded first, then far apart: only positions tell. */
    void AddPositions()
    {
        std::vector<double> positions{0, 20, 45, 65, 160};
        while (positions.size() <= HOPS)
        {
            positions.push_back(positions.back() + 100);
        }
        const auto radio = SinrRadio(3);
        AddTruth("Positions", radio, positions, {.exponent = 3, .positions = true}, 0);
        AddTruth("Equal hops", radio, positions, {.exponent = 3, .positions = false}, 1);
    }
};

PathReaderTestSuite g_pathReaderTestSuite; //!< the suite

} // namespace
