/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// People: bulk and what the gateway cannot read; how they pause and leave.

#include "people-home.h"

#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/test.h"

#include <memory>

using namespace ns3;

namespace
{

using Json = nlohmann::ordered_json;

/** Downloads and uploads take all that the path has, and rest in a pause. */
class BulkTestCase : public TestCase
{
  public:
    BulkTestCase(const std::string& what, const std::string& variant)
        : TestCase("A person's " + what + ", " + variant),
          m_what(what),
          m_variant(variant)
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = Home({m_what}, 36);
        auto& person = scenario.people[0];
        person.variant = m_variant;
        person.initial_window = 10;
        person.pause_at_s = 15;
        person.pause_s = 10;
        const auto json = Simulated(scenario)[0];
        const auto& bytes = json["delivered_bytes"];
        // 4.5 Mbit/s of datagrams by hand, less TCP's ACKs, which cost as much as half of its
        // segments.
        NS_TEST_EXPECT_MSG_GT(Sum(bytes, 5, 15) * 8 / 10, 2.7e6, "before");
        NS_TEST_EXPECT_MSG_EQ(Sum(bytes, 18, 25), 0, "meanwhile");
        NS_TEST_EXPECT_MSG_GT(Sum(bytes, 30, 36) * 8 / 6, 2.7e6, "afterwards");
        for (const auto* key : {"wants", "bulk"})
        {
            NS_TEST_EXPECT_MSG_EQ(Sum(json[key], 1, 15), 14, key);
            NS_TEST_EXPECT_MSG_EQ(Sum(json[key], 18, 25), 0, key);
            NS_TEST_EXPECT_MSG_EQ(Sum(json[key], 26, 36), 10, key);
        }
    }

    const std::string m_what;
    const std::string m_variant;
};

/** All that there is to do at once, with pauses: he comes, is silent, and goes on. */
class PauseTestCase : public TestCase
{
  public:
    PauseTestCase()
        : TestCase("A pause")
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = Home({"web", "video", "call", "lookups"}, 80);
        auto& person = scenario.people[0];
        person.pause_at_s = 30;
        person.pause_s = 20;
        const auto json = Simulated(scenario)[0];
        // A segment that he has asked for, of up to 4 s at 7800 kbit/s, still comes.
        NS_TEST_EXPECT_MSG_EQ(Sum(json["wants"], 40, 50), 0, "nothing is wanted");
        NS_TEST_EXPECT_MSG_EQ(Sum(json["delivered_bytes"], 40, 50), 0, "nothing comes");
        NS_TEST_EXPECT_MSG_GT(Sum(json["delivered_bytes"], 52, 80), 1e6, "again");
        NS_TEST_EXPECT_MSG_EQ(json["calls"].size(), 2, "he calls again");
        NS_TEST_EXPECT_MSG_EQ_TOL(json["calls"][0]["length_s"].get<double>(), 29, 0.1, "call");
        NS_TEST_EXPECT_MSG_EQ(json["videos"].size(), 1, "it is the same video");
        NS_TEST_EXPECT_MSG_EQ(json["videos"][0]["stalls"].empty(), true, "a pause is no stall");
        for (const auto& list : {json["pages"], json["lookups"], json["videos"][0]["segments"]})
        {
            for (const auto& one : list)
            {
                const double atS = one["at_s"];
                NS_TEST_EXPECT_MSG_EQ((atS >= 30 && atS < 50), false, "asked for at " << atS);
            }
        }
    }
};

/** How somebody leaves in the middle of everything. */
class LeavingTestCase : public TestCase
{
  public:
    LeavingTestCase(const std::string& leaves, double opaque)
        : TestCase("A person who " + leaves + (opaque > 0 ? ", opaque" : "")),
          m_leaves(leaves),
          m_opaque(opaque)
    {
    }

  private:
    static constexpr double LEAVES_S = 10.5; // no page has just come

