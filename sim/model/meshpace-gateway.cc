/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "meshpace-gateway.h"

#include "law-clock.h"

#include "ns3/boolean.h"
#include "ns3/log.h"
#include "ns3/simulator.h"
#include "ns3/tcp-header.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("MeshpaceGateway");
NS_OBJECT_ENSURE_REGISTERED(MeshpaceGateway);

namespace
{

uint64_t
NowNs()
{
    return Simulator::Now().GetNanoSeconds();
}

} // namespace

TypeId
MeshpaceGateway::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::MeshpaceGateway")
            .SetParent<Object>()
            .SetGroupName("Meshpace")
            .AddConstructor<MeshpaceGateway>()
            .AddAttribute("MeshNetwork",
                          "Network address of the mesh's hosts.",
                          Ipv4AddressValue("10.1.0.0"),
                          MakeIpv4AddressAccessor(&MeshpaceGateway::m_meshNetwork),
                          MakeIpv4AddressChecker())
            .AddAttribute("MeshMask",
                          "Network mask of the mesh's hosts.",
                          Ipv4MaskValue("255.255.0.0"),
                          MakeIpv4MaskAccessor(&MeshpaceGateway::m_meshMask),
                          MakeIpv4MaskChecker())
            .AddAttribute("BitRate",
                          "Bit rate of the wireless links in kbit/s (b in the papers).",
                          UintegerValue(11000),
                          MakeUintegerAccessor(&MeshpaceGateway::SetBitRateKbps),
                          MakeUintegerChecker<uint32_t>())
            .AddAttribute("GoodputControl",
                          "Whether fast wired-to-wireless flows are throttled to the mean.",
                          BooleanValue(true),
                          MakeBooleanAccessor(&MeshpaceGateway::SetGoodputControl),
                          MakeBooleanChecker())
            .AddAttribute("LocalRetransmission",
                          "Whether the gateway answers duplicate ACKs from the mesh itself.",
                          BooleanValue(true),
                          MakeBooleanAccessor(&MeshpaceGateway::SetLocalRetransmission),
                          MakeBooleanChecker())
            .AddAttribute("DelayBound",
                          "RTT samples above this are discarded; zero takes all of them.",
                          TimeValue(NanoSeconds(MP_DELAY_BOUND_NS)),
                          MakeTimeAccessor(&MeshpaceGateway::m_delayBound),
                          MakeTimeChecker())
            .AddAttribute("IdleTimeout",
                          "A connection silent for so long is forgotten.",
                          TimeValue(Minutes(3)),
                          MakeTimeAccessor(&MeshpaceGateway::m_idleTimeout),
                          MakeTimeChecker())
            .AddAttribute("BufferPackets",
                          "While so many packets wait in pacing queues, new connections are "
                          "forwarded unpaced.",
                          UintegerValue(8192),
                          MakeUintegerAccessor(&MeshpaceGateway::m_bufferPackets),
                          MakeUintegerChecker<uint32_t>(1));
    return tid;
}

MeshpaceGateway::MeshpaceGateway() = default;
MeshpaceGateway::~MeshpaceGateway() = default;

void
MeshpaceGateway::SetBitRateKbps(uint32_t kbps)
{
    m_settings.bitRateKbps = kbps;
}

void
MeshpaceGateway::SetGoodputControl(bool on)
{
    m_settings.goodputControl = on;
}

void
MeshpaceGateway::SetLocalRetransmission(bool on)
{
    m_settings.localRetransmission = on;
}

void
MeshpaceGateway::NotifyConstructionCompleted()
{
    Object::NotifyConstructionCompleted();
    m_settings.law = mp_law_gap();
    m_settings.law.delay_bound_ns = m_delayBound.GetNanoSeconds();
    m_settings.goodput = mp_goodput_law_gap();
}

void
MeshpaceGateway::DoInitialize()
{
    Object::DoInitialize();
    ResetGoodputControl();
}

void
MeshpaceGateway::DoDispose()
{
    m_goodputEvent.Cancel();
    m_connections.clear();
    m_urgent.Nullify();
    Object::DoDispose();
}

