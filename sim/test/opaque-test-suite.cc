/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// Hosts that get datagrams only, as by QUIC: the gateway asks them what waits on their paths, and holds them by
// their answers.

#include "test-scenarios.h"

#include "../runner/simulation.h"

#include "ns3/icmpv4-l4-protocol.h"
#include "ns3/icmpv4.h"
#include "ns3/ipv4-l3-protocol.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/test.h"

#include <numeric>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint32_t SEED = 11;
constexpr double SECONDS = 30;
constexpr double WARMUP_S = 10;
constexpr uint32_t PINGERS = 1; //!< ICMP's identifier of the only ping

/** What came of a simulation. */
struct Outcome
{
    std::vector<double> kbps; //!< of each flow
    double pingS{0};          //!< mean round trip
    uint32_t asks{0};         //!< ICMP echo by which the gateway asked
    uint32_t pings{0};        //!< and other
    double held{0};           //!< the part of the time in which the far host was held to something
    double heldMute{0};       //!< likewise, from 4 s after it fell mute on
};

/** @return a transfer by QUIC */
FlowConfig
Quic(const std::string& from, const std::string& to, const std::string& variant)
{
    auto flow = FtpFlow(from, to);
    flow.variant = variant;
    flow.initial_window = 10;
    flow.advertised_window = 1400;
    flow.delayed_ack = 2;
    flow.opaque = true;
    flow.rack = true;
    return flow;
}

/** @return a download by QUIC */
FlowConfig
Quic(const std::string& to, const std::string& variant)
{
    return Quic("B", to, variant);
}

/** @return four hops of today's radio, whose gateway paces */
Scenario
Chain(double durationS, const std::string& omit)
{
    auto scenario = ChainScenario(4, "static", durationS);
    scenario.radio = TodaysRadio();
    scenario.radio.queueing = "fq_codel";
    scenario.wired = {.mbps = 100, .delay_ms = 6.67};
    for (uint32_t i = 0; i < scenario.nodes.size(); i++)
    {
        scenario.nodes[i].x_m = 25.0 * i;
    }
    scenario.gateway.law = "even";
    scenario.gateway.goodput_control = true;
    scenario.gateway.omit = omit;
    return scenario;
}

/** Runs a scenario, and watches what its gateway asks and holds. */
class Watched
{
  public:
    /**
     * @param scenario the scenario
     * @param muteAtS from when on the far host answers no ICMP echo
     */
    explicit Watched(const Scenario& scenario, double muteAtS = SECONDS)
        : m_scenario(scenario)
    {
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(m_scenario, SEED);
        const auto far = simulation.Network().GetNode("A");
        Simulator::Schedule(Seconds(muteAtS), [far] {
            far->GetObject<Ipv4L3Protocol>()->Remove(far->GetObject<Icmpv4L4Protocol>());
        });
        const auto gateway = simulation.Network().GetNode("IG")->GetObject<Ipv4L3Protocol>();
        gateway->TraceConnectWithoutContext("SendOutgoing", MakeCallback(&Watched::Sends, this));
        uint32_t held = 0;
        uint32_t heldMute = 0;
        const MeshpaceHosts::Key key{simulation.Network().Address("A").Get(), true};
        for (double atS = 0.05; atS < m_scenario.duration_s; atS += 0.1)
        {
            Simulator::Schedule(Seconds(atS), [&, atS] {
                const bool isHeld = simulation.Gateways().at(0)->Hosts().CapBps(key) > 0;
                held += isHeld;
                heldMute += isHeld && atS > muteAtS + 12;
            });
        }
        simulation.Run();
        for (const auto& flow : simulation.Flows())
        {
            const auto bins = flow->Delivery().Bins(Seconds(m_scenario.duration_s));
            const auto from = bins.begin() + static_cast<int>(m_scenario.warmup_s);
            const auto bytes = std::accumulate(from, bins.end(), 0.0);
            m_outcome.kbps.push_back(bytes / 125 / (bins.end() - from));
        }
        for (const auto& ping : simulation.Pingers())
        {
            const auto rtts = ping->SortedRtts();
            m_outcome.pingS = std::accumulate(rtts.begin(), rtts.end(), 0.0) / rtts.size();
        }
        m_outcome.held = held / m_scenario.duration_s / 10;
        m_outcome.heldMute = heldMute / m_scenario.duration_s / 10;
    }

