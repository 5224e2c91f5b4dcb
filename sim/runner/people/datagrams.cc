/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "datagrams.h"

#include "ns3/udp-socket-factory.h"

#include <array>
#include <cstring>
#include <vector>

namespace ns3
{

Ptr<Packet>
MakeDatagram(const DatagramNumbers& numbers, uint32_t bytes)
{
    std::vector<uint8_t> payload(bytes);
    std::memcpy(payload.data(), &numbers, sizeof(numbers));
    return Create<Packet>(payload.data(), bytes);
}

DatagramNumbers
ReadDatagram(Ptr<const Packet> packet)
{
    std::array<uint8_t, sizeof(DatagramNumbers)> bytes{};
    packet->CopyData(bytes.data(), bytes.size());
    DatagramNumbers numbers{};
    std::memcpy(&numbers, bytes.data(), bytes.size());
    return numbers;
}

Ptr<Socket>
OpenDatagrams(Ptr<Node> node, uint16_t port, Callback<void, Ptr<Socket>> receive)
{
    auto socket = Socket::CreateSocket(node, UdpSocketFactory::GetTypeId());
    socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
    socket->SetRecvCallback(receive);
    return socket;
}

} // namespace ns3
