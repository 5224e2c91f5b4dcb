/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_LINUX_PORT_H
#define MESHPACE_LINUX_PORT_H

#include "tap.h"

#include "ns3/net-device.h"
#include "ns3/packet.h"

#include <atomic>
#include <cstdint>
#include <vector>

namespace ns3
{

using Frame = std::vector<uint8_t>; //!< an Ethernet frame without its checksum

/** Frames of a port since the start or ResetStatistics. */
struct PortCounters
{
    uint64_t sent{0};     //!< by Linux, handed on
    uint64_t foreign{0};  //!< by Linux, but nobody here carries them (IPv6)
    uint64_t received{0}; //!< by Linux
    uint64_t lost{0};     //!< not received: the interface is down, or Linux is full
};

/**
 * A TAP interface of Linux where an ns-3 device would have its host; what becomes of the
 * frames of Linux is up to the kind of port.
 *
 * Methods without a note belong to the simulation's thread.
 */
class LinuxPort
{
  public:
    virtual ~LinuxPort() = default;

    LinuxPort(const LinuxPort&) = delete;
    LinuxPort& operator=(const LinuxPort&) = delete;

    /** @return the TAP; any thread */
    const Tap& Interface() const;

    /** @return whether another frame may be read; any thread */
    bool HasRoom() const;

    /**
     * Reads a frame; the reader's thread.
     * @return it, empty when there is none; to be handed to Transmit
     * @throws HostError when the interface is gone
     */
    Frame Read();

    /** Sends a frame that Read returned. @param frame the frame */
    void Transmit(const Frame& frame);

    /** Wakes the reader when room is made. @param descriptor an eventfd */
    void SetWaker(int descriptor);

    /** @return id of the node, as context of its events; any thread */
    uint32_t NodeId() const;

    /** @return what went through */
    const PortCounters& Counters() const;
    /** Counts from zero. */
    void ResetStatistics();

  protected:
    /** A frame's content. */
    struct Content
    {
        Mac48Address to;
        uint16_t type; //!< as in Ethernet
        Ptr<Packet> packet;
    };

    static constexpr uint16_t IPV4 = 0x0800;
    static constexpr uint16_t ARP = 0x0806;

    /**
     * Makes the interface.
     * @param device the device whose address the interface has
     * @param config the interface; MTU and MAC address are filled in here
     * @param window frames that may be on their way from Linux, or queued here, at a time
     */
    LinuxPort(Ptr<NetDevice> device, TapConfig config, uint32_t window);

    /** Window where ns-3 does the queueing: a flood of Linux does not fill the list of events. */
    static constexpr uint32_t LINK_WINDOW_PACKETS = 64;

    /**
     * An interface whose packets wait elsewhere.
     * @param config the interface
     * @return it, with room for what comes while the reader is late
     */
    static TapConfig QueuedElsewhere(TapConfig config);

    /**
     * A link on which Linux needs no hardware addresses, and ns-3 does the queueing.
     * @param config the interface
     * @return it, without ARP, and with room for what comes while the reader is late
     */
    static TapConfig LinkWithoutArp(TapConfig config);

    /**
     * Sends what Linux sent.
     * @param content the frame
     * @return whether it is of a kind that is carried
     */
    virtual bool Send(const Content& content) = 0;

    /**
     * Gives Linux a packet.
     * @param packet content of the frame
     * @param type its type
     * @param from its sender
     * @throws HostError when the interface is gone
     */
    void Deliver(Ptr<const Packet> packet, uint16_t type, Mac48Address from);

    /**
     * Gives Linux what a device receives; the signature is NetDevice::ReceiveCallback's.
     * @return true: nobody else is asked
     */
    bool Receive(Ptr<NetDevice> device,
                 Ptr<const Packet> packet,
                 uint16_t protocol,
                 const Address& from);

    /** Counts frames that wait here against the window. @param frames how many */
    void SetQueued(uint32_t frames);

  private:
    void Wake() const;

    Ptr<NetDevice> m_device;
    /** Kept, since a Ptr's count of references is not for two threads. */
    uint32_t m_nodeId;
    uint32_t m_window;
    Tap m_tap;
    int m_waker{-1};
    std::atomic<uint32_t> m_queued{0};   //!< frames that wait here
    std::atomic<uint32_t> m_onTheWay{0}; //!< read, not yet there
    PortCounters m_counters;
};

} // namespace ns3

#endif // MESHPACE_LINUX_PORT_H
