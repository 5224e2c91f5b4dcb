/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "lag-meter.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <cmath>

namespace ns3
{

namespace
{

const Time INTERVAL = MilliSeconds(10);

} // namespace

void
LagMeter::Start()
{
    m_simulator = DynamicCast<RealtimeSimulatorImpl>(Simulator::GetImplementation());
    Simulator::Schedule(INTERVAL, &LagMeter::Sample, this);
}

void
LagMeter::Sample()
{
    Add(m_simulator->RealtimeNow() - Simulator::Now());
    Simulator::Schedule(INTERVAL, &LagMeter::Sample, this);
}

void
LagMeter::Add(Time lag)
{
    const auto us = std::max<int64_t>(0, lag.GetMicroSeconds());
    m_bins[std::min<size_t>(us / BIN_US, BINS - 1)].fetch_add(1, std::memory_order_relaxed);
    // Only the simulation writes.
    if (us > m_maxUs.load(std::memory_order_relaxed))
    {
        m_maxUs.store(us, std::memory_order_relaxed);
        m_maxAtUs.store(Simulator::Now().GetMicroSeconds(), std::memory_order_relaxed);
    }
}

void
LagMeter::Reset()
{
    for (auto& bin : m_bins)
    {
        bin.store(0, std::memory_order_relaxed);
    }
    m_maxUs.store(0, std::memory_order_relaxed);
    m_maxAtUs.store(0, std::memory_order_relaxed);
}

double
LagMeter::PercentileMs(double share, uint64_t samples) const
{
    const auto rank = static_cast<uint64_t>(std::ceil(share * static_cast<double>(samples)));
    uint64_t counted = 0;
    for (size_t bin = 0; bin < BINS - 1; bin++)
    {
        counted += m_bins[bin].load(std::memory_order_relaxed);
        if (counted >= rank)
        {
            return static_cast<double>((bin + 1) * BIN_US) / 1e3;
        }
    }
    return static_cast<double>(m_maxUs.load(std::memory_order_relaxed)) / 1e3;
}

nlohmann::ordered_json
LagMeter::Report() const
{
    uint64_t samples = 0;
    for (const auto& bin : m_bins)
    {
        samples += bin.load(std::memory_order_relaxed);
    }
    return {{"samples", samples},
            {"p50", samples ? PercentileMs(0.50, samples) : 0.0},
            {"p99", samples ? PercentileMs(0.99, samples) : 0.0},
            {"max", static_cast<double>(m_maxUs.load(std::memory_order_relaxed)) / 1e3},
            {"max_at_s", static_cast<double>(m_maxAtUs.load(std::memory_order_relaxed)) / 1e6}};
}

} // namespace ns3