    void DoRun() override
    {
        auto scenario =
            Home({"web", "video", "call", "download", "upload", "lookups"}, 100);
        auto& person = scenario.people[0];
        person.opaque = m_opaque;
        person.stop_s = LEAVES_S;
        person.leaves = m_leaves;
        if (m_leaves == "dies")
        {
            scenario.outages = {{.node = "A", .at_s = LEAVES_S, .for_s = 100}};
        }
        std::unique_ptr<Wiretap> node;
        std::unique_ptr<Wiretap> host;
        const auto begin = [&](const Simulation& simulation) {
            node = std::make_unique<Wiretap>(simulation.Network().GetNode("A"));
            host = std::make_unique<Wiretap>(simulation.Network().GetNode("B"));
            Simulator::Schedule(Seconds(LEAVES_S + 2), [&] {
                node->Reset();
                host->Reset();
            });
        };
        Check(Simulated(scenario, begin)[0]);
        const bool closes = m_leaves == "closes";
        // What closes says so; else the host's TCP tries again, ever more seldom, and the call goes
        // on for the 30 s of its consent.
        NS_TEST_EXPECT_MSG_EQ((host->Out(TCP) > 2), !closes, "the host's TCP");
        NS_TEST_EXPECT_MSG_EQ((host->Out(UDP) > 1000), !closes, "the host's datagrams");
        NS_TEST_EXPECT_MSG_LT(host->Out(UDP), 1500, "not for ever");
        NS_TEST_EXPECT_MSG_EQ(host->In(TCP) + host->In(UDP), 0, "nothing comes from him");
        NS_TEST_EXPECT_MSG_EQ((node->In(TCP) > 2), (m_leaves == "fades"), "it reaches his node");
        NS_TEST_EXPECT_MSG_EQ(node->Out(TCP), 0, "his node answers nothing");
    }

    /** What was reported. */
    void Check(const Json& json)
    {
        NS_TEST_EXPECT_MSG_GT(Sum(json["delivered_bytes"], 2, 10), 1e6, "before");
        NS_TEST_EXPECT_MSG_EQ(Sum(json["delivered_bytes"], 13, 100), 0, "afterwards");
        NS_TEST_EXPECT_MSG_EQ(Sum(json["wants"], 11, 100), 0, "wants");
        NS_TEST_EXPECT_MSG_EQ(Sum(json["bulk"], 1, 11), 10, "bulk");
        NS_TEST_EXPECT_MSG_EQ(Sum(json["bulk"], 11, 100), 0, "bulk");
        NS_TEST_EXPECT_MSG_EQ(json["stop_s"], LEAVES_S, "stop");
        for (const auto* key : {"pages", "videos", "calls", "lookups", "handshakes"})
        {
            NS_TEST_EXPECT_MSG_GT(json[key].size(), 0, key);
            for (const auto& one : json[key])
            {
                NS_TEST_EXPECT_MSG_LT(one["at_s"].get<double>(), LEAVES_S, key);
            }
        }
        NS_TEST_EXPECT_MSG_EQ_TOL(json["calls"][0]["length_s"].get<double>(), 9.5, 0.1, "call");
    }

    const std::string m_leaves;
    const double m_opaque;
};

/**
 * Nobody answers at all: nothing comes about, and what could not in so short a time is not judged.
 */
class NobodyTestCase : public TestCase
{
  public:
    NobodyTestCase()
        : TestCase("A node that is off")
    {
    }

  private:
    void DoRun() override
    {
        auto scenario =
            Home({"web", "video", "call", "download", "upload", "lookups"}, 60);
        scenario.people[0].opaque = 0.5;
        scenario.outages = {{.node = "A", .at_s = 0, .for_s = 60}};
        const auto json = Simulated(scenario)[0];
        NS_TEST_EXPECT_MSG_EQ(Sum(json["delivered_bytes"], 0, 60), 0, "delivered");
        NS_TEST_EXPECT_MSG_EQ(Sum(json["wants"], 1, 60), 59, "wants");
        NS_TEST_EXPECT_MSG_GT(json["pages"].size(), 3, "pages");
        NS_TEST_EXPECT_MSG_GT(json["handshakes"].size(), 5, "handshakes");
        NS_TEST_EXPECT_MSG_EQ(json["videos"][0]["startup_s"].is_null(), true, "video");
        NS_TEST_EXPECT_MSG_EQ(json["calls"][0]["windows"][0]["up"]["lost"], 500, "call");
        for (const auto& page : json["pages"])
        {
            NS_TEST_EXPECT_MSG_EQ(page["load_s"].is_null(), true, "page");
            NS_TEST_EXPECT_MSG_LT(page["at_s"].get<double>(), 50.001, "too late to be judged");
        }
        for (const auto& list : {json["lookups"], json["handshakes"]})
        {
            for (const auto& one : list)
            {
                NS_TEST_EXPECT_MSG_EQ(one["took_s"].is_null(), true, "none");
                NS_TEST_EXPECT_MSG_LT(one["at_s"].get<double>(), 57.001, "too late to be judged");
            }
        }
    }
};

