/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_ETX_MESSAGE_H
#define MESHPACE_ETX_MESSAGE_H

#include "ns3/header.h"
#include "ns3/ipv4-address.h"

#include <cstdint>
#include <vector>

namespace ns3
{

/** A link as one of its ends sees it, in parts of 255. */
struct EtxLink
{
    Ipv4Address neighbour; //!< the other end
    uint8_t heard;         //!< of his HELLOs, here
    uint8_t hears;         //!< of those from here, as he last said
};

/**
 * @ingroup meshpace
 *
 * A HELLO or TC of OLSR with what is known of links, as long as olsrd's LQ_HELLO and LQ_TC are:
 * 20 bytes and 8 for each link.
 */
class EtxMessage : public Header
{
  public:
    /** What a message is. */
    enum class Kind : uint8_t
    {
        HELLO, //!< to neighbours
        TC     //!< to all, each of whom passes it on once
    };

    /** @return the type id */
    static TypeId GetTypeId();

    TypeId GetInstanceTypeId() const override;
    uint32_t GetSerializedSize() const override;
    void Serialize(Buffer::Iterator start) const override;
    /** @return how many bytes it has; 0: it is shorter than it says, or of no known kind */
    uint32_t Deserialize(Buffer::Iterator start) override;
    void Print(std::ostream& os) const override;

    Kind kind{Kind::HELLO};     //!< what it is
    bool gateway{false};        //!< whether its sender leads to the wired network (HNA)
    Ipv4Address origin;         //!< whose it is
    uint16_t number{0};         //!< one more than that of his latest of this kind
    std::vector<EtxLink> links; //!< his
};

} // namespace ns3

#endif // MESHPACE_ETX_MESSAGE_H
