/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_STATISTICS_H
#define MESHPACE_STATISTICS_H

#include "meshpace/meshpace.h"

#include <cstdint>

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * The law's mean state over the samples counted since ResetStatistics.
 */
struct MeshpaceStatistics
{
    uint64_t samples{0};          //!< RTT samples taken
    uint64_t discarded{0};        //!< samples above the delay bound
    double rateSumPps{0};         //!< sum of R over the samples, packets/s
    double covSum{0};             //!< sum of CoV over the samples
    double delaySumS{0};          //!< sum of the smoothed delay over the samples, s
    uint64_t localRetransmits{0}; //!< segments sent again by the gateway

    /**
     * Counts the state after a sample.
     *
     * @param estimate the estimate
     * @param intervalNs the interval in force, ns
     * @param taken whether the sample was taken or discarded
     */
    void Count(const mp_estimate& estimate, uint64_t intervalNs, bool taken);

    /**
     * Adds another connection's statistics.
     * @param other the other's
     */
    void Add(const MeshpaceStatistics& other);
};

} // namespace ns3

#endif // MESHPACE_STATISTICS_H
