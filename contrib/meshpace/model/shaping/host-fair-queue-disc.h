/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_HOST_FAIR_QUEUE_DISC_H
#define MESHPACE_HOST_FAIR_QUEUE_DISC_H

#include "packet-host.h"

#include "ns3/nstime.h"
#include "ns3/queue-disc.h"

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <utility>

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * Fair queueing by host and then by flow, with CoDel on every flow's queue: what sch_cake does with
 * `dual-dsthost` or `dual-srchost` (Høiland-Jørgensen, Täht, Morton: Piece of CAKE, IEEE LANMAN
 * 2018).
 *
 * Flows are served by the deficit round robin of RFC 8290 (section 4): a flow that has just begun is
 * served before those that keep a queue, and one without a queue stays sparse. In a round a flow may
 * send a quantum divided by the number of its host's flows that keep a queue, and so a host of eight
 * flows sends no more than one of a single flow.
 *
 * As in sch_cake CoDel does not take for a standing queue what is no more than four full packets,
 * or two of each flow that keeps a queue: their time, at the rate that empties them all, is the
 * least target.
 *
 * Unlike sch_cake: each flow has a queue of its own however many there are (no hash of eight ways),
 * and the AQM is CoDel (RFC 8289) with ECN, not COBALT, which is CoDel and BLUE. BLUE acts only where
 * the whole buffer is full, and it draws random numbers, which would change those of everything
 * that a simulation creates later.
 */
class HostFairQueueDisc : public QueueDisc
{
  public:
    /** @return the type id */
    static TypeId GetTypeId();

    HostFairQueueDisc();

    /** @return how many flows there are or have been whose queues are kept */
    std::size_t Flows() const;

    /** Why packets are lost where the buffer is full. */
    static constexpr const char* OVERLIMIT_DROP = "Overlimit drop";

  protected:
    void DoDispose() override;

  private:
    /** A host's address and a hash of a packet's addresses, protocol and ports. */
    using Key = std::pair<uint32_t, uint32_t>;
    using Turns = std::list<std::size_t>; //!< places in m_flows

    struct Flow
    {
        Key key;
        Ptr<QueueDisc> queue;
        int64_t deficit{0};  //!< 2^-16 bytes
        bool bulk{false};    //!< it counts as one of its host's flows that keep a queue
        Time target;         //!< its CoDel's
        Turns* in{nullptr};  //!< which of the lists below it is in
        Turns::iterator at;  //!< where
    };

    bool DoEnqueue(Ptr<QueueDiscItem> item) override;
    Ptr<QueueDiscItem> DoDequeue() override;
    bool CheckConfig() override;
    void InitializeParams() override;

    /** @return the flow of a packet, a new one if it is not known */
    Flow& Find(Ptr<const QueueDiscItem> item);
    /** @return a flow without a key, idle */
    Flow& Spare();
    /** Lets a flow that was idle take its turns: it has a packet. */
    void Wake(Flow& flow);
    /** Takes turns from a flow that has nothing to send. */
    void Rest(Flow& flow);
    void Move(Flow& flow, Turns& to);
    void SetBulk(Flow& flow, bool bulk);
    /** @return the next packet of a flow that its CoDel lets go; none: it has no more */
    Ptr<QueueDiscItem> Send(Flow& flow);
    /** @return what a flow may send in a round, 2^-16 bytes */
    int64_t Quantum(const Flow& flow) const;
    /** Drops the first packet of the flow with the longest queue, in bytes. */
    void DropFromLongest();

    PacketEnd m_hostIs{PacketEnd::DESTINATION};
    Time m_target; //!< of CoDel, as the next
    Time m_interval;
    Time m_packetTime;
    uint32_t m_quantumBytes; //!< of a round
    uint32_t m_bulk{0}; //!< flows that keep a queue
    std::deque<Flow> m_flows;
    std::map<Key, std::size_t> m_places;
    std::map<uint32_t, uint32_t> m_bulkFlows; //!< by host
    Turns m_idle;                             //!< the longest first
    Turns m_new;
    Turns m_old;
};

} // namespace ns3

#endif // MESHPACE_HOST_FAIR_QUEUE_DISC_H
