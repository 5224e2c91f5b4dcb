/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// People: each small thing that they do, alone over a mesh that has room for it.

#include "people-home.h"

#include "../runner/people/video.h"

#include "ns3/simulator.h"
#include "ns3/test.h"

#include <cmath>

using namespace ns3;

namespace
{

using Json = nlohmann::ordered_json;

/** Bins in which something is wanted. */
class DemandTestCase : public TestCase
{
  public:
    DemandTestCase()
        : TestCase("In which seconds something is wanted")
    {
    }

  private:
    void DoRun() override
    {
        DemandMeter meter(Seconds(1));
        const auto at = [](double s, const std::function<void()>& what) {
            Simulator::Schedule(Seconds(s), what);
        };
        at(1.5, [&] { meter.Begin(); });
        at(1.7, [&] { meter.Begin(); });
        at(1.8, [&] { meter.End(); });
        at(3, [&] { meter.End(); }); // at the very end of a second: not in the next
        at(5.2, [&] { meter.Begin(); });
        at(5.3, [&] { meter.EndAll(); });
        at(5.4, [&] { meter.End(); }); // comes too late, and counts nothing
        at(7.1, [&] { meter.Begin(); });
        Simulator::Stop(Seconds(8));
        Simulator::Run();
        const auto bins = meter.Bins(Seconds(8));
        Simulator::Destroy();
        const std::vector<uint8_t> expected{0, 1, 1, 0, 0, 1, 0, 1};
        NS_TEST_EXPECT_MSG_EQ((bins == expected), true, "bins");
    }
};

/** A page takes what its bytes and its round trips need, in TCP and opaque. */
class PagesTestCase : public TestCase
{
  public:
    PagesTestCase(bool opaque)
        : TestCase(std::string("Pages, ") + (opaque ? "opaque" : "TCP")),
          m_opaque(opaque)
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = Home({"web"}, 150);
        scenario.people[0].opaque = m_opaque;
        const auto person = Simulated(scenario)[0];
        NS_TEST_ASSERT_MSG_GT(person["pages"].size(), 8, "pages");
        for (const auto& page : person["pages"])
        {
            NS_TEST_EXPECT_MSG_EQ(page["opaque"].get<bool>(), m_opaque, "opaque");
            NS_TEST_ASSERT_MSG_EQ(page["load_s"].is_null(), false, "loaded");
            // SYN and request, each a round trip.
            const double firstS = page["first_byte_s"];
            NS_TEST_EXPECT_MSG_GT(firstS, 2 * RTT_S, "first byte");
            NS_TEST_EXPECT_MSG_LT(firstS, 2 * (RTT_S + RADIO_S), "first byte");
            // At most: a round trip for each doubling of ten segments, and one for the request, in
            // each of the rounds in which six objects are loaded; 2 Mbit/s; a second to parse.
            const double objects = page["objects"];
            const double bytes = page["bytes"];
            const double rounds = 2 + (1 + std::ceil((objects - 1) / 6)) * 6;
            const double loadS = page["load_s"];
            NS_TEST_EXPECT_MSG_GT(loadS, bytes * 8 / 4.5e6, "load");
            NS_TEST_EXPECT_MSG_LT(loadS, rounds * (RTT_S + RADIO_S) + bytes * 8 / 2e6 + 1, "load");
        }
        for (const auto& handshake : person["handshakes"])
        {
            NS_TEST_EXPECT_MSG_EQ_TOL(handshake["took_s"].get<double>(),
                                      RTT_S + RADIO_S / 2,
                                      RADIO_S / 2,
                                      "handshake");
        }
        uint64_t bytes = 0;
        for (const auto& page : person["pages"])
        {
            bytes += page["bytes"].get<uint64_t>() + 328 * page["objects"].get<uint64_t>();
        }
        NS_TEST_EXPECT_MSG_EQ(Sum(person["delivered_bytes"], 0, 150), bytes, "every byte once");
    }

    const bool m_opaque;
};

/** Pages are 3GPP's, as TR 25.892 has them; page_scale makes each object larger. */
class PageSizesTestCase : public TestCase
{
  public:
    PageSizesTestCase()
        : TestCase("Sizes of pages")
    {
    }

