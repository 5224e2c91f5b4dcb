/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_YANG_QUEUE_DISC_H
#define MESHPACE_YANG_QUEUE_DISC_H

#include "meshpace/meshpace.h"

#include "ns3/event-id.h"
#include "ns3/queue-disc.h"
#include "ns3/random-variable-stream.h"
#include "ns3/wifi-mpdu.h"
#include "ns3/wifi-net-device.h"

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * Static pacing at the IP layer (Yang, Seah, Yin 2003): a radio's queue hands the MAC one packet at
 * a time, whatever its flow, and the next one only after a delay that the node's own transmission
 * delays tell (meshpace/law/yang.h). What routing sends is not delayed.
 */
class YangQueueDisc : public QueueDisc
{
  public:
    /** @return the type id */
    static TypeId GetTypeId();

    YangQueueDisc();

    /**
     * Sets the radio whose transmissions are timed, before the simulation begins.
     * @param device the radio, on which this is the root queue disc
     */
    void SetRadio(Ptr<WifiNetDevice> device);

    /** @return what has been seen of transmissions */
    const mp_yang& Delays() const;

  protected:
    void DoDispose() override;

  private:
    bool DoEnqueue(Ptr<QueueDiscItem> item) override;
    Ptr<QueueDiscItem> DoDequeue() override;
    bool CheckConfig() override;
    void InitializeParams() override;

    /** A frame has left the MAC's queue: acknowledged, or given up. */
    void Left(Ptr<const WifiMpdu> mpdu);

    mp_yang m_delays{};
    bool m_transmitting{false}; //!< the MAC has a paced packet
    uint64_t m_uid{0};          //!< which
    Time m_start;               //!< when the MAC got it
    Time m_next;                //!< when it gets the next one, at the earliest
    EventId m_run;
    Ptr<UniformRandomVariable> m_random;
};

} // namespace ns3

#endif // MESHPACE_YANG_QUEUE_DISC_H
