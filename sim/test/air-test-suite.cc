/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// Shares of the air at the gateway, in whole simulations: with two hosts each gets half of what it has alone.

#include "test-scenarios.h"

#include "../runner/simulation.h"

#include "ns3/meshpace-air.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/test.h"

#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

using namespace ns3;

namespace
{

constexpr double SECONDS = 60;
constexpr double FAR_COMES_S = 20;
constexpr double FAR_DIES_S = 40;
constexpr uint32_t SEEDS = 6; //!< of which a mean is: one run may have far uploads in time-outs, or parts that swing

using Bins = std::vector<uint64_t>; //!< bytes delivered in each second

/** @return of each flow what it delivers in each second, by the chance of a seed */
std::vector<Bins>
Delivered(const Scenario& scenario, uint32_t seed = 1)
{
    RngSeedManager::ResetNextStreamIndex();
    Simulation simulation(scenario, seed);
    simulation.Run();
    std::vector<Bins> bins;
    for (const auto& flow : simulation.Flows())
    {
        bins.push_back(flow->Delivery().Bins(Seconds(scenario.duration_s)));
    }
    return bins;
}

/** @return bytes/s from one second to another */
double
Rate(const Bins& bins, uint32_t from, uint32_t to)
{
    return std::accumulate(bins.begin() + from, bins.begin() + to, 0.0) / (to - from);
}

/** @return each flow's bytes/s from one second to another, the mean of all seeds */
std::vector<double>
MeanRates(const Scenario& scenario, uint32_t from, uint32_t to)
{
    std::vector<double> means(scenario.flows.size());
    for (uint32_t seed = 1; seed <= SEEDS; seed++)
    {
        const auto bins = Delivered(scenario, seed);
        for (std::size_t i = 0; i < means.size(); i++)
        {
            means[i] += Rate(bins[i], from, to) / SEEDS;
        }
    }
    return means;
}

/** @return a chain of four hops whose gateway shares the air */
Scenario
Chain(const std::string& fairness)
{
    auto scenario = ChainScenario(4, "static", SECONDS);
    scenario.gateway.law = "even";
    scenario.gateway.goodput_control = true;
    scenario.gateway.fairness = fairness;
    scenario.gateway.local_retransmission = true; // as it is shipped: a hole that is a second open is no air
    return scenario;
}

/** @return a bulk transfer as today's hosts begin one, with BBR: a share is not to wait for a window that grows slowly */
FlowConfig
Bulk(const std::string& from, const std::string& to)
{
    auto flow = FtpFlow(from, to);
    flow.variant = "bbr";
    flow.initial_window = 10;
    flow.advertised_window = 400;
    flow.min_rto_s = 1; // what a BBR flow has that states none: with less ns-3's sends by time-outs
    return flow;
}

/** @return a download over one hop, or an upload */
FlowConfig
Near(bool down)
{
    return down ? Bulk("B", "RL3") : Bulk("RL3", "B");
}

/** @return likewise over four hops */
FlowConfig
Far(bool down)
{
    return down ? Bulk("B", "A") : Bulk("A", "B");
}

/** @return what a flow has alone, bytes/s */
double
Alone(const FlowConfig& flow)
{
    static std::map<std::tuple<std::string, std::string, std::string, bool>, double> known;
    const auto [found, isNew] =
        known.try_emplace({flow.from, flow.to, flow.variant, flow.timestamps});
    if (isNew)
    {
        auto scenario = Chain("air");
        scenario.flows = {flow};
        found->second = Rate(Delivered(scenario).front(), 10, SECONDS);
    }
    return found->second;
}

/** Near is there, far comes, and dies: while both are there each has half of what it has alone, in the mean of seeds. */
class LifeTestCase : public TestCase
{
  public:
    /** @param down whether they load down */
    explicit LifeTestCase(bool down)
        : TestCase(std::string("Near, then far, ") + (down ? "down" : "up")),
          m_near(Near(down)),
          m_far(Far(down))
    {
    }

  private:
    void DoRun() override
    {
        const auto near = Alone(m_near);
        const auto far = Alone(m_far);
        auto scenario = Chain("air");
        m_far.start_s = FAR_COMES_S;
        scenario.flows = {m_near, m_far};
        scenario.outages = {{.node = "A", .at_s = FAR_DIES_S, .for_s = 1000}};
        const uint32_t from = FAR_COMES_S + 5;
        double was = 0;
        double came = 0;
        double left = 0;
        for (uint32_t seed = 1; seed <= SEEDS; seed++)
        {
            const auto bins = Delivered(scenario, seed);
            was += Rate(bins[0], from, FAR_DIES_S) / SEEDS;
            came += Rate(bins[1], from, FAR_DIES_S) / SEEDS;
            left += Rate(bins[0], FAR_DIES_S + 6, SECONDS) / SEEDS;
        }
        NS_TEST_EXPECT_MSG_GT(was, 0.8 * near / 2, "who was there");
        NS_TEST_EXPECT_MSG_GT(came, 0.8 * far / 2, "who came");
        NS_TEST_EXPECT_MSG_GT(left, 0.9 * near, "who is left");
    }

    FlowConfig m_near;
    FlowConfig m_far;
};

/** An upload that its application bounds, over one hop, leaves the rest to a download over four. */
class BoundTestCase : public TestCase
{
  public:
    BoundTestCase()
        : TestCase("An application's upload beside a download")
    {
    }