  private:
    /** @return pages of a person whom nobody answers: as many as there is time for */
    static Json Pages(double scale, double durationS)
    {
        auto scenario = Home({"web"}, durationS);
        scenario.people[0].page_scale = scale;
        scenario.people[0].reading_s = 0.001;
        scenario.outages = {{.node = "A", .at_s = 0, .for_s = durationS}};
        return Simulated(scenario)[0]["pages"];
    }

    void DoRun() override
    {
        const auto pages = Pages(1, 20000);
        const double count = pages.size();
        NS_TEST_ASSERT_MSG_GT(count, 1990, "pages");
        double objects = 0;
        double bytes = 0;
        for (const auto& page : pages)
        {
            objects += page["objects"].get<double>();
            bytes += page["bytes"].get<double>();
        }
        // One main object, and on average 3.95 others: the mean 5.64 is that of the law before it
        // is cut off at 55, as ns-3 draws it.
        NS_TEST_EXPECT_MSG_EQ_TOL(objects / count, 4.95, 0.3, "objects");
        // 10710 + 3.95 * 7758; the objects' deviations, 25032 and 126168, make 5640 of the mean of
        // 2000 pages, of which two are let through.
        NS_TEST_EXPECT_MSG_EQ_TOL(bytes / count, 41354, 2 * 5640, "bytes");
        const auto larger = Pages(40, 1200);
        for (std::size_t i = 0; i < 100; i++)
        {
            const double expected = 40 * pages[i]["bytes"].get<double>();
            NS_TEST_EXPECT_MSG_EQ(larger[i]["bytes"].get<double>(), expected, "page " << i);
        }
    }
};

/**
 * What a person does is drawn by his name and the seed: laws and other people change nothing of it.
 */
class SameDayTestCase : public TestCase
{
  public:
    SameDayTestCase()
        : TestCase("The same arrivals, pages and sizes for every system")
    {
    }

  private:
    /** @return what was drawn, by pages and look-ups */
    static Json Drawn(const Json& person)
    {
        auto drawn = Json::array();
        for (const auto& page : person["pages"])
        {
            drawn.push_back({page["at_s"], page["bytes"], page["objects"], page["opaque"]});
        }
        for (const auto& lookup : person["lookups"])
        {
            drawn.push_back(lookup["at_s"]);
        }
        return drawn;
    }

    void DoRun() override
    {
        auto scenario = Home({"web", "lookups"}, 50);
        scenario.people[0].opaque = 0.5;
        const auto first = Drawn(Simulated(scenario)[0]);
        NS_TEST_EXPECT_MSG_GT(first.size(), 30, "drawn");
        const auto second = Drawn(Simulated(scenario, {}, {}, 2)[0]);
        NS_TEST_EXPECT_MSG_EQ((second == first), false, "another seed");
        // Another law, somebody ahead of him in the file, and beside him a download.
        scenario.gateway.law = "even";
        scenario.gateway.goodput_control = true;
        scenario.wired_hosts = {"B", "B1"};
        auto other = PersonAt("A", "B1", {"web", "download"});
        other.name = "other";
        scenario.people.insert(scenario.people.begin(), other);
        const auto people = Simulated(scenario);
        NS_TEST_EXPECT_MSG_EQ((Drawn(people[1]) == first), true, "the same");
        NS_TEST_EXPECT_MSG_EQ((Drawn(people[0]) == first), false, "the other has others");
    }
};

/** BBA-0. */
class RateTestCase : public TestCase
{
  public:
    RateTestCase()
        : TestCase("Bit rates of video by the buffer")
    {
    }

