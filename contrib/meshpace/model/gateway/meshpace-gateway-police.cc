/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// The law `even`: a host that sends more than its cap, and its senders, which are told so.

#include "meshpace-gateway.h"

#include "../now-ns.h"

#include "ns3/icmpv4-l4-protocol.h"

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

mp_hold_verdict
MeshpaceHosts::DatagramFrom(const Key& key, uint32_t bytes, bool capable, uint64_t nowNs)
{
    const auto found = m_hosts.find(key);
    if (found == m_hosts.end() || found->second.share.cap_bytes_per_s == 0)
    {
        return MP_HOLD_PASSES;
    }
    auto& host = found->second;
    return mp_police_datagram(&host.police, host.share.cap_bytes_per_s, bytes, capable, nowNs);
}

bool
MeshpaceGateway::PolicesDatagram(Ptr<QueueDiscItem> item, uint32_t host)
{
    const auto& header = StaticCast<const Ipv4QueueDiscItem>(item)->GetHeader();
    if (m_lawName != EVEN || !m_settings.paces || header.GetProtocol() == Icmpv4L4Protocol::PROT_NUMBER)
    {
        return false;
    }
    const bool capable = header.GetEcn() != Ipv4Header::ECN_NotECT;
    const auto verdict = m_hostShares.DatagramFrom({host, false}, item->GetSize(), capable, NowNs());
    return verdict == MP_HOLD_LOSES || (verdict == MP_HOLD_MARKS && !MarkIfCapable(item));
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
