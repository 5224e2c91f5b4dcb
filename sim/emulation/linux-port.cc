/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "linux-port.h"

#include "ns3/node.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace ns3
{

namespace
{

constexpr uint32_t MTU_BYTES = 1500;
constexpr uint32_t ETHERNET_BYTES = 14;
constexpr uint32_t MAC_BYTES = 6;
constexpr uint32_t LINK_TAP_PACKETS = 1000;

TapConfig
Completed(TapConfig config, Ptr<NetDevice> device)
{
    config.mtu = MTU_BYTES;
    config.mac = Mac48Address::ConvertFrom(device->GetAddress());
    return config;
}

} // namespace

LinuxPort::LinuxPort(Ptr<NetDevice> device, TapConfig config, uint32_t window)
    : m_device(device),
      m_nodeId(device->GetNode()->GetId()),
      m_window(window),
      m_tap(Completed(std::move(config), device))
{
}

TapConfig
LinuxPort::QueuedElsewhere(TapConfig config)
{
    config.queuePackets = LINK_TAP_PACKETS;
    return config;
}

TapConfig
LinuxPort::LinkWithoutArp(TapConfig config)
{
    config.arp = false;
    return QueuedElsewhere(std::move(config));
}

bool
LinuxPort::Receive(Ptr<NetDevice>,
                   Ptr<const Packet> packet,
                   uint16_t protocol,
                   const Address& from)
{
    Deliver(packet, protocol, Mac48Address::ConvertFrom(from));
    return true;
}

const Tap&
LinuxPort::Interface() const
{
    return m_tap;
}

bool
LinuxPort::HasRoom() const
{
    return m_queued.load() + m_onTheWay.load() < m_window;
}

Frame
LinuxPort::Read()
{
    std::array<uint8_t, ETHERNET_BYTES + 4 + MTU_BYTES> buffer;
    const auto bytes = read(m_tap.Descriptor(), buffer.data(), buffer.size());
    if (bytes < 0 && errno != EAGAIN && errno != EINTR)
    {
        throw HostError(m_tap.Name() + ": " + std::strerror(errno) +
                        " (somebody removed the interface; start again)");
    }
    if (bytes <= 0)
    {
        return {};
    }
    m_onTheWay++;
    return {buffer.begin(), buffer.begin() + bytes};
}

void
LinuxPort::Transmit(const Frame& frame)
{
    Content content{Mac48Address(), 0, nullptr};
    if (frame.size() > ETHERNET_BYTES)
    {
        content.to.CopyFrom(frame.data());
        content.type = frame[12] << 8 | frame[13];
        content.packet =
            Create<Packet>(frame.data() + ETHERNET_BYTES, frame.size() - ETHERNET_BYTES);
    }
    const bool carried = content.packet && Send(content);
    carried ? m_counters.sent++ : m_counters.foreign++;
    m_onTheWay--;
    Wake();
}

void
LinuxPort::SetQueued(uint32_t frames)
{
    const bool fewer = frames < m_queued.exchange(frames);
    if (fewer)
    {
        Wake();
    }
}

/** Tells the reader, which may have found no room before. */
void
LinuxPort::Wake() const
{
    const uint64_t one = 1;
    if (m_waker >= 0 && HasRoom() && write(m_waker, &one, sizeof(one)) != sizeof(one))
    {
        throw HostError(std::string("waking the reader: ") + std::strerror(errno));
    }
}

void
LinuxPort::Deliver(Ptr<const Packet> packet, uint16_t type, Mac48Address from)
{
    Frame frame(ETHERNET_BYTES + packet->GetSize());
    // What was for everybody was for us too.
    Mac48Address::ConvertFrom(m_device->GetAddress()).CopyTo(frame.data());
    from.CopyTo(frame.data() + MAC_BYTES);
    frame[12] = type >> 8;
    frame[13] = type & 0xff;
    packet->CopyData(frame.data() + ETHERNET_BYTES, packet->GetSize());
    if (write(m_tap.Descriptor(), frame.data(), frame.size()) == std::ssize(frame))
    {
        m_counters.received++;
    }
    else if (errno == EIO || errno == EAGAIN || errno == ENOBUFS) // down, or Linux is full
    {
        m_counters.lost++;
    }
    else
    {
        throw HostError(m_tap.Name() + ": " + std::strerror(errno) +
                        " (somebody removed the interface; start again)");
    }
}

void
LinuxPort::SetWaker(int descriptor)
{
    m_waker = descriptor;
}

uint32_t
LinuxPort::NodeId() const
{
    return m_nodeId;
}

const PortCounters&
LinuxPort::Counters() const
{
    return m_counters;
}

void
LinuxPort::ResetStatistics()
{
    m_counters = {};
}

} // namespace ns3