  private:
    void DoRun() override
    {
        BufferBasedRate rate;
        const auto& ladder = BufferBasedRate::LADDER_KBPS;
        const auto next = [&rate](double bufferS) { return rate.Next(bufferS); };
        NS_TEST_EXPECT_MSG_EQ(next(0), ladder.front(), "empty");
        NS_TEST_EXPECT_MSG_EQ(next(18.75), ladder.front(), "reservoir");
        // Half way up the map says 3972: the highest below that.
        NS_TEST_EXPECT_MSG_EQ(next(31.875), 3000, "half way");
        // Neither 4500 nor 2000 is reached: it stays.
        NS_TEST_EXPECT_MSG_EQ(next(33), 3000, "stays above");
        NS_TEST_EXPECT_MSG_EQ(next(26), 3000, "stays below");
        NS_TEST_EXPECT_MSG_EQ(next(24), 2000, "falls to the lowest above the map");
        NS_TEST_EXPECT_MSG_EQ(next(45), ladder.back(), "full");
        NS_TEST_EXPECT_MSG_EQ(next(10), ladder.front(), "nearly empty");
    }
};

/** With room enough a video reaches the highest rate, and nothing stalls. */
class VideoTestCase : public TestCase
{
  public:
    VideoTestCase()
        : TestCase("A video")
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = Home({"video"}, 60);
        scenario.radio.standard = "802.11g"; // 21.6 Mbit/s of payload
        scenario.radio.data_mbps = 54;
        scenario.radio.control_mbps = 6;
        const auto video = Simulated(scenario)[0]["videos"][0];
        NS_TEST_EXPECT_MSG_LT(video["startup_s"].get<double>(), 0.5, "startup");
        NS_TEST_EXPECT_MSG_EQ(video["stalls"].empty(), true, "stalls");
        const auto& segments = video["segments"];
        // 59 s played, and a buffer of up to 50 s.
        NS_TEST_EXPECT_MSG_GT(segments.size(), 22, "segments");
        NS_TEST_EXPECT_MSG_LT(segments.size(), 29, "segments");
        NS_TEST_EXPECT_MSG_EQ(segments.front()["kbps"], 145, "begins low");
        NS_TEST_EXPECT_MSG_EQ(segments.back()["kbps"], 7800, "ends high");
    }
};

/** Where the mesh has no room a video stalls, and at a lower rate goes on. */
class StallsTestCase : public TestCase
{
  public:
    StallsTestCase()
        : TestCase("A video that stalls")
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = Home({"video"}, 145);
        scenario.outages = {{.node = "A", .at_s = 20, .for_s = 60}};
        const auto person = Simulated(scenario)[0];
        const auto video = person["videos"][0];
        NS_TEST_ASSERT_MSG_EQ(video["stalls"].size(), 1, "stalls");
        // The buffer held up to 50 s when nothing came any more.
        const auto stall = video["stalls"][0];
        const double endS = stall["at_s"].get<double>() + stall["length_s"].get<double>();
        NS_TEST_EXPECT_MSG_GT(stall["at_s"].get<double>(), 40, "played from the buffer");
        NS_TEST_EXPECT_MSG_LT(stall["at_s"].get<double>(), 71, "no longer than it held");
        // TCP tries again ever more seldom: at the latest after as long as it was silent.
        NS_TEST_EXPECT_MSG_GT(endS, 80, "nothing came before");
        NS_TEST_EXPECT_MSG_LT(endS, 141, "came again");
    }
};

/** A call: nothing is lost, and delays are those of the path. */
class CallTestCase : public TestCase
{
  public:
    CallTestCase()
        : TestCase("A call")
    {
    }

  private:
    void DoRun() override
    {
        const auto person = Simulated(Home({"call"}, 41.5))[0];
        const auto& windows = person["calls"][0]["windows"];
        NS_TEST_ASSERT_MSG_EQ(windows.size(), 5, "windows");
        for (const auto& window : windows)
        {
            for (const auto* direction : {"up", "down"})
            {
                const auto& one = window[direction];
                NS_TEST_EXPECT_MSG_EQ(one["lost"], 0, "lost");
                NS_TEST_EXPECT_MSG_EQ_TOL(one["delay_ms"].get<double>(),
                                          (WIRED_S + 0.001) * 1e3,
                                          1,
                                          "delay");
                NS_TEST_EXPECT_MSG_GT_OR_EQ(one["delay_p95_ms"], one["delay_ms"], "p95");
            }
        }
        NS_TEST_EXPECT_MSG_EQ(windows[0]["up"]["sent"], 500, "50 a second");
        NS_TEST_EXPECT_MSG_EQ(windows[1]["at_s"], 11, "window");
        NS_TEST_EXPECT_MSG_EQ(Sum(person["delivered_bytes"], 2, 40), 38 * 2 * 50 * 160, "sound");
        NS_TEST_EXPECT_MSG_EQ(Sum(person["wants"], 0, 42), 41, "wants");
    }
};

