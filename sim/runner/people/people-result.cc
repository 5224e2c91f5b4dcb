/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "people-result.h"

#include "call.h"
#include "pages.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

namespace ns3
{

namespace
{

using Json = nlohmann::ordered_json;

// What waits shorter at the end is not judged.
constexpr double ATTEMPT_S = 3;    // look-ups, handshakes: those done within 3 s count as done
constexpr double UNDER_WAY_S = 5;  // datagrams of a call, as those of a ping
constexpr double WINDOW_S = 10;    // of a call
constexpr double P95 = 0.95;

double
RoundedS(double seconds)
{
    return std::round(seconds * 1e6) / 1e6;
}

Json
TimeJson(Time time)
{
    return RoundedS(time.GetSeconds());
}

Json
TimeJson(const std::optional<Time>& time)
{
    return time ? TimeJson(*time) : Json();
}

/** A person's record as a document. */
class Report
{
  public:
    explicit Report(const PersonSite& site)
        : m_site(site),
          m_end(site.config.stop_s > 0 ? std::min(Seconds(site.config.stop_s), site.end)
                                       : site.end)
    {
    }

    Json Pages() const;
    Json Videos() const;
    Json Calls() const;
    Json Attempts(const std::vector<AttemptRecord>& attempts) const;

  private:
    /** @return whether it came about, or had so long to */
    bool IsJudged(Time at, bool came, const std::optional<Time>& end, double leastS) const
    {
        return came || end.value_or(m_end) - at >= Seconds(leastS);
    }

    Json VideoJson(const VideoRecord& video) const;
    Json CallJson(const CallRecord& call) const;
    static Json WindowJson(const CallRecord& call,
                           CallRecord::Direction direction,
                           std::size_t first,
                           Time end);

    const PersonSite& m_site;
    const Time m_end; //!< when he waited no more
};

Json
Report::Pages() const
{
    auto json = Json::array();
    for (const auto& page : m_site.record.pages)
    {
        if (IsJudged(page.at, page.load.has_value(), page.end, ns3::Pages::PATIENCE_S))
        {
            json.push_back({{"at_s", TimeJson(page.at)},
                            {"first_byte_s", TimeJson(page.firstByte)},
                            {"load_s", TimeJson(page.load)},
                            {"bytes", page.bytes},
                            {"objects", page.objects},
                            {"opaque", page.opaque}});
        }
    }
    return json;
}

Json
Report::VideoJson(const VideoRecord& video) const
{
    auto segments = Json::array();
    for (const auto& segment : video.segments)
    {
        segments.push_back({{"at_s", TimeJson(segment.at)}, {"kbps", segment.kbps}});
    }
    auto stalls = Json::array();
    for (const auto& stall : video.stalls)
    {
        stalls.push_back({{"at_s", TimeJson(stall.at)},
                          {"length_s", TimeJson(stall.length.value_or(m_end - stall.at))}});
    }
    return {{"at_s", TimeJson(video.at)},
            {"startup_s", TimeJson(video.startup)},
            {"opaque", video.opaque},
            {"segments", segments},
            {"stalls", stalls}};
}

Json
Report::Videos() const
{
    auto json = Json::array();
    for (const auto& video : m_site.record.videos)
    {
        if (IsJudged(video.at, video.startup.has_value(), video.end, ns3::Pages::PATIENCE_S))
        {
            json.push_back(VideoJson(video));
        }
    }
    return json;
}

/**
 * @param call a call
 * @param direction one direction of it
 * @param first the number of the window's first datagram
 * @param end when nobody listened any more: what was sent shortly before may be under way
 * @return the window
 */
Json
Report::WindowJson(const CallRecord& call,
                   CallRecord::Direction direction,
                   std::size_t first,
                   Time end)
{
    const auto& delaysS = call.delaysS[direction];
    const auto last = std::min<std::size_t>(first + WINDOW_S / Call::INTERVAL_S, delaysS.size());
    uint32_t sent = 0;
    std::vector<double> arrived;
    for (auto i = std::min(first, last); i < last; i++)
    {
        const auto age = end - call.at - Seconds(Call::INTERVAL_S) * i;
        const bool lost = delaysS[i] == CallRecord::LOST;
        sent += !lost || age >= Seconds(UNDER_WAY_S);
        if (!lost)
        {
            arrived.push_back(delaysS[i] * 1e3);
        }
    }
    std::sort(arrived.begin(), arrived.end());
    Json json{{"sent", sent}, {"lost", sent - arrived.size()}};
    const auto count = arrived.size();
    const auto mean = std::accumulate(arrived.begin(), arrived.end(), 0.0) / std::max(count, 1UL);
    json["delay_ms"] = count ? Json(std::round(mean * 1e3) / 1e3) : Json();
    json["delay_p95_ms"] =
        count ? Json(std::round(arrived[static_cast<std::size_t>(P95 * (count - 1))] * 1e3) / 1e3)
              : Json();
    return json;
}

Json
Report::CallJson(const CallRecord& call) const
{
    auto windows = Json::array();
    const auto sent = call.delaysS[CallRecord::UP].size();
    for (std::size_t first = 0; first < sent; first += WINDOW_S / Call::INTERVAL_S)
    {
        const auto end = call.end.value_or(m_end);
        windows.push_back(
            {{"at_s", TimeJson(call.at + Seconds(Call::INTERVAL_S) * first)},
             {"up", WindowJson(call, CallRecord::UP, first, end)},
             {"down", WindowJson(call, CallRecord::DOWN, first, end)}});
    }
    return {{"at_s", TimeJson(call.at)},
            {"length_s", RoundedS(sent * Call::INTERVAL_S)},
            {"windows", windows}};
}

Json
Report::Calls() const
{
    auto json = Json::array();
    for (const auto& call : m_site.record.calls)
    {
        json.push_back(CallJson(call));
    }
    return json;
}

Json
Report::Attempts(const std::vector<AttemptRecord>& attempts) const
{
    auto json = Json::array();
    for (const auto& attempt : attempts)
    {
        if (IsJudged(attempt.at, attempt.took.has_value(), attempt.end, ATTEMPT_S))
        {
            json.push_back({{"at_s", TimeJson(attempt.at)}, {"took_s", TimeJson(attempt.took)}});
        }
    }
    return json;
}

} // namespace

Json
PersonJson(const Person& person, uint32_t hops)
{
    const auto& site = person.Site();
    const auto& config = site.config;
    const Report report(site);
    return {{"name", config.name},
            {"node", config.node},
            {"start_s", config.start_s},
            {"stop_s", config.stop_s > 0 ? Json(config.stop_s) : Json()},
            {"leaves", config.leaves},
            {"hops", hops},
            {"delivered_bytes", site.delivery.Bins(site.end)},
            {"wants", site.wants.Bins(site.end)},
            {"bulk", site.bulk.Bins(site.end)},
            {"pages", report.Pages()},
            {"videos", report.Videos()},
            {"calls", report.Calls()},
            {"lookups", report.Attempts(site.record.lookups)},
            {"handshakes", report.Attempts(site.record.handshakes)}};
}

} // namespace ns3
