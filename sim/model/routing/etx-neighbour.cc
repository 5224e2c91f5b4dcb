/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "etx-neighbour.h"

#include <algorithm>
#include <limits>

namespace ns3
{

namespace
{

constexpr double FULL = 255;

} // namespace

EtxNeighbour::EtxNeighbour(Time interval)
    : m_interval(interval)
{
}

void
EtxNeighbour::Hear(uint16_t number, uint8_t hears, Time now)
{
    const uint16_t steps = m_known ? number - m_number : 1;
    if (steps == 0)
    {
        return; // the same again
    }
    m_heard <<= std::min<uint32_t>(steps, WINDOW);
    m_heard.set(0);
    m_number = number;
    m_known = true;
    m_hears = hears;
    m_at = now;
}

uint8_t
EtxNeighbour::Heard(Time now) const
{
    if (!m_known || now - m_at > HOLD_INTERVALS * m_interval)
    {
        return 0;
    }
    // HELLOs come at random within a quarter of an interval: half of one late, and one is lost.
    const auto overdue = (now - m_at).GetSeconds() / m_interval.GetSeconds() - 0.5;
    const auto latest = m_heard << static_cast<size_t>(std::max(overdue, 0.0));
    return static_cast<uint8_t>(FULL * latest.count() / WINDOW);
}

uint8_t
EtxNeighbour::Hears() const
{
    return m_hears;
}

double
EtxOfLink(uint8_t heard, uint8_t hears)
{
    return heard && hears ? FULL / heard * FULL / hears : std::numeric_limits<double>::infinity();
}

} // namespace ns3
