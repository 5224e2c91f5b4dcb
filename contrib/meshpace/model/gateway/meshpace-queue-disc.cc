/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "meshpace-queue-disc.h"

#include "../tcp/link-rates-option.h"
#include "../tcp/tcp-wire.h"

#include "ns3/drop-tail-queue.h"
#include "ns3/log.h"
#include "ns3/object-factory.h"
#include "ns3/simulator.h"

#include <unordered_map>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("MeshpaceQueueDisc");
NS_OBJECT_ENSURE_REGISTERED(MeshpaceMeshQueueDisc);
NS_OBJECT_ENSURE_REGISTERED(MeshpaceWiredQueueDisc);

namespace
{

constexpr std::size_t PASSING = 0;
constexpr std::size_t HELD = 1;

/**
 * All packets that wait in pacing queues, whichever leaves first: ns-3 counts a disc's
 * packets by its internal queues, of which none can be taken away when a flow ends.
 */
class MeshpaceHeldQueue : public Queue<QueueDiscItem>
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::MeshpaceHeldQueue")
                                .SetParent<Queue<QueueDiscItem>>()
                                .SetGroupName("Meshpace")
                                .AddConstructor<MeshpaceHeldQueue>();
        return tid;
    }

    bool Enqueue(Ptr<QueueDiscItem> item) override
    {
        Iterator position;
        const bool enqueued = DoEnqueue(GetContainer().end(), item, position);
        if (enqueued)
        {
            m_positions[PeekPointer(item)] = position;
        }
        return enqueued;
    }

    /**
     * Takes out one packet.
     * @param item the packet; one that came to a disc which was here before is not in the queue
     */
    void Take(Ptr<QueueDiscItem> item)
    {
        if (const auto found = m_positions.find(PeekPointer(item)); found != m_positions.end())
        {
            DoDequeue(found->second);
            m_positions.erase(found);
        }
    }

    Ptr<QueueDiscItem> Dequeue() override
    {
        return TakeOldest(&MeshpaceHeldQueue::DoDequeue);
    }

    Ptr<QueueDiscItem> Remove() override
    {
        return TakeOldest(&MeshpaceHeldQueue::DoRemove);
    }

    Ptr<const QueueDiscItem> Peek() const override
    {
        return DoPeek(GetContainer().begin());
    }

  private:
    Ptr<QueueDiscItem> TakeOldest(Ptr<QueueDiscItem> (MeshpaceHeldQueue::*take)(ConstIterator))
    {
        auto item = (this->*take)(GetContainer().begin());
        m_positions.erase(PeekPointer(item));
        return item;
    }

    std::unordered_map<QueueDiscItem*, ConstIterator> m_positions;
};

NS_OBJECT_ENSURE_REGISTERED(MeshpaceHeldQueue);

Ptr<Queue<QueueDiscItem>>
CreateFifo(const QueueSize& size)
{
    return CreateObjectWithAttributes<DropTailQueue<QueueDiscItem>>("MaxSize",
                                                                    QueueSizeValue(size));
}

} // namespace

TypeId
MeshpaceMeshQueueDisc::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::MeshpaceMeshQueueDisc")
            .SetParent<QueueDisc>()
            .SetGroupName("Meshpace")
            .AddConstructor<MeshpaceMeshQueueDisc>()
            .AddAttribute("MaxSize",
                          "How many packets that are not paced may wait for the device.",
                          QueueSizeValue(QueueSize("50p")),
                          MakeQueueSizeAccessor(&QueueDisc::SetMaxSize, &QueueDisc::GetMaxSize),
                          MakeQueueSizeChecker());
    return tid;
}

MeshpaceMeshQueueDisc::MeshpaceMeshQueueDisc()
    : QueueDisc(QueueDiscSizePolicy::MULTIPLE_QUEUES, QueueSizeUnit::PACKETS)
{
}

void
MeshpaceMeshQueueDisc::SetGateway(Ptr<MeshpaceGateway> gateway, uint32_t radio)
{
    m_gateway = gateway;
    m_radio = radio;
    m_gateway->SetUrgentCallback(MakeCallback(&MeshpaceMeshQueueDisc::SendUrgent, this), radio);
    m_gateway->SetDueCallback(MakeCallback(&QueueDisc::Run, this), radio);
}

void
MeshpaceMeshQueueDisc::DoDispose()
{
    m_departure.Cancel();
    m_gateway = nullptr;
    QueueDisc::DoDispose();
}

bool
MeshpaceMeshQueueDisc::CheckConfig()
{
    if (!m_gateway || GetNQueueDiscClasses() > 0 || GetNPacketFilters() > 0)
    {
        NS_LOG_ERROR("MeshpaceMeshQueueDisc needs SetGateway(), and no classes or filters");
        return false;
    }
    if (GetNInternalQueues() == 0)
    {
        auto held = CreateObject<MeshpaceHeldQueue>();
        held->SetMaxSize(QueueSize("1000000p")); // each pacing queue is bounded by its window
        AddInternalQueue(CreateFifo(GetMaxSize()));
        AddInternalQueue(held);
    }
    return GetNInternalQueues() == 2;
}

