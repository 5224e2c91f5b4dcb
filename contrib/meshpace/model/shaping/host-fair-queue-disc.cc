/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "host-fair-queue-disc.h"

#include "ns3/boolean.h"
#include "ns3/codel-queue-disc.h"
#include "ns3/enum.h"
#include "ns3/log.h"
#include "ns3/queue.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("HostFairQueueDisc");
NS_OBJECT_ENSURE_REGISTERED(HostFairQueueDisc);

namespace
{

/** An Ethernet frame (RFC 8290, section 5.2.4). */
constexpr uint32_t FRAME_BYTES = 1514;

/** Deficits are in so small a part of a byte: a host may have a thousand flows. */
constexpr int64_t PARTS = 1 << 16;

/** sch_cake's least standing queue, packets: of all flows, and for each that keeps a queue. */
constexpr uint32_t LEAST_STANDING = 4;
constexpr uint32_t STANDING_OF_EACH = 2;

/** Idle flows whose CoDel is kept, as many as fq_codel and sch_cake have queues. */
constexpr std::size_t KEPT = 1024;

} // namespace

TypeId
HostFairQueueDisc::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::HostFairQueueDisc")
            .SetParent<QueueDisc>()
            .SetGroupName("Meshpace")
            .AddConstructor<HostFairQueueDisc>()
            .AddAttribute("MaxSize",
                          "How much may wait, of all flows together.",
                          QueueSizeValue(QueueSize("4MiB")),
                          MakeQueueSizeAccessor(&QueueDisc::SetMaxSize, &QueueDisc::GetMaxSize),
                          MakeQueueSizeChecker())
            .AddAttribute("HostIs",
                          "Which end of a packet is the host.",
                          EnumValue(PacketEnd::DESTINATION),
                          MakeEnumAccessor<PacketEnd>(&HostFairQueueDisc::m_hostIs),
                          MakeEnumChecker(PacketEnd::SOURCE,
                                          "Source",
                                          PacketEnd::DESTINATION,
                                          "Destination"))
            .AddAttribute("Target",
                          "CoDel's target (RFC 8289).",
                          TimeValue(MilliSeconds(5)),
                          MakeTimeAccessor(&HostFairQueueDisc::m_target),
                          MakeTimeChecker())
            .AddAttribute("Interval",
                          "CoDel's interval (RFC 8289).",
                          TimeValue(MilliSeconds(100)),
                          MakeTimeAccessor(&HostFairQueueDisc::m_interval),
                          MakeTimeChecker())
            .AddAttribute("Quantum",
                          "What a host's flows may send in a round, bytes.",
                          UintegerValue(FRAME_BYTES),
                          MakeUintegerAccessor(&HostFairQueueDisc::m_quantumBytes),
                          MakeUintegerChecker<uint32_t>(1))
            .AddAttribute("PacketTime",
                          "How long a full packet takes at the rate of all; 0: it is not known.",
                          TimeValue(Time(0)),
                          MakeTimeAccessor(&HostFairQueueDisc::m_packetTime),
                          MakeTimeChecker());
    return tid;
}

HostFairQueueDisc::HostFairQueueDisc()
    : QueueDisc(QueueDiscSizePolicy::MULTIPLE_QUEUES, QueueSizeUnit::BYTES)
{
}

std::size_t
HostFairQueueDisc::Flows() const
{
    return m_flows.size();
}

void
HostFairQueueDisc::DoDispose()
{
    m_flows.clear();
    QueueDisc::DoDispose();
}

bool
HostFairQueueDisc::CheckConfig()
{
    if (GetNQueueDiscClasses() > 0 || GetNPacketFilters() > 0 || GetNInternalQueues() > 0)
    {
        NS_LOG_ERROR("HostFairQueueDisc makes its own classes, and takes no filters or queues");
        return false;
    }
    return true;
}

void
HostFairQueueDisc::InitializeParams()
{
}

bool
HostFairQueueDisc::DoEnqueue(Ptr<QueueDiscItem> item)
{
    auto& flow = Find(item);
    if (!flow.queue->Enqueue(item))
    {
        return false; // the queue has counted the loss
    }
    Wake(flow);
    while (GetNBytes() > GetMaxSize().GetValue())
    {
        DropFromLongest();
    }
    return true;
}

