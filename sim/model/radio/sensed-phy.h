/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_SENSED_PHY_H
#define MESHPACE_SENSED_PHY_H

#include "ns3/wifi-phy.h"
#include "ns3/yans-wifi-helper.h"
#include "ns3/yans-wifi-phy.h"

#include <vector>

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * A YansWifiPhy whose frames go only to the PHYs that are sensitive enough to notice them.
 *
 * YansWifiChannel sends each frame to every PHY, works out its power there each time, and the
 * PHY throws it away when that is below its sensitivity: it is neither received nor sensed, and
 * no interference. In a mesh of 120 nodes that is most of what happens. Here these receptions are
 * not even scheduled, and between nodes that stand still power and delay are worked out once.
 * Everything else happens as before, at the same times and in the same order.
 *
 * The radios of a channel have to be tuned alike; sensitivity and gains may not change after the
 * first frame.
 */
class SensedPhy : public YansWifiPhy
{
  public:
    /** @return the type id */
    static TypeId GetTypeId();

    void StartTx(Ptr<const WifiPpdu> ppdu) override;

  protected:
    void DoDispose() override;

  private:
    /** Another PHY of the channel, as seen from here. */
    struct Peer
    {
        Ptr<WifiPhy> phy; //!< the PHY
        uint32_t node;    //!< its node
        bool moves;       //!< whether what follows may be another for each frame
        Time delay;       //!< how long a frame is on its way
        dBm_u power;      //!< at which it arrives
    };

    /** Has itself told when a radio that stands still is put elsewhere. */
    void WatchPlaces();

    /** Forgets the peers: one of them is not where it was. */
    void Forget(Ptr<const MobilityModel> place);

    /** Looks at the channel: the peers that move, and those that notice this PHY's frames. */
    void FindPeers();

    /**
     * @param peer a peer, of which delay and power are set as they are now
     * @return whether a frame is strong enough there to be noticed
     */
    bool Reaches(Peer& peer) const;

    dBm_u m_txPower{0};        //!< power at which it sends
    MHz_u m_width{0};          //!< width of what it sends; 0: m_peers is not filled yet
    bool m_watching{false};    //!< whether it is told of changes of place
    std::vector<Peer> m_peers; //!< in the channel's order
};

/** A YansWifiPhyHelper that installs such PHYs. */
class SensedPhyHelper : public YansWifiPhyHelper
{
  public:
    SensedPhyHelper();
};

} // namespace ns3

#endif // MESHPACE_SENSED_PHY_H
