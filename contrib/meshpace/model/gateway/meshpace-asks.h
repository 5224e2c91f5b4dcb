/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_ASKS_H
#define MESHPACE_ASKS_H

#include "meshpace/meshpace.h"

#include <cstdint>
#include <map>

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * What may be spent on asking stalled paths, or their senders, by host and in all (budget.h), and
 * whose turn it is.
 */
class MeshpaceAsks
{
  public:
    /**
     * Takes an ask of the budgets if they have one.
     * @param host address of the host that is asked
     * @param nowNs now, ns
     * @return whether they had
     */
    bool Spend(uint32_t host, uint64_t nowNs)
    {
        if (!mp_ask_spend(&m_hosts[host].budget, &m_all, nowNs))
        {
            return false;
        }
        m_hosts[host].latestNs = nowNs;
        return true;
    }

    /**
     * @param host address of a host
     * @return when it was asked last; who was longest ago comes first
     */
    uint64_t LatestNs(uint32_t host) const
    {
        const auto found = m_hosts.find(host);
        return found == m_hosts.end() ? 0 : found->second.latestNs;
    }

  private:
    /** What is known of a host. */
    struct Host
    {
        mp_budget budget{};
        uint64_t latestNs{0};
    };

    std::map<uint32_t, Host> m_hosts; //!< by address
    mp_budget m_all{};
};

} // namespace ns3

#endif // MESHPACE_ASKS_H
