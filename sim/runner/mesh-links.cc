/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "mesh-links.h"

#include "radio.h"
#include "sinr-links.h"
#include "sinr-phy.h"

#include "../model/radio/shadowing-loss.h"

#include <cmath>
#include <limits>

namespace ns3
{

MeshLinks::MeshLinks(const Scenario& scenario)
    : m_scenario(scenario),
      m_reachM(LinkReachM(scenario))
{
    const auto& radio = scenario.radio;
    if (radio.model == "sinr" && SinrAggregates(radio) && radio.rate_control == "minstrel")
    {
        FindCosts();
    }
}

void
MeshLinks::FindCosts()
{
    const auto count = m_scenario.nodes.size();
    m_costs.assign(count * count, std::numeric_limits<double>::infinity());
    for (uint32_t a = 0; a < count; a++)
    {
        for (uint32_t b = 0; b < a; b++)
        {
            const auto distanceM = RadioDistanceM(a, b);
            if (distanceM <= m_reachM)
            {
                m_costs[a * count + b] = SinrAirtimeUs(m_scenario.radio, distanceM);
                m_costs[b * count + a] = m_costs[a * count + b];
            }
        }
    }
}

double
MeshLinks::ReachM() const
{
    return m_reachM;
}

double
MeshLinks::RadioDistanceM(uint32_t a, uint32_t b) const
{
    const auto& radio = m_scenario.radio;
    const auto& one = m_scenario.nodes[a];
    const auto& other = m_scenario.nodes[b];
    const auto distanceM = std::hypot(one.x_m - other.x_m, one.y_m - other.y_m);
    if (radio.model != "sinr" || radio.shadowing_db == 0)
    {
        return distanceM;
    }
    const auto db = ShadowingLoss::LinkDb(radio.shadowing_db, radio.topology_seed, a, b);
    return distanceM * std::pow(10, db / (10 * radio.path_loss_exponent));
}

MeshTree
MeshLinks::PathsTo(uint32_t destination) const
{
    const uint32_t count = m_scenario.nodes.size();
    if (m_costs.empty())
    {
        return FindShortestPaths(count, destination, m_reachM, [this](uint32_t a, uint32_t b) {
            return RadioDistanceM(a, b);
        });
    }
    return FindCheapestPaths(count, destination, [this, count](uint32_t a, uint32_t b) {
        return m_costs[a * count + b];
    });
}

} // namespace ns3
