/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "demand-meter.h"

#include "ns3/simulator.h"

#include <algorithm>

namespace ns3
{

DemandMeter::DemandMeter(Time bin)
    : m_bin(bin)
{
}

void
DemandMeter::Begin()
{
    if (m_wanted++ == 0)
    {
        m_since = Simulator::Now();
    }
}

void
DemandMeter::End()
{
    if (m_wanted > 0 && --m_wanted == 0)
    {
        Mark(m_bins, m_since, Simulator::Now());
    }
}

void
DemandMeter::EndAll()
{
    m_wanted = std::min(m_wanted, 1U);
    End();
}

void
DemandMeter::Mark(std::vector<uint8_t>& bins, Time from, Time to) const
{
    const std::size_t first = from.GetNanoSeconds() / m_bin.GetNanoSeconds();
    // An end at the very beginning of a bin is none in it.
    const std::size_t last =
        std::max(from, to - NanoSeconds(1)).GetNanoSeconds() / m_bin.GetNanoSeconds();
    bins.resize(std::max(bins.size(), last + 1));
    std::fill(bins.begin() + first, bins.begin() + last + 1, 1);
}

std::vector<uint8_t>
DemandMeter::Bins(Time end) const
{
    auto bins = m_bins;
    if (m_wanted > 0)
    {
        Mark(bins, m_since, end);
    }
    bins.resize((end + m_bin - NanoSeconds(1)).GetNanoSeconds() / m_bin.GetNanoSeconds());
    return bins;
}

} // namespace ns3
