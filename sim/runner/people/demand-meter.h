/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_DEMAND_METER_H
#define MESHPACE_DEMAND_METER_H

#include "ns3/nstime.h"

#include <cstdint>
#include <vector>

namespace ns3
{

/**
 * In which bins of time somebody wanted something: something that was asked for was not there yet.
 */
class DemandMeter
{
  public:
    /** @param bin length of a bin */
    explicit DemandMeter(Time bin);

    /** Something more is asked for. */
    void Begin();

    /** Something that was asked for is there, or nobody wants it any more. */
    void End();

    /** Nothing is wanted any more. */
    void EndAll();

    /**
     * @param end the end of the simulation, which is now
     * @return 1 for each bin from time 0 on in which something was wanted, else 0
     */
    std::vector<uint8_t> Bins(Time end) const;

  private:
    /** Marks the bins from one time to another. */
    void Mark(std::vector<uint8_t>& bins, Time from, Time to) const;

    const Time m_bin;
    uint32_t m_wanted{0}; //!< how many things
    Time m_since;         //!< since when something is wanted
    std::vector<uint8_t> m_bins;
};

} // namespace ns3

#endif // MESHPACE_DEMAND_METER_H