  private:
    void DoRun() override
    {
        const auto far = Alone(Far(true));
        auto scenario = Chain("air");
        auto near = Near(false);
        near.law = "shaper";
        near.rate_kbps = 100;
        scenario.flows = {near, Far(true)};
        const auto bins = Delivered(scenario);
        NS_TEST_EXPECT_MSG_GT(Rate(bins[0], 20, SECONDS), 0.9 * near.rate_kbps * 125, "the upload");
        NS_TEST_EXPECT_MSG_GT(Rate(bins[1], 20, SECONDS), 0.8 * far, "the download");
    }
};

/** The same goodput, whatever the hops. */
class RateTestCase : public TestCase
{
  public:
    RateTestCase()
        : TestCase("Equal rates")
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = Chain("rate");
        scenario.flows = {Near(true), Far(true)};
        const auto bins = Delivered(scenario);
        const auto near = Rate(bins[0], 20, SECONDS);
        const auto far = Rate(bins[1], 20, SECONDS);
        const auto part = Alone(Far(true)) / 5; // of 1/C + 4/C each takes as many bytes
        NS_TEST_EXPECT_MSG_EQ_TOL(near, far, 0.15 * far, "near and far");
        NS_TEST_EXPECT_MSG_GT(far, 0.8 * 4 * part, "no less than the air holds");
    }
};

/** Who counts for three has three quarters of what it has alone, and who is to have something at least has it. */
class RightsTestCase : public TestCase
{
  public:
    RightsTestCase()
        : TestCase("A weight, and a least rate")
    {
    }

  private:
    void DoRun() override
    {
        const auto near = Alone(Near(true));
        const auto far = Alone(Far(true));
        auto scenario = Chain("air");
        scenario.flows = {Near(true), Far(true)};
        scenario.gateway.host_weight = {{"RL3", 3}};
        const auto means = MeanRates(scenario, 20, SECONDS);
        NS_TEST_EXPECT_MSG_GT(means[0], 0.8 * near * 3 / 4, "who counts for three");
        NS_TEST_EXPECT_MSG_GT(means[1], 0.75 * far / 4, "who counts for one");
        NS_TEST_EXPECT_MSG_LT(means[1], 0.75 * far / 2, "no more than its share");
        scenario.gateway.host_least_kbps = {{"A", far / 2 * 8 / 1e3}};
        const auto bins = Delivered(scenario);
        NS_TEST_EXPECT_MSG_GT(Rate(bins[1], 20, SECONDS), 0.8 * far / 2, "half in any case");
    }
};

/** @return the caps of two hosts that upload for some seconds while so much waits on their paths */
std::vector<uint64_t>
CapsOfUploads(uint64_t waitsNs)
{
    constexpr uint64_t STEP_BYTES = 50000;
    constexpr uint32_t STEPS = 80;
    MeshpaceAir air;
    mp_air_way share{};
    share.flows = share.wanting_flows = 1;
    for (uint64_t step = 1; step <= STEPS; step++)
    {
        const auto nowNs = step * MP_AIR_STEP_NS;
        mp_endpoint up{};
        up.echo.base_ns = MP_NS_PER_S / 100;
        up.echo.rtt_ns = up.echo.base_ns + waitsNs;
        up.echo.heard_ns = nowNs;
        share.delivered_bytes += STEP_BYTES;
        for (const uint32_t address : {1, 2})
        {
            air.Counts(address, false, share);
            air.Hears(address, {}, up, false, nowNs);
        }
        air.Step(nowNs);
    }
    return {air.CapBps(1, false), air.CapBps(2, false)};
}

/** What waits on the paths of uploads, by their echoes, lowers what they may have. */
class UploadsWaitTestCase : public TestCase
{
  public:
    UploadsWaitTestCase()
        : TestCase("Uploads' waits")
    {
    }

  private:
    void DoRun() override
    {
        const auto little = CapsOfUploads(0);
        const auto much = CapsOfUploads(MP_NS_PER_S / 2);
        NS_TEST_EXPECT_MSG_GT(little[0], 0, "hosts share");
        NS_TEST_EXPECT_MSG_EQ(little[0], little[1], "alike");
        NS_TEST_EXPECT_MSG_LT(much[0] * 100, little[0] * 90, "too much waits");
    }
};

/** Timestamps take twelve bytes of a segment, and nothing else: pieces of another size would be sent as two packets. */
class TimestampsTestCase : public TestCase
{
  public:
    TimestampsTestCase()
        : TestCase("What timestamps cost")
    {
    }

  private:
    void DoRun() override
    {
        auto flow = Near(false);
        flow.variant = "cubic"; // fills the air always, BBR with its phases
        const auto without = Alone(flow);
        flow.timestamps = true;
        flow.segment_bytes = 1448;
        NS_TEST_EXPECT_MSG_EQ_TOL(Alone(flow), without * 1448 / 1460, 0.02 * without, "an upload");
    }
};

/** The suite. */
class AirTestSuite : public TestSuite
{
  public:
    AirTestSuite()
        : TestSuite("meshpace-air", Type::SYSTEM)
    {
        for (const bool down : {true, false})
        {
            AddTestCase(new LifeTestCase(down), Duration::QUICK);
        }
        AddTestCase(new BoundTestCase, Duration::QUICK);
        AddTestCase(new RateTestCase, Duration::QUICK);
        AddTestCase(new RightsTestCase, Duration::QUICK);
        AddTestCase(new UploadsWaitTestCase, Duration::QUICK);
        AddTestCase(new TimestampsTestCase, Duration::QUICK);
    }
};

AirTestSuite g_airTestSuite; //!< the suite

} // namespace
