/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "meshpace-hosts.h"

#include "ns3/ipv4-queue-disc-item.h"
#include "ns3/packet.h"
#include "ns3/udp-header.h"

#include <algorithm>
#include <limits>

namespace ns3
{

namespace
{

/** A datagram that would wait longer is of no use any more. */
constexpr uint64_t LONGEST_WAIT_NS = 200'000'000;

/** @return the line of a datagram's flow, by its wired address and ports @param item the datagram */
uint32_t
LineOf(Ptr<const QueueDiscItem> item)
{
    const auto ip = DynamicCast<const Ipv4QueueDiscItem>(item)->GetHeader();
    UdpHeader udp;
    if (ip.GetFragmentOffset() == 0)
    {
        item->GetPacket()->PeekHeader(udp);
    }
    return (ip.GetSource().Get() + udp.GetSourcePort() + udp.GetDestinationPort()) %
           MeshpaceHosts::DATAGRAM_LINES;
}

uint32_t
ClampToU32(uint64_t value)
{
    return std::min<uint64_t>(value, std::numeric_limits<uint32_t>::max());
}

} // namespace

void
MeshpaceHosts::Delivered(const Key& key, uint64_t bytes)
{
    m_hosts[key].share.delivered_bytes += bytes;
}

void
MeshpaceHosts::Demands(const Key& key, const mp_demand& demand)
{
    if (mp_flow_moves(&demand))
    {
        auto& share = m_hosts[key].share;
        share.flows++;
        share.wanting_flows += mp_flow_wants(&demand);
    }
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
        host.told = mp_share_told(&m_shares, &host.share);
        host.share.flows = 0;
        host.share.wanting_flows = 0;
    }
    return capped;
}

mp_shared
MeshpaceHosts::Told(const Key& key) const
{
    const auto found = m_hosts.find(key);
    return found == m_hosts.end() ? mp_shared{} : found->second.told;
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

uint64_t
MeshpaceHosts::Tag(const Key& key, const mp_turn& turn) const
{
    const auto found = m_hosts.find(key);
    return found == m_hosts.end() ? turn.end : mp_turn_tag(&found->second.turns, &turn);
}

void
MeshpaceHosts::Pace(Host& host, uint64_t bps, uint32_t bytes, uint64_t nowNs)
{
    host.nextNs = std::max(host.nextNs, nowNs) + mp_share_interval_ns(bps, bytes);
}

void
MeshpaceHosts::Departed(const Key& key, mp_turn& turn, uint32_t bytes, uint64_t nowNs)
{
    auto& host = m_hosts[key];
    const auto tag = mp_turn_tag(&host.turns, &turn);
    mp_turn_take(&turn, tag, bytes);
    mp_turns_pass(&host.turns, tag);
    const auto capBps = host.share.cap_bps;
    Pace(host, key.down ? capBps : mp_police_bps(capBps), bytes, nowNs);
}

MeshpaceHosts::Fate
MeshpaceHosts::Datagram(Ptr<QueueDiscItem> item,
                        uint32_t radio,
                        uint32_t address,
                        uint32_t others,
                        uint64_t nowNs)
{
    auto& host = m_hosts[{address, true}];
    const auto bytes = item->GetPacket()->GetSize();
    host.radio = radio;
    if (host.share.cap_bps == 0 && host.datagrams.empty())
    {
        host.share.delivered_bytes += bytes;
        return Fate::PASSES;
    }
    auto& line = host.lines[LineOf(item)];
    const auto tag = mp_turn_tag(&host.turns, &line.turn);
    const auto ahead =
        mp_turns_ahead(&host.turns, tag, DatagramLines(address) + others + (line.waiting == 0));
    if (std::max(host.nextNs, nowNs) - nowNs +
            mp_share_interval_ns(host.share.cap_bps, ClampToU32(ahead)) >
        LONGEST_WAIT_NS)
    {
        return Fate::DROPPED;
    }
    mp_turn_take(&line.turn, tag, bytes);
    line.waiting++;
    host.datagrams.emplace(tag, item);
    return Fate::WAITS;
}

uint32_t
MeshpaceHosts::DatagramLines(uint32_t address) const
{
    const auto found = m_hosts.find({address, true});
    if (found == m_hosts.end())
    {
        return 0;
    }
    return std::ranges::count_if(found->second.lines,
                                 [](const auto& line) { return line.waiting > 0; });
}

std::vector<MeshpaceHosts::Due>
MeshpaceHosts::DatagramsDue(uint32_t radio, uint64_t nowNs) const
{
    std::vector<Due> due;
    for (const auto& [key, host] : m_hosts)
    {
        if (host.radio == radio && !host.datagrams.empty() && host.nextNs <= nowNs)
        {
            due.push_back({key.address, host.datagrams.begin()->first});
        }
    }
    return due;
}

Ptr<QueueDiscItem>
MeshpaceHosts::Release(uint32_t address, uint64_t nowNs)
{
    auto& host = m_hosts.at({address, true});
    const auto [tag, item] = *host.datagrams.begin();
    host.datagrams.erase(host.datagrams.begin());
    host.lines[LineOf(item)].waiting--;
    mp_turns_pass(&host.turns, tag);
    const auto bytes = item->GetPacket()->GetSize();
    host.share.delivered_bytes += bytes;
    Pace(host, host.share.cap_bps, bytes, nowNs);
    return item;
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
