/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_UDP_ENCAPSULATION_H
#define MESHPACE_UDP_ENCAPSULATION_H

#include "ns3/ip-l4-protocol.h"
#include "ns3/node.h"

#include <cstdint>
#include <set>

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * Connections that go as UDP datagrams, between a node's transports and its IP: what is between
 * the two ends sees datagrams and no sequence numbers, ACKs, or options, as it does of QUIC
 * (RFC 9000). The transport in the datagrams is ns-3's TCP, whose ACKs and congestion control,
 * CUBIC (RFC 9438) or BBR, are the ends' own. UDP's ports are TCP's, so that each connection is a
 * flow to whoever tells flows apart by ports.
 *
 * Both ends need one. TCP's header stands for QUIC's short header and that of its STREAM frame, and
 * a trailer for the tag of QUIC's encryption.
 */
class UdpEncapsulation : public IpL4Protocol
{
  public:
    /** @return the type id */
    static TypeId GetTypeId();

    /**
     * @param node a node with TCP and UDP
     * @return its encapsulation, which is installed where there was none
     */
    static Ptr<UdpEncapsulation> On(Ptr<Node> node);

    /**
     * Has connections go as datagrams.
     * @param port the listening end's port, which nobody else uses at either end
     */
    void Encapsulate(uint16_t port);

    int GetProtocolNumber() const override;
    RxStatus Receive(Ptr<Packet> packet,
                     const Ipv4Header& header,
                     Ptr<Ipv4Interface> interface) override;
    RxStatus Receive(Ptr<Packet> packet,
                     const Ipv6Header& header,
                     Ptr<Ipv6Interface> interface) override;
    void ReceiveIcmp(Ipv4Address source,
                     uint8_t ttl,
                     uint8_t type,
                     uint8_t code,
                     uint32_t info,
                     Ipv4Address payloadSource,
                     Ipv4Address payloadDestination,
                     const uint8_t payload[8]) override;
    void SetDownTarget(DownTargetCallback target) override;
    void SetDownTarget6(DownTargetCallback6 target) override;
    DownTargetCallback GetDownTarget() const override;
    DownTargetCallback6 GetDownTarget6() const override;

    /** The tag of an AEAD, of every QUIC packet (RFC 9001, 5.3). */
    static constexpr uint32_t TAG_BYTES = 16;
    /** What a datagram carries beside TCP's payload: TCP's header without options, the tag. */
    static constexpr uint32_t OVERHEAD_BYTES = 20 + TAG_BYTES;
    /** Of a datagram; what Google's QUIC begins with (Langley et al., SIGCOMM 2017, 5.2). */
    static constexpr uint32_t DATAGRAM_BYTES = 1350;

  protected:
    void DoDispose() override;

  private:
    void Install(Ptr<Node> node);
    /** TCP sends. */
    void Send(Ptr<Packet> packet,
              Ipv4Address source,
              Ipv4Address destination,
              uint8_t protocol,
              Ptr<Ipv4Route> route);
    /** @return whether a packet, of TCP or UDP, is of such a connection */
    bool IsEncapsulated(Ptr<const Packet> packet) const;

    Ptr<IpL4Protocol> m_tcp;
    Ptr<IpL4Protocol> m_udp;
    DownTargetCallback m_plain; //!< where TCP's packets go that stay as they are
    std::set<uint16_t> m_ports;
};

} // namespace ns3

#endif // MESHPACE_UDP_ENCAPSULATION_H
