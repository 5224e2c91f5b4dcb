/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// Replays what a gateway holds (core/test/traces/hold) in ns-3's queue disc, in front of a device that is never busy.
//
// usage: meshpace-replay-hold TRACE    writes the trace with what comes of each packet; 77: not for ns-3

#include "packets.h"

#include "ns3/boolean.h"
#include "ns3/enum.h"
#include "ns3/meshpace-queue-disc.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint32_t SEGMENT_BYTES = 1000; //!< of an upload's data; none says how large they are
constexpr int NOT_FOR_NS3 = 77;

/** Events that ns-3's queue disc cannot have, and why; core/test/traces/README.md lists the same. */
const std::map<std::string, const char*> EXCEPTIONS{
    {"late", "the simulator's clock is not late"},
    {"pass", "a simulated gateway does not end"},
    {"unanswered", "flows that nobody has answered take turns one by one, since all simulated hosts answer"},
};

/** Ends the program where a trace has what ns-3's queue disc cannot have. @param what an event */
void
RefuseException(const std::string& what)
{
    if (const auto found = EXCEPTIONS.find(what); found != EXCEPTIONS.end())
    {
        std::cerr << "not for ns-3: " << what << ": " << found->second << '\n';
        std::cout.flush();
        exit(NOT_FOR_NS3);
    }
}

/** What a trace says, and what it is done to. */
class HoldReplay
{
  public:
    /** An event comes, at its time. @param line its line */
    void Event(const std::string& line)
    {
        std::istringstream words(line);
        uint64_t timeNs;
        std::string what;
        words >> timeNs >> what;
        RefuseException(what);
        std::cout << line << '\n';
        if (what == "law")
        {
            words >> m_law;
            return;
        }
        Create();
        if (what == "flow")
        {
            const auto flow = ReadFlow(words);
            words >> m_intervalsNs[KeyOf(flow)];
            TellIntervals();
        }
        else if (what == "up")
        {
            const auto flow = ReadFlow(words);
            uint32_t bytes;
            words >> bytes;
            Upload(flow, bytes);
        }
        else if (what == "cap")
        {
            uint32_t host;
            std::string way;
            uint64_t capBps;
            words >> host >> way >> capBps;
            m_capped = m_capped || capBps > 0;
            m_gateway->SetCap(MeshAddress(host), way == "down", capBps, 0);
        }
        else
        {
            Come(what, words);
        }
    }

    /** The trace is over. @return how many packets are still held */
    uint32_t Held() const
    {
        return m_gateway ? m_gateway->HeldPackets() : 0;
    }

    /** Breaks the circle of references. */
    void Dispose()
    {
        if (m_disc)
        {
            m_disc->Dispose();
            m_gateway->Dispose();
        }
    }

  private:
    void Create()
    {
        if (m_gateway)
        {
            return;
        }
        const auto law = m_law == "gap" ? MeshpaceGateway::GAP : MeshpaceGateway::EVEN;
        m_gateway = CreateObjectWithAttributes<MeshpaceGateway>("Law",
                                                                EnumValue(law),
                                                                "Release", // the daemon's
                                                                EnumValue(MeshpaceRelease::AT_TURN),
                                                                "Device", // likewise
                                                                EnumValue(MP_DEVICE_UNSEEN),
                                                                "GoodputControl", // the trace's
                                                                BooleanValue(false));
        m_disc = CreateObject<MeshpaceMeshQueueDisc>();
        m_disc->SetGateway(m_gateway);
        m_disc->Initialize();
        m_disc->SetSendCallback([this](Ptr<QueueDiscItem> item) { Tell("leaves", item); });
    }

    trace_flow ReadFlow(std::istream& words) const
    {
        trace_flow flow{};
        std::string text;
        words >> text;
        uint16_t meshPort;
        uint16_t wiredPort;
        if (sscanf(text.c_str(),
                   "%" SCNu32 ":%" SCNu16 "-%" SCNu32 ":%" SCNu16,
                   &flow.host,
                   &meshPort,
                   &flow.wired,
                   &wiredPort) != 4)
        {
            std::cerr << text << ": no flow (core/test/traces/README.md says what is)\n";
            exit(2);
        }
        flow.mesh_port = meshPort;
        flow.wired_port = wiredPort;
        return flow;
    }

