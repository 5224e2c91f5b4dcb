/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_PERSON_SITE_H
#define MESHPACE_PERSON_SITE_H

#include "demand-meter.h"
#include "person-config.h"
#include "person-record.h"

#include "../delivery-meter.h"

#include "ns3/ipv4-address.h"
#include "ns3/node.h"
#include "ns3/nstime.h"
#include "ns3/tcp-meshpace.h"

#include <cstdint>
#include <functional>

namespace ns3
{

/** Where a person is, whom he talks to, and by which ports. */
struct PersonEnds
{
    Ptr<Node> node;          //!< his mesh node
    Ptr<Node> host;          //!< the wired host that serves him
    Ipv4Address nodeAddress; //!< of the node
    Ipv4Address hostAddress; //!< of the host
    uint16_t firstPort;      //!< of PORTS that are his alone, at both ends

    static constexpr uint16_t PORTS = 4; //!< TCP's, that of datagrams, the call's, look-ups'
};

/** What all that a person does has in common. */
struct PersonSite
{
    PersonConfig config;
    PersonEnds ends;
    std::function<Ptr<TcpMeshpace>()> law; //!< makes one for each of his connections; or null
    Time end;                              //!< of the simulation
    DeliveryMeter delivery;                //!< new data, both ways
    DemandMeter wants;                     //!< pages, segments of video, calls, transfers
    DemandMeter bulk;                      //!< downloads and uploads
    PersonRecord record;

    uint16_t
    TcpPort() const
    {
        return ends.firstPort;
    }

    uint16_t
    OpaquePort() const
    {
        return ends.firstPort + 1;
    }

    uint16_t
    CallPort() const
    {
        return ends.firstPort + 2;
    }

    uint16_t
    LookupPort() const
    {
        return ends.firstPort + 3;
    }
};

/** Random streams of a person: as many for each kind of draw, by his name. */
enum class PersonStream : int64_t
{
    PAGES = 0,     //!< and those that ns-3's model takes
    LOOKUPS = 50,  //!< when he looks names up
    OPAQUE = 51,   //!< which of his pages are opaque
    VIDEO = 52     //!< whether his video is
};

/**
 * Numbers a random stream by a person's name, not by his place among others: when others are taken
 * away he loads the same pages at the same times.
 *
 * @param name the person's name
 * @param which what is drawn
 * @return the stream, below those that ns-3 numbers itself (2^63)
 */
int64_t PersonStreamNumber(const std::string& name, PersonStream which);

} // namespace ns3

#endif // MESHPACE_PERSON_SITE_H
