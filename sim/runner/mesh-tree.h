/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_MESH_TREE_H
#define MESHPACE_MESH_TREE_H

#include <cstdint>
#include <functional>
#include <vector>

namespace ns3
{

/** Paths from all mesh nodes to one. */
struct MeshTree
{
    static constexpr uint32_t UNREACHED = UINT32_MAX; //!< hops of a node without a path

    std::vector<uint32_t> hops;    //!< by node; the destination has 0
    std::vector<uint32_t> nextHop; //!< by node; the destination's is itself
};

/** What a link is like, by the indices of its two nodes: its length, or its cost. */
using LinkMeasure = std::function<double(uint32_t, uint32_t)>;

/**
 * Finds the paths of fewest hops by breadth-first search. Among next hops equally far from the
 * destination the nearest is taken, then the first in the scenario.
 *
 * @param count of nodes
 * @param destination index of the destination
 * @param rangeM how far a node reaches
 * @param distanceM how far two are apart
 * @return the paths
 */
MeshTree FindShortestPaths(uint32_t count,
                           uint32_t destination,
                           double rangeM,
                           const LinkMeasure& distanceM);

/**
 * Finds the paths of least cost by Dijkstra's algorithm; of paths as cheap that of fewer hops.
 *
 * @param count of nodes
 * @param destination index of the destination
 * @param cost of a link, above 0; infinite where there is none
 * @return the paths
 */
MeshTree FindCheapestPaths(uint32_t count, uint32_t destination, const LinkMeasure& cost);

} // namespace ns3

#endif // MESHPACE_MESH_TREE_H