    /** Intervals are floors: without a sample of its own the law has none. */
    void TellIntervals()
    {
        for (const auto& [key, intervalNs] : m_intervalsNs)
        {
            m_gateway->SetFloor(key, intervalNs);
        }
    }

    void Upload(const trace_flow& flow, uint32_t bytes)
    {
        for (uint32_t seq = 0; seq < bytes; seq += SEGMENT_BYTES)
        {
            trace_packet packet{};
            packet.flow = flow;
            packet.seq = seq;
            packet.window = UINT16_MAX;
            packet.len = std::min(SEGMENT_BYTES, bytes - seq);
            packet.flags = TRACE_ACK;
            m_gateway->ToWired(MakeItem(packet, false));
        }
    }

    /** A packet for the mesh comes. */
    void Come(const std::string& what, std::istream& words)
    {
        trace_packet packet{};
        packet.flow = ReadFlow(words);
        uint32_t number;
        uint32_t last;
        words >> number >> last;
        packet.udp = what == "udp";
        packet.flags = TRACE_ACK;
        if (what == "ack")
        {
            packet.ack = last;
        }
        else
        {
            if (m_capped && what == "data" && m_intervalsNs.count(KeyOf(packet.flow)) == 0)
            {
                RefuseException("unanswered");
            }
            packet.len = packet.udp ? last - IP_UDP_BYTES : last;
            packet.seq = m_seqs[KeyOf(packet.flow)];
            m_seqs[KeyOf(packet.flow)] += packet.len;
        }
        const auto item = MakeItem(packet, true);
        m_numbers[item->GetPacket()->GetUid()] = number;
        if (!m_disc->Enqueue(item))
        {
            Tell("lost", item);
        }
        TellIntervals();
        m_disc->Run();
    }

    void Tell(const char* what, Ptr<const QueueDiscItem> item) const
    {
        std::cout << Simulator::Now().GetNanoSeconds() << ' ' << what << ' '
                  << m_numbers.at(item->GetPacket()->GetUid()) << '\n';
    }

    static constexpr uint32_t IP_UDP_BYTES = 28; //!< headers of a datagram

    std::string m_law{"even"};
    bool m_capped{false};
    Ptr<MeshpaceGateway> m_gateway;
    Ptr<MeshpaceMeshQueueDisc> m_disc;
    std::map<MeshpaceKey, uint64_t> m_intervalsNs;
    std::map<MeshpaceKey, uint32_t> m_seqs; //!< the next segment's
    std::map<uint64_t, uint32_t> m_numbers; //!< of packets, by their uid
};

/** @return whether a line is an event: no comment, and not what comes of a packet @param line it */
bool
IsEvent(const std::string& line)
{
    return !line.empty() && line[0] != '#' && line.find(" leaves ") == std::string::npos &&
           line.find(" lost ") == std::string::npos;
}

} // namespace

int
main(int argc, char** argv)
{
    std::ifstream trace(argc == 2 ? argv[1] : "");
    if (!trace)
    {
        std::cerr << "usage: meshpace-replay-hold TRACE    (a file of core/test/traces/hold)\n";
        return 2;
    }
    HoldReplay replay;
    for (std::string line; std::getline(trace, line);)
    {
        if (!line.empty() && line[0] == '#')
        {
            std::cout << line << '\n';
        }
        if (IsEvent(line))
        {
            // Events before what is due at the same time, as the daemon's main loop takes them.
            Simulator::Schedule(NanoSeconds(std::stoull(line)), &HoldReplay::Event, &replay, line);
        }
    }
    Simulator::Stop(Minutes(1));
    Simulator::Run();
    const auto held = replay.Held();
    replay.Dispose();
    Simulator::Destroy();
    if (held > 0)
    {
        std::cerr << held << " packets never leave\n";
    }
    return held > 0 ? 1 : 0;
}
