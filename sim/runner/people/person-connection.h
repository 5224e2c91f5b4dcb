/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_PERSON_CONNECTION_H
#define MESHPACE_PERSON_CONNECTION_H

#include "activity.h"
#include "person-site.h"

#include "../scenario.h"

#include "ns3/event-id.h"
#include "ns3/socket.h"
#include "ns3/tcp-socket-paced.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>

namespace ns3
{

/** What is asked for over a connection, and what is answered. */
struct Exchange
{
    uint64_t requestBytes; //!< from the person, ENDLESS of an upload
    uint64_t answerBytes;  //!< to him, ENDLESS of a download
    std::function<void()> begun; //!< the answer's first byte is there; may be empty
    std::function<void()> done;  //!< the answer is there; may be empty

    static constexpr uint64_t ENDLESS = std::numeric_limits<uint64_t>::max();
};

class PersonListener;

/**
 * A connection that a person opens to his host, in TCP, or opaque (UdpEncapsulation): requests are
 * answered one after the other, in their order, each as soon as the host has all of it.
 *
 * What its callbacks do may ask for more and close it, but not destroy it.
 */
class PersonConnection
{
  public:
    /**
     * Opens it.
     * @param site whose it is
     * @param listener the host's end of all connections of that kind
     */
    PersonConnection(PersonSite& site, PersonListener& listener);
    ~PersonConnection();

    PersonConnection(const PersonConnection&) = delete;
    PersonConnection& operator=(const PersonConnection&) = delete;

    /** Asks for something. */
    void Ask(const Exchange& exchange);

    /** @return exchanges that are not done */
    std::size_t Outstanding() const;

    /**
     * Its applications give TCP nothing more, until Resume.
     * @param silent is called when what TCP has by then is delivered
     */
    void Pause(std::function<void()> silent);

    /** They do again. */
    void Resume();

    /** Ends it when all that was given to TCP is said. */
    void Close();

    /** Ends it at once, as the person leaves or gives up. */
    void Leave(Leaving leaving);

  private:
    friend class PersonListener;

    /** One direction: what an application has to say, and what the other has heard. */
    struct Stream
    {
        uint64_t toSend{0};    //!< bytes that TCP does not have yet
        uint64_t given{0};     //!< bytes that TCP has been given
        uint64_t delivered{0}; //!< of these, bytes that have arrived
    };

    /** A request that the host has yet to hear, in part or all of it. */
    struct Request
    {
        uint64_t left;
        uint64_t answerBytes;
    };

    /** An answer of which the person has not all. */
    struct Answer
    {
        uint64_t left;
        bool begun;
        std::function<void()> onBegun;
        std::function<void()> onDone;
    };

    void Connect();
    void Connected();
    void Accepted(Ptr<Socket> socket);
    void Fill(Ptr<Socket> socket, Stream& stream);
    void FillUp();
    void FillDown();
    void DrainUp(Ptr<Socket> socket);
    void DrainDown(Ptr<Socket> socket);
    /** @return how much of what a socket has received was read; it is counted */
    uint64_t Drain(Ptr<Socket> socket, Stream& stream);
    void Heard(uint64_t bytes);
    void Got(uint64_t bytes);
    void TellSilent();
    void EndHandshake();
    /** Leaves the sockets to themselves. */
    void Detach();

    PersonSite& m_site;
    PersonListener& m_listener;
    Ptr<TcpSocketPaced> m_client; //!< the person's end
    uint16_t m_port{0};           //!< the person's
    Ptr<Socket> m_server;         //!< the host's, null until it has accepted
    EventId m_retry;
    std::size_t m_handshake; //!< its place in the record
    bool m_connected{false};
    bool m_paused{false};
    std::function<void()> m_onSilent;
    Stream m_up;
    Stream m_down;
    std::deque<Request> m_requests;
    std::deque<Answer> m_answers;
};

/** Where a person's host waits for his connections of one kind, TCP or opaque. */
class PersonListener
{
  public:
    /**
     * @param site whose host it is; outlives it
     * @param opaque whether connections go as datagrams
     */
    PersonListener(PersonSite& site, bool opaque);
    ~PersonListener();

    PersonListener(const PersonListener&) = delete;
    PersonListener& operator=(const PersonListener&) = delete;

    /** Begins to listen; at the host. */
    void Listen();

    /** @return the port */
    uint16_t Port() const;

    /** @return how its connections have TCP set up, as that of a flow */
    const FlowConfig& Tcp() const;

  private:
    friend class PersonConnection;

    void Accept(Ptr<Socket> socket, const Address& from);

    PersonSite& m_site;
    const bool m_opaque;
    FlowConfig m_tcp;
    Ptr<TcpSocketPaced> m_socket;
    std::map<uint16_t, PersonConnection*> m_waiting; //!< not accepted yet, by person's port
};

} // namespace ns3

#endif // MESHPACE_PERSON_CONNECTION_H
