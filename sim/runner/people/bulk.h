/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_BULK_H
#define MESHPACE_BULK_H

#include "activity.h"
#include "person-connection.h"
#include "person-site.h"

#include <memory>

namespace ns3
{

/** A download or an upload without end, over one connection. */
class Bulk : public Activity
{
  public:
    /**
     * @param site whose it is
     * @param listener his host's end
     * @param upload whether it leads to the host
     */
    Bulk(PersonSite& site, PersonListener& listener, bool upload);

    void Start() override;
    void Pause() override;
    void Leave(Leaving leaving) override;

  private:
    void Want();
    void WantNothing();

    PersonSite& m_site;
    PersonListener& m_listener;
    const bool m_upload;
    bool m_wanted{false};
    std::unique_ptr<PersonConnection> m_connection;
};

} // namespace ns3

#endif // MESHPACE_BULK_H
