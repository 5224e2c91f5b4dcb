/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "meshpace-statistics.h"

namespace ns3
{

void
MeshpaceStatistics::Count(const mp_estimate& estimate, uint64_t intervalNs, bool taken)
{
    if (!taken)
    {
        discarded++;
        return;
    }
    samples++;
    rateSumPps += mp_rate_mpps(intervalNs) / 1e3;
    covSum += estimate.cov_q16 / double{MP_ONE_Q16};
    delaySumS += estimate.delay_ns.value / double{MP_NS_PER_S};
}

void
MeshpaceStatistics::Add(const MeshpaceStatistics& other)
{
    samples += other.samples;
    discarded += other.discarded;
    rateSumPps += other.rateSumPps;
    covSum += other.covSum;
    delaySumS += other.delaySumS;
    localRetransmits += other.localRetransmits;
}

} // namespace ns3