    /** @return what came of it */
    const Outcome& Of() const
    {
        return m_outcome;
    }

  private:
    /** The gateway sends a packet of its own. */
    void Sends(const Ipv4Header& header, Ptr<const Packet> packet, uint32_t)
    {
        if (header.GetProtocol() != Icmpv4L4Protocol::PROT_NUMBER)
        {
            return;
        }
        const auto copy = packet->Copy();
        Icmpv4Header icmp;
        Icmpv4Echo echo;
        copy->RemoveHeader(icmp);
        copy->RemoveHeader(echo);
        (echo.GetIdentifier() == PINGERS ? m_outcome.pings : m_outcome.asks)++;
    }

    const Scenario m_scenario;
    Outcome m_outcome;
};

/** @return a download over four hops, and pings beside it */
Scenario
FarAlone(const std::string& variant, const std::string& omit)
{
    auto scenario = Chain(SECONDS, omit);
    scenario.warmup_s = WARMUP_S;
    scenario.flows = {Quic("A", variant)};
    scenario.pings = {{.from = "IG", .to = "A", .interval_s = 0.1, .start_s = 0}};
    return scenario;
}

/** Alone it is held to a rate at which less waits, and has nearly all that it had; by the part that is left out. */
class AloneTestCase : public TestCase
{
  public:
    AloneTestCase()
        : TestCase("A download by QUIC over four hops")
    {
    }

  private:
    void DoRun() override
    {
        const auto without = Watched(FarAlone("bbr", "opaque")).Of();
        const auto with = Watched(FarAlone("bbr", "")).Of();
        NS_TEST_EXPECT_MSG_EQ(without.asks, 0, "nobody is asked");
        NS_TEST_EXPECT_MSG_EQ(without.held, 0, "nor held");
        NS_TEST_EXPECT_MSG_GT(without.pings, 10 * SECONDS - 1, "pings are no asks");
        NS_TEST_EXPECT_MSG_GT(with.asks, 3 * SECONDS, "it is asked");
        NS_TEST_EXPECT_MSG_LT(with.asks, MP_HOST_ASKS_PER_S * (SECONDS + 1) + 1, "by its budget");
        NS_TEST_EXPECT_MSG_GT(with.held, 0.6, "and held most of the time");
        NS_TEST_EXPECT_MSG_GT(with.kbps[0], 0.88 * without.kbps[0], "goodput");
        NS_TEST_EXPECT_MSG_LT(with.pingS, 0.97 * without.pingS, "pings");
    }
};

/** Who begins, alone, is held to no less than he had unheld: a path of two hops is full within a second. */
class BeginTestCase : public TestCase
{
  public:
    explicit BeginTestCase(const std::string& variant)
        : TestCase("A download by QUIC begins, " + variant),
          m_variant(variant)
    {
    }

  private:
    void DoRun() override
    {
        const auto kbps = [this](const std::string& omit) {
            auto scenario = Chain(5, omit);
            scenario.warmup_s = 1;
            scenario.flows = {Quic("RL2", m_variant)};
            return Watched(scenario).Of().kbps[0];
        };
        // Held from half of D* on, to a mean that had begun at nothing, it had a third.
        NS_TEST_EXPECT_MSG_GT(kbps(""), 0.8 * kbps("opaque"), "from its second second on");
    }

    const std::string m_variant;
};

/** Near and far, by QUIC both: the far one gets about half of what it has alone. */
class NearFarTestCase : public TestCase
{
  public:
    explicit NearFarTestCase(const std::string& variant)
        : TestCase("Near and far by QUIC, " + variant),
          m_variant(variant)
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = FarAlone(m_variant, "");
        const auto alone = Watched(scenario).Of().kbps[0];
        scenario.flows = {Quic("RL3", m_variant), Quic("A", m_variant)};
        const auto both = Watched(scenario).Of();
        NS_TEST_EXPECT_MSG_GT(both.kbps[1], 0.75 * alone / 2, "the far one");
        // Where nobody is asked it has 3.9 to 7.4 Mbit/s, by seeds 3 to 7.
        NS_TEST_EXPECT_MSG_GT(both.kbps[0], 8500, "the near one");
        NS_TEST_EXPECT_MSG_GT(both.held, 0.6, "by what they are held to");
    }

    const std::string m_variant;
};

