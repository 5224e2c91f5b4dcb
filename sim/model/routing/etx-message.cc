/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "etx-message.h"

namespace ns3
{

namespace
{

constexpr uint32_t FIXED_BYTES = 20;
constexpr uint32_t LINK_BYTES = 8;
constexpr uint32_t UNUSED_BYTES = FIXED_BYTES - 10; // times, TTL: nothing here needs them

} // namespace

NS_OBJECT_ENSURE_REGISTERED(EtxMessage);

TypeId
EtxMessage::GetTypeId()
{
    static TypeId tid = TypeId("ns3::EtxMessage")
                            .SetParent<Header>()
                            .SetGroupName("Meshpace")
                            .AddConstructor<EtxMessage>();
    return tid;
}

TypeId
EtxMessage::GetInstanceTypeId() const
{
    return GetTypeId();
}

uint32_t
EtxMessage::GetSerializedSize() const
{
    return FIXED_BYTES + LINK_BYTES * links.size();
}

void
EtxMessage::Serialize(Buffer::Iterator start) const
{
    start.WriteU8(static_cast<uint8_t>(kind));
    start.WriteU8(gateway);
    start.WriteHtonU32(origin.Get());
    start.WriteHtonU16(number);
    start.WriteHtonU16(links.size());
    start.WriteU8(0, UNUSED_BYTES);
    for (const auto& link : links)
    {
        start.WriteHtonU32(link.neighbour.Get());
        start.WriteU8(link.heard);
        start.WriteU8(link.hears);
        start.WriteHtonU16(0);
    }
}

uint32_t
EtxMessage::Deserialize(Buffer::Iterator start)
{
    if (start.GetRemainingSize() < FIXED_BYTES)
    {
        return 0;
    }
    kind = static_cast<Kind>(start.ReadU8());
    gateway = start.ReadU8();
    origin = Ipv4Address(start.ReadNtohU32());
    number = start.ReadNtohU16();
    const uint32_t count = start.ReadNtohU16();
    start.Next(UNUSED_BYTES);
    if (kind > Kind::TC || start.GetRemainingSize() < count * LINK_BYTES)
    {
        return 0;
    }
    links.clear();
    for (uint32_t i = 0; i < count; i++)
    {
        EtxLink link{};
        link.neighbour = Ipv4Address(start.ReadNtohU32());
        link.heard = start.ReadU8();
        link.hears = start.ReadU8();
        start.Next(2);
        links.push_back(link);
    }
    return GetSerializedSize();
}

void
EtxMessage::Print(std::ostream& os) const
{
    os << (kind == Kind::HELLO ? "HELLO" : "TC") << " " << number << " of " << origin << ", "
       << links.size() << " links";
}

} // namespace ns3
