/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "pages.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <cmath>

namespace ns3
{

PageLoad::PageLoad(PersonSite& site, PersonListener& listener, PagePlan plan, PageRecord& record)
    : m_site(site),
      m_listener(listener),
      m_plan(std::move(plan)),
      m_record(record),
      m_left(1 + m_plan.embedded.size())
{
    m_record.at = Simulator::Now();
    m_record.opaque = m_plan.opaque;
    m_record.objects = m_left;
    m_record.bytes = m_plan.mainBytes;
    for (const auto bytes : m_plan.embedded)
    {
        m_record.bytes += bytes;
    }
    m_site.wants.Begin();
    AskForMain();
}

PageLoad::~PageLoad()
{
    m_parsing.Cancel();
}

void
PageLoad::AskForMain()
{
    m_connections.push_back(std::make_unique<PersonConnection>(m_site, m_listener));
    Ask(*m_connections.front(), m_plan.mainBytes, [this] {
        m_record.firstByte = Simulator::Now() - m_record.at;
    });
}

void
PageLoad::Ask(PersonConnection& connection, uint64_t bytes, std::function<void()> begun)
{
    connection.Ask({m_plan.requestBytes, bytes, std::move(begun), [this, &connection] {
                        ObjectDone(connection);
                    }});
}

void
PageLoad::ObjectDone(PersonConnection& connection)
{
    if (--m_left == 0)
    {
        m_record.load = Simulator::Now() - m_record.at;
        End();
    }
    else if (!m_parsed)
    {
        m_parsing = Simulator::Schedule(m_plan.parsing, &PageLoad::AskForEmbedded, this);
    }
    else
    {
        AskForNext(connection);
    }
}

void
PageLoad::AskForEmbedded()
{
    m_parsed = true;
    if (m_plan.opaque)
    {
        while (!m_plan.embedded.empty())
        {
            AskForNext(*m_connections.front());
        }
        return;
    }
    const auto connections = std::min(CONNECTIONS, m_plan.embedded.size());
    while (m_connections.size() < connections)
    {
        m_connections.push_back(std::make_unique<PersonConnection>(m_site, m_listener));
    }
    for (const auto& connection : m_connections)
    {
        AskForNext(*connection);
    }
}

void
PageLoad::AskForNext(PersonConnection& connection)
{
    if (!m_plan.embedded.empty())
    {
        const auto bytes = m_plan.embedded.front();
        m_plan.embedded.pop_front();
        Ask(connection, bytes, {});
    }
}

/** All is there: each page is of another host, so its connections serve for no other. */
void
PageLoad::End()
{
    m_site.wants.End();
    for (const auto& connection : m_connections)
    {
        connection->Close();
    }
}

void
PageLoad::GiveUp(Leaving leaving)
{
    if (m_record.load)
    {
        return;
    }
    m_parsing.Cancel();
    m_record.end = Simulator::Now();
    m_site.wants.End();
    for (const auto& connection : m_connections)
    {
        connection->Leave(leaving);
    }
}

Pages::Pages(PersonSite& site, PersonListener& tcp, PersonListener& opaque)
    : m_site(site),
      m_tcp(tcp),
      m_opaque(opaque),
      m_model(CreateObjectWithAttributes<ThreeGppHttpVariables>(
          "ReadingTimeMean",
          TimeValue(Seconds(site.config.reading_s)))),
      m_coin(CreateObject<UniformRandomVariable>())
{
    m_model->Initialize(); // else sizes are drawn by nothing
    m_model->AssignStreams(PersonStreamNumber(site.config.name, PersonStream::PAGES));
    m_coin->SetStream(PersonStreamNumber(site.config.name, PersonStream::OPAQUE));
}

PagePlan
Pages::Draw()
{
    const auto scaled = [this](uint32_t bytes) {
        return static_cast<uint64_t>(std::ceil(bytes * m_site.config.page_scale));
    };
    PagePlan plan{scaled(m_model->GetMainObjectSize()),
                  {},
                  m_model->GetParsingTime(),
                  m_coin->GetValue() < m_site.config.opaque,
                  m_model->GetRequestSize()};
    const auto objects = m_model->GetNumOfEmbeddedObjects();
    for (uint32_t i = 0; i < objects; i++)
    {
        plan.embedded.push_back(scaled(m_model->GetEmbeddedObjectSize()));
    }
    return plan;
}

void
Pages::Start()
{
    m_paused = false;
    if (!m_next.IsPending())
    {
        Next();
    }
}

/**
 * Pages go on being drawn, so that those after a pause are the same, and no reading is cut short.
 */
void
Pages::Next()
{
    if (m_load)
    {
        m_load->GiveUp(Leaving::CLOSES);
    }
    const auto plan = Draw();
    if (!m_paused)
    {
        auto& record = m_site.record.pages.emplace_back();
        m_load = std::make_unique<PageLoad>(m_site,
                                            plan.opaque ? m_opaque : m_tcp,
                                            plan,
                                            record);
    }
    m_next = Simulator::Schedule(Seconds(PATIENCE_S) + m_model->GetReadingTime(),
                                 &Pages::Next,
                                 this);
}

void
Pages::Pause()
{
    m_paused = true;
}

void
Pages::Leave(Leaving leaving)
{
    m_next.Cancel();
    if (m_load)
    {
        m_load->GiveUp(leaving);
    }
}

} // namespace ns3
