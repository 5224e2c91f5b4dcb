/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "rated-queue-disc.h"

#include "ns3/enum.h"
#include "ns3/log.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <limits>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RatedQueueDisc");
NS_OBJECT_ENSURE_REGISTERED(RatedQueueDisc);

namespace
{

constexpr uint64_t NS_PER_S = 1'000'000'000;
constexpr uint32_t FULL_PACKET_BYTES = 1500;

// CoDel's defaults (RFC 8290, sections 5.2.1 and 5.2.2), which sch_cake has, too.
const Time TARGET = MilliSeconds(5);
const Time INTERVAL = MilliSeconds(100);

// sch_cake's round: what the rate sends in 1/4096 s, at most an Ethernet frame.
constexpr uint64_t ROUNDS_PER_S = 4096;
constexpr uint64_t LEAST_ROUND_BYTES = 300;
constexpr uint64_t MOST_ROUND_BYTES = 1514;

// sch_cake's buffer: four times what the rate sends in an interval, at least 4 MiB.
constexpr uint64_t INTERVALS_HELD = 4;
constexpr uint64_t LEAST_BYTES_HELD = 4 << 20;

/** @return how long bytes take at a rate */
Time
Duration(uint64_t bytes, uint64_t bitsPerS)
{
    return NanoSeconds(bytes * 8 * NS_PER_S / bitsPerS);
}

/** @return how many bytes may wait for a rate */
uint32_t
BytesHeld(uint64_t bitsPerS)
{
    const auto perInterval = bitsPerS / 8 * INTERVAL.GetMilliSeconds() / 1000;
    return std::max(INTERVALS_HELD * perInterval, LEAST_BYTES_HELD);
}

} // namespace

TypeId
RatedQueueDisc::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::RatedQueueDisc")
            .SetParent<QueueDisc>()
            .SetGroupName("Meshpace")
            .AddConstructor<RatedQueueDisc>()
            .AddAttribute("HostIs",
                          "Which end of a packet is the host.",
                          EnumValue(PacketEnd::DESTINATION),
                          MakeEnumAccessor<PacketEnd>(&RatedQueueDisc::m_hostIs),
                          MakeEnumChecker(PacketEnd::SOURCE,
                                          "Source",
                                          PacketEnd::DESTINATION,
                                          "Destination"));
    return tid;
}

RatedQueueDisc::RatedQueueDisc()
    : QueueDisc(QueueDiscSizePolicy::NO_LIMITS)
{
}

void
RatedQueueDisc::SetRate(uint64_t bitsPerS)
{
    NS_ASSERT_MSG(bitsPerS > 0, "a rate");
    m_others.bitsPerS = bitsPerS;
}

void
RatedQueueDisc::SetHostRate(Ipv4Address host, uint64_t bitsPerS)
{
    NS_ASSERT_MSG(bitsPerS > 0, "a rate");
    m_hosts[host.Get()].bitsPerS = bitsPerS;
}

uint32_t
RatedQueueDisc::MaxPackets() const
{
    return m_maxPackets;
}

void
RatedQueueDisc::ResetStatistics()
{
    m_maxPackets = GetNPackets();
}

void
RatedQueueDisc::DoDispose()
{
    m_run.Cancel();
    Free(m_others);
    for (auto& [host, part] : m_hosts)
    {
        Free(part);
    }
    QueueDisc::DoDispose();
}

bool
RatedQueueDisc::CheckConfig()
{
    if (GetNQueueDiscClasses() > 0 || GetNPacketFilters() > 0 || GetNInternalQueues() > 0)
    {
        NS_LOG_ERROR("RatedQueueDisc makes its own classes, and takes no filters or queues");
        return false;
    }
    AddQueue(m_others);
    for (auto& [host, part] : m_hosts)
    {
        AddQueue(part);
    }
    return true;
}

/** Nobody would run it again after a quota. */
void
RatedQueueDisc::InitializeParams()
{
    SetQuota(std::numeric_limits<uint32_t>::max());
}

void
RatedQueueDisc::AddQueue(Part& part)
{
    part.queue = CreateObjectWithAttributes<HostFairQueueDisc>("HostIs", EnumValue(m_hostIs));
    if (part.bitsPerS > 0)
    {
        const auto target = Max(TARGET, Duration(FULL_PACKET_BYTES * 3 / 2, part.bitsPerS));
        const auto held = QueueSize(QueueSizeUnit::BYTES, BytesHeld(part.bitsPerS));
        part.queue->SetAttribute("Target", TimeValue(target));
        part.queue->SetAttribute("PacketTime", TimeValue(Duration(FULL_PACKET_BYTES, part.bitsPerS)));
        part.queue->SetAttribute("Interval", TimeValue(Max(INTERVAL + target - TARGET, 2 * target)));
        part.queue->SetAttribute("MaxSize", QueueSizeValue(held));
        const auto roundBytes = std::clamp(part.bitsPerS / 8 / ROUNDS_PER_S, LEAST_ROUND_BYTES, MOST_ROUND_BYTES);
        part.queue->SetAttribute("Quantum", UintegerValue(roundBytes));
    }
    auto own = CreateObject<QueueDiscClass>();
    own->SetQueueDisc(part.queue);
    AddQueueDiscClass(own);
}

/** A disc does not dispose of its classes. */
void
RatedQueueDisc::Free(Part& part)
{
    if (part.queue)
    {
        part.queue->Dispose();
        part.queue = nullptr;
    }
}

RatedQueueDisc::Part&
RatedQueueDisc::PartOf(Ptr<const QueueDiscItem> item)
{
    const auto host = m_hosts.find(HostOf(item, m_hostIs));
    return host == m_hosts.end() ? m_others : host->second;
}

bool
RatedQueueDisc::DoEnqueue(Ptr<QueueDiscItem> item)
{
    auto& part = PartOf(item);
    if (part.queue->GetNPackets() == 0)
    {
        part.next = Max(part.next, Simulator::Now());
    }
    const auto held = part.queue->Enqueue(item);
    m_maxPackets = std::max(m_maxPackets, GetNPackets());
    return held;
}

RatedQueueDisc::Part*
RatedQueueDisc::First()
{
    Part* first = nullptr;
    const auto look = [&first](Part& part) {
        const bool waits = part.bitsPerS > 0 && part.queue->GetNPackets() > 0;
        first = waits && (!first || part.next < first->next) ? &part : first;
    };
    look(m_others);
    for (auto& [host, part] : m_hosts)
    {
        look(part);
    }
    return first;
}

Ptr<QueueDiscItem>
RatedQueueDisc::DoDequeue()
{
    m_run.Cancel();
    const auto now = Simulator::Now();
    auto* first = First();
    for (; first && first->next <= now; first = First())
    {
        // CoDel may drop all that waits.
        if (auto item = first->queue->Dequeue())
        {
            first->next += Duration(item->GetSize(), first->bitsPerS);
            return item;
        }
    }
    if (first)
    {
        m_run = Simulator::Schedule(first->next - now, &QueueDisc::Run, this);
    }
    return m_others.bitsPerS > 0 ? nullptr : m_others.queue->Dequeue();
}

} // namespace ns3
