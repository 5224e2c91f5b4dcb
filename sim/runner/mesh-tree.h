/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_MESH_TREE_H
#define MESHPACE_MESH_TREE_H

#include "scenario.h"

#include <cstdint>
#include <vector>

namespace ns3
{

/** Shortest paths in hops from all mesh nodes to one. */
struct MeshTree
{
    static constexpr uint32_t UNREACHED = UINT32_MAX; //!< hops of a node without a path

    std::vector<uint32_t> hops;    //!< by node; the destination has 0
    std::vector<uint32_t> nextHop; //!< by node; the destination's is itself
};

/**
 * Finds them by breadth-first search. Among next hops equally far from the destination the
 * nearest is taken, then the first in the scenario.
 *
 * @param nodes the mesh
 * @param destination index of the destination
 * @param rangeM how far a node reaches
 * @return the paths
 */
MeshTree FindShortestPaths(const std::vector<NodeConfig>& nodes,
                           uint32_t destination,
                           double rangeM);

} // namespace ns3

#endif // MESHPACE_MESH_TREE_H