/** An opaque flow: as fast as in TCP, and for the gateway and all others datagrams. */
class OpaqueFlowTestCase : public TestCase
{
  public:
    OpaqueFlowTestCase(const std::string& from, const std::string& to, const std::string& variant)
        : TestCase("An opaque flow from " + from + ", " + variant),
          m_from(from),
          m_to(to),
          m_variant(variant)
    {
    }

  private:
    /** @return goodput, bit/s */
    double Goodput(bool opaque, const std::string& law)
    {
        auto scenario = Home({}, 15);
        scenario.people.clear();
        scenario.warmup_s = 5;
        scenario.gateway.law = law;
        scenario.gateway.goodput_control = law == "even";
        scenario.flows = {FtpFlow(m_from, m_to)};
        auto& flow = scenario.flows[0];
        flow.opaque = opaque;
        flow.variant = m_variant;
        flow.initial_window = 10;
        flow.min_rto_s = m_variant == "bbr" ? 1 : 0.2;
        flow.delayed_ack = 2;
        flow.advertised_window = 200;
        RngSeedManager::ResetNextStreamIndex();
        Simulation simulation(scenario, 1);
        Wiretap node(simulation.Network().GetNode("A"));
        simulation.Run();
        const auto known = law == "off" ? 0 : simulation.Gateways()[0]->Connections();
        NS_TEST_EXPECT_MSG_EQ(known, (opaque || law == "off" ? 0 : 1), "what the gateway reads");
        const auto other = opaque ? TCP : UDP;
        NS_TEST_EXPECT_MSG_EQ(node.In(other) + node.Out(other), 0, "of the other kind");
        return simulation.Flows()[0]->Delivery().GoodputBytes() * 8 / 10.0;
    }

    void DoRun() override
    {
        const auto plain = Goodput(false, "off");
        NS_TEST_EXPECT_MSG_GT(plain, 2.7e6, "TCP");
        // 1314 bytes a packet of 1378, instead of 1460 in 1500, whose overhead on the air weighs
        // more.
        NS_TEST_EXPECT_MSG_EQ_TOL(Goodput(true, "off") / plain, 0.94, 0.06, "opaque");
        NS_TEST_EXPECT_MSG_GT(Goodput(true, "even"), 0.5 * plain, "under a law");
        Goodput(false, "even");
    }

    const std::string m_from;
    const std::string m_to;
    const std::string m_variant;
};

class PeopleLifeTestSuite : public TestSuite
{
  public:
    PeopleLifeTestSuite()
        : TestSuite("meshpace-people-life", Type::SYSTEM)
    {
        const auto add = [this](TestCase* test) { AddTestCase(test, Duration::QUICK); };
        for (const auto* variant : {"cubic", "bbr"})
        {
            add(new BulkTestCase("download", variant));
            add(new BulkTestCase("upload", variant));
            add(new OpaqueFlowTestCase("B", "A", variant));
            add(new OpaqueFlowTestCase("A", "B", variant));
        }
        add(new PauseTestCase);
        for (const auto* leaves : {"closes", "dies", "fades"})
        {
            add(new LeavingTestCase(leaves, 0));
            add(new LeavingTestCase(leaves, 1));
        }
        add(new NobodyTestCase);
    }
};

PeopleLifeTestSuite g_peopleLifeTestSuite; //!< the suite

} // namespace
