/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "port-reader.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace ns3
{

namespace
{

// Places in the list of what is waited for; the ports follow.
constexpr size_t WAKER = 0;
constexpr size_t SIGNALS = 1;
constexpr size_t INPUT = 2;
constexpr size_t TIMER = 3;
constexpr size_t FIRST_PORT = 4;

/** A namespace stays for as long as our TAPs are open: its loss has to be looked for. */
constexpr itimerspec LOOK_EVERY{{0, 500'000'000}, {0, 500'000'000}};

void
StopSimulation()
{
    Simulator::Stop();
}

/** @return the number of the signal that waits, 0: none does */
uint32_t
TakeSignal(int descriptor)
{
    signalfd_siginfo info;
    return read(descriptor, &info, sizeof(info)) == sizeof(info) ? info.ssi_signo : 0;
}

/** Reads the count of an eventfd or timerfd, so that it is ready only after the next event. */
void
Acknowledge(int descriptor)
{
    uint64_t count;
    // It does not block; that nothing was there is no error.
    [[maybe_unused]] const auto bytes = read(descriptor, &count, sizeof(count));
}

/** @return whether nothing more comes on standard input; what does come is ignored */
bool
InputEnded()
{
    std::array<char, 256> ignored;
    return read(STDIN_FILENO, ignored.data(), ignored.size()) <= 0;
}

} // namespace

PortReader::PortReader()
    : m_waker(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      m_timer(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC))
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGUSR1);
    sigaddset(&signals, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    m_signals = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
    // A parent that is gone does not keep the last report from being tried.
    std::signal(SIGPIPE, SIG_IGN);
    if (m_waker < 0 || m_signals < 0 || m_timer < 0 ||
        timerfd_settime(m_timer, 0, &LOOK_EVERY, nullptr) != 0)
    {
        throw HostError("eventfd, signalfd, timerfd: no descriptors left (see ulimit -n)");
    }
}

PortReader::~PortReader()
{
    Stop();
    close(m_waker);
    close(m_signals);
    close(m_timer);
}

void
PortReader::Start(const Ports& ports, std::function<void(uint32_t)> onSignal)
{
    m_ports = &ports;
    m_onSignal = std::move(onSignal);
    for (const auto& port : ports)
    {
        port->SetWaker(m_waker);
    }
    m_thread = std::thread(&PortReader::Run, this);
}

void
PortReader::Stop()
{
    if (m_thread.joinable())
    {
        m_stop = true;
        eventfd_write(m_waker, 1);
        m_thread.join();
    }
}

const std::string&
PortReader::Failure() const
{
    return m_failure;
}

bool
PortReader::IsToEnd(uint32_t signal, bool input) const
{
    return m_stop || signal == SIGTERM || signal == SIGINT || (input && InputEnded());
}

void
PortReader::CheckNamespaces() const
{
    const auto lost = std::find_if(m_ports->begin(), m_ports->end(), [](const auto& port) {
        return !port->Interface().HasNamespace();
    });
    if (lost != m_ports->end())
    {
        throw HostError((*lost)->Interface().Name() +
                        ": somebody removed the namespace (start again)");
    }
}

void
PortReader::Drain(LinuxPort& port)
{
    while (port.HasRoom())
    {
        auto frame = port.Read();
        if (frame.empty())
        {
            return;
        }
        Simulator::ScheduleWithContext(port.NodeId(), Time(0), [&port, frame = std::move(frame)] {
            port.Transmit(frame);
        });
    }
}

void
PortReader::Run()
{
    try
    {
        Wait();
    }
    catch (const HostError& error)
    {
        m_failure = error.what();
    }
    Simulator::ScheduleWithContext(Simulator::NO_CONTEXT, Time(0), &StopSimulation);
}

/** Serves until the end is asked for. */
void
PortReader::Wait()
{
    std::vector<pollfd> waiting(FIRST_PORT + m_ports->size(), {-1, POLLIN, 0});
    waiting[WAKER].fd = m_waker;
    waiting[SIGNALS].fd = m_signals;
    waiting[INPUT].fd = STDIN_FILENO;
    waiting[TIMER].fd = m_timer;
    for (uint32_t signal = 0; !IsToEnd(signal, waiting[INPUT].revents);)
    {
        for (size_t i = 0; i < m_ports->size(); i++)
        {
            const auto& port = *(*m_ports)[i];
            // A negative descriptor is passed over: its frames wait in the TAP.
            waiting[FIRST_PORT + i].fd = port.HasRoom() ? port.Interface().Descriptor() : -1;
        }
        if (poll(waiting.data(), waiting.size(), -1) <= 0)
        {
            waiting[INPUT].revents = 0;
            continue;
        }
        Acknowledge(m_waker);
        signal = TakeSignal(m_signals);
        if (signal == SIGUSR1 || signal == SIGUSR2)
        {
            Simulator::ScheduleWithContext(Simulator::NO_CONTEXT, Time(0), [this, signal] {
                m_onSignal(signal);
            });
        }
        if (waiting[TIMER].revents)
        {
            Acknowledge(m_timer);
            CheckNamespaces();
        }
        for (const auto& port : *m_ports)
        {
            Drain(*port);
        }
    }
}

} // namespace ns3
