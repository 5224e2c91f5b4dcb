/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "tap.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ns3
{

namespace
{

/** A descriptor that is closed when its scope ends. */
class Descriptor
{
  public:
    explicit Descriptor(int fd)
        : m_fd(fd)
    {
    }

    ~Descriptor()
    {
        if (m_fd >= 0)
        {
            close(m_fd);
        }
    }

    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;

    int Get() const
    {
        return m_fd;
    }

  private:
    int m_fd;
};

[[noreturn]] void
Refuse(const std::string& what)
{
    throw HostError(what + ": " + std::strerror(errno));
}

std::string
PathOf(const std::string& netns)
{
    return netns.find('/') == netns.npos ? "/run/netns/" + netns : netns;
}

/** @return what tells the namespace at a path from any other; 0: there is none */
uint64_t
NumberOf(const std::string& path)
{
    struct stat status{};
    return stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

/** The calling thread, and it alone, is in a namespace for the length of a scope. */
class Visit
{
  public:
    explicit Visit(const std::string& path)
        : m_home(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC))
    {
        const Descriptor there(open(path.c_str(), O_RDONLY | O_CLOEXEC));
        if (m_home.Get() < 0 || there.Get() < 0)
        {
            Refuse("network namespace " + path + " (make it with ip netns add)");
        }
        if (setns(there.Get(), CLONE_NEWNET) != 0)
        {
            Refuse("network namespace " + path + " (run as root)");
        }
    }

    ~Visit()
    {
        // Entering it once worked; the kernel has no reason to refuse the way back.
        setns(m_home.Get(), CLONE_NEWNET);
    }

  private:
    Descriptor m_home;
};

ifreq
Request(const TapConfig& config)
{
    ifreq request{};
    std::strncpy(request.ifr_name, config.interface.c_str(), IFNAMSIZ - 1);
    return request;
}

void
SetAddress(int socket, const TapConfig& config, unsigned long command, uint32_t value)
{
    auto request = Request(config);
    auto* address = reinterpret_cast<sockaddr_in*>(&request.ifr_addr);
    address->sin_family = AF_INET;
    address->sin_addr.s_addr = htonl(value);
    if (ioctl(socket, command, &request) != 0)
    {
        Refuse(config.interface + ": address");
    }
}

/** Sets everything else and brings it up. */
void
Configure(const TapConfig& config)
{
    const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    auto hardware = Request(config);
    hardware.ifr_hwaddr.sa_family = ARPHRD_ETHER;
    config.mac.CopyTo(reinterpret_cast<uint8_t*>(hardware.ifr_hwaddr.sa_data));
    auto mtu = Request(config);
    mtu.ifr_mtu = static_cast<int>(config.mtu);
    auto queue = Request(config);
    queue.ifr_qlen = static_cast<int>(config.queuePackets);
    if (ioctl(socket.Get(), SIOCSIFHWADDR, &hardware) != 0 ||
        ioctl(socket.Get(), SIOCSIFMTU, &mtu) != 0 ||
        ioctl(socket.Get(), SIOCSIFTXQLEN, &queue) != 0)
    {
        Refuse(config.interface + ": MAC address, MTU, queue length");
    }
    SetAddress(socket.Get(), config, SIOCSIFADDR, config.address.Get());
    SetAddress(socket.Get(), config, SIOCSIFNETMASK, config.mask.Get());
    auto flags = Request(config);
    if (ioctl(socket.Get(), SIOCGIFFLAGS, &flags) != 0)
    {
        Refuse(config.interface + ": flags");
    }
    flags.ifr_flags |= IFF_UP | (config.arp ? 0 : IFF_NOARP);
    if (ioctl(socket.Get(), SIOCSIFFLAGS, &flags) != 0)
    {
        Refuse(config.interface + ": up");
    }
}

} // namespace

Tap::Tap(const TapConfig& config)
    : m_interface(config.interface),
      m_netns(PathOf(config.netns))
{
    if (config.interface.empty() || config.interface.size() >= IFNAMSIZ)
    {
        throw HostError("interface \"" + config.interface + "\": a name has 1 to 15 characters");
    }
    const Visit visit(m_netns);
    m_netnsNumber = NumberOf(m_netns);
    m_descriptor = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (m_descriptor < 0)
    {
        Refuse("/dev/net/tun (load the module tun)");
    }
    try
    {
        auto request = Request(config);
        request.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_TUN_EXCL;
        if (ioctl(m_descriptor, TUNSETIFF, &request) != 0)
        {
            Refuse(Name() + " (root makes it; no interface there may have its name)");
        }
        Configure(config);
    }
    catch (const HostError&)
    {
        close(m_descriptor);
        throw;
    }
}

Tap::~Tap()
{
    close(m_descriptor);
}

bool
Tap::HasNamespace() const
{
    return NumberOf(m_netns) == m_netnsNumber;
}

std::string
Tap::Name() const
{
    return m_interface + " in " + m_netns;
}

int
Tap::Descriptor() const
{
    return m_descriptor;
}

} // namespace ns3
