/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_RADIO_LINE_H
#define MESHPACE_RADIO_LINE_H

#include "../runner/scenario.h"

#include "ns3/mac48-address.h"
#include "ns3/net-device-container.h"
#include "ns3/nstime.h"
#include "ns3/wifi-mac-header.h"
#include "ns3/wifi-mac.h"
#include "ns3/wifi-net-device.h"
#include "ns3/wifi-phy.h"

#include <vector>

namespace ns3
{

/**
 * Range radios on a line without any network above: frames in, frames out, and a log of what
 * was on the air. One at a time: it ends the simulation when it goes.
 */
class RadioLine
{
  public:
    /** A frame on the air. */
    struct Transmission
    {
        uint32_t node;     //!< who sent it
        WifiMacType type;  //!< what it was
        Time start;        //!< its first bit
        Time end;          //!< its last bit
    };

    /**
     * @param positionsM where the radios stand
     * @param config their radio
     */
    RadioLine(const std::vector<double>& positionsM, const RadioConfig& config);
    ~RadioLine();

    RadioLine(const RadioLine&) = delete;
    RadioLine& operator=(const RadioLine&) = delete;

    /** @return a radio */
    Ptr<WifiNetDevice> Device(uint32_t node) const;

    /** Has a node send a frame of FRAME_BYTES to an address at a time. */
    void SendAt(Time at, uint32_t from, Mac48Address to);
    /** Has a node send a broadcast frame of FRAME_BYTES at a time. */
    void BroadcastAt(Time at, uint32_t from);
    /** Keeps a node's queue full of frames for another from the start on: so many each ms. */
    void Saturate(uint32_t from, uint32_t to, uint32_t frames = 1);

    /** Simulates from time 0 to a time. */
    void RunUntil(Time end);

    /** @return frames that a node received and passed on */
    uint32_t Received(uint32_t node) const;
    /** @return frames that a node gave up on at the retry limit */
    uint32_t Dropped(uint32_t node) const;
    /** @return a node's transmissions of a type, in their order */
    std::vector<Transmission> Sent(uint32_t node, WifiMacType type) const;

    static constexpr uint32_t FRAME_BYTES = 1500;
    static const Mac48Address ABSENT; //!< the address of nobody
    static const Time DIFS;           //!< how long an idle medium is watched before a frame

  private:
    void Send(uint32_t from, Mac48Address to);
    void Refill(uint32_t from, uint32_t to, uint32_t frames);
    bool Receive(Ptr<NetDevice> device, Ptr<const Packet> packet, uint16_t, const Address&);
    void Begun(uint32_t node, WifiConstPsduMap psdus, WifiTxVector vector, double watts);
    void Drop(uint32_t node, WifiMacDropReason reason, Ptr<const WifiMpdu> mpdu);

    NetDeviceContainer m_devices;
    std::vector<uint32_t> m_received;
    std::vector<uint32_t> m_dropped;
    std::vector<Transmission> m_log;
};

} // namespace ns3

#endif // MESHPACE_RADIO_LINE_H
