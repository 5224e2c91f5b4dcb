/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "meshpace-air.h"

#include <vector>

namespace ns3
{

namespace
{

mp_air_direction
DirectionOf(bool down)
{
    return down ? MP_AIR_DOWN : MP_AIR_UP;
}

} // namespace

void
MeshpaceAir::SetFairness(MeshpaceFairness fairness)
{
    m_air.fairness = fairness == MeshpaceFairness::RATE ? MP_FAIRNESS_RATE : MP_FAIRNESS_AIR;
}

void
MeshpaceAir::Counts(uint32_t address, bool down, const mp_host_share& share)
{
    auto& way = m_hosts[address].way[DirectionOf(down)];
    way.delivered_bytes = share.delivered_bytes;
    way.flows = share.flows;
    way.wanting_flows = share.wanting_flows;
}

void
MeshpaceAir::Hears(uint32_t address, const mp_endpoint& down, bool held, uint64_t nowNs)
{
    auto& host = m_hosts[address];
    auto& way = host.way[MP_AIR_DOWN];
    host.hops = down.path.hops;
    way.held = way.held || held;
    if (mp_search_is_heard(&down.estimate.search, nowNs))
    {
        way.waits_ns += mp_search_queueing_ns(&down.estimate.search);
        way.heard_flows++;
    }
}

uint32_t
MeshpaceAir::Step(uint64_t nowNs)
{
    std::vector<mp_air_host> hosts;
    for (const auto& [address, host] : m_hosts)
    {
        hosts.push_back(host);
    }
    const auto law = mp_law_even();
    const auto capped =
        mp_airtime_step(&m_air, hosts.data(), hosts.size(), law.hop_wait_ns, nowNs);
    auto each = hosts.begin();
    for (auto& [address, host] : m_hosts)
    {
        host = *each++;
        host.way[MP_AIR_DOWN].waits_ns = 0;
        host.way[MP_AIR_DOWN].heard_flows = 0;
        host.way[MP_AIR_DOWN].held = false;
    }
    return capped;
}

uint64_t
MeshpaceAir::CapBps(uint32_t address, bool down) const
{
    const auto found = m_hosts.find(address);
    return found == m_hosts.end() ? 0 : found->second.way[DirectionOf(down)].cap_bytes_per_s;
}

bool
MeshpaceAir::Shared() const
{
    return m_air.shared;
}

} // namespace ns3
