/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_TCP_FLOW_H
#define MESHPACE_TCP_FLOW_H

#include "flow.h"

#include "ns3/event-id.h"
#include "ns3/nstime.h"
#include "ns3/socket.h"
#include "ns3/tcp-meshpace.h"
#include "ns3/tcp-socket-base.h"
#include "ns3/tcp-socket-paced.h"

#include <cstdint>
#include <vector>

namespace ns3
{

/** What flows of TCP have in common: connections and what is counted at their senders. */
class TcpFlow : public Flow
{
  public:
    /**
     * @param config the flow as the scenario states it
     * @param ends where it runs
     * @param warmup what happens before does not count
     * @param control its sender's congestion control, null: what the variant names
     */
    TcpFlow(const FlowConfig& config, const FlowEnds& ends, Time warmup, Ptr<TcpMeshpace> control);

    void Install() override;
    void ResetStatistics() override;

    /** @return segments that the sender sent again */
    uint64_t Retransmits() const;
    /** @return expiries of the sender's retransmission timer */
    uint64_t Timeouts() const;
    /** @return the sender's RTT samples, s, in ascending order */
    std::vector<double> SortedRtts() const;
    /** @return the law at the sender, of the latest connection; null when there is none */
    Ptr<TcpMeshpace> Control() const;
    /** @return statistics of the law at the sender, over all connections */
    virtual MeshpaceStatistics ControlStatistics() const;
    /** @return the receiver's port */
    uint16_t ReceiverPort() const;
    /** @return the sender's port in the latest connection, 0 before the start */
    uint16_t SenderPort() const;

  protected:
    /** Begins to send. */
    virtual void Start() = 0;

    /** Breaks off what is being sent. */
    virtual void Stop();

    /** Opens a connection to the receiver. */
    void Connect();

    /** The sender's connection is open, or its buffer has room again. */
    virtual void Fill(Ptr<Socket> socket) = 0;

    /**
     * The receiver has a new connection.
     * @param socket its socket
     */
    virtual void Accepted(Ptr<Socket> socket);

    /**
     * Payload has arrived.
     * @param bytes how much
     */
    virtual void Delivered(uint32_t bytes);

    Ptr<TcpMeshpace> m_control;   //!< the law at the sender, or null
    Ptr<TcpSocketPaced> m_sender; //!< of the latest connection

  private:
    void Listen();
    void TryToConnect();
    void Drain(Ptr<Socket> socket);
    void RttSampled(Time before, Time after);
    void RtoChanged(Time before, Time after);
    void Retransmitted(Ptr<const Packet> packet,
                       const TcpHeader& header,
                       const Address& from,
                       const Address& to,
                       Ptr<const TcpSocketBase> socket);

    Ptr<TcpSocketBase> m_listener;
    EventId m_retry; //!< of the connection
    uint64_t m_retransmits{0};
    uint64_t m_timeouts{0};
    std::vector<double> m_rttsS;
};

} // namespace ns3

#endif // MESHPACE_TCP_FLOW_H
