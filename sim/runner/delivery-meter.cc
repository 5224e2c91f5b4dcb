/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "delivery-meter.h"

#include "ns3/simulator.h"

#include <algorithm>

namespace ns3
{

DeliveryMeter::DeliveryMeter(Time warmup, Time bin)
    : m_warmup(warmup),
      m_bin(bin)
{
}

void
DeliveryMeter::Count(uint32_t bytes)
{
    const auto now = Simulator::Now();
    const std::size_t bin = now.GetNanoSeconds() / m_bin.GetNanoSeconds();
    if (m_bins.size() <= bin)
    {
        m_bins.resize(bin + 1);
    }
    m_bins[bin] += bytes;
    NoteStall();
    m_last = now;
    if (now >= m_warmup)
    {
        m_goodputBytes += bytes;
    }
}

void
DeliveryMeter::NoteStall()
{
    const auto silence = Simulator::Now() - m_last;
    if (!m_rests && silence >= Seconds(STALL_S))
    {
        m_stalls.push_back({m_last, silence});
    }
}

void
DeliveryMeter::Rests()
{
    NoteStall();
    m_rests = true;
}

void
DeliveryMeter::Begins()
{
    m_rests = false;
    m_last = Simulator::Now();
}

uint64_t
DeliveryMeter::GoodputBytes() const
{
    return m_goodputBytes;
}

std::vector<DeliveryMeter::Stall>
DeliveryMeter::Stalls(Time begin, Time end) const
{
    auto all = m_stalls;
    if (!m_rests)
    {
        all.push_back({m_last, std::max(end - m_last, Time())});
    }
    std::vector<Stall> stalls;
    for (const auto& stall : all)
    {
        const auto from = std::max({stall.begin, begin, m_warmup});
        const auto to = std::min(stall.begin + stall.length, end);
        if (to - from >= Seconds(STALL_S))
        {
            stalls.push_back({from, to - from});
        }
    }
    return stalls;
}

std::vector<uint64_t>
DeliveryMeter::Bins(Time end) const
{
    auto bins = m_bins;
    bins.resize((end + m_bin - NanoSeconds(1)).GetNanoSeconds() / m_bin.GetNanoSeconds());
    return bins;
}

} // namespace ns3
