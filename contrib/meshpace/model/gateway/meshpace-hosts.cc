/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "meshpace-hosts.h"

#include "../tcp/tcp-wire.h"

#include "ns3/ipv4-queue-disc-item.h"
#include "ns3/packet.h"
#include "ns3/udp-header.h"
#include "ns3/udp-l4-protocol.h"

#include <algorithm>
#include <limits>

namespace ns3
{

namespace
{

/** @return the bucket of a datagram's flow, without ports of what has none @param item the datagram @param toMesh from the wires */
uint32_t
BucketOf(Ptr<const QueueDiscItem> item, bool toMesh)
{
    const auto ip = DynamicCast<const Ipv4QueueDiscItem>(item)->GetHeader();
    UdpHeader udp;
    if (ip.GetProtocol() == UdpL4Protocol::PROT_NUMBER && ip.GetFragmentOffset() == 0)
    {
        item->GetPacket()->PeekHeader(udp);
    }
    return toMesh
               ? mp_udp_bucket(ip.GetSource().Get(), udp.GetSourcePort(), udp.GetDestinationPort())
               : mp_udp_bucket(ip.GetDestination().Get(),
                               udp.GetDestinationPort(),
                               udp.GetSourcePort());
}

} // namespace

void
MeshpaceHosts::Delivered(const Key& key, uint64_t bytes)
{
    m_hosts[key].share.delivered_bytes += bytes;
}

uint64_t
MeshpaceHosts::DeliveredBytes(const Key& key) const
{
    const auto found = m_hosts.find(key);
    return found == m_hosts.end() ? 0 : found->second.share.delivered_bytes;
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
    // Of one that pauses, too: a sum that came back would count anew, as a loss.
    if (const auto found = m_hosts.find(key); found != m_hosts.end())
    {
        found->second.share.again_packets += demand.again_packets;
    }
}

void
MeshpaceHosts::Exceeds(const Key& key, uint64_t bytes)
{
    if (const auto found = m_hosts.find(key); found != m_hosts.end())
    {
        found->second.share.excess_bytes += bytes;
    }
}

void
MeshpaceHosts::SetFairness(mp_fairness fairness)
{
    m_air.SetFairness(fairness);
}

void
MeshpaceHosts::SetRights(uint32_t address, double weight, uint64_t leastBytesPerS)
{
    m_air.SetRights(address, weight, leastBytesPerS);
}

void
MeshpaceHosts::Hears(uint32_t address,
                     const mp_endpoint& down,
                     const mp_endpoint& up,
                     bool held,
                     uint64_t nowNs)
{
    m_air.Hears(address, down, up, held, nowNs);
}

void
MeshpaceHosts::KnowHops(uint32_t address, uint32_t hops)
{
    m_air.KnowHops(address, hops);
}

bool
MeshpaceHosts::Shared() const
{
    return m_air.Shared();
}

uint32_t
MeshpaceHosts::Step(uint64_t nowNs)
{
    for (const auto& [key, host] : m_hosts)
    {
        m_air.Counts(key.address, key.down, host.share);
    }
    const auto capped = m_air.Step(nowNs);
    for (auto& [key, host] : m_hosts)
    {
        Cap(host, mp_opaque_cap(&host.opaque, m_air.CapBps(key.address, key.down)));
        host.flowBps = mp_feedback_part(host.share.cap_bytes_per_s, host.share.flows);
        host.share.flows = 0;
        host.share.wanting_flows = 0;
        host.share.again_packets = 0;
        host.share.excess_bytes = 0;
    }
    return capped;
}

bool
MeshpaceHosts::OpaqueStep(uint32_t address, uint32_t hops, uint64_t nowNs)
{
    const auto found = m_hosts.find({address, true});
    if (found == m_hosts.end())
    {
        return false;
    }
    auto& host = found->second;
    auto& opaque = host.opaque;
    auto& up = m_hosts[{address, false}];
    host.opaqueWaitNs = mp_opaque_wait_ns(hops, mp_law_even().hop_wait_ns);
    const mp_opaque_counts counts{.datagram_bytes = {host.datagramBytes, up.datagramBytes},
                                  .delivered_bytes = host.share.delivered_bytes,
                                  .shared = m_air.CapBps(address, true) > 0};
    const auto asks = mp_opaque_step(&opaque, &counts, host.opaqueWaitNs, nowNs);
    const auto more = mp_opaque_has_more(&opaque, !host.datagrams.empty(), nowNs);
    for (auto [way, of] : {std::pair{MP_AIR_DOWN, &host.share}, std::pair{MP_AIR_UP, &up.share}})
    {
        of->flows += opaque.way[way].many;
        of->wanting_flows += mp_opaque_wants(&opaque, way, more, host.opaqueWaitNs);
    }
    m_air.HearsOpaque(address, opaque, more, nowNs);
    return asks;
}

void
MeshpaceHosts::NobodySteps(uint64_t nowNs)
{
    const auto hopWaitNs = mp_law_even().hop_wait_ns;
    const auto bytes = mp_opaque_nobody_step(&m_nobody, m_nobodysBytes, hopWaitNs, nowNs);
    if (!m_nobody.way[MP_AIR_UP].many)
    {
        return;
    }
    auto& share = m_hosts[{MeshpaceAir::NOBODY, false}].share;
    share.delivered_bytes += bytes;
    share.flows = 1;
    share.wanting_flows = 1;
}

void
MeshpaceHosts::Asked(uint32_t address)
{
    auto& host = m_hosts.at({address, true});
    mp_opaque_asked(&host.opaque, host.opaqueWaitNs);
}

void
MeshpaceHosts::Answered(uint32_t address, uint64_t rttNs, uint64_t nowNs)
{
    auto& host = m_hosts.at({address, true});
    mp_opaque_answered(&host.opaque, host.opaqueWaitNs, rttNs, nowNs);
}

uint64_t
MeshpaceHosts::FlowBps(const Key& key) const
{
    const auto found = m_hosts.find(key);
    return found == m_hosts.end() ? 0 : found->second.flowBps;
}

void
MeshpaceHosts::Cap(Host& host, uint64_t capBps)
{
    if (host.share.cap_bytes_per_s > 0 && capBps == 0)
    {
        host.pace = {}; // of a cap that is lifted nothing is left for the next one
        host.police = {};
    }
    host.share.cap_bytes_per_s = capBps;
}

void
MeshpaceHosts::SetCap(const Key& key, uint64_t capBps, uint64_t flowBps)
{
    auto& host = m_hosts[key];
    Cap(host, capBps);
    host.flowBps = flowBps;
}

void
MeshpaceHosts::SetShared(bool shared)
{
    m_air.SetShared(shared);
}

uint64_t
MeshpaceHosts::OnArrivalNs(const Key& key,
                           uint64_t readyNs,
                           uint32_t bytes,
                           uint64_t mostNs,
                           mp_too_long then)
{
    const auto capBps = CapBps(key);
    if (capBps == 0)
    {
        return readyNs;
    }
    const auto heldBytesPerS = mp_held_bytes_per_s(capBps, !key.down);
    return mp_host_departure_ns(&m_hosts.at(key).pace, heldBytesPerS, readyNs, bytes, mostNs, then);
}

uint64_t
MeshpaceHosts::CapBps(const Key& key) const
{
    const auto found = m_hosts.find(key);
    return found == m_hosts.end() ? 0 : found->second.share.cap_bytes_per_s;
}

uint64_t
MeshpaceHosts::CapDueNs(const Key& key, const Host& host, uint64_t readyNs)
{
    const auto heldBytesPerS = mp_held_bytes_per_s(host.share.cap_bytes_per_s, !key.down);
    return key.down ? mp_host_due_ns(&host.pace, heldBytesPerS, readyNs)
                    : mp_host_ack_due_ns(&host.pace, heldBytesPerS, readyNs);
}

uint64_t
MeshpaceHosts::DueNs(const Key& key, uint64_t readyNs) const
{
    const auto found = m_hosts.find(key);
    const auto dueNs = found == m_hosts.end() ? readyNs : CapDueNs(key, found->second, readyNs);
    return mp_silence_due_ns(&m_silence, m_air.IsBusy(key.address), dueNs);
}

bool
MeshpaceHosts::Begins(uint32_t address, uint64_t hopWaitNs, uint64_t nowNs)
{
    return m_air.HasBusy() && !m_air.IsBusy(address) &&
           mp_silence_ask(&m_silence, m_air.SilenceNs(), hopWaitNs, nowNs);
}

uint64_t
MeshpaceHosts::Tag(const Key& key, const mp_turn& turn) const
{
    const auto found = m_hosts.find(key);
    return found == m_hosts.end() ? turn.end : mp_turn_tag(&found->second.turns, &turn);
}

void
MeshpaceHosts::Leaves(const Key& key, Host& host, uint32_t bytes, uint64_t readyNs, uint64_t nowNs)
{
    const auto heldBytesPerS = mp_held_bytes_per_s(host.share.cap_bytes_per_s, !key.down);
    if (heldBytesPerS == 0)
    {
        return; // what left before there was a cap does not count for it
    }
    mp_host_leaves(&host.pace, heldBytesPerS, readyNs, nowNs, bytes, 0);
}

void
MeshpaceHosts::Departed(const Key& key,
                        mp_turn& turn,
                        uint32_t bytes,
                        uint64_t readyNs,
                        uint64_t nowNs)
{
    auto& host = m_hosts[key];
    const auto tag = mp_turn_tag(&host.turns, &turn);
    mp_turn_take(&turn, tag, bytes);
    mp_turns_pass(&host.turns, tag);
    Leaves(key, host, bytes, readyNs, nowNs);
}

void
MeshpaceHosts::Count(Host& host, uint32_t bytes)
{
    host.datagramBytes += bytes;
    host.share.delivered_bytes += bytes;
}

void
MeshpaceHosts::DatagramToMesh(uint32_t address, uint32_t bytes)
{
    Count(m_hosts[{address, true}], bytes);
}

void
MeshpaceHosts::DatagramToWired(uint32_t address, uint32_t bytes)
{
    const auto found = m_hosts.find({address, true});
    if (found != m_hosts.end() && found->second.datagramBytes > 0)
    {
        Count(m_hosts[{address, false}], bytes);
    }
    else
    {
        OfNobody(bytes);
    }
}

void
MeshpaceHosts::OfNobody(uint32_t bytes)
{
    m_nobodysBytes += bytes;
}

bool
MeshpaceHosts::DatagramBegins(Ptr<const QueueDiscItem> item, uint32_t address, uint64_t nowNs)
{
    return mp_datagram_begins(&m_begins[address], BucketOf(item, false), nowNs);
}

MeshpaceHosts::Fate
MeshpaceHosts::Datagram(Ptr<QueueDiscItem> item,
                        uint32_t radio,
                        uint32_t address,
                        uint32_t others,
                        uint64_t nowNs)
{
    auto& host = m_hosts[{address, true}];
    const auto bytes = item->GetSize();
    if (host.share.cap_bytes_per_s == 0 && host.datagrams.empty())
    {
        Count(host, bytes);
        return Fate::PASSES;
    }
    auto& bucket = host.buckets[BucketOf(item, true)];
    const auto flows = DatagramBuckets(address) + others + (bucket.waiting == 0);
    const auto heldBytesPerS = mp_held_bytes_per_s(host.share.cap_bytes_per_s, false);
    const auto waitNs =
        mp_datagram_waits_ns(&host.pace, &host.turns, &bucket.turn, heldBytesPerS, flows, nowNs);
    const auto apartNs = mp_turn_interval_ns(heldBytesPerS, bytes, flows);
    const auto ecn = IsEcnCapable(item);
    switch (mp_datagram_judge(&bucket.wait, waitNs, apartNs, ecn, nowNs))
    {
    case MP_HOLD_LOSES:
        return Fate::DROPPED;
    case MP_HOLD_MARKS:
        item->Mark();
        break;
    default:
        break;
    }
    const auto tag = mp_turn_tag(&host.turns, &bucket.turn);
    mp_turn_take(&bucket.turn, tag, bytes);
    bucket.waiting++;
    host.datagrams.emplace(tag, Waiting{item, radio, nowNs});
    return Fate::WAITS;
}

uint32_t
MeshpaceHosts::DatagramBuckets(uint32_t address) const
{
    const auto found = m_hosts.find({address, true});
    if (found == m_hosts.end())
    {
        return 0;
    }
    return std::ranges::count_if(found->second.buckets,
                                 [](const auto& bucket) { return bucket.waiting > 0; });
}

std::vector<MeshpaceHosts::Due>
MeshpaceHosts::DatagramsDue(uint32_t radio, uint64_t nowNs) const
{
    std::vector<Due> due;
    for (const auto& [key, host] : m_hosts)
    {
        if (!host.datagrams.empty() && host.datagrams.begin()->second.radio == radio &&
            CapDueNs(key, host, host.datagrams.begin()->second.sinceNs) <= nowNs)
        {
            due.push_back({key.address, host.datagrams.begin()->first});
        }
    }
    return due;
}

Ptr<QueueDiscItem>
MeshpaceHosts::Release(uint32_t address, uint64_t nowNs)
{
    const Key key{address, true};
    auto& host = m_hosts.at(key);
    const auto [tag, waiting] = *host.datagrams.begin();
    const auto [item, radio, sinceNs] = waiting;
    host.datagrams.erase(host.datagrams.begin());
    host.buckets[BucketOf(item, true)].waiting--;
    mp_turns_pass(&host.turns, tag);
    const auto bytes = item->GetSize();
    Count(host, bytes);
    Leaves(key, host, bytes, sinceNs, nowNs);
    return item;
}

std::optional<uint32_t>
MeshpaceHosts::HeadRadio(uint32_t address) const
{
    const auto found = m_hosts.find({address, true});
    const bool waits = found != m_hosts.end() && !found->second.datagrams.empty();
    return waits ? std::optional(found->second.datagrams.begin()->second.radio) : std::nullopt;
}

uint64_t
MeshpaceHosts::NextNs(uint32_t radio, uint64_t nowNs) const
{
    auto nextNs = std::numeric_limits<uint64_t>::max();
    for (const auto& [key, host] : m_hosts)
    {
        if (!host.datagrams.empty() && host.datagrams.begin()->second.radio == radio)
        {
            const auto dueNs = CapDueNs(key, host, host.datagrams.begin()->second.sinceNs);
            nextNs = std::min(nextNs, std::max(dueNs, nowNs));
        }
    }
    return nextNs;
}

} // namespace ns3
