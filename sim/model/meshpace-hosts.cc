/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "meshpace-hosts.h"

#include "ns3/packet.h"

#include <algorithm>
#include <limits>

namespace ns3
{

namespace
{

/** A datagram that would wait longer is of no use any more. */
constexpr uint64_t LONGEST_WAIT_NS = 200'000'000;

} // namespace

void
MeshpaceHosts::Delivered(const Key& key, uint64_t bytes)
{
    m_hosts[key].share.delivered_bytes += bytes;
}

void
MeshpaceHosts::Wants(const Key& key)
{
    m_hosts[key].share.wants = true;
}

uint32_t
MeshpaceHosts::Step(uint64_t nowNs)
{
    std::vector<mp_share> shares;
    for (auto& [key, host] : m_hosts)
    {
        shares.push_back(host.share);
    }
    const auto capped = mp_shares_step(&m_shares, shares.data(), shares.size(), nowNs);
    auto share = shares.begin();
    for (auto& [key, host] : m_hosts)
    {
        host.share = *share++;
        host.share.wants = false;
    }
    return capped;
}

uint64_t
MeshpaceHosts::CapBps(const Key& key) const
{
    const auto found = m_hosts.find(key);
    return found == m_hosts.end() ? 0 : found->second.share.cap_bps;
}

uint64_t
MeshpaceHosts::DueNs(const Key& key, uint64_t nowNs) const
{
    const auto found = m_hosts.find(key);
    return found == m_hosts.end() ? nowNs : std::max(found->second.nextNs, nowNs);
}

void
MeshpaceHosts::Departed(const Key& key, uint32_t bytes, uint64_t nowNs)
{
    auto& host = m_hosts[key];
    host.nextNs =
        std::max(host.nextNs, nowNs) + mp_share_interval_ns(host.share.cap_bps, bytes);
}

MeshpaceHosts::Fate
MeshpaceHosts::Datagram(Ptr<QueueDiscItem> item, uint32_t radio, uint32_t address, uint64_t nowNs)
{
    auto& host = m_hosts[{address, true}];
    const auto bytes = item->GetPacket()->GetSize();
    host.radio = radio;
    if (host.share.cap_bps == 0 && host.datagrams.empty())
    {
        host.share.delivered_bytes += bytes;
        return Fate::PASSES;
    }
    const auto ahead = mp_share_interval_ns(host.share.cap_bps, bytes) * host.datagrams.size();
    if (std::max(host.nextNs, nowNs) - nowNs + ahead > LONGEST_WAIT_NS)
    {
        return Fate::DROPPED;
    }
    host.datagrams.push_back(item);
    return Fate::WAITS;
}

Ptr<QueueDiscItem>
MeshpaceHosts::Release(uint32_t radio, uint64_t nowNs)
{
    for (auto& [key, host] : m_hosts)
    {
        if (host.radio == radio && !host.datagrams.empty() && host.nextNs <= nowNs)
        {
            auto item = host.datagrams.front();
            host.datagrams.pop_front();
            const auto bytes = item->GetPacket()->GetSize();
            host.share.delivered_bytes += bytes;
            Departed(key, bytes, nowNs);
            return item;
        }
    }
    return nullptr;
}

uint64_t
MeshpaceHosts::NextNs(uint32_t radio, uint64_t nowNs) const
{
    auto nextNs = std::numeric_limits<uint64_t>::max();
    for (const auto& [key, host] : m_hosts)
    {
        if (host.radio == radio && !host.datagrams.empty())
        {
            nextNs = std::min(nextNs, std::max(host.nextNs, nowNs));
        }
    }
    return nextNs;
}

} // namespace ns3
