/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_RATED_QUEUE_DISC_H
#define MESHPACE_RATED_QUEUE_DISC_H

#include "host-fair-queue-disc.h"
#include "packet-host.h"

#include "ns3/event-id.h"
#include "ns3/ipv4-address.h"
#include "ns3/nstime.h"
#include "ns3/queue-disc.h"

#include <cstdint>
#include <map>

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * Holds traffic to constant rates, of IP packets with their headers: some hosts' each to its own, what
 * is left to another, or to none. Packets wait in a HostFairQueueDisc for each rate.
 *
 * The shaper is sch_cake's (Høiland-Jørgensen, Täht, Morton 2018), without bursts: a
 * packet may leave as long after the one before as that takes at the rate; a queue that was
 * empty begins anew. As there CoDel's target is at least 1.5 times what a full packet takes, by
 * which its interval grows.
 *
 * What has no rate goes after what is due, which its rates bound.
 */
class RatedQueueDisc : public QueueDisc
{
  public:
    /** @return the type id */
    static TypeId GetTypeId();

    RatedQueueDisc();

    /**
     * Sets the rate of all that have none of their own, together, before the simulation begins.
     * @param bitsPerS the rate, bit/s, more than 0
     */
    void SetRate(uint64_t bitsPerS);

    /**
     * Sets the rate of a host, before the simulation begins.
     * @param host its address
     * @param bitsPerS the rate, bit/s, more than 0
     */
    void SetHostRate(Ipv4Address host, uint64_t bitsPerS);

    /** @return the most packets that have waited since the last reset */
    uint32_t MaxPackets() const;

    /** Forgets how many have waited: the warm-up is over. */
    void ResetStatistics();

  protected:
    void DoDispose() override;

  private:
    /** What is held to one rate. */
    struct Part
    {
        Ptr<HostFairQueueDisc> queue;
        uint64_t bitsPerS{0}; //!< 0: any
        Time next;            //!< when the next packet may leave
    };

    bool DoEnqueue(Ptr<QueueDiscItem> item) override;
    Ptr<QueueDiscItem> DoDequeue() override;
    bool CheckConfig() override;
    void InitializeParams() override;

    /** @return the part of a packet */
    Part& PartOf(Ptr<const QueueDiscItem> item);
    /** @return of the parts in which something waits that with a rate whose packet is due first */
    Part* First();
    void AddQueue(Part& part);
    /** Frees what waits in a part. */
    static void Free(Part& part);

    PacketEnd m_hostIs{PacketEnd::DESTINATION};
    std::map<uint32_t, Part> m_hosts; //!< by address
    Part m_others;
    uint32_t m_maxPackets{0};
    EventId m_run;
};

} // namespace ns3

#endif // MESHPACE_RATED_QUEUE_DISC_H
