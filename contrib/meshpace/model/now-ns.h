/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_NOW_NS_H
#define MESHPACE_NOW_NS_H

#include "ns3/simulator.h"

#include <cstdint>

namespace ns3
{

/**
 * @ingroup meshpace
 * @return simulated time as the law counts it, in ns
 */
inline uint64_t
NowNs()
{
    return Simulator::Now().GetNanoSeconds();
}

} // namespace ns3

#endif // MESHPACE_NOW_NS_H
