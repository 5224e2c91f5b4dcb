/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "realtime-mesh.h"

#include "directions.h"
#include "queued-port.h"
#include "radio-port.h"
#include "routed-port.h"
#include "wired-port.h"

#include "../runner/outages.h"

#include "ns3/boolean.h"
#include "ns3/global-value.h"
#include "ns3/ipv4.h"
#include "ns3/queue-disc.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/traffic-control-layer.h"

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <malloc.h>
#include <mutex>
#include <sched.h>
#include <sys/mman.h>

namespace ns3
{

namespace
{

/** Above everything ordinary, below the kernel's own threads, which carry our packets. */
constexpr int PRIORITY = 40;

/** Making threads and the nodes' first events take some ms, which are made up for by then. */
const Time SETTLING = MilliSeconds(200);

/** More than any run was seen to need. */
constexpr size_t HEAP_BYTES = 64 << 20;

/** Makes one heap that never shrinks and whose pages are there. */
void
PrepareHeap()
{
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, -1);
    void* heap = std::malloc(HEAP_BYTES);
    if (!heap)
    {
        throw HostError("memory: no 64 MB left");
    }
    std::memset(heap, 1, HEAP_BYTES);
    std::free(heap);
}

/**
 * Whatever else runs must not make the radio late, and no page may have to be fetched. Threads
 * that begin afterwards inherit it.
 */
void
BecomeRealtime()
{
    sched_param parameters{};
    parameters.sched_priority = PRIORITY;
    if (sched_setscheduler(0, SCHED_FIFO, &parameters) != 0)
    {
        throw HostError(std::string("SCHED_FIFO: ") + std::strerror(errno) +
                        "; real time needs root, or CAP_SYS_NICE");
    }
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
    {
        throw HostError(std::string("mlockall: ") + std::strerror(errno) +
                        "; real time needs root, or CAP_IPC_LOCK");
    }
}

/** Replaces a file as a whole: a reader never sees half of it. */
void
Replace(const std::string& file, const std::string& text)
{
    const auto part = file + ".part";
    std::ofstream(part) << text << '\n';
    std::rename(part.c_str(), file.c_str());
}

} // namespace

RealtimeMesh::RealtimeMesh(const Scenario& scenario, uint32_t seed, const PortPlaces& places)
    : m_scenario(scenario),
      m_places(places)
{
    CheckPlaces(scenario, places);
    GlobalValue::Bind("SimulatorImplementationType", StringValue("ns3::RealtimeSimulatorImpl"));
    // Linux looks at the checksums that relays write.
    GlobalValue::Bind("ChecksumEnabled", BooleanValue(true));
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(seed);
    m_network = std::make_unique<MeshNetwork>(scenario);
    for (const auto& [name, place] : places.nodes)
    {
        m_network->IsWired(name) ? AddWiredPort(name, place) : AddMeshPort(name, place);
    }
    if (places.wired)
    {
        AddWiredPort(GatewayName(scenario), *places.wired);
    }
}

RealtimeMesh::~RealtimeMesh()
{
    m_reader.Stop();
    m_network = nullptr;
    Simulator::Destroy();
}

void
RealtimeMesh::AddMeshPort(const std::string& node, const PortPlace& place)
{
    const auto radio = DynamicCast<WifiNetDevice>(m_network->MeshDevice(node));
    TapConfig config{place.netns, place.interface, m_network->Address(node), MeshMask()};
    if (m_scenario.routing.protocol == "aodv")
    {
        m_ports.push_back(std::make_unique<RoutedPort>(radio, config));
    }
    else if (radio->GetNode()->GetObject<TrafficControlLayer>()->GetRootQueueDiscOnDevice(radio))
    {
        m_ports.push_back(std::make_unique<QueuedPort>(radio, config));
    }
    else
    {
        m_ports.push_back(
            std::make_unique<RadioPort>(radio, config, m_scenario.radio.queue_packets));
    }
    m_names.emplace_back(node, "mesh");
}

void
RealtimeMesh::AddWiredPort(const std::string& node, const PortPlace& place)
{
    const auto link = DynamicCast<PointToPointNetDevice>(m_network->WiredDevice(node));
    const auto stack = link->GetNode()->GetObject<Ipv4>();
    const auto address = stack->GetAddress(stack->GetInterfaceForDevice(link), 0).GetLocal();
    TapConfig config{place.netns, place.interface, address, WiredMask()};
    m_ports.push_back(std::make_unique<WiredPort>(link, config));
    m_names.emplace_back(node, "wired");
}

nlohmann::ordered_json
RealtimeMesh::Report() const
{
    auto ports = nlohmann::ordered_json::array();
    for (size_t i = 0; i < m_ports.size(); i++)
    {
        const auto& counters = m_ports[i]->Counters();
        ports.push_back({{"node", m_names[i].first},
                         {"side", m_names[i].second},
                         {"sent_frames", counters.sent},
                         {"foreign_frames", counters.foreign},
                         {"received_frames", counters.received},
                         {"lost_frames", counters.lost}});
    }
    auto links = nlohmann::ordered_json::array();
    for (const auto& link : m_network->Links())
    {
        links.push_back({{"from", link.from},
                         {"to", link.to},
                         {"data_drops", link.dataDrops},
                         {"ack_drops", link.ackDrops},
                         {"other_drops", link.otherDrops}});
    }
    return {{"lag_ms", m_lag.Report()}, {"ports", ports}, {"links", links}};
}

void
RealtimeMesh::Begin()
{
    m_reader.Start(m_ports, [this](uint32_t signal) { Hear(signal); });
    Simulator::Schedule(SETTLING, &RealtimeMesh::BeReady, this);
}

void
RealtimeMesh::BeReady()
{
    m_lag.Start();
    std::cout << Directions(m_scenario, *m_network, m_places).dump() << std::endl;
}

void
RealtimeMesh::Hear(uint32_t signal)
{
    if (signal == SIGUSR1)
    {
        EndWarmup();
    }
    else if (!m_begun)
    {
        m_begun = true;
        ScheduleOutages(m_scenario, *m_network);
    }
}

void
RealtimeMesh::EndWarmup()
{
    m_lag.Reset();
    m_network->ResetStatistics();
    for (const auto& port : m_ports)
    {
        port->ResetStatistics();
    }
}

void
RealtimeMesh::WriteLag(std::stop_token stop, const std::string& file) const
{
    std::mutex mutex;
    std::condition_variable_any condition;
    std::unique_lock lock(mutex);
    while (!condition.wait_for(lock, stop, std::chrono::seconds(1), [&stop] {
        return stop.stop_requested();
    }))
    {
        Replace(file, m_lag.Report().dump());
    }
}

void
RealtimeMesh::Run(const std::string& lagFile)
{
    std::jthread writer;
    if (!lagFile.empty())
    {
        // Begun while scheduling is still ordinary: the radio does not wait for a disk.
        writer = std::jthread([this, &lagFile](std::stop_token stop) { WriteLag(stop, lagFile); });
    }
    PrepareHeap();
    BecomeRealtime();
    Simulator::ScheduleNow(&RealtimeMesh::Begin, this);
    Simulator::Run();
    m_reader.Stop();
    if (!lagFile.empty())
    {
        writer.request_stop();
        writer.join();
        Replace(lagFile, m_lag.Report().dump());
    }
    if (!m_reader.Failure().empty())
    {
        throw HostError(m_reader.Failure());
    }
}

} // namespace ns3
