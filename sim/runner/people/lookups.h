/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_LOOKUPS_H
#define MESHPACE_LOOKUPS_H

#include "activity.h"
#include "person-site.h"

#include "ns3/event-id.h"
#include "ns3/random-variable-stream.h"
#include "ns3/socket.h"

#include <cstdint>
#include <map>

namespace ns3
{

/**
 * Names that he looks up: a datagram with the question, one with the answer, at times of a Poisson
 * process, so that they see what an observer sees who looks at random (Wolff 1982). A question that
 * has no answer is asked again as resolv.conf(5) has it by default: after 5 s, twice in all.
 */
class Lookups : public Activity
{
  public:
    /** @param site whose they are */
    explicit Lookups(PersonSite& site);

    void Start() override;
    void Pause() override;
    void Leave(Leaving leaving) override;

    static constexpr double TIMEOUT_S = 5;      //!< resolv.conf's timeout
    static constexpr uint32_t ATTEMPTS = 2;     //!< and attempts
    static constexpr uint32_t QUESTION_BYTES = 48; //!< header 12, question 25, EDNS 11
    static constexpr uint32_t ANSWER_BYTES = 112;  //!< and four addresses of 16

  private:
    void Open();
    void Next();
    void Ask(uint32_t number, uint32_t attempts);
    void Answer(Ptr<Socket> socket);
    void Receive(Ptr<Socket> socket);

    PersonSite& m_site;
    Ptr<ExponentialRandomVariable> m_gaps;
    Ptr<Socket> m_resolver; //!< his
    Ptr<Socket> m_server;   //!< at the host
    EventId m_next;
    std::map<uint32_t, EventId> m_asked; //!< the next attempt of each that waits, by its place
    bool m_paused{false};
    bool m_gone{false};
};

} // namespace ns3

#endif // MESHPACE_LOOKUPS_H
