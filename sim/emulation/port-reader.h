/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_PORT_READER_H
#define MESHPACE_PORT_READER_H

#include "linux-port.h"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace ns3
{

/**
 * The thread that waits for Linux: frames of the TAPs become events of the simulation; a
 * SIGTERM or SIGINT, the end of standard input, or the loss of an interface or namespace stops
 * it; SIGUSR1 and SIGUSR2 are handed on.
 */
class PortReader
{
  public:
    using Ports = std::vector<std::unique_ptr<LinuxPort>>;

    /** Blocks the signals that it hears, to be read instead; before any thread begins. */
    PortReader();
    ~PortReader();

    PortReader(const PortReader&) = delete;
    PortReader& operator=(const PortReader&) = delete;

    /**
     * Begins to read; as an event of the simulation.
     * @param ports the ports
     * @param onSignal what a SIGUSR1 or SIGUSR2 causes, by its number, as an event of the
     *        simulation
     */
    void Start(const Ports& ports, std::function<void(uint32_t)> onSignal);

    /** Ends the thread; when the simulation has ended. */
    void Stop();

    /** @return why it stopped the simulation, one line; empty: as asked. After Stop */
    const std::string& Failure() const;

  private:
    void Run();
    void Wait();
    bool IsToEnd(uint32_t signal, bool input) const;
    void CheckNamespaces() const;
    void Drain(LinuxPort& port);

    const Ports* m_ports{nullptr};
    std::function<void(uint32_t)> m_onSignal;
    int m_waker;   //!< eventfd: room was made, or the thread is to end
    int m_signals; //!< signalfd
    int m_timer;   //!< timerfd: look after the namespaces
    std::string m_failure;
    std::atomic<bool> m_stop{false};
    std::thread m_thread;
};

} // namespace ns3

#endif // MESHPACE_PORT_READER_H
