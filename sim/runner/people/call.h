/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_CALL_H
#define MESHPACE_CALL_H

#include "activity.h"
#include "person-site.h"

#include "ns3/event-id.h"
#include "ns3/socket.h"

#include <array>
#include <cstdint>

namespace ns3
{

/**
 * A call: G.711 in RTP (RFC 3550, RFC 3551), 20 ms of sound a datagram, 50 a second each way;
 * silence is sent like sound. It lasts until he pauses or leaves, and after a pause he calls again.
 * Where he vanishes the host goes on until its consent to send expires (RFC 7675).
 */
class Call : public Activity
{
  public:
    /** @param site whose it is */
    explicit Call(PersonSite& site);

    void Start() override;
    void Pause() override;
    void Leave(Leaving leaving) override;

    static constexpr double INTERVAL_S = 0.02;     //!< sound in a datagram
    static constexpr uint32_t SOUND_BYTES = 160;   //!< of it: 64 kbit/s
    static constexpr uint32_t RTP_BYTES = 12;      //!< RTP's header
    static constexpr double CONSENT_S = 30;        //!< RFC 7675, 5.1

  private:
    /** One end. */
    struct End
    {
        Ptr<Socket> socket;
        EventId next; //!< datagram
        uint32_t sent{0};
    };

    void Open();
    void Send(CallRecord::Direction direction);
    void Receive(Ptr<Socket> socket, CallRecord::Direction direction);
    void HangUp();

    PersonSite& m_site;
    std::array<End, 2> m_ends; //!< by the direction in which each sends
    bool m_calling{false};
    bool m_gone{false};
};

} // namespace ns3

#endif // MESHPACE_CALL_H
