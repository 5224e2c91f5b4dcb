/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "bulk.h"

namespace ns3
{

namespace
{

constexpr uint64_t REQUEST_BYTES = 328; // of HTTP, as ns-3's ThreeGppHttpVariables has it

} // namespace

Bulk::Bulk(PersonSite& site, PersonListener& listener, bool upload)
    : m_site(site),
      m_listener(listener),
      m_upload(upload)
{
}

void
Bulk::Want()
{
    if (!m_wanted)
    {
        m_wanted = true;
        m_site.wants.Begin();
        m_site.bulk.Begin();
    }
}

void
Bulk::WantNothing()
{
    if (m_wanted)
    {
        m_wanted = false;
        m_site.wants.End();
        m_site.bulk.End();
    }
}

void
Bulk::Start()
{
    Want();
    if (m_connection)
    {
        m_connection->Resume();
        return;
    }
    m_connection = std::make_unique<PersonConnection>(m_site, m_listener);
    m_connection->Ask({m_upload ? Exchange::ENDLESS : REQUEST_BYTES,
                       m_upload ? 0 : Exchange::ENDLESS,
                       {},
                       {}});
}

void
Bulk::Pause()
{
    m_connection->Pause([this] { WantNothing(); });
}

void
Bulk::Leave(Leaving leaving)
{
    if (m_connection)
    {
        m_connection->Leave(leaving);
    }
    WantNothing();
}

} // namespace ns3
