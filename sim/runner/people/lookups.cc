/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "lookups.h"

#include "datagrams.h"

#include "ns3/double.h"
#include "ns3/simulator.h"

namespace ns3
{

Lookups::Lookups(PersonSite& site)
    : m_site(site),
      m_gaps(CreateObjectWithAttributes<ExponentialRandomVariable>(
          "Mean",
          DoubleValue(site.config.lookup_s)))
{
    m_gaps->SetStream(PersonStreamNumber(site.config.name, PersonStream::LOOKUPS));
}

void
Lookups::Open()
{
    m_resolver = OpenDatagrams(m_site.ends.node, 0, MakeCallback(&Lookups::Receive, this));
    m_server = OpenDatagrams(m_site.ends.host,
                             m_site.LookupPort(),
                             MakeCallback(&Lookups::Answer, this));
}

void
Lookups::Start()
{
    m_paused = false;
    if (!m_resolver)
    {
        Open();
        m_next = Simulator::Schedule(Seconds(m_gaps->GetValue()), &Lookups::Next, this);
    }
}

void
Lookups::Pause()
{
    m_paused = true;
}

/** Times go on being drawn in a pause, so that those afterwards are the same as without. */
void
Lookups::Next()
{
    if (!m_paused)
    {
        auto& lookups = m_site.record.lookups;
        lookups.push_back({Simulator::Now(), {}, {}});
        Ask(lookups.size() - 1, 1);
    }
    m_next = Simulator::Schedule(Seconds(m_gaps->GetValue()), &Lookups::Next, this);
}

void
Lookups::Ask(uint32_t number, uint32_t attempt)
{
    if (attempt > ATTEMPTS)
    {
        m_site.record.lookups[number].end = Simulator::Now();
        m_asked.erase(number);
        return;
    }
    m_resolver->SendTo(MakeDatagram({number, attempt}, QUESTION_BYTES),
                       0,
                       InetSocketAddress(m_site.ends.hostAddress, m_site.LookupPort()));
    m_asked[number] =
        Simulator::Schedule(Seconds(TIMEOUT_S), &Lookups::Ask, this, number, attempt + 1);
}

/** The host answers each question as it comes. */
void
Lookups::Answer(Ptr<Socket> socket)
{
    Address from;
    while (auto question = socket->RecvFrom(from))
    {
        m_site.delivery.Count(question->GetSize());
        socket->SendTo(MakeDatagram(ReadDatagram(question), ANSWER_BYTES), 0, from);
    }
}

void
Lookups::Receive(Ptr<Socket> socket)
{
    while (auto answer = socket->Recv())
    {
        const auto asked = m_asked.find(ReadDatagram(answer).first);
        if (m_gone || asked == m_asked.end())
        {
            continue; // the answer to a question that had one, or that was given up
        }
        m_site.delivery.Count(answer->GetSize());
        auto& lookup = m_site.record.lookups[asked->first];
        lookup.took = Simulator::Now() - lookup.at;
        asked->second.Cancel();
        m_asked.erase(asked);
    }
}

void
Lookups::Leave(Leaving /* leaving */)
{
    m_gone = true;
    m_next.Cancel();
    for (auto& [number, again] : m_asked)
    {
        again.Cancel();
        m_site.record.lookups[number].end = Simulator::Now();
    }
    m_asked.clear();
}

} // namespace ns3
