/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_LAW_CLOCK_H
#define MESHPACE_LAW_CLOCK_H

#include <chrono>

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * Adds up the real time spent in the law, for the benchmark of its share in a run. Off
 * unless switched on; it never influences a simulation.
 */
class LawClock
{
  public:
    LawClock()
    {
        if (s_enabled)
        {
            m_start = std::chrono::steady_clock::now();
        }
    }

    ~LawClock()
    {
        if (s_enabled)
        {
            s_total += std::chrono::steady_clock::now() - m_start;
        }
    }

    LawClock(const LawClock&) = delete;
    LawClock& operator=(const LawClock&) = delete;

    /** Starts measuring. */
    static void Enable()
    {
        s_enabled = true;
    }

    /** @return the time spent in the law so far, in s; the clock's own cost included */
    static double Seconds()
    {
        return std::chrono::duration<double>(s_total).count();
    }

  private:
    static inline bool s_enabled = false;
    static inline std::chrono::steady_clock::duration s_total{};
    std::chrono::steady_clock::time_point m_start;
};

} // namespace ns3

#endif // MESHPACE_LAW_CLOCK_H
