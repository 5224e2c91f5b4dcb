/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "meshpace-gateway.h"

#include "../law-clock.h"
#include "../now-ns.h"
#include "../tcp/link-rates-option.h"
#include "../tcp/tcp-wire.h"

#include "ns3/simulator.h"
#include "ns3/tcp-header.h"

#include <algorithm>
#include <limits>

namespace ns3
{

MeshpaceGateway::MeshpaceGateway() = default;
MeshpaceGateway::~MeshpaceGateway() = default;

void
MeshpaceGateway::DoInitialize()
{
    Object::DoInitialize();
    BuildLaw(); // attributes may have been set since construction
    ResetGoodputControl();
    if (m_lawName == EVEN)
    {
        m_probeEvent =
            Simulator::Schedule(NanoSeconds(MP_NS_PER_S), &MeshpaceGateway::ProbeStep, this);
    }
    if (SharesHosts())
    {
        m_evenEvent = Simulator::Schedule(NanoSeconds(MP_AIR_STEP_NS),
                                          &MeshpaceGateway::EvenStep,
                                          this);
    }
}

void
MeshpaceGateway::DoDispose()
{
    m_goodputEvent.Cancel();
    m_probeEvent.Cancel();
    m_evenEvent.Cancel();
    m_connections.clear();
    m_urgent.clear();
    m_due.clear();
    m_wakeUp.Nullify();
    m_ask.Nullify();
    Object::DoDispose();
}

void
MeshpaceGateway::SetUrgentCallback(Callback<void, Ptr<QueueDiscItem>> callback, uint32_t radio)
{
    m_urgent[radio] = callback;
}

void
MeshpaceGateway::SetDueCallback(Callback<void> callback, uint32_t radio)
{
    m_due[radio] = callback;
}

void
MeshpaceGateway::SetWakeUpCallback(Callback<void, const MeshpaceKey&, uint32_t> callback)
{
    m_wakeUp = callback;
}

bool
MeshpaceGateway::InMesh(Ipv4Address address) const
{
    return m_meshMask.IsMatch(address, m_meshNetwork);
}

bool
MeshpaceGateway::IsBetween(Ipv4Address wired, Ipv4Address mesh) const
{
    return !InMesh(wired) && InMesh(mesh);
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
    // A connection is adopted in the middle of its life, but not when it breaks.
    const auto flags = segment.Flags();
    const bool begins = segment.payloadBytes > 0 || (flags & TcpHeader::SYN);
    const bool breaks = flags & TcpHeader::RST;
    if (!begins || breaks || m_held >= m_bufferPackets)
    {
        return nullptr;
    }
    RemoveEnded(); // goodput control, beginning anew with every connection, might never do it
    const auto hops = m_hops.find(key.meshAddress);
    const auto link = m_links.find(key.meshAddress);
    auto connection =
        std::make_unique<MeshpaceConnection>(m_settings,
                                             hops == m_hops.end() ? 1 : hops->second,
                                             link == m_links.end() ? mp_link{} : link->second);
    if (const auto rates = m_linkRates.find(key.meshAddress); rates != m_linkRates.end())
    {
        connection->SetLinkRates(rates->second);
    }
    const auto created = m_connections.emplace(key, std::move(connection)).first;
    if (hops != m_hops.end())
    {
        created->second->SetHops(hops->second);
    }
    TellConnection(key, *created->second);
    ResetGoodputControl();
    return created->second.get();
}

MeshpaceGateway::ToMeshVerdict
MeshpaceGateway::ToMesh(Ptr<QueueDiscItem> item, uint32_t radio)
{
    LawClock clock;
    const auto ipv4 = DynamicCast<Ipv4QueueDiscItem>(item);
    if (ipv4 && InMesh(ipv4->GetHeader().GetDestination()))
    {
        m_ways[ipv4->GetHeader().GetDestination().Get()] = {radio, item->GetAddress()};
    }
    const auto segment = TcpSegment::Read(item);
    if (!segment)
    {
        return DatagramToMesh(item, radio);
    }
    const auto& header = StaticCast<Ipv4QueueDiscItem>(item)->GetHeader();
    if (!IsBetween(header.GetSource(), header.GetDestination()) || m_foreign.count(header.GetSource().Get()) > 0)
    {
        return {Verdict::PASS, {}}; // relayed, or its own: no flow of this gateway's
    }
    const MeshpaceKey key{header.GetDestination().Get(),
                          header.GetSource().Get(),
                          segment->DestinationPort(),
                          segment->SourcePort()};
    auto* connection = FindOrCreate(key, *segment);
    if (!connection)
    {
        return {Verdict::PASS, {}};
    }
    const bool nothingElse = connection->See(*segment, false, Simulator::Now());
    if (!IsHeldHere(m_settings.release))
    {
        return nothingElse ? ToMeshVerdict{Verdict::PASS, {}}
                           : TcpOnArrival(key, *connection, *segment, item, radio);
    }
    if (segment->payloadBytes > 0 && mp_endpoint_is_answered(&connection->Down(), NowNs()))
    {
        MayBegin(key.meshAddress, connection->Down());
    }
    auto& upload = connection->Upload();
    const auto upBytes = upload.Bytes();
    if ((segment->Flags() & TcpHeader::ACK) && !nothingElse)
    {
        upload.AckFromWired(*segment, item, NowNs());
    }
    const auto ackedBytes = upload.Bytes() - upBytes;
    m_hostShares.Delivered({key.meshAddress, false}, ackedBytes);
    // An upload is slowed by its ACKs.
    const bool slowed = segment->IsPureAck() && ackedBytes > 0 &&
                        m_hostShares.CapBps({key.meshAddress, false}) > 0;
    // What carries no data waits only so as not to overtake data that does.
    if (segment->payloadBytes == 0 && !slowed && !connection->Holds())
    {
        return {Verdict::PASS, upload.Tell(*segment, NowNs())};
    }
    return Hold(key, *connection, item, radio, slowed ? ackedBytes : 0);
}

MeshpaceGateway::Verdict
MeshpaceGateway::ToWired(Ptr<QueueDiscItem> item)
{
    LawClock clock;
    const auto segment = TcpSegment::Read(item);
    if (!segment)
    {
        return DatagramToWired(item) ? Verdict::WITHHELD : Verdict::PASS;
    }
    const auto& header = StaticCast<const Ipv4QueueDiscItem>(item)->GetHeader();
    if (!IsBetween(header.GetDestination(), header.GetSource()))
    {
        return Verdict::PASS;
    }
    const MeshpaceKey key{header.GetSource().Get(),
                          header.GetDestination().Get(),
                          segment->SourcePort(),
                          segment->DestinationPort()};
    auto* connection = FindOrCreate(key, *segment);
    if (!connection)
    {
        return Verdict::PASS;
    }
    if (segment->Flags() & TcpHeader::SYN)
    {
        Begins(key.meshAddress);
    }
    else if (segment->payloadBytes > 0)
    {
        MayBegin(key.meshAddress, connection->Upload().Endpoint());
    }
    if (connection->See(*segment, true, Simulator::Now()))
    {
        return Verdict::PASS;
    }
    if (Polices(key, *segment, *connection) && !MarkIfCapable(item))
    {
        return Verdict::WITHHELD;
    }
    if (segment->payloadBytes > 0)
    {
        if (!connection->Upload().DataToWired(*segment, NowNs()))
        {
            m_hostShares.OfNobody(item->GetSize());
        }
    }
    else if (segment->Flags() & TcpHeader::FIN)
    {
        connection->Upload().Fin(segment->Seq());
    }
    if (!(segment->Flags() & TcpHeader::ACK))
    {
        return Verdict::PASS;
    }
    connection->SetLinkRates(ReadLinkRates(*segment));
    const auto downBytes = connection->DownBytes();
    const auto verdict = connection->AckFromMesh(*segment, NowNs());
    m_hostShares.Delivered({key.meshAddress, true}, connection->DownBytes() - downBytes);
    SendCopies(key, *connection);
    switch (verdict)
    {
    case MP_ACK_WITHHOLD:
        return Verdict::WITHHELD;
    case MP_ACK_PLAIN:
        return Verdict::PLAIN;
    case MP_ACK_FORWARD:
        break;
    }
    return Verdict::PASS;
}

void
MeshpaceGateway::SendCopies(const MeshpaceKey& key, MeshpaceConnection& connection)
{
    // What is released elsewhere is paid for there.
    const bool paid = !IsHeldHere(m_settings.release);
    for (const auto& copy : connection.Missing())
    {
        if (!paid && !mp_credit_spend(&m_copies[key.meshAddress]))
        {
            connection.Unsent(TcpSegment::Read(copy)->Seq());
            return;
        }
        SendNow(key.meshAddress, copy);
    }
}

void
MeshpaceGateway::SendNow(uint32_t host, Ptr<const QueueDiscItem> item)
{
    const auto& way = m_ways.at(host);
    m_urgent.at(way.radio)(CopyOf(item, way.nextHop));
}

void
MeshpaceGateway::SentAgain(Ptr<const QueueDiscItem> item)
{
    const auto segment = TcpSegment::Read(item);
    const auto& header = StaticCast<const Ipv4QueueDiscItem>(item)->GetHeader();
    const auto found = m_connections.find({header.GetDestination().Get(),
                                           header.GetSource().Get(),
                                           segment->DestinationPort(),
                                           segment->SourcePort()});
    if (found != m_connections.end())
    {
        found->second->SentAgain(*segment, NowNs());
    }
}

MeshpaceGateway::Next
MeshpaceGateway::NextConnection(uint32_t radio, uint64_t nowNs)
{
    Next next;
    for (const auto& [key, connection] : m_connections)
    {
        if (connection->HeadRadio() == radio && DueNs(key, *connection, nowNs) <= nowNs)
        {
            const auto after = key.meshAddress - m_lastHost[radio] - 1;
            next = std::min(next, {after, HeadTag(key, *connection), key.meshAddress, &key});
        }
    }
    return next;
}

MeshpaceGateway::Next
MeshpaceGateway::NextDatagram(uint32_t radio, uint64_t nowNs)
{
    Next next;
    for (const auto& [address, tag] : m_hostShares.DatagramsDue(radio, nowNs))
    {
        next = std::min(next, {address - m_lastHost[radio] - 1, tag, address, nullptr});
    }
    return next;
}

Departure
MeshpaceGateway::Release(uint32_t radio)
{
    LawClock clock;
    const auto nowNs = NowNs();
    if (const auto first = FirstStamped(radio); first != m_stamped.end())
    {
        return first->first > nowNs ? Departure{} : ReleaseStamped(first);
    }
    const auto next = std::min(NextConnection(radio, nowNs), NextDatagram(radio, nowNs));
    if (!next.host)
    {
        return {};
    }
    m_lastHost[radio] = *next.host;
    const auto departure = next.key ? ReleaseOf(*next.key, *m_connections.at(*next.key), nowNs)
                                    : Departure{m_hostShares.Release(*next.host, nowNs), {}};
    const auto behind = next.key ? m_connections.at(*next.key)->HeadRadio()
                                 : m_hostShares.HeadRadio(*next.host);
    if (behind && *behind != radio)
    {
        Simulator::ScheduleNow(&MeshpaceGateway::TellDue, this); // nobody has asked there
    }
    return departure;
}

Time
MeshpaceGateway::NextDeparture(uint32_t radio) const
{
    LawClock clock;
    const auto nowNs = NowNs();
    if (const auto first = FirstStamped(radio); first != m_stamped.end())
    {
        return Max(NanoSeconds(first->first), Simulator::Now()); // it may be overdue: the device was busy
    }
    auto nextNs = m_hostShares.NextNs(radio, nowNs);
    for (const auto& [key, connection] : m_connections)
    {
        if (connection->HeadRadio() == radio)
        {
            nextNs = std::min(nextNs, DueNs(key, *connection, nowNs));
        }
    }
    return nextNs == std::numeric_limits<uint64_t>::max() ? Time::Max() : NanoSeconds(nextNs);
}

std::size_t
MeshpaceGateway::Connections() const
{
    return m_connections.size();
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
        if (!connection->Elsewhere())
        {
            entries.push_back(connection->GoodputEntry());
        }
    }
    return entries;
}

void
MeshpaceGateway::ApplyGoodputEntries(const std::vector<mp_goodput_flow>& entries)
{
    auto entry = entries.begin();
    for (auto& [key, connection] : m_connections)
    {
        if (!connection->Elsewhere())
        {
            connection->Throttle(*entry++);
        }
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
    if (m_settings.goodputControl && !SharesHosts())
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
        const auto silent = Simulator::Now() - connection.LastSeen();
        const bool ended = connection.Ended() && silent >= m_endedTimeout;
        return !connection.Holds() && (ended || silent > m_idleTimeout);
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