void
MeshpaceGateway::SetHops(Ipv4Address host, uint32_t hops)
{
    m_hops[host.Get()] = hops;
}

void
MeshpaceGateway::SetUrgentCallback(Callback<void, Ptr<QueueDiscItem>> callback)
{
    m_urgent = callback;
}

bool
MeshpaceGateway::InMesh(Ipv4Address address) const
{
    return m_meshMask.IsMatch(address, m_meshNetwork);
}

const MeshpaceConnection*
MeshpaceGateway::Find(const MeshpaceKey& key) const
{
    const auto found = m_connections.find(key);
    return found == m_connections.end() ? nullptr : found->second.get();
}

MeshpaceConnection*
MeshpaceGateway::FindOrCreate(const MeshpaceKey& key, const TcpSegment& segment)
{
    if (const auto found = m_connections.find(key); found != m_connections.end())
    {
        return found->second.get();
    }
    // A connection is adopted in the middle of its life, but not by its last breath.
    const auto flags = segment.Flags();
    const bool begins = segment.payloadBytes > 0 || (flags & TcpHeader::SYN);
    const bool ends = flags & (TcpHeader::FIN | TcpHeader::RST);
    if (!begins || ends || m_held >= m_bufferPackets)
    {
        return nullptr;
    }
    const auto hops = m_hops.find(key.meshAddress);
    auto connection =
        std::make_unique<MeshpaceConnection>(m_settings,
                                             hops == m_hops.end() ? 1 : hops->second);
    const auto created = m_connections.emplace(key, std::move(connection)).first;
    ResetGoodputControl();
    return created->second.get();
}

MeshpaceGateway::ToMeshVerdict
MeshpaceGateway::ToMesh(Ptr<QueueDiscItem> item)
{
    LawClock clock;
    const auto segment = TcpSegment::Read(item);
    if (!segment)
    {
        return {Verdict::PASS, 0};
    }
    const auto& header = StaticCast<Ipv4QueueDiscItem>(item)->GetHeader();
    if (InMesh(header.GetSource()))
    {
        return {Verdict::PASS, 0}; // between two mesh hosts: no flow of the gateway's
    }
    const MeshpaceKey key{header.GetDestination().Get(),
                          header.GetSource().Get(),
                          segment->DestinationPort(),
                          segment->SourcePort()};
    auto* connection = FindOrCreate(key, *segment);
    if (!connection)
    {
        return {Verdict::PASS, 0};
    }
    connection->See(*segment, false, Simulator::Now());
    const bool acks = segment->Flags() & TcpHeader::ACK;
    const auto rttWiredUs = acks ? connection->AckFromWired(*segment, NowNs()) : 0;
    // What carries no data waits only so as not to overtake data that does.
    if (segment->payloadBytes == 0 && !connection->Holds())
    {
        return {Verdict::PASS, segment->IsPureAck() ? rttWiredUs : 0};
    }
    if (!connection->Hold(item))
    {
        return {Verdict::DROP, 0};
    }
    m_maxHeld = std::max(m_maxHeld, ++m_held);
    return {Verdict::HELD, 0};
}

MeshpaceGateway::Verdict
MeshpaceGateway::ToWired(Ptr<const QueueDiscItem> item)
{
    LawClock clock;
    const auto segment = TcpSegment::Read(item);
    if (!segment)
    {
        return Verdict::PASS;
    }
    const auto& header = StaticCast<const Ipv4QueueDiscItem>(item)->GetHeader();
    const MeshpaceKey key{header.GetSource().Get(),
                          header.GetDestination().Get(),
                          segment->SourcePort(),
                          segment->DestinationPort()};
    auto* connection = FindOrCreate(key, *segment);
    if (!connection)
    {
        return Verdict::PASS;
    }
    connection->See(*segment, true, Simulator::Now());
    if (segment->payloadBytes > 0)
    {
        connection->DataToWired(*segment, NowNs());
    }
    if (!(segment->Flags() & TcpHeader::ACK))
    {
        return Verdict::PASS;
    }
    switch (connection->AckFromMesh(*segment, NowNs()))
    {
    case MP_ACK_RETRANSMIT:
        m_urgent(connection->Retransmit(NowNs()));
        return Verdict::WITHHELD;
    case MP_ACK_WITHHOLD:
        return Verdict::WITHHELD;
    case MP_ACK_FORWARD:
        break;
    }
    return Verdict::PASS;
}

