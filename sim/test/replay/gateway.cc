/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// Replays traces (core/test/traces) in ns-3's gateway, outside a network: its packets are a trace's, the simulator's
// clock is the trace's time, and what was held has to leave when it was said to.
//
// usage: meshpace-replay-gateway TRACE...    writes the traces with their outcomes, as core-replay does; 77: not for ns-3

#include "exceptions.h"
#include "packets.h"
#include "run.h"

#include "ns3/boolean.h"
#include "ns3/enum.h"
#include "ns3/meshpace-gateway.h"
#include "ns3/nstime.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>

using namespace ns3;

namespace
{

/** What a trace says of a host's path; 0: it says nothing. */
struct Path
{
    uint32_t hops{0};
    uint32_t kbps{0};
};

/** Whether the sender of an upload has asked for RTT_wired: ns-3's gateway tells unasked. */
struct Asked
{
    bool inHandshake{false};
    bool asked{false};
};

Ptr<MeshpaceGateway> g_gateway; //!< null before the first packet: the law comes with the settings
trace_settings g_settings;
std::map<uint32_t, Path> g_paths;        //!< by host address
std::map<MeshpaceKey, uint64_t> g_floors; //!< ns
std::map<MeshpaceKey, Asked> g_asked;
std::map<Ptr<QueueDiscItem>, uint64_t> g_held; //!< departures that were said, ns

void
Fail(const char* what, uint64_t nowNs)
{
    fprintf(stderr, "meshpace-replay-gateway: %s, at %" PRIu64 " ns\n", what, nowNs);
    exit(1);
}

/** The simulator's clock goes on to a time. */
void
RunTo(uint64_t ns)
{
    Simulator::Stop(NanoSeconds(ns) - Simulator::Now());
    Simulator::Run();
}

/** Time passes, and what was held leaves. */
void
AdvanceTo(uint64_t nowNs)
{
    while (g_gateway && g_gateway->NextDeparture() <= NanoSeconds(nowNs))
    {
        const uint64_t dueNs = g_gateway->NextDeparture().GetNanoSeconds();
        RunTo(dueNs);
        const auto released = g_gateway->Release();
        const auto found = g_held.find(released.item);
        if (found == g_held.end() || found->second != dueNs)
        {
            Fail("a packet that was held leaves when nobody said so", dueNs);
        }
        g_held.erase(found);
    }
    RunTo(nowNs);
    if (!g_held.empty() && g_gateway->HeldPackets() != g_held.size())
    {
        Fail("a packet that is held is gone", nowNs);
    }
}

MeshpaceGateway::Law
LawOf(const mp_law& law)
{
    if (law.hop_wait_ns)
    {
        return MeshpaceGateway::EVEN;
    }
    if (law.reuse == MP_REUSE_CARRIER_SENSE)
    {
        return MeshpaceGateway::MAP;
    }
    return law.one_hop_below_four ? MeshpaceGateway::AP : MeshpaceGateway::GAP;
}

/** What may change while packets come. */
void
ApplySettings()
{
    g_gateway->SetAttribute("Release",
                            EnumValue(g_settings.stamp ? MeshpaceRelease::ON_ARRIVAL
                                                       : MeshpaceRelease::ELSEWHERE));
    g_gateway->SetAttribute("Paces", BooleanValue(g_settings.pace));
    g_gateway->SetAttribute("LocalRetransmission", BooleanValue(g_settings.copies));
    g_gateway->SetShared(g_settings.shared);
}

void
CreateGateway()
{
    constexpr double never = 1e9; // as seconds: connections stay, as in a table with room for all
    g_gateway = CreateObjectWithAttributes<MeshpaceGateway>(
        "Law",
        EnumValue(LawOf(g_settings.law)),
        "DelayBound",
        TimeValue(NanoSeconds(g_settings.law.delay_bound_ns)),
        "DelayBoundMeans",
        UintegerValue(g_settings.law.delay_bound_means),
        "BitRate",
        UintegerValue(g_settings.kbps),
        "GoodputControl", // what it would set, the trace sets
        BooleanValue(false),
        "EndedTimeout",
        TimeValue(Seconds(never)),
        "IdleTimeout",
        TimeValue(Seconds(never)));
    // What is to be sent again leaves at the event `again`.
    g_gateway->SetUrgentCallback(Callback<void, Ptr<QueueDiscItem>>([](Ptr<QueueDiscItem>) {}));
    ApplySettings();
}

/** What the gateway has to know of the path before an ACK: Linux's reads hops from the TTL, ns-3's is told by routing. */
void
TellPath(const trace_packet& packet)
{
    const auto host = MeshAddress(packet.flow.host);
    const auto known = g_paths[host.Get()];
    auto hops = known.hops ? known.hops : mp_hops_of_ttl(packet.ttl);
    hops = std::max(hops ? hops : g_settings.hops, 1U);
    const auto kbps = known.kbps ? known.kbps : g_settings.kbps;
    g_gateway->SetLinkRates(host, std::vector<uint32_t>(hops, kbps));
    const auto key = KeyOf(packet.flow);
    if (const auto floor = g_floors.find(key); floor != g_floors.end())
    {
        g_gateway->SetFloor(key, floor->second);
    }
}

void
NoteAsk(const trace_packet& packet)
{
    auto& ask = g_asked[KeyOf(packet.flow)];
    const bool asks = packet.asks && !packet.has_signature;
    if ((packet.flags & TRACE_SYN) && !(packet.flags & TRACE_RST))
    {
        ask.inHandshake = asks;
    }
    else if (packet.len > 0)
    {
        const auto* connection = std::as_const(*g_gateway).Find(KeyOf(packet.flow));
        const bool begins = !connection || !connection->Upload().Endpoint().progress.seen;
        ask.asked = asks || (begins ? ask.inHandshake : ask.asked);
    }
}

bool
IsNotified(const trace_flow& flow)
{
    return g_settings.option == 2 || (g_settings.option == 1 && g_asked[KeyOf(flow)].asked);
}

/** What a packet that leaves carries beside what it came with. */
void
ReadFeedback(Ptr<QueueDiscItem> item, const MeshpaceFeedback& told, replay_outcome* outcome)
{
    const auto left = InsertFeedback(item, told);
    if (left != item)
    {
        std::copy_n(&TcpSegment::Read(left)->bytes[20], MP_OPTION_BYTES, outcome->feedback);
    }
}

void
ToMesh(const trace_event& event, Ptr<QueueDiscItem> item, replay_outcome* outcome)
{
    const auto verdict = g_gateway->ToMesh(item);
    if (verdict.verdict == MeshpaceGateway::Verdict::DROP)
    {
        outcome->verdict = REPLAY_DROPPED;
        return;
    }
    if (verdict.verdict == MeshpaceGateway::Verdict::HELD)
    {
        outcome->wait_ns = verdict.departureNs - event.now_ns;
        g_held[item] = verdict.departureNs;
    }
    if (IsNotified(event.packet.flow))
    {
        ReadFeedback(item, verdict.feedback, outcome);
    }
}

void
FromMesh(const trace_event& event, Ptr<QueueDiscItem> item, replay_outcome* outcome)
{
    TellPath(event.packet);
    NoteAsk(event.packet);
    const auto verdict = g_gateway->ToWired(item);
    if (verdict == MeshpaceGateway::Verdict::WITHHELD)
    {
        outcome->verdict = event.packet.len > 0 ? REPLAY_DROPPED : REPLAY_WITHHELD;
    }
    else if (verdict == MeshpaceGateway::Verdict::PLAIN)
    {
        outcome->verdict = REPLAY_PLAIN;
    }
    const auto* connection = std::as_const(*g_gateway).Find(KeyOf(event.packet.flow));
    outcome->copy = connection && connection->Again().from != connection->Again().to;
}

} // namespace

