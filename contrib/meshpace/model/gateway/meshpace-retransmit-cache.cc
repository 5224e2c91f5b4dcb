/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "meshpace-retransmit-cache.h"

#include "meshpace/meshpace.h"

namespace ns3
{

void
MeshpaceRetransmitCache::Keep(const TcpSegment& segment, Ptr<const QueueDiscItem> item)
{
    if (!m_stored.empty() && mp_seq_before(segment.Seq(), m_stored.back().end))
    {
        return; // sent again by the wired end: the first copy is still here
    }
    m_stored.push_back({segment.Seq(), segment.Seq() + segment.payloadBytes, CopyOf(item)});
}

void
MeshpaceRetransmitCache::DropAcknowledged(uint32_t ack)
{
    while (!m_stored.empty() && mp_seq_up_to(m_stored.front().end, ack))
    {
        m_stored.pop_front();
    }
}

std::vector<Ptr<QueueDiscItem>>
MeshpaceRetransmitCache::Missing(const mp_sack& sack, mp_range again) const
{
    std::vector<Ptr<QueueDiscItem>> copies;
    auto hole = mp_sack_hole(&sack, again);
    for (auto stored = m_stored.begin(); stored != m_stored.end() && hole.from != hole.to;)
    {
        if (!mp_seq_before(stored->seq, hole.to))
        {
            hole = mp_sack_hole(&sack, {hole.to, again.to});
            continue;
        }
        if (mp_seq_before(hole.from, stored->end))
        {
            copies.push_back(CopyOf(stored->item));
        }
        ++stored;
    }
    return copies;
}

bool
MeshpaceRetransmitCache::Empty() const
{
    return m_stored.empty();
}

const MeshpaceRetransmitCache::Stored&
MeshpaceRetransmitCache::First() const
{
    return m_stored.front();
}

} // namespace ns3