void
MeshpaceMeshQueueDisc::InitializeParams()
{
    m_gateway->Initialize();
}

bool
MeshpaceMeshQueueDisc::EnqueuePassing(Ptr<QueueDiscItem> item, const MeshpaceFeedback& feedback)
{
    const bool enqueued = GetInternalQueue(PASSING)->Enqueue(item);
    if (enqueued)
    {
        m_feedback.push_back(feedback);
    }
    return enqueued;
}

Ptr<QueueDiscItem>
MeshpaceMeshQueueDisc::DequeuePassing()
{
    auto item = GetInternalQueue(PASSING)->Dequeue();
    if (!item)
    {
        return nullptr;
    }
    const auto feedback = m_feedback.front();
    m_feedback.pop_front();
    // Only as it leaves: a queue disc's statistics do not bear a packet that grows while it waits.
    return InsertFeedback(item, feedback);
}

bool
MeshpaceMeshQueueDisc::DoEnqueue(Ptr<QueueDiscItem> item)
{
    if (m_urgent)
    {
        return EnqueuePassing(item, std::nullopt);
    }
    const auto verdict = m_gateway->ToMesh(item, m_radio);
    switch (verdict.verdict)
    {
    case MeshpaceGateway::Verdict::HELD:
        return GetInternalQueue(HELD)->Enqueue(item);
    case MeshpaceGateway::Verdict::PASS:
        return EnqueuePassing(item, verdict.feedback);
    default:
        DropBeforeEnqueue(item, PACING_QUEUE_FULL);
        return false;
    }
}

Ptr<QueueDiscItem>
MeshpaceMeshQueueDisc::DoDequeue()
{
    if (auto item = DequeuePassing())
    {
        return item;
    }
    const auto [item, feedback] = m_gateway->Release(m_radio);
    if (item)
    {
        StaticCast<MeshpaceHeldQueue>(GetInternalQueue(HELD))->Take(item);
    }
    ScheduleNextDeparture();
    return InsertFeedback(item, feedback);
}

void
MeshpaceMeshQueueDisc::ScheduleNextDeparture()
{
    m_departure.Cancel();
    const auto next = m_gateway->NextDeparture(m_radio);
    if (next != Time::Max())
    {
        m_departure = Simulator::Schedule(next - Simulator::Now(), &QueueDisc::Run, this);
    }
}

void
MeshpaceMeshQueueDisc::SendUrgent(Ptr<QueueDiscItem> item)
{
    if (const auto segment = TcpSegment::Read(item); segment && segment->payloadBytes > 0)
    {
        m_gateway->SentAgain(item);
    }
    m_urgent = true;
    Enqueue(item);
    m_urgent = false;
    Run();
}

TypeId
MeshpaceWiredQueueDisc::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::MeshpaceWiredQueueDisc")
            .SetParent<QueueDisc>()
            .SetGroupName("Meshpace")
            .AddConstructor<MeshpaceWiredQueueDisc>()
            .AddAttribute("MaxSize",
                          "How many packets may wait for the device.",
                          QueueSizeValue(QueueSize("1000p")),
                          MakeQueueSizeAccessor(&QueueDisc::SetMaxSize, &QueueDisc::GetMaxSize),
                          MakeQueueSizeChecker());
    return tid;
}

MeshpaceWiredQueueDisc::MeshpaceWiredQueueDisc()
    : QueueDisc(QueueDiscSizePolicy::SINGLE_INTERNAL_QUEUE)
{
}

void
MeshpaceWiredQueueDisc::SetGateway(Ptr<MeshpaceGateway> gateway)
{
    m_gateway = gateway;
}

void
MeshpaceWiredQueueDisc::DoDispose()
{
    m_gateway = nullptr;
    QueueDisc::DoDispose();
}

bool
MeshpaceWiredQueueDisc::CheckConfig()
{
    if (!m_gateway || GetNQueueDiscClasses() > 0 || GetNPacketFilters() > 0)
    {
        NS_LOG_ERROR("MeshpaceWiredQueueDisc needs SetGateway(), and no classes or filters");
        return false;
    }
    if (GetNInternalQueues() == 0)
    {
        AddInternalQueue(CreateFifo(GetMaxSize()));
    }
    return GetNInternalQueues() == 1;
}

void
MeshpaceWiredQueueDisc::InitializeParams()
{
}

bool
MeshpaceWiredQueueDisc::DoEnqueue(Ptr<QueueDiscItem> item)
{
    const auto verdict = m_gateway->ToWired(item);
    if (verdict == MeshpaceGateway::Verdict::WITHHELD)
    {
        DropBeforeEnqueue(item, ANSWERED_HERE);
        return false;
    }
    if (verdict == MeshpaceGateway::Verdict::PLAIN)
    {
        item = ReplaceHeader(item, TcpSegment::Read(item)->WithoutSack());
    }
    return GetInternalQueue(0)->Enqueue(EraseLinkRates(item));
}

Ptr<QueueDiscItem>
MeshpaceWiredQueueDisc::DoDequeue()
{
    return GetInternalQueue(0)->Dequeue();
}

} // namespace ns3
