/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_RANGE_RECEIVER_H
#define MESHPACE_RANGE_RECEIVER_H

#include "ns3/nstime.h"
#include "ns3/simple-ref-count.h"
#include "ns3/wifi-phy.h"

#include <vector>

namespace ns3
{

class WifiPpdu;

/**
 * @ingroup meshpace
 *
 * What arrives at one range radio, kept as ns-2's receiver keeps it: one frame occupies it at a
 * time, and a frame is compared with each other one by itself, when the later of them begins.
 * The rules are those of ns-2 2.35, mac-802_11.cc (recv, capture, collision, recv_timer) and
 * wireless-phy.cc (sendUp).
 *
 * It only watches; RangeErrorRateModel and RangeFrameExchangeManager ask it where a scenario
 * has them follow ns-2.
 */
class RangeReceiver : public SimpleRefCount<RangeReceiver>
{
  public:
    /**
     * @param senseW least power that exists for the radio, W (ns-2's CSThresh)
     * @param decodeW least power that can be decoded, W (RXThresh)
     * @param capture least ratio of a frame's power to another's, linear (CPThresh)
     */
    RangeReceiver(double senseW, double decodeW, double capture);

    /**
     * Listens to a PHY's own frames and to those that arrive; once, before anything is sent.
     *
     * @param phy the PHY, which has to keep this receiver alive
     */
    void Watch(Ptr<WifiPhy> phy);

    /**
     * @param start when a frame that is still on the air began to arrive
     * @return whether it exceeds every other one that it met so far, each by itself, by the
     * capture ratio
     */
    bool Exceeds(Time start) const;

    /**
     * @param start when a frame began to arrive
     * @return whether the receiver was free for it: no frame occupied it that had begun
     * earlier, and the node was not sending
     */
    bool WasFreeFor(Time start) const;

    /**
     * @return whether ns-2 takes the medium for idle: nothing on the air, the node is not
     * sending, and EIFS are over after a frame that was not received
     */
    bool IsIdle() const;

    /** What ns-2 defers after a frame that was not received: SIFS, DIFS and an ACK at 1 Mbps. */
    static const Time EIFS;

  private:
    /** A frame that arrives. */
    struct Arrival
    {
        Time start;       //!< its first bit
        Time end;         //!< its last bit
        double powerW;    //!< its power
        double strongestW; //!< power of the strongest one that it met
    };

    void Arrive(Ptr<const WifiPpdu> ppdu, double powerDbm, Time duration);
    void Send(WifiConstPsduMap psdus, WifiTxVector vector, double watts);
    void Meet(Arrival& arrival);
    void Occupy(const Arrival& arrival);

    double m_senseW;
    double m_decodeW;
    double m_capture;
    WifiPhyBand m_band{WIFI_PHY_BAND_UNSPECIFIED};
    std::vector<Arrival> m_arrivals; //!< on the air
    Time m_sendsUntil;               //!< end of the node's own frame
    Time m_occupiedUntil;            //!< end of the frame that occupies the receiver
    double m_occupantW{0};           //!< its power
    Time m_freeFor;                  //!< start of the last frame that found the receiver free
    Time m_busyUntil;                //!< when the medium becomes idle
};

} // namespace ns3

#endif // MESHPACE_RANGE_RECEIVER_H
