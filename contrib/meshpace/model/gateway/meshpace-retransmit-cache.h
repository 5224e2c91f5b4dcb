/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_RETRANSMIT_CACHE_H
#define MESHPACE_RETRANSMIT_CACHE_H

#include "../tcp/tcp-wire.h"

#include <cstdint>
#include <deque>
#include <vector>

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * Copies of the segments that have left for the mesh and are not acknowledged yet, from which the
 * gateway answers duplicate ACKs.
 */
class MeshpaceRetransmitCache
{
  public:
    /** A segment that has left. */
    struct Stored
    {
        uint32_t seq;            //!< its first byte
        uint32_t end;            //!< after its last byte
        Ptr<QueueDiscItem> item; //!< the packet, IP header not added
    };

    /**
     * Keeps a copy of a segment that leaves.
     * @param segment the segment
     * @param item the packet that it is
     */
    void Keep(const TcpSegment& segment, Ptr<const QueueDiscItem> item);

    /**
     * Drops what is acknowledged.
     * @param ack up to which
     */
    void DropAcknowledged(uint32_t ack);

    /**
     * @param sack an ACK and its SACK option, which may be empty
     * @param again what is to be sent again: what is missing in it
     * @return copies of the segments that are wanted, in their order
     */
    std::vector<Ptr<QueueDiscItem>> Missing(const mp_sack& sack, mp_range again) const;

    /** @return whether nothing is kept */
    bool Empty() const;

    /** @return the oldest segment; there must be one */
    const Stored& First() const;

  private:
    std::deque<Stored> m_stored; //!< in their order
};

} // namespace ns3

#endif // MESHPACE_RETRANSMIT_CACHE_H
