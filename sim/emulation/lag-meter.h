/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_LAG_METER_H
#define MESHPACE_LAG_METER_H

#include "ns3/event-id.h"
#include "ns3/realtime-simulator-impl.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <nlohmann/json.hpp>

namespace ns3
{

/**
 * How far the simulation is behind the wall clock, sampled every 10 ms of simulated time.
 *
 * A histogram: sampling and reading cost the same however long the run is, and another
 * thread may read while the simulation goes on.
 */
class LagMeter
{
  public:
    /** Samples from now on. */
    void Start();

    /** Forgets the samples: the warm-up is over. As an event of the simulation */
    void Reset();

    /** Adds a sample. @param lag wall clock minus simulation clock */
    void Add(Time lag);

    /**
     * @return {samples, p50, p99, max, max_at_s}: lags in ms, percentiles to within 10 us, and
     * when the largest was, in seconds since the simulation began
     */
    nlohmann::ordered_json Report() const;

  private:
    static constexpr int64_t BIN_US = 10;
    static constexpr size_t BINS = 10000; //!< the last one holds everything from 100 ms on

    void Sample();
    double PercentileMs(double share, uint64_t samples) const;

    Ptr<RealtimeSimulatorImpl> m_simulator;
    std::array<std::atomic<uint32_t>, BINS> m_bins{};
    std::atomic<int64_t> m_maxUs{0};
    std::atomic<int64_t> m_maxAtUs{0};
};

} // namespace ns3

#endif // MESHPACE_LAG_METER_H
