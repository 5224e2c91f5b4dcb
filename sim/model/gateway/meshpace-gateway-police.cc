/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// The law `even`: a host that sends more than its cap, and its senders, which are told so.

#include "meshpace-hosts.h"
#include "meshpace-upload.h"

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

} // namespace ns3
