/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "packet-host.h"

#include "ns3/ipv4-queue-disc-item.h"

namespace ns3
{

uint32_t
HostOf(Ptr<const QueueDiscItem> item, PacketEnd end)
{
    const auto packet = DynamicCast<const Ipv4QueueDiscItem>(item);
    if (!packet)
    {
        return 0;
    }
    const auto& header = packet->GetHeader();
    return (end == PacketEnd::SOURCE ? header.GetSource() : header.GetDestination()).Get();
}

} // namespace ns3
