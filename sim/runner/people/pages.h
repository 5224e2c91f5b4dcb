/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_PAGES_H
#define MESHPACE_PAGES_H

#include "activity.h"
#include "person-connection.h"
#include "person-site.h"

#include "ns3/event-id.h"
#include "ns3/random-variable-stream.h"
#include "ns3/three-gpp-http-variables.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

namespace ns3
{

/** A page before anybody has asked for it. */
struct PagePlan
{
    uint64_t mainBytes;              //!< of the object that names the others
    std::deque<uint64_t> embedded;   //!< bytes of each of these
    Time parsing;                    //!< from the main object to the requests for them
    bool opaque;                     //!< whether it is loaded over QUIC
    uint64_t requestBytes;           //!< of each request
};

/**
 * A page on its way. In TCP as HTTP/1.1 has it: up to six connections, as browsers open to a host,
 * of which each has one request at a time. Opaque as HTTP/3 (RFC 9114): one connection, and all
 * objects are asked for at once.
 */
class PageLoad
{
  public:
    /**
     * Begins to load.
     * @param site whose it is
     * @param listener his host's end
     * @param plan the page
     * @param record is told what becomes of it
     */
    PageLoad(PersonSite& site, PersonListener& listener, PagePlan plan, PageRecord& record);
    ~PageLoad();

    /** He has lost patience, or leaves. */
    void GiveUp(Leaving leaving);

    static constexpr std::size_t CONNECTIONS = 6; //!< to a host: Firefox, Chrome, Safari

  private:
    void AskForMain();
    void AskForEmbedded();
    void AskForNext(PersonConnection& connection);
    void Ask(PersonConnection& connection, uint64_t bytes, std::function<void()> begun);
    void ObjectDone(PersonConnection& connection);
    void End();

    PersonSite& m_site;
    PersonListener& m_listener;
    PagePlan m_plan;
    PageRecord& m_record;
    std::vector<std::unique_ptr<PersonConnection>> m_connections;
    std::size_t m_left; //!< objects that are not there
    bool m_parsed{false};
    EventId m_parsing;
};

/**
 * Surfing: 3GPP's model (TR 25.892, annex A.2.2; ns-3's ThreeGppHttpVariables) of pages, their
 * objects, and of reading. In the model reading begins when a page is there. Then a slow mesh would
 * be asked for fewer pages, and other ones at other times; so here he takes PATIENCE_S and the
 * reading time for a page, however long it loads, and gives it up where it is not there by then.
 */
class Pages : public Activity
{
  public:
    /**
     * @param site whose they are
     * @param tcp his host's end for TCP
     * @param opaque his host's end for datagrams
     */
    Pages(PersonSite& site, PersonListener& tcp, PersonListener& opaque);

    void Start() override;
    void Pause() override;
    void Leave(Leaving leaving) override;

    /**
     * For how long a page may keep him (Nielsen, Usability Engineering, 1993: attention holds
     * 10 s).
     */
    static constexpr double PATIENCE_S = 10;

  private:
    PagePlan Draw();
    void Next();

    PersonSite& m_site;
    PersonListener& m_tcp;
    PersonListener& m_opaque;
    Ptr<ThreeGppHttpVariables> m_model;
    Ptr<UniformRandomVariable> m_coin;
    std::unique_ptr<PageLoad> m_load; //!< the latest
    EventId m_next;
    bool m_paused{false};
};

} // namespace ns3

#endif // MESHPACE_PAGES_H