static void
replay_begin()
{
    g_gateway = nullptr;
    Simulator::Destroy();
    trace_defaults(&g_settings);
    g_paths.clear();
    g_floors.clear();
    g_asked.clear();
    g_held.clear();
    g_aliases.clear();
}

static void
replay_configure(const trace_event* event)
{
    const auto host = MeshAddress(event->packet.flow.host);
    RefuseException(*event);
    AdvanceTo(event->now_ns);
    g_settings = event->settings;
    switch (event->kind)
    {
    case TRACE_HOST:
        g_paths[host.Get()] = {event->hops, event->kbps};
        break;
    case TRACE_ALIAS:
        g_aliases.insert(event->packet.flow.host);
        break;
    case TRACE_FLOOR:
        g_floors[KeyOf(event->packet.flow)] = event->number;
        break;
    case TRACE_CAP:
        if (!g_gateway)
        {
            CreateGateway();
        }
        g_gateway->SetCap(host, !event->upwards, event->number, event->each);
        break;
    default:
        break;
    }
    if (g_gateway)
    {
        ApplySettings();
    }
}

static void
replay_packet(const trace_event* event, replay_outcome* outcome)
{
    RefuseException(*event);
    if (!g_gateway)
    {
        CreateGateway();
    }
    AdvanceTo(event->now_ns);
    const auto item = MakeItem(event->packet, event->kind != TRACE_UP);
    if (event->kind == TRACE_AGAIN)
    {
        g_gateway->SentAgain(item);
        return;
    }
    (event->kind == TRACE_DOWN ? ToMesh : FromMesh)(*event, item, outcome);
    outcome->marked = item->GetHeader().GetEcn() == Ipv4Header::ECN_CE && event->packet.ecn != 3 &&
                      outcome->verdict == REPLAY_PASSES;
}

static void
replay_look(const trace_flow* id, bool upload, replay_flow* state)
{
    const auto* connection = g_gateway ? std::as_const(*g_gateway).Find(KeyOf(*id)) : nullptr;
    *state = {};
    if (connection)
    {
        state->at = upload ? connection->Upload().Endpoint() : connection->Down();
        state->known = state->at.progress.seen;
    }
}

static void
replay_look_at_host(const trace_flow* /* id */, replay_host* state)
{
    *state = {};
}

int
main(int argc, char** argv)
{
    if (argc < 2 || std::string_view(argv[1]) == "-s")
    {
        fprintf(stderr, "usage: meshpace-replay-gateway TRACE...    (- is the standard input)\n");
        return 2;
    }
    return replay_arguments(argc, argv, 1);
}
