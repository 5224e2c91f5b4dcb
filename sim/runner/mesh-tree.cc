/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "mesh-tree.h"

#include <limits>
#include <queue>
#include <utility>

namespace ns3
{

namespace
{

/** Distances in hops, without the next hops. */
std::vector<uint32_t>
CountHops(uint32_t count, uint32_t destination, double rangeM, const LinkMeasure& distanceM)
{
    std::vector<uint32_t> hops(count, MeshTree::UNREACHED);
    std::queue<uint32_t> reached;
    hops[destination] = 0;
    reached.push(destination);
    while (!reached.empty())
    {
        const auto node = reached.front();
        reached.pop();
        for (uint32_t other = 0; other < count; other++)
        {
            if (hops[other] == MeshTree::UNREACHED && distanceM(node, other) <= rangeM)
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
FindShortestPaths(uint32_t count,
                  uint32_t destination,
                  double rangeM,
                  const LinkMeasure& distanceM)
{
    MeshTree tree{CountHops(count, destination, rangeM, distanceM),
                  std::vector<uint32_t>(count, destination)};
    for (uint32_t node = 0; node < count; node++)
    {
        auto nearestM = rangeM;
        for (uint32_t other = 0; other < count; other++)
        {
            const auto apartM = distanceM(node, other);
            const bool first = tree.nextHop[node] == destination && tree.hops[node] > 1;
            if (node != destination && tree.hops[other] != MeshTree::UNREACHED &&
                tree.hops[other] + 1 == tree.hops[node] &&
                (apartM < nearestM || (first && apartM <= nearestM)))
            {
                nearestM = apartM;
                tree.nextHop[node] = other;
            }
        }
    }
    return tree;
}

MeshTree
FindCheapestPaths(uint32_t count, uint32_t destination, const LinkMeasure& cost)
{
    using Reach = std::pair<double, uint32_t>; // cost and hops so far
    const Reach nowhere{std::numeric_limits<double>::infinity(), MeshTree::UNREACHED};
    MeshTree tree{std::vector<uint32_t>(count, MeshTree::UNREACHED),
                  std::vector<uint32_t>(count, destination)};
    std::vector<Reach> reached(count, nowhere);
    std::vector<bool> done(count, false);
    reached[destination] = {0, 0};
    for (auto node = destination; node < count;)
    {
        done[node] = true;
        tree.hops[node] = reached[node].second;
        auto next = count;
        for (uint32_t other = 0; other < count; other++)
        {
            if (done[other])
            {
                continue;
            }
            const Reach by{reached[node].first + cost(node, other), reached[node].second + 1};
            if (by < reached[other] && by.first < nowhere.first)
            {
                reached[other] = by;
                tree.nextHop[other] = node;
            }
            const auto nearest = next < count ? reached[next] : nowhere;
            next = reached[other] < nearest ? other : next;
        }
        node = next;
    }
    return tree;
}

} // namespace ns3
