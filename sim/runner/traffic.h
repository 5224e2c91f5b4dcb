/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_TRAFFIC_H
#define MESHPACE_TRAFFIC_H

#include "scenario.h"

#include "ns3/ipv4-address.h"
#include "ns3/node.h"
#include "ns3/nstime.h"
#include "ns3/socket.h"
#include "ns3/tcp-socket-base.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace ns3
{

/** Where a flow begins and ends. */
struct FlowEnds
{
    Ptr<Node> sender;            //!< node that sends
    Ptr<Node> receiver;          //!< node that receives
    Ipv4Address receiverAddress; //!< its address
    uint16_t port;               //!< the receiver's port, unique in the scenario
};

/** What a flow delivers, counted at the receiving application. */
class DeliveryMeter
{
  public:
    /**
     * @param warmup what is delivered before does not count as goodput
     * @param bin length of a bin
     */
    DeliveryMeter(Time warmup, Time bin);

    /**
     * Counts payload delivered now.
     * @param bytes how much
     */
    void Count(uint32_t bytes);

    /** @return bytes delivered after the warm-up */
    uint64_t GoodputBytes() const;

    /**
     * @param end the end of the simulation
     * @return bytes delivered in each bin from time 0 on
     */
    std::vector<uint64_t> Bins(Time end) const;

  private:
    Time m_warmup;
    Time m_bin;
    uint64_t m_goodputBytes{0};
    std::vector<uint64_t> m_bins;
};

/** A flow of a scenario, from its start to the end of the simulation. */
class Flow
{
  public:
    /**
     * @param config the flow as the scenario states it
     * @param ends where it runs
     * @param warmup what happens before does not count
     */
    Flow(const FlowConfig& config, const FlowEnds& ends, Time warmup);
    virtual ~Flow() = default;

    Flow(const Flow&) = delete;
    Flow& operator=(const Flow&) = delete;

    /** Schedules its beginning. */
    virtual void Install() = 0;

    /** Forgets what was counted, apart from the bins: the warm-up is over. */
    virtual void ResetStatistics();

    /** @return the flow as the scenario states it */
    const FlowConfig& Config() const;

    /** @return what it delivers */
    const DeliveryMeter& Delivery() const;

    static constexpr double BIN_S = 1.0; //!< length of a bin, s

  protected:
    const FlowConfig m_config;
    const FlowEnds m_ends;
    DeliveryMeter m_delivery;
};

/** A greedy TCP transfer (FTP): the sender always has data. */
class TcpFlow : public Flow
{
  public:
    /**
     * @param config the flow as the scenario states it
     * @param ends where it runs
     * @param warmup what happens before does not count
     * @param control its sender's congestion control, null: what the variant names
     */
    TcpFlow(const FlowConfig& config,
            const FlowEnds& ends,
            Time warmup,
            Ptr<class TcpMeshpace> control);

    void Install() override;
    void ResetStatistics() override;

    /** @return segments that the sender sent again */
    uint64_t Retransmits() const;
    /** @return expiries of the sender's retransmission timer */
    uint64_t Timeouts() const;
    /** @return the sender's RTT samples, s, in ascending order */
    std::vector<double> SortedRtts() const;
    /** @return the law at the sender, null when there is none */
    Ptr<TcpMeshpace> Control() const;
    /** @return the receiver's port */
    uint16_t ReceiverPort() const;
    /** @return the sender's port, 0 before the start */
    uint16_t SenderPort() const;

  private:
    Ptr<TcpSocketBase> CreateSocket(Ptr<Node> node, TypeId control) const;
    void Listen();
    void Start();
    void Accepted(Ptr<Socket> socket, const Address& from);
    void Connected(Ptr<Socket> socket);
    void Fill(Ptr<Socket> socket, uint32_t free);
    void Drain(Ptr<Socket> socket);
    void RttSampled(Time before, Time after);
    void RtoChanged(Time before, Time after);
    void Retransmitted(Ptr<const Packet> packet,
                       const TcpHeader& header,
                       const Address& from,
                       const Address& to,
                       Ptr<const TcpSocketBase> socket);

    Ptr<TcpMeshpace> m_control;
    Ptr<TcpSocketBase> m_listener;
    Ptr<TcpSocketBase> m_sender;
    uint64_t m_retransmits{0};
    uint64_t m_timeouts{0};
    std::vector<double> m_rttsS;
};

/** UDP datagrams at a constant rate. */
class CbrFlow : public Flow
{
  public:
    using Flow::Flow;

    void Install() override;
    void ResetStatistics() override;

    /** @return payload sent, bytes */
    uint64_t SentBytes() const;

    /**
     * A UDP datagram of this payload is as long as a TCP segment of segment_bytes, whose
     * header is longer by this.
     */
    static constexpr uint32_t HEADER_DIFFERENCE_BYTES = 12;

  private:
    void Start();
    void Send();
    void Drain(Ptr<Socket> socket);

    Ptr<Socket> m_receiver;
    Ptr<Socket> m_sender;
    uint64_t m_sentBytes{0};
};

} // namespace ns3

#endif // MESHPACE_TRAFFIC_H