/**
 * Half of a call's way is lost: the windows say so, and what is under way at the end is not lost.
 */
class LossyCallTestCase : public TestCase
{
  public:
    LossyCallTestCase()
        : TestCase("A call that is interrupted")
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = Home({"call"}, 31);
        // Longer than queues bridge: what comes meanwhile is more than the 50 packets that they
        // hold.
        scenario.outages = {{.node = "A", .at_s = 12, .for_s = 8},
                            {.node = "A", .at_s = 27, .for_s = 9}};
        const auto windows = Simulated(scenario)[0]["calls"][0]["windows"];
        for (const auto* direction : {"up", "down"})
        {
            NS_TEST_EXPECT_MSG_EQ(windows[0][direction]["lost"], 0, "before");
            NS_TEST_EXPECT_MSG_GT(windows[1][direction]["lost"], 300, "meanwhile");
            NS_TEST_EXPECT_MSG_EQ(windows[1][direction]["sent"], 500, "meanwhile");
            // From 27 s on none arrives, and nobody knows yet of those of the last 5 s.
            NS_TEST_EXPECT_MSG_LT(windows[2][direction]["sent"], 310, "at the end");
            NS_TEST_EXPECT_MSG_LT(windows[2][direction]["lost"], 10, "at the end");
        }
    }
};

/** Look-ups take a round trip; one that is lost is asked again after 5 s; after two none comes. */
class LookupsTestCase : public TestCase
{
  public:
    LookupsTestCase()
        : TestCase("Look-ups")
    {
    }

  private:
    void DoRun() override
    {
        auto scenario = Home({"lookups"}, 100);
        scenario.outages = {{.node = "A", .at_s = 40, .for_s = 20}};
        const auto lookups = Simulated(scenario)[0]["lookups"];
        NS_TEST_ASSERT_MSG_GT(lookups.size(), 60, "look-ups");
        std::map<std::string, uint32_t> found;
        for (const auto& lookup : lookups)
        {
            const double atS = lookup["at_s"];
            const bool none = lookup["took_s"].is_null();
            const double tookS = none ? 0 : lookup["took_s"].get<double>();
            const bool twice = tookS > 5 && tookS < 5 + RTT_S + RADIO_S;
            const bool once = tookS > RTT_S && tookS < RTT_S + RADIO_S;
            found[none ? "none" : twice ? "twice" : once ? "once" : "other"]++;
            NS_TEST_EXPECT_MSG_EQ(none, (atS > 40 && atS < 55), "none at " << atS);
        }
        NS_TEST_EXPECT_MSG_EQ(found["other"], 0, "neither in one round trip nor in two attempts");
        NS_TEST_EXPECT_MSG_GT(found["none"], 3, "unanswered");
        NS_TEST_EXPECT_MSG_GT(found["twice"], 0, "asked twice");
        NS_TEST_EXPECT_MSG_GT(found["once"], 50, "asked once");
    }
};

class PeopleTestSuite : public TestSuite
{
  public:
    PeopleTestSuite()
        : TestSuite("meshpace-people", Type::SYSTEM)
    {
        const auto add = [this](TestCase* test) { AddTestCase(test, Duration::QUICK); };
        add(new DemandTestCase);
        add(new RateTestCase);
        add(new PagesTestCase(false));
        add(new PagesTestCase(true));
        add(new PageSizesTestCase);
        add(new SameDayTestCase);
        add(new VideoTestCase);
        add(new StallsTestCase);
        add(new CallTestCase);
        add(new LossyCallTestCase);
        add(new LookupsTestCase);
    }
};

PeopleTestSuite g_peopleTestSuite; //!< the suite

} // namespace
