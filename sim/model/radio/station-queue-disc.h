/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_STATION_QUEUE_DISC_H
#define MESHPACE_STATION_QUEUE_DISC_H

#include "ns3/mac48-address.h"
#include "ns3/nstime.h"
#include "ns3/queue-disc.h"
#include "ns3/wifi-mpdu.h"
#include "ns3/wifi-net-device.h"

#include <cstdint>
#include <deque>
#include <map>

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * How packets wait for a radio under Linux' mac80211: in an fq_codel queue for each neighbour, from
 * which neighbours are served in turn by airtime (ieee80211_next_txq), as long as the airtime of
 * what the MAC below holds is bounded (Airtime-based Queue Limit, ieee80211_txq_airtime_check in
 * net/mac80211/tx.c). Group frames have no bound.
 *
 * Airtimes are expected ones: of a packet at the bit rate that the station manager would send it at
 * now, with a sixteenth of a preamble (ieee80211_calc_expected_tx_airtime), which attempts and
 * contention do not change.
 */
class StationQueueDisc : public QueueDisc
{
  public:
    /** @return the type id */
    static TypeId GetTypeId();

    StationQueueDisc();

    /**
     * Sets the radio, before the simulation begins.
     * @param device the radio, on which this is the root queue disc
     */
    void SetRadio(Ptr<WifiNetDevice> device);

    /**
     * @param station a neighbour
     * @return the airtime of what the MAC holds for it
     */
    Time Pending(Mac48Address station) const;

  private:
    /** The queue of a neighbour. */
    struct Station
    {
        Ptr<QueueDisc> queue; //!< fq_codel
        Time pending;         //!< what the MAC holds for it
        Time deficit;         //!< it is served while this is not negative
    };

    /** What the MAC holds of a packet. */
    struct Held
    {
        Mac48Address station;
        Time airtime;
    };

    bool DoEnqueue(Ptr<QueueDiscItem> item) override;
    Ptr<QueueDiscItem> DoDequeue() override;
    bool CheckConfig() override;
    void InitializeParams() override;
    void DoDispose() override;

    /** @return the queue of a neighbour, a new one the first time */
    Station& StationOf(Mac48Address address);
    /** @return whether the MAC may hold more for a neighbour */
    bool Admits(Mac48Address address, const Station& station) const;
    /** @return the first neighbour whose turn it is; the end when there is none */
    std::deque<Mac48Address>::iterator NextStation();
    /** @return the expected airtime of a packet */
    Time Airtime(Mac48Address station, uint32_t bytes) const;
    /** A frame has left the MAC's queue: acknowledged, or given up. */
    void Left(Ptr<const WifiMpdu> mpdu);

    Time m_limit;      //!< for a neighbour, while the MAC holds little
    Time m_busyLimit;  //!< likewise, while it holds much
    Time m_busyFrom;   //!< what is much, for all neighbours together
    Ptr<WifiNetDevice> m_device;
    std::map<Mac48Address, Station> m_stations;
    std::deque<Mac48Address> m_turns;
    /// by the packet's uid, which what is sent again shares with its first copy
    std::multimap<uint64_t, Held> m_held;
    Ptr<const WifiMpdu> m_left; //!< the latest that left: one that is dropped is told twice
    Time m_pending;             //!< of all neighbours
    EventId m_run;
};

} // namespace ns3

#endif // MESHPACE_STATION_QUEUE_DISC_H