/** A far download beside a near upload, both by QUIC: the upload keeps to its part, too. */
class UploadTestCase : public TestCase
{
  public:
    explicit UploadTestCase(const std::string& variant)
        : TestCase("A far download beside a near upload by QUIC, " + variant),
          m_variant(variant)
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = FarAlone("bbr", "");
        const auto alone = Watched(scenario).Of().kbps[0];
        scenario.flows = {Quic("RL3", "B", m_variant), Quic("A", "bbr")};
        const auto both = Watched(scenario).Of();
        // Both ways collide, so that each has .7 to .8 of its part; unheld, the upload left the far one a quarter of its own.
        NS_TEST_EXPECT_MSG_GT(both.kbps[1], 0.6 * alone / 2, "the far one");
        NS_TEST_EXPECT_MSG_GT(both.kbps[0], 8500, "the near one");
    }

    const std::string m_variant;
};

/** Two uploads by QUIC, near and far: both answers tell what waits, and the near one leaves the far one its part. */
class UploadsTestCase : public TestCase
{
  public:
    UploadsTestCase()
        : TestCase("Two uploads by QUIC, near and far")
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = Chain(SECONDS, "");
        scenario.warmup_s = WARMUP_S;
        scenario.flows = {Quic("A", "B", "bbr")};
        const auto alone = Watched(scenario).Of().kbps[0];
        scenario.flows = {Quic("RL3", "B", "bbr"), Quic("A", "B", "bbr")};
        const auto both = Watched(scenario).Of();
        // Where nobody who sends is asked it has .15 of what it has alone, a third of its part.
        NS_TEST_EXPECT_MSG_GT(both.kbps[1], 0.6 * alone / 2, "the far one");
        NS_TEST_EXPECT_MSG_GT(both.kbps[0], 8500, "the near one");
    }
};

/** Who answers no ICMP any more is asked, and held to nothing. */
class MuteTestCase : public TestCase
{
  public:
    MuteTestCase()
        : TestCase("A host that answers no echo")
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = Chain(10, "");
        scenario.flows = {Quic("A", "bbr")};
        const auto mute = Watched(scenario, 0).Of();
        NS_TEST_EXPECT_MSG_GT(mute.asks, 20, "it is asked");
        NS_TEST_EXPECT_MSG_EQ(mute.held, 0, "and never held");
        NS_TEST_EXPECT_MSG_GT(mute.kbps[0], 3000, "it gets what it gets");
        scenario.duration_s = 26;
        const auto later = Watched(scenario, 10).Of();
        NS_TEST_EXPECT_MSG_GT(later.held, 0.2, "while it answered");
        NS_TEST_EXPECT_MSG_EQ(later.heldMute, 0, "and no longer than forty asks after that");
    }
};

/** The suite. */
class OpaqueTestSuite : public TestSuite
{
  public:
    OpaqueTestSuite()
        : TestSuite("meshpace-opaque", Type::SYSTEM)
    {
        AddTestCase(new AloneTestCase, Duration::QUICK);
        AddTestCase(new BeginTestCase("cubic"), Duration::QUICK);
        AddTestCase(new BeginTestCase("bbr"), Duration::QUICK);
        AddTestCase(new NearFarTestCase("cubic"), Duration::QUICK);
        AddTestCase(new UploadTestCase("cubic"), Duration::QUICK);
        AddTestCase(new UploadTestCase("bbr"), Duration::QUICK);
        AddTestCase(new UploadsTestCase, Duration::QUICK);
        AddTestCase(new MuteTestCase, Duration::QUICK);
    }
};

OpaqueTestSuite g_opaqueTestSuite; //!< the suite

} // namespace
