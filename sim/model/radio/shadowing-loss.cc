/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "shadowing-loss.h"

#include "ns3/mobility-model.h"
#include "ns3/node.h"

#include <algorithm>
#include <random>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(ShadowingLoss);

TypeId
ShadowingLoss::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::ShadowingLoss").SetParent<PropagationLossModel>().SetGroupName("Meshpace");
    return tid;
}

ShadowingLoss::ShadowingLoss(const NodeContainer& nodes, double deviationDb, uint32_t seed)
    : m_db(nodes.GetN() * nodes.GetN())
{
    for (uint32_t a = 0; a < nodes.GetN(); a++)
    {
        m_places.emplace(nodes.Get(a)->GetId(), a);
        for (uint32_t b = 0; b < a; b++)
        {
            const auto db = LinkDb(deviationDb, seed, a, b);
            m_db[a * nodes.GetN() + b] = db;
            m_db[b * nodes.GetN() + a] = db;
        }
    }
}

double
ShadowingLoss::LinkDb(double deviationDb, uint32_t seed, uint32_t a, uint32_t b)
{
    // Each link has a generator of its own: a further node does not change the others' links.
    std::seed_seq seeds{seed, std::min(a, b), std::max(a, b)};
    std::mt19937 bits(seeds);
    return std::normal_distribution<double>(0, deviationDb)(bits);
}

double
ShadowingLoss::DoCalcRxPower(double txPowerDbm,
                             Ptr<MobilityModel> a,
                             Ptr<MobilityModel> b) const
{
    const auto place = [this](Ptr<MobilityModel> node) {
        return m_places.at(node->GetObject<Node>()->GetId());
    };
    return txPowerDbm - m_db[place(a) * m_places.size() + place(b)];
}

int64_t
ShadowingLoss::DoAssignStreams(int64_t /* stream */)
{
    return 0; // it does not depend on the run
}

} // namespace ns3
