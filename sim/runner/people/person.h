/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_PERSON_H
#define MESHPACE_PERSON_H

#include "activity.h"
#include "person-connection.h"
#include "person-site.h"

#include <functional>
#include <memory>
#include <vector>

namespace ns3
{

/**
 * A person at a mesh node: arrives, does what he does, may fall silent for a while, and leaves or
 * stays. With "dies" the scenario has an outage of his node from then on, as with "fades" only he
 * is out of reach.
 */
class Person
{
  public:
    /**
     * @param config the person
     * @param ends where he is
     * @param law makes the law of a connection that he opens; may be empty
     * @param end of the simulation
     * @param bin length of the bins in which is counted
     */
    Person(const PersonConfig& config,
           const PersonEnds& ends,
           std::function<Ptr<TcpMeshpace>()> law,
           Time end,
           Time bin);

    Person(const Person&) = delete;
    Person& operator=(const Person&) = delete;

    /** Schedules what becomes of him. */
    void Install();

    /** @return the person, as the scenario states him */
    const PersonConfig& Config() const;

    /** @return what he met with */
    const PersonSite& Site() const;

  private:
    void CreateActivities();
    void Schedule(double atS, void (Person::*what)());
    void Listen();
    void Start();
    void Pause();
    void Leave();

    PersonSite m_site;
    PersonListener m_tcp;
    PersonListener m_opaque;
    std::vector<std::unique_ptr<Activity>> m_activities;
};

} // namespace ns3

#endif // MESHPACE_PERSON_H
