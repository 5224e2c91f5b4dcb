/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "packets.h"

#include "ns3/packet.h"

#include <algorithm>
#include <array>

using namespace ns3;

namespace
{

constexpr uint32_t MESH_NETWORK = 10 << 24 | 1 << 16;
constexpr uint32_t WIRED_NETWORK = 198U << 24 | 18 << 16;
constexpr uint8_t PROTOCOL_TCP = 6;
constexpr uint8_t PROTOCOL_UDP = 17;
constexpr uint32_t TCP_HEADER_BYTES = 20;
constexpr uint32_t UDP_HEADER_BYTES = 8;

void
Put16(uint8_t* at, uint32_t value)
{
    at[0] = value >> 8;
    at[1] = value;
}

Ptr<Packet>
MakePacket(const trace_packet& packet, bool down)
{
    std::array<uint8_t, TCP_HEADER_BYTES + MP_TCP_OPTIONS_MAX> header{};
    const uint32_t bytes = packet.udp ? UDP_HEADER_BYTES : TCP_HEADER_BYTES + packet.option_bytes;
    Put16(&header[0], down ? packet.flow.wired_port : packet.flow.mesh_port);
    Put16(&header[2], down ? packet.flow.mesh_port : packet.flow.wired_port);
    if (packet.udp)
    {
        Put16(&header[4], bytes + packet.len);
    }
    else
    {
        trace_put_u32(&header[4], packet.seq);
        trace_put_u32(&header[8], packet.ack);
        header[12] = bytes / 4 << 4;
        header[13] = packet.flags;
        Put16(&header[14], packet.window);
        std::copy_n(packet.options, packet.option_bytes, &header[TCP_HEADER_BYTES]);
    }
    auto made = Create<Packet>(header.data(), bytes);
    made->AddAtEnd(Create<Packet>(packet.len));
    return made;
}

} // namespace

Ipv4Address
MeshAddress(uint32_t host)
{
    return Ipv4Address(MESH_NETWORK | host);
}

MeshpaceKey
KeyOf(const trace_flow& flow)
{
    return {MESH_NETWORK | flow.host, WIRED_NETWORK | flow.wired, flow.mesh_port, flow.wired_port};
}

Ptr<Ipv4QueueDiscItem>
MakeItem(const trace_packet& packet, bool down)
{
    const auto key = KeyOf(packet.flow);
    auto made = MakePacket(packet, down);
    Ipv4Header ip;
    ip.SetSource(Ipv4Address(down ? key.wiredAddress : key.meshAddress));
    ip.SetDestination(Ipv4Address(down ? key.meshAddress : key.wiredAddress));
    ip.SetProtocol(packet.udp ? PROTOCOL_UDP : PROTOCOL_TCP);
    ip.SetTtl(packet.ttl);
    ip.SetEcn(static_cast<Ipv4Header::EcnType>(packet.ecn));
    ip.SetPayloadSize(made->GetSize());
    return Create<Ipv4QueueDiscItem>(made, Mac48Address(), 0x800, ip);
}
