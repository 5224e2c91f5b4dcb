/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "meshpace-air.h"

#include <cmath>
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
MeshpaceAir::SetFairness(mp_fairness fairness)
{
    m_air.fairness = fairness;
}

void
MeshpaceAir::SetRights(uint32_t address, double weight, uint64_t leastBytesPerS)
{
    auto& host = m_hosts[address].air;
    host.weight_q16 = static_cast<uint32_t>(std::llround(weight * MP_ONE_Q16));
    host.least_bytes_per_s = leastBytesPerS;
}

void
MeshpaceAir::Counts(uint32_t address, bool down, const mp_air_way& share)
{
    auto& way = m_hosts[address].air.way[DirectionOf(down)];
    way.delivered_bytes = share.delivered_bytes;
    way.flows = share.flows;
    way.wanting_flows = share.wanting_flows;
    way.again_packets = share.again_packets;
    way.excess_bytes = share.excess_bytes;
}

void
MeshpaceAir::Hears(uint32_t address,
                   const mp_endpoint& down,
                   const mp_endpoint& up,
                   bool held,
                   uint64_t nowNs)
{
    auto& host = m_hosts[address];
    host.air.hops = down.path.hops;
    host.held = host.held || held;
    const auto add = [&host, nowNs](mp_air_direction way, const mp_endpoint& of) {
        mp_queueing_add(&host.queueing[way],
                        mp_queueing_ns(&of),
                        mp_queueing_heard_ns(&of),
                        nowNs);
    };
    add(MP_AIR_DOWN, down);
    add(MP_AIR_UP, up);
}

void
MeshpaceAir::HearsOpaque(uint32_t address, const mp_opaque& opaque, bool held, uint64_t nowNs)
{
    for (const auto way : {MP_AIR_DOWN, MP_AIR_UP})
    {
        if (opaque.way[way].many)
        {
            auto& host = m_hosts[address];
            host.held = host.held || (held && way == MP_AIR_DOWN);
            mp_queueing_add(&host.queueing[way],
                            mp_opaque_waits_ns(&opaque),
                            mp_opaque_heard_ns(&opaque),
                            nowNs);
        }
    }
}

void
MeshpaceAir::KnowHops(uint32_t address, uint32_t hops)
{
    const auto found = m_hosts.find(address);
    // One whose packets go another way is as far as it was: it may come back.
    if (found != m_hosts.end() && hops > 0)
    {
        found->second.air.hops = hops;
    }
}

uint32_t
MeshpaceAir::Step(uint64_t nowNs)
{
    std::vector<mp_air_host> hosts;
    for (auto& [address, host] : m_hosts)
    {
        mp_queueing_tell(&host.queueing[MP_AIR_DOWN], &host.air.way[MP_AIR_DOWN]);
        mp_queueing_tell(&host.queueing[MP_AIR_UP], &host.air.way[MP_AIR_UP]);
        host.air.way[MP_AIR_DOWN].held = host.held;
        host.queueing = {};
        host.held = false;
        host.air.nobody = address == NOBODY;
        hosts.push_back(host.air);
    }
    const auto law = mp_law_even();
    const auto capped =
        mp_airtime_step(&m_air, hosts.data(), hosts.size(), law.hop_wait_ns, nowNs);
    auto each = hosts.begin();
    for (auto& [address, host] : m_hosts)
    {
        host.air = *each++;
    }
    return capped;
}

uint64_t
MeshpaceAir::CapBps(uint32_t address, bool down) const
{
    const auto found = m_hosts.find(address);
    return found == m_hosts.end() ? 0 : found->second.air.way[DirectionOf(down)].cap_bytes_per_s;
}

bool
MeshpaceAir::HasBusy() const
{
    return m_air.busy > 0;
}

uint64_t
MeshpaceAir::SilenceNs() const
{
    return m_air.silence_ns;
}

bool
MeshpaceAir::IsBusy(uint32_t address) const
{
    const auto found = m_hosts.find(address);
    return found != m_hosts.end() && mp_air_is_busy(&m_air, &found->second.air);
}

void
MeshpaceAir::SetShared(bool shared)
{
    m_air.shared = shared;
}

bool
MeshpaceAir::Shared() const
{
    return m_air.shared;
}

} // namespace ns3
