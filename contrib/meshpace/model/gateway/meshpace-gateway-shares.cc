/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// MeshpaceGateway under the law `even`: what each host gets, and what waits for that.

#include "meshpace-gateway.h"

#include "../law-clock.h"
#include "../now-ns.h"

#include "ns3/simulator.h"
#include "ns3/udp-l4-protocol.h"

#include <algorithm>

namespace ns3
{

bool
MeshpaceGateway::SharesHosts() const
{
    return m_lawName == EVEN && m_settings.goodputControl;
}

const MeshpaceHosts&
MeshpaceGateway::Hosts() const
{
    return m_hostShares;
}

bool
MeshpaceGateway::IsDatagramForMesh(Ptr<const QueueDiscItem> item) const
{
    const auto ipv4 = DynamicCast<const Ipv4QueueDiscItem>(item);
    if (!ipv4)
    {
        return false;
    }
    const auto from = ipv4->GetHeader().GetSource();
    const auto to = ipv4->GetHeader().GetDestination();
    return InMesh(to) && !to.IsSubnetDirectedBroadcast(m_meshMask) && !InMesh(from) &&
           m_foreign.count(from.Get()) == 0;
}

MeshpaceGateway::ToMeshVerdict
MeshpaceGateway::DatagramToMesh(Ptr<QueueDiscItem> item, uint32_t radio)
{
    if (m_lawName != EVEN || !IsDatagramForMesh(item))
    {
        return {Verdict::PASS, {}};
    }
    const auto host = StaticCast<Ipv4QueueDiscItem>(item)->GetHeader().GetDestination().Get();
    if (!IsHeldHere(m_settings.release))
    {
        return DatagramOnArrival(item, host, radio);
    }
    switch (m_hostShares.Datagram(item, radio, host, InLineTo(host), NowNs()))
    {
    case MeshpaceHosts::Fate::WAITS:
        return {Verdict::HELD, {}};
    case MeshpaceHosts::Fate::DROPPED:
        return {Verdict::DROP, {}};
    case MeshpaceHosts::Fate::PASSES:
        break;
    }
    return {Verdict::PASS, {}};
}

bool
MeshpaceGateway::DatagramToWired(Ptr<QueueDiscItem> item)
{
    const auto ipv4 = DynamicCast<const Ipv4QueueDiscItem>(item);
    if (!ipv4 || !InMesh(ipv4->GetHeader().GetSource()))
    {
        return false;
    }
    const auto host = ipv4->GetHeader().GetSource().Get();
    // What is lost here has used the air, and counts.
    m_hostShares.DatagramToWired(host, item->GetSize());
    if (ipv4->GetHeader().GetProtocol() == UdpL4Protocol::PROT_NUMBER &&
        m_hostShares.DatagramBegins(item, host, NowNs()))
    {
        Begins(host);
    }
    return PolicesDatagram(item, host);
}

void
MeshpaceGateway::Begins(uint32_t host)
{
    if (SharesHosts() && m_settings.paces && !(m_omit & MP_OMIT_MOMENT))
    {
        m_hostShares.Begins(host, m_settings.law.hop_wait_ns, NowNs());
    }
}

void
MeshpaceGateway::MayBegin(uint32_t host, const mp_endpoint& flow)
{
    if (mp_flow_begins(flow.data_ns, NowNs()))
    {
        Begins(host);
    }
}

uint32_t
MeshpaceGateway::InLineTo(uint32_t address) const
{
    return std::ranges::count_if(m_connections, [address, nowNs = NowNs()](const auto& entry) {
        return entry.first.meshAddress == address && entry.second->Holds() &&
               entry.second->HeadReadyNs() <= nowNs;
    });
}

uint64_t
MeshpaceGateway::HeadTag(const MeshpaceKey& key, MeshpaceConnection& connection) const
{
    return m_hostShares.Tag({key.meshAddress, !connection.HeadAcknowledges()},
                            connection.HeadTurn());
}

uint64_t
MeshpaceGateway::CapIntervalNs(const MeshpaceKey& key, const MeshpaceConnection& connection) const
{
    const auto flows = InLineTo(key.meshAddress) + m_hostShares.DatagramBuckets(key.meshAddress);
    return mp_turn_interval_ns(m_hostShares.CapBps({key.meshAddress, true}),
                               connection.DownSegmentBytes(),
                               flows);
}

MeshpaceGateway::ToMeshVerdict
MeshpaceGateway::Hold(const MeshpaceKey& key,
                      MeshpaceConnection& connection,
                      Ptr<QueueDiscItem> item,
                      uint32_t radio,
                      uint32_t ackedBytes)
{
    const bool data = ackedBytes == 0;
    const auto capIntervalNs = CapIntervalNs(key, connection);
    const bool beyond = data && connection.WaitsBeyond(capIntervalNs);
    if (beyond ||
        (data && connection.WaitsTooLong(capIntervalNs, NowNs()) && !MarkIfCapable(item)))
    {
        return {Verdict::DROP, {}};
    }
    if (!connection.Hold(item, radio, NowNs(), ackedBytes))
    {
        return {Verdict::DROP, {}};
    }
    m_maxHeld = std::max(m_maxHeld, ++m_held);
    return {Verdict::HELD, {}};
}

uint64_t
MeshpaceGateway::DueNs(const MeshpaceKey& key,
                       const MeshpaceConnection& connection,
                       uint64_t nowNs) const
{
    const MeshpaceHosts::Key host{key.meshAddress, !connection.HeadAcknowledges()};
    const auto readyNs = connection.HeadReadyNs();
    const bool counts = connection.HeadBytes() > 0;
    return std::max(counts ? m_hostShares.DueNs(host, readyNs) : readyNs, nowNs);
}

Departure
MeshpaceGateway::ReleaseOf(const MeshpaceKey& key,
                           MeshpaceConnection& connection,
                           uint64_t nowNs)
{
    const auto bytes = connection.HeadBytes();
    if (bytes > 0)
    {
        m_hostShares.Departed({key.meshAddress, !connection.HeadAcknowledges()},
                              connection.HeadTurn(),
                              bytes,
                              connection.HeadReadyNs(),
                              nowNs);
    }
    if (bytes > 0 && !connection.HeadAcknowledges())
    {
        mp_credit_earn(&m_copies[key.meshAddress]);
    }
    m_held--;
    return connection.Release(nowNs);
}

void
MeshpaceGateway::ShareStep()
{
    for (const auto& [key, connection] : m_connections)
    {
        if (!connection->Elsewhere())
        {
            const auto demand = connection->DownDemand(NowNs());
            m_hostShares.Demands({key.meshAddress, true}, demand);
            m_hostShares.Exceeds({key.meshAddress, true}, connection->DownExcessBytes());
            m_hostShares.Demands({key.meshAddress, false}, connection->Upload().Demand(NowNs()));
            m_hostShares.Hears(key.meshAddress,
                               connection->Down(),
                               connection->Upload().Endpoint(),
                               demand.waits, // not ACKs, by which an upload is held
                               NowNs());
        }
    }
    for (const auto& [address, hops] : m_hops)
    {
        m_hostShares.KnowHops(address, hops);
    }
    OpaqueStep();
    m_throttles += m_hostShares.Step(NowNs());
    TellConnections();
    TellDue();
}

void
MeshpaceGateway::OpaqueStep()
{
    if (m_omit & MP_OMIT_OPAQUE || m_ask.IsNull() || !m_settings.paces)
    {
        return;
    }
    m_hostShares.NobodySteps(NowNs());
    std::vector<uint32_t> asked;
    for (const auto& [address, hops] : m_hops)
    {
        if (m_hostShares.OpaqueStep(address, hops, NowNs()))
        {
            asked.push_back(address);
        }
    }
    std::ranges::stable_sort(asked, {}, [this](uint32_t host) { return m_echoes.LatestNs(host); });
    for (const auto host : asked)
    {
        if (m_echoes.Spend(host, NowNs()))
        {
            m_hostShares.Asked(host);
            m_ask(host);
        }
    }
}

void
MeshpaceGateway::SetAskCallback(Callback<void, uint32_t> callback)
{
    m_ask = callback;
}

void
MeshpaceGateway::Answered(uint32_t host, Time rtt)
{
    m_hostShares.Answered(host, rtt.GetNanoSeconds(), NowNs());
}

void
MeshpaceGateway::TellDue()
{
    for (const auto& [radio, wake] : m_due)
    {
        wake();
    }
}

void
MeshpaceGateway::TellConnection(const MeshpaceKey& key, MeshpaceConnection& connection)
{
    const bool tells = m_lawName == EVEN && m_settings.paces;
    connection.SetShared(m_hostShares.Shared());
    connection.Share(tells ? m_hostShares.FlowBps({key.meshAddress, false}) : 0);
}

void
MeshpaceGateway::TellConnections()
{
    for (const auto& [key, connection] : m_connections)
    {
        TellConnection(key, *connection);
    }
}

void
MeshpaceGateway::SetCap(Ipv4Address host, bool down, uint64_t capBps, uint64_t flowBps)
{
    m_hostShares.SetCap({host.Get(), down}, capBps, flowBps);
    TellConnections();
    TellDue();
}

void
MeshpaceGateway::SetShared(bool shared)
{
    m_hostShares.SetShared(shared);
    TellConnections();
}

std::vector<std::pair<const MeshpaceKey*, MeshpaceConnection*>>
MeshpaceGateway::DueAsks(bool down)
{
    std::vector<std::pair<const MeshpaceKey*, MeshpaceConnection*>> due;
    for (const auto& [key, connection] : m_connections)
    {
        const bool asks = down ? connection->IsToProbe(NowNs())
                               : !m_wakeUp.IsNull() && connection->IsToWakeUp(NowNs());
        if (asks && !connection->Elsewhere())
        {
            due.emplace_back(&key, connection.get());
        }
    }
    const auto& asked = down ? m_probes : m_wakeUps;
    const auto turn = [&asked, down](const auto& entry) {
        return std::pair{asked.LatestNs(entry.first->meshAddress), entry.second->Asks(down).latest_ns};
    };
    std::stable_sort(due.begin(), due.end(), [&turn](const auto& a, const auto& b) {
        return turn(a) < turn(b);
    });
    return due;
}

void
MeshpaceGateway::ProbeStalledPaths()
{
    for (const auto& [key, connection] : DueAsks(true))
    {
        if (m_probes.Spend(key->meshAddress, NowNs()))
        {
            mp_probe_sent(&connection->Asks(true), NowNs());
            SendNow(key->meshAddress, connection->Copy());
        }
    }
    for (const auto& [key, connection] : DueAsks(false))
    {
        if (!m_wakeUps.Spend(key->meshAddress, NowNs()))
        {
            continue;
        }
        mp_probe_sent(&connection->Asks(false), NowNs());
        if (auto ack = connection->Upload().AckAgain())
        {
            SendNow(key->meshAddress, ack);
        }
        m_wakeUp(*key, connection->Upload().Ack());
    }
}

void
MeshpaceGateway::ProbeStep()
{
    LawClock clock;
    ProbeStalledPaths();
    m_probeEvent = Simulator::Schedule(NanoSeconds(MP_NS_PER_S), &MeshpaceGateway::ProbeStep, this);
}

void
MeshpaceGateway::EvenStep()
{
    LawClock clock;
    ShareStep();
    m_evenEvent =
        Simulator::Schedule(NanoSeconds(MP_AIR_STEP_NS), &MeshpaceGateway::EvenStep, this);
}

} // namespace ns3
