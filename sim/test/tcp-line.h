/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_TCP_LINE_H
#define MESHPACE_TCP_LINE_H

#include "../runner/scenario.h"

#include "ns3/error-model.h"
#include "ns3/node-container.h"
#include "ns3/nstime.h"
#include "ns3/tcp-socket-paced.h"

#include <cstdint>
#include <list>
#include <vector>

namespace ns3
{

/** One TCP connection over a wire, with losses to order. */
class TcpLine
{
  public:
    static constexpr uint32_t HANDSHAKE = 2;    //!< packets of the sender's before its data: SYN, ACK
    static constexpr double ROUND_TRIP_S = .02; //!< of the wire as it is by default, s

    /** What the wire is like, and what is sent over it. */
    struct Settings
    {
        FlowConfig flow;                  //!< the flow's TCP
        uint32_t segments;                //!< how many are sent before FIN
        double kbps{10000};               //!< bit rate
        double delayS{0.01};              //!< one way
        std::list<uint32_t> lostThere{};  //!< packets lost on the way to the receiver, from 0
        std::list<uint32_t> lostBack{};   //!< on the way to the sender
    };

    /** An ACK without data that the receiver sent. */
    struct Ack
    {
        double timeS;
        uint32_t segments; //!< acknowledged in all
    };

    /**
     * @param settings the connection
     */
    explicit TcpLine(const Settings& settings);
    ~TcpLine();

    TcpLine(const TcpLine&) = delete;
    TcpLine& operator=(const TcpLine&) = delete;

    /**
     * Simulates.
     * @param durationS for how long, s
     */
    void Run(double durationS);

    /** @return ACKs in order, without that of the SYN */
    const std::vector<Ack>& Acks() const;
    /** @return segments that reached the receiving application */
    uint32_t Delivered() const;
    /** @return packets that came to the receiver's end of the wire */
    uint32_t PacketsThere() const;
    /** @return packets that came to the sender's end of the wire */
    uint32_t PacketsBack() const;
    /** @return when the last packet came to either end, s */
    double LastPacketS() const;
    /** @return the sender */
    Ptr<TcpSocketPaced> Sender() const;

  private:
    void Connected(Ptr<Socket> socket);
    void Accepted(Ptr<Socket> socket, const Address& from);
    void Received(Ptr<Socket> socket);
    void AckSent(Ptr<const Packet> payload,
                 const TcpHeader& header,
                 Ptr<const TcpSocketBase> socket);
    void Arrived(uint32_t* count, Ptr<const Packet> packet);

    const Settings m_settings;
    NodeContainer m_nodes;
    Ptr<TcpSocketPaced> m_sender;
    Ptr<TcpSocketPaced> m_listener;
    uint64_t m_bytes{0};
    std::vector<Ack> m_acks;
    uint32_t m_there{0};
    uint32_t m_back{0};
    double m_lastS{0};
};

} // namespace ns3

#endif // MESHPACE_TCP_LINE_H
