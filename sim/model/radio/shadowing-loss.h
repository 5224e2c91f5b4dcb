/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_SHADOWING_LOSS_H
#define MESHPACE_SHADOWING_LOSS_H

#include "ns3/node-container.h"
#include "ns3/propagation-loss-model.h"

#include <cstdint>
#include <map>
#include <vector>

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * Log-normal shadowing: what stands between two nodes weakens, or by reflection strengthens, what
 * they hear of each other, in both directions alike and for the whole run (Rappaport, Wireless
 * Communications, section 4.9.2; its deviation is 4 to 12 dB outdoors). It depends on the seed and
 * on the nodes' places in the mesh, not on the run.
 */
class ShadowingLoss : public PropagationLossModel
{
  public:
    /** @return the type id */
    static TypeId GetTypeId();

    /**
     * Draws the shadowing of all links.
     * @param nodes the mesh
     * @param deviationDb standard deviation of a link's, dB
     * @param seed which of many meshes
     */
    ShadowingLoss(const NodeContainer& nodes, double deviationDb, uint32_t seed);

    /**
     * @param deviationDb standard deviation, dB
     * @param seed which of many meshes
     * @param a a node's place in the mesh
     * @param b another's
     * @return by how much their link is weaker than distance alone makes it, dB
     */
    static double LinkDb(double deviationDb, uint32_t seed, uint32_t a, uint32_t b);

  private:
    double DoCalcRxPower(double txPowerDbm,
                         Ptr<MobilityModel> a,
                         Ptr<MobilityModel> b) const override;
    int64_t DoAssignStreams(int64_t stream) override;

    std::map<uint32_t, uint32_t> m_places; //!< in the mesh, by node id
    std::vector<double> m_db;              //!< by place of one node, then of the other
};

} // namespace ns3

#endif // MESHPACE_SHADOWING_LOSS_H
