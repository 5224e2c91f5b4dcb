/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "mesh-tree.h"

#include <cmath>
#include <queue>

namespace ns3
{

namespace
{

double
DistanceM(const NodeConfig& a, const NodeConfig& b)
{
    return std::hypot(a.x_m - b.x_m, a.y_m - b.y_m);
}

/** Distances in hops, without the next hops. */
std::vector<uint32_t>
CountHops(const std::vector<NodeConfig>& nodes, uint32_t destination, double rangeM)
{
    std::vector<uint32_t> hops(nodes.size(), MeshTree::UNREACHED);
    std::queue<uint32_t> reached;
    hops[destination] = 0;
    reached.push(destination);
    while (!reached.empty())
    {
        const auto node = reached.front();
        reached.pop();
        for (uint32_t other = 0; other < nodes.size(); other++)
        {
            if (hops[other] == MeshTree::UNREACHED &&
                DistanceM(nodes[node], nodes[other]) <= rangeM)
            {
                hops[other] = hops[node] + 1;
                reached.push(other);
            }
        }
    }
    return hops;
}

} // namespace

MeshTree
FindShortestPaths(const std::vector<NodeConfig>& nodes, uint32_t destination, double rangeM)
{
    MeshTree tree{CountHops(nodes, destination, rangeM),
                  std::vector<uint32_t>(nodes.size(), destination)};
    for (uint32_t node = 0; node < nodes.size(); node++)
    {
        auto nearestM = rangeM;
        for (uint32_t other = 0; other < nodes.size(); other++)
        {
            const auto distanceM = DistanceM(nodes[node], nodes[other]);
            const bool first = tree.nextHop[node] == destination && tree.hops[node] > 1;
            if (node != destination && tree.hops[other] != MeshTree::UNREACHED &&
                tree.hops[other] + 1 == tree.hops[node] &&
                (distanceM < nearestM || (first && distanceM <= nearestM)))
            {
                nearestM = distanceM;
                tree.nextHop[node] = other;
            }
        }
    }
    return tree;
}

} // namespace ns3