Ptr<QueueDiscItem>
MeshpaceGateway::Release()
{
    LawClock clock;
    const auto nowNs = NowNs();
    // In turn, from the connection after the last one served: before the first samples all are
    // unpaced, and the device must not be the first one's alone.
    auto next = m_connections.upper_bound(m_lastReleased);
    for (std::size_t i = 0; i < m_connections.size(); i++, next++)
    {
        if (next == m_connections.end())
        {
            next = m_connections.begin();
        }
        auto& [key, connection] = *next;
        if (connection->Holds() && connection->DepartureNs(nowNs) <= nowNs)
        {
            m_held--;
            m_lastReleased = key;
            return connection->Release(nowNs);
        }
    }
    return nullptr;
}

Time
MeshpaceGateway::NextDeparture() const
{
    LawClock clock;
    const auto nowNs = NowNs();
    auto next = Time::Max();
    for (const auto& [key, connection] : m_connections)
    {
        if (connection->Holds())
        {
            next = std::min(next, NanoSeconds(connection->DepartureNs(nowNs)));
        }
    }
    return next;
}

uint32_t
MeshpaceGateway::HeldPackets() const
{
    return m_held;
}

std::vector<mp_goodput_flow>
MeshpaceGateway::GoodputEntries()
{
    std::vector<mp_goodput_flow> entries;
    for (auto& [key, connection] : m_connections)
    {
        entries.push_back(connection->GoodputEntry());
    }
    return entries;
}

void
MeshpaceGateway::ApplyGoodputEntries(const std::vector<mp_goodput_flow>& entries)
{
    auto entry = entries.begin();
    for (auto& [key, connection] : m_connections)
    {
        connection->GoodputEntry() = *entry++;
    }
}

void
MeshpaceGateway::GoodputStep()
{
    LawClock clock;
    if (RemoveEnded())
    {
        ResetGoodputControl();
        return;
    }
    if (m_settings.goodputControl)
    {
        auto entries = GoodputEntries();
        m_throttles += mp_goodput_step(&m_goodput,
                                       &m_settings.goodput,
                                       entries.data(),
                                       entries.size(),
                                       NowNs());
        ApplyGoodputEntries(entries);
    }
    ScheduleGoodputStep();
}

void
MeshpaceGateway::ScheduleGoodputStep()
{
    m_goodputEvent.Cancel();
    m_goodputEvent = Simulator::Schedule(NanoSeconds(m_settings.goodput.step_ns),
                                         &MeshpaceGateway::GoodputStep,
                                         this);
}

void
MeshpaceGateway::ResetGoodputControl()
{
    auto entries = GoodputEntries();
    mp_goodput_reset(&m_goodput, entries.data(), entries.size(), NowNs());
    ApplyGoodputEntries(entries);
    ScheduleGoodputStep();
}

bool
MeshpaceGateway::RemoveEnded()
{
    return std::erase_if(m_connections, [this](const auto& entry) {
        const auto& connection = *entry.second;
        const bool idle = Simulator::Now() - connection.LastSeen() > m_idleTimeout;
        return !connection.Holds() && (connection.Ended() || idle);
    });
}

void
MeshpaceGateway::ResetStatistics()
{
    for (auto& [key, connection] : m_connections)
    {
        connection->ResetStatistics();
    }
    m_throttles = 0;
    m_maxHeld = m_held;
}

uint64_t
MeshpaceGateway::Throttles() const
{
    return m_throttles;
}

uint32_t
MeshpaceGateway::MaxHeldPackets() const
{
    return m_maxHeld;
}

} // namespace ns3
