/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_RADIO_PORT_H
#define MESHPACE_RADIO_PORT_H

#include "linux-port.h"

#include "ns3/wifi-net-device.h"

namespace ns3
{

/**
 * A mesh node whose host is Linux: its radio is simulated, its TAP interface *is* that radio.
 *
 * The interface queue of the scenario is shared out between the MAC, which gets what it needs
 * to go on without Linux (WINDOW_PACKETS), and the TAP, which gets the rest. While the MAC has
 * its share nothing is read from the TAP, so that the TAP fills and the kernel drops, counts
 * the drop at the interface, and tells a sender above it: as with a driver whose queue is full.
 *
 * A radio that sends aggregates needs all of that queue to fill them, and has it. What Linux sends
 * beyond it waits in the TAP without a loss, as it does in a simulated law's queue.
 */
class RadioPort : public LinuxPort
{
  public:
    /**
     * Takes a node over: what its radio receives goes to Linux, no longer to its own stack.
     * @param radio the node's radio
     * @param config the interface
     * @param queuePackets length of the radio's interface queue
     */
    RadioPort(Ptr<WifiNetDevice> radio, TapConfig config, uint32_t queuePackets);

  private:
    bool Send(const Content& content) override;
    void QueueChanged(uint32_t before, uint32_t now);

    Ptr<WifiNetDevice> m_radio;
};

} // namespace ns3

#endif // MESHPACE_RADIO_PORT_H
