/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_TCP_WIRE_H
#define MESHPACE_TCP_WIRE_H

#include "meshpace/endpoint/endpoint.h"
#include "meshpace/endpoint/option.h"

#include "ns3/ipv4-queue-disc-item.h"
#include "ns3/packet.h"
#include "ns3/ptr.h"

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * What the gateway reads from a TCP segment on its way, straight from the bytes: parsing a
 * TcpHeader object per packet would cost more than everything else that the law does.
 */
struct TcpSegment
{
    static constexpr uint32_t MAX_HEADER_BYTES = 60; //!< TCP's longest header

    std::array<uint8_t, MAX_HEADER_BYTES> bytes; //!< the header as on the wire
    uint32_t headerBytes;                        //!< length of the header
    uint32_t payloadBytes;                       //!< length of the payload
    uint32_t packetBytes;                        //!< length with the IP header

    /**
     * Reads the segment in a queue disc's item.
     *
     * @param item the packet, IP header not yet added
     * @return nothing when it is no TCP over IPv4, a later fragment, or malformed
     */
    static std::optional<TcpSegment> Read(Ptr<const QueueDiscItem> item);

    /** @return the source port */
    uint16_t SourcePort() const;
    /** @return the destination port */
    uint16_t DestinationPort() const;
    /** @return the sequence number of the first byte */
    uint32_t Seq() const;
    /** @return the acknowledged sequence number */
    uint32_t Ack() const;
    /** @return the advertised window as it stands there, unscaled */
    uint16_t Window() const;
    /** @return TSval and TSecr of its timestamps (RFC 7323); without any 0 */
    std::pair<uint32_t, uint32_t> Timestamps() const;
    /** @return the flags, as TcpHeader::Flags_t */
    uint8_t Flags() const;
    /** @return true when it carries nothing but an acknowledgement */
    bool IsPureAck() const;
    /**
     * @param nowNs now, ns
     * @return the segment as core's endpoints look at it
     */
    mp_segment At(uint64_t nowNs) const;
    /** @return the window scale that a SYN offers, nothing when there is none */
    std::optional<uint8_t> WindowScale() const;
    /**
     * @return whether an ACK has a message of its own: by a D-SACK that something came twice (RFC 2883), or one of
     *         MPTCP's (RFC 8684)
     */
    bool HasMessage() const;
    /** @return an ACK and its SACK option (RFC 2018); without one, or where a signature covers it, empty */
    mp_sack Sack() const;
    /** @return the same with its SACK option blanked out */
    TcpSegment WithoutSack() const;
    /** @return the same with its timestamps (RFC 7323) blanked out, unless a signature covers them */
    TcpSegment WithoutTimestamps() const;
    /** @return whether a signature covers the header: TCP-MD5 (RFC 2385) or TCP-AO (RFC 5925) */
    bool IsSigned() const;

  private:
    /**
     * Calls with each option up to where the list ends or breaks.
     * @param look takes the option's first byte and its length
     */
    template <typename Look>
    void LookAtOptions(Look look) const;
    /** @return the same with options blanked out @param kind of which */
    TcpSegment Without(uint8_t kind) const;
};

/**
 * @ingroup meshpace
 *
 * Puts an option in front of a segment's others.
 *
 * @param item the segment, IP header not yet added
 * @param segment the same as read
 * @param option the option's bytes, a multiple of 4
 * @param optionBytes how many
 * @return the packet to send instead; the item itself when its header has no room, is signed, or is
 *         protected by a checksum (ns-3 computes none unless told to)
 */
Ptr<QueueDiscItem> InsertOption(Ptr<QueueDiscItem> item,
                                const TcpSegment& segment,
                                const uint8_t* option,
                                uint32_t optionBytes);

/**
 * @ingroup meshpace
 *
 * Gives a segment another header of the same length.
 *
 * @param item the segment, IP header not yet added
 * @param changed the same as read, with its header changed
 * @return the packet to send instead
 */
Ptr<QueueDiscItem> ReplaceHeader(Ptr<QueueDiscItem> item, const TcpSegment& changed);

/**
 * @ingroup meshpace
 *
 * What an ACK is to tell a sender in the mesh: one of the options of option.h and feedback.h, or nothing.
 */
using MeshpaceFeedback = std::optional<std::array<uint8_t, MP_OPTION_BYTES>>;

/**
 * @ingroup meshpace
 *
 * Puts into a pure ACK what it is to tell.
 *
 * @param item the ACK, IP header not yet added
 * @param feedback what it tells
 * @return the packet to send instead, as InsertOption
 */
Ptr<QueueDiscItem> InsertFeedback(Ptr<QueueDiscItem> item, const MeshpaceFeedback& feedback);

/**
 * @ingroup meshpace
 *
 * @param item a packet, IP header not yet added
 * @return whether its sender understands marks (RFC 3168, 5)
 */
bool IsEcnCapable(Ptr<const QueueDiscItem> item);

/**
 * @ingroup meshpace
 *
 * Marks a packet by ECN, "congestion experienced", in place of its loss (RFC 3168).
 *
 * @param item the packet, IP header not yet added
 * @return whether its ends can be told so; one that was marked before tells them already
 */
bool MarkIfCapable(Ptr<QueueDiscItem> item);

/**
 * @ingroup meshpace
 *
 * @param item a packet whose IP header has not been added
 * @return a copy that can be sent independently
 */
Ptr<QueueDiscItem> CopyOf(Ptr<const QueueDiscItem> item);

/**
 * @ingroup meshpace
 *
 * @param item likewise
 * @param nextHop where the copy goes, if the way has changed since
 * @return a copy that can be sent independently
 */
Ptr<QueueDiscItem> CopyOf(Ptr<const QueueDiscItem> item, const Address& nextHop);

} // namespace ns3

#endif // MESHPACE_TCP_WIRE_H
