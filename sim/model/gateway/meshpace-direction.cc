/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "meshpace-direction.h"

#include "ns3/tcp-header.h"

#include <algorithm>

namespace ns3
{

void
MeshpaceDirection::Data(const TcpSegment& segment, uint64_t nowNs)
{
    const bool isNew = mp_sent_record(&sent, segment.Seq(), segment.payloadBytes, nowNs);
    mp_progress_data(&progress,
                     sent.max_end,
                     segment.Seq(),
                     segment.payloadBytes,
                     segment.Flags() & TcpHeader::FIN,
                     isNew);
    segmentBytes = std::max(segmentBytes, segment.payloadBytes);
}

bool
MeshpaceDirection::Acknowledge(uint32_t ack)
{
    return mp_progress_ack(&progress, sent.max_end, ack);
}

} // namespace ns3