Ptr<QueueDiscItem>
HostFairQueueDisc::DoDequeue()
{
    while (true)
    {
        auto& turns = m_new.empty() ? m_old : m_new;
        if (turns.empty())
        {
            return nullptr;
        }
        auto& flow = m_flows[turns.front()];
        if (flow.deficit <= 0)
        {
            SetBulk(flow, flow.bulk || flow.queue->GetNPackets() > 0);
            flow.deficit += Quantum(flow);
            Move(flow, m_old);
        }
        else if (auto item = Send(flow))
        {
            return item;
        }
        else
        {
            Rest(flow);
        }
    }
}

HostFairQueueDisc::Flow&
HostFairQueueDisc::Find(Ptr<const QueueDiscItem> item)
{
    const Key key{HostOf(item, m_hostIs), item->Hash(0)};
    if (const auto found = m_places.find(key); found != m_places.end())
    {
        return m_flows[found->second];
    }
    auto& flow = Spare();
    flow.key = key;
    m_places.emplace(key, *flow.at);
    return flow;
}

HostFairQueueDisc::Flow&
HostFairQueueDisc::Spare()
{
    if (m_idle.size() >= KEPT)
    {
        auto& oldest = m_flows[m_idle.front()];
        m_places.erase(oldest.key);
        return oldest;
    }
    auto queue = CreateObjectWithAttributes<CoDelQueueDisc>("MaxSize",
                                                            QueueSizeValue(GetMaxSize()),
                                                            "Target",
                                                            TimeValue(m_target),
                                                            "Interval",
                                                            TimeValue(m_interval),
                                                            "UseEcn",
                                                            BooleanValue(true));
    queue->Initialize();
    auto own = CreateObject<QueueDiscClass>();
    own->SetQueueDisc(queue);
    AddQueueDiscClass(own);
    auto& flow = m_flows.emplace_back();
    flow.queue = queue;
    flow.in = &m_idle;
    flow.at = m_idle.insert(m_idle.end(), m_flows.size() - 1);
    return flow;
}

void
HostFairQueueDisc::Wake(Flow& flow)
{
    if (flow.in == &m_idle)
    {
        flow.deficit = Quantum(flow);
        Move(flow, m_new);
    }
    else if (flow.in == &m_old)
    {
        SetBulk(flow, true);
    }
}

/** One that was new goes round once more, or it would always be new (RFC 8290, section 4.2). */
void
HostFairQueueDisc::Rest(Flow& flow)
{
    if (flow.in == &m_new && !m_old.empty())
    {
        Move(flow, m_old);
        return;
    }
    SetBulk(flow, false);
    Move(flow, m_idle);
}

void
HostFairQueueDisc::Move(Flow& flow, Turns& to)
{
    to.splice(to.end(), *flow.in, flow.at);
    flow.in = &to;
}

void
HostFairQueueDisc::SetBulk(Flow& flow, bool bulk)
{
    if (flow.bulk == bulk)
    {
        return;
    }
    flow.bulk = bulk;
    m_bulk += bulk ? 1 : -1;
    const auto host = m_bulkFlows.try_emplace(flow.key.first, 0).first;
    host->second += bulk ? 1 : -1;
    if (host->second == 0)
    {
        m_bulkFlows.erase(host);
    }
}

Ptr<QueueDiscItem>
HostFairQueueDisc::Send(Flow& flow)
{
    const int64_t standing = std::max(LEAST_STANDING, STANDING_OF_EACH * m_bulk);
    const auto target = Max(m_target, m_packetTime * standing);
    if (flow.target != target)
    {
        flow.target = target;
        flow.queue->SetAttribute("Target", TimeValue(target));
    }
    auto item = flow.queue->Dequeue();
    flow.deficit -= item ? item->GetSize() * PARTS : 0;
    return item;
}

int64_t
HostFairQueueDisc::Quantum(const Flow& flow) const
{
    const auto host = m_bulkFlows.find(flow.key.first);
    const int64_t flows = host == m_bulkFlows.end() ? 1 : host->second;
    return m_quantumBytes * PARTS / flows;
}

void
HostFairQueueDisc::DropFromLongest()
{
    const auto longest =
        std::max_element(m_flows.begin(), m_flows.end(), [](const Flow& one, const Flow& other) {
            return one.queue->GetNBytes() < other.queue->GetNBytes();
        });
    DropAfterDequeue(longest->queue->GetInternalQueue(0)->Dequeue(), OVERLIMIT_DROP);
}

} // namespace ns3
