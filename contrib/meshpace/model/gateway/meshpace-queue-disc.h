/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_QUEUE_DISC_H
#define MESHPACE_QUEUE_DISC_H

#include "meshpace-gateway.h"

#include "ns3/queue-disc.h"

#include <deque>

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * Queue disc of the gateway's mesh device: packets of TCP flows from the wired network wait
 * here, a pacing queue for each flow, until the law lets them go; everything else passes.
 *
 * It has two internal queues: 0 for what passes, served first, and 1 that holds the pacing
 * queues' packets together (a MeshpaceHeldQueue).
 */
class MeshpaceMeshQueueDisc : public QueueDisc
{
  public:
    /** @return the type id */
    static TypeId GetTypeId();

    MeshpaceMeshQueueDisc();

    /**
     * Sets the gateway whose law applies, before the simulation begins.
     * @param gateway the gateway
     * @param radio the device's number among the gateway's radios
     */
    void SetGateway(Ptr<MeshpaceGateway> gateway, uint32_t radio = 0);

    static constexpr const char* PACING_QUEUE_FULL = "Pacing queue full"; //!< a reason to drop

  protected:
    void DoDispose() override;

  private:
    bool DoEnqueue(Ptr<QueueDiscItem> item) override;
    Ptr<QueueDiscItem> DoDequeue() override;
    bool CheckConfig() override;
    void InitializeParams() override;

    bool EnqueuePassing(Ptr<QueueDiscItem> item, const MeshpaceFeedback& feedback);
    Ptr<QueueDiscItem> DequeuePassing();

    /** Sends a packet now, past the pacing queues: a local retransmission. */
    void SendUrgent(Ptr<QueueDiscItem> item);
    void ScheduleNextDeparture();

    Ptr<MeshpaceGateway> m_gateway;
    uint32_t m_radio{0};
    EventId m_departure;
    std::deque<MeshpaceFeedback> m_feedback; //!< by the packets that pass, in their order
    bool m_urgent{false};                    //!< the packet being enqueued comes from the gateway itself
};

/**
 * @ingroup meshpace
 *
 * Queue disc of the gateway's wired device: a plain FIFO that shows the gateway what leaves
 * the mesh, and drops the duplicate ACKs that the gateway has answered itself.
 */
class MeshpaceWiredQueueDisc : public QueueDisc
{
  public:
    /** @return the type id */
    static TypeId GetTypeId();

    MeshpaceWiredQueueDisc();

    /**
     * Sets the gateway that looks on, before the simulation begins.
     * @param gateway the gateway
     */
    void SetGateway(Ptr<MeshpaceGateway> gateway);

    static constexpr const char* ANSWERED_HERE = "Duplicate ACK answered here"; //!< a reason

  protected:
    void DoDispose() override;

  private:
    bool DoEnqueue(Ptr<QueueDiscItem> item) override;
    Ptr<QueueDiscItem> DoDequeue() override;
    bool CheckConfig() override;
    void InitializeParams() override;

    Ptr<MeshpaceGateway> m_gateway;
};

} // namespace ns3

#endif // MESHPACE_QUEUE_DISC_H
