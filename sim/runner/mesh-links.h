/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_MESH_LINKS_H
#define MESHPACE_MESH_LINKS_H

#include "mesh-tree.h"
#include "scenario.h"

#include <cstdint>
#include <vector>

namespace ns3
{

/**
 * The links of a mesh, as far as static routes know them: by distance, and by the shadowing of the
 * sinr radio; fading is not known beforehand.
 */
class MeshLinks
{
  public:
    /** @param scenario the scenario */
    explicit MeshLinks(const Scenario& scenario);

    /**
     * @param destination index of a mesh node
     * @return the paths of all others to it: with one bit rate of fewest hops, under rate control
     *         of least airtime (SinrAirtimeUs), since its slowest rate reaches too far
     */
    MeshTree PathsTo(uint32_t destination) const;

    /** @return how far a link reaches that nothing shadows, m */
    double ReachM() const;

    /**
     * @param a index of a mesh node
     * @param b of another
     * @return the distance that would weaken what they hear of each other as much as distance and
     *         shadowing do, m
     */
    double RadioDistanceM(uint32_t a, uint32_t b) const;

  private:
    /** Finds the cost of every link, once: it is asked for by each destination. */
    void FindCosts();

    const Scenario& m_scenario;
    const double m_reachM;
    std::vector<double> m_costs; //!< by both nodes; empty where hops are counted
};

} // namespace ns3

#endif // MESHPACE_MESH_LINKS_H
