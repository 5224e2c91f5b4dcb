/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// The law `even`: a host that sends more than its cap, and its senders, which are told so.

#include "meshpace-gateway.h"

#include "../now-ns.h"

namespace ns3
{

bool
MeshpaceHosts::Exceeds(const Key& key, uint32_t bytes, uint64_t nowNs)
{
    const auto found = m_hosts.find(key);
    if (found == m_hosts.end() || found->second.share.cap_bytes_per_s == 0)
    {
        return false;
    }
    auto& host = found->second;
    return mp_police_exceeds(&host.police, host.share.cap_bytes_per_s, bytes, nowNs);
}

bool
MeshpaceGateway::Polices(const MeshpaceKey& key,
                         const TcpSegment& segment,
                         MeshpaceConnection& connection)
{
    const uint64_t nowNs = NowNs();
    return segment.payloadBytes > 0 && m_lawName == EVEN && m_settings.paces &&
           m_hostShares.Exceeds({key.meshAddress, false}, segment.payloadBytes, nowNs) &&
           connection.Upload().IsNotified(segment);
}

} // namespace ns3
