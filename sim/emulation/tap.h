/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_TAP_H
#define MESHPACE_TAP_H

#include "ns3/ipv4-address.h"
#include "ns3/mac48-address.h"

#include <cstdint>
#include <stdexcept>
#include <string>

namespace ns3
{

/** The host refuses something; what() is one line that says what and the way out. */
class HostError : public std::runtime_error
{
  public:
    using std::runtime_error::runtime_error;
};

/** What a TAP interface is made of. */
struct TapConfig
{
    std::string netns;     //!< name of a network namespace, or a path such as /proc/PID/ns/net
    std::string interface; //!< name of the interface in it
    Ipv4Address address;
    Ipv4Mask mask;
    Mac48Address mac{};
    uint32_t mtu{0};
    uint32_t queuePackets{0}; //!< frames that wait in it; the kernel drops further ones
    bool arp{true};           //!< false: Linux needs no hardware address of anybody on it
};

/**
 * A TAP interface inside a network namespace, up and with its addresses.
 *
 * It is not persistent: it vanishes with the descriptor, however the process ends.
 */
class Tap
{
  public:
    /**
     * Creates it; the calling thread visits the namespace and comes back.
     * @param config what it is made of
     * @throws HostError when the kernel refuses
     */
    explicit Tap(const TapConfig& config);
    ~Tap();

    Tap(const Tap&) = delete;
    Tap& operator=(const Tap&) = delete;

    /** @return whether its namespace still has the name or path it had; any thread */
    bool HasNamespace() const;

    /** @return interface and namespace, for messages */
    std::string Name() const;

    /** @return the descriptor, which does not block: one read or write, one frame */
    int Descriptor() const;

  private:
    std::string m_interface;
    std::string m_netns; //!< a path
    uint64_t m_netnsNumber{0};
    int m_descriptor{-1};
};

} // namespace ns3

#endif // MESHPACE_TAP_H
