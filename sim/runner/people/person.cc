/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "person.h"

#include "bulk.h"
#include "call.h"
#include "lookups.h"
#include "pages.h"
#include "video.h"

#include "ns3/simulator.h"

#include <algorithm>

namespace ns3
{

Person::Person(const PersonConfig& config,
               const PersonEnds& ends,
               std::function<Ptr<TcpMeshpace>()> law,
               Time end,
               Time bin)
    : m_site{.config = config,
             .ends = ends,
             .law = std::move(law),
             .end = end,
             .delivery = DeliveryMeter(Time(), bin),
             .wants = DemandMeter(bin),
             .bulk = DemandMeter(bin),
             .record = {}},
      m_tcp(m_site, false),
      m_opaque(m_site, true)
{
    CreateActivities();
}

void
Person::CreateActivities()
{
    for (const auto& name : m_site.config.does)
    {
        if (name == "web")
        {
            m_activities.push_back(std::make_unique<Pages>(m_site, m_tcp, m_opaque));
        }
        else if (name == "video")
        {
            m_activities.push_back(std::make_unique<Video>(m_site, m_tcp, m_opaque));
        }
        else if (name == "call")
        {
            m_activities.push_back(std::make_unique<Call>(m_site));
        }
        else if (name == "lookups")
        {
            m_activities.push_back(std::make_unique<Lookups>(m_site));
        }
        else
        {
            m_activities.push_back(std::make_unique<Bulk>(m_site, m_tcp, name == "upload"));
        }
    }
}

void
Person::Schedule(double atS, void (Person::*what)())
{
    if (m_site.config.stop_s == 0 || atS <= m_site.config.stop_s)
    {
        Simulator::ScheduleWithContext(m_site.ends.node->GetId(), Seconds(atS), what, this);
    }
}

void
Person::Install()
{
    const auto& config = m_site.config;
    Simulator::ScheduleWithContext(m_site.ends.host->GetId(), Time(), &Person::Listen, this);
    Schedule(config.start_s, &Person::Start);
    if (config.pause_s > 0)
    {
        Schedule(config.pause_at_s, &Person::Pause);
        Schedule(config.pause_at_s + config.pause_s, &Person::Start);
    }
    if (config.stop_s > 0)
    {
        Schedule(config.stop_s, &Person::Leave);
    }
}

void
Person::Listen()
{
    m_tcp.Listen();
    if (m_site.config.opaque > 0)
    {
        m_opaque.Listen();
    }
}

void
Person::Start()
{
    for (const auto& activity : m_activities)
    {
        activity->Start();
    }
}

void
Person::Pause()
{
    for (const auto& activity : m_activities)
    {
        activity->Pause();
    }
}

void
Person::Leave()
{
    const auto leaving =
        m_site.config.leaves == "closes" ? Leaving::CLOSES : Leaving::VANISHES;
    for (const auto& activity : m_activities)
    {
        activity->Leave(leaving);
    }
    m_site.wants.EndAll();
    m_site.bulk.EndAll();
}

const PersonConfig&
Person::Config() const
{
    return m_site.config;
}

const PersonSite&
Person::Site() const
{
    return m_site;
}

} // namespace ns3
