/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "yang-queue-disc.h"

#include "../law-clock.h"

#include "ns3/aodv-routing-protocol.h"
#include "ns3/drop-tail-queue.h"
#include "ns3/ipv4-queue-disc-item.h"
#include "ns3/log.h"
#include "ns3/mac48-address.h"
#include "ns3/object-factory.h"
#include "ns3/olsr-routing-protocol.h"
#include "ns3/simulator.h"
#include "ns3/udp-l4-protocol.h"
#include "ns3/wifi-mac-queue.h"
#include "ns3/wifi-mac.h"

#include <array>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("YangQueueDisc");
NS_OBJECT_ENSURE_REGISTERED(YangQueueDisc);

namespace
{

constexpr std::size_t ROUTING = 0;
constexpr std::size_t PACED = 1;

/** Whether a packet is a broadcast, or a routing protocol's. */
bool
IsRouting(Ptr<const QueueDiscItem> item)
{
    const auto ipv4 = DynamicCast<const Ipv4QueueDiscItem>(item);
    if (!ipv4 || (Mac48Address::IsMatchingType(item->GetAddress()) &&
                  Mac48Address::ConvertFrom(item->GetAddress()).IsGroup()))
    {
        return true;
    }
    std::array<uint8_t, 4> ports{};
    if (ipv4->GetHeader().GetProtocol() != UdpL4Protocol::PROT_NUMBER ||
        item->GetPacket()->CopyData(ports.data(), ports.size()) < ports.size())
    {
        return false;
    }
    const uint32_t port = ports[2] << 8 | ports[3];
    return port == aodv::RoutingProtocol::AODV_PORT ||
           port == olsr::RoutingProtocol::OLSR_PORT_NUMBER;
}

} // namespace

TypeId
YangQueueDisc::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::YangQueueDisc")
            .SetParent<QueueDisc>()
            .SetGroupName("Meshpace")
            .AddConstructor<YangQueueDisc>()
            .AddAttribute("MaxSize",
                          "How many packets may wait for their turn.",
                          QueueSizeValue(QueueSize("50p")),
                          MakeQueueSizeAccessor(&QueueDisc::SetMaxSize, &QueueDisc::GetMaxSize),
                          MakeQueueSizeChecker());
    return tid;
}

YangQueueDisc::YangQueueDisc()
    : QueueDisc(QueueDiscSizePolicy::MULTIPLE_QUEUES, QueueSizeUnit::PACKETS)
{
    m_random = CreateObject<UniformRandomVariable>();
}

void
YangQueueDisc::SetRadio(Ptr<WifiNetDevice> device)
{
    auto mac = device->GetMac();
    auto queue = mac->GetTxopQueue(mac->GetQosSupported() ? AC_BE : AC_BE_NQOS);
    for (const auto* trace : {"Dequeue", "Drop"})
    {
        queue->TraceConnectWithoutContext(trace, MakeCallback(&YangQueueDisc::Left, this));
    }
}

const mp_yang&
YangQueueDisc::Delays() const
{
    return m_delays;
}

void
YangQueueDisc::DoDispose()
{
    m_run.Cancel();
    m_random = nullptr;
    QueueDisc::DoDispose();
}

bool
YangQueueDisc::CheckConfig()
{
    if (GetNQueueDiscClasses() > 0 || GetNPacketFilters() > 0)
    {
        NS_LOG_ERROR("YangQueueDisc takes no classes or filters");
        return false;
    }
    while (GetNInternalQueues() < 2)
    {
        AddInternalQueue(CreateObjectWithAttributes<DropTailQueue<QueueDiscItem>>(
            "MaxSize",
            QueueSizeValue(GetMaxSize())));
    }
    return GetNInternalQueues() == 2;
}

void
YangQueueDisc::InitializeParams()
{
}

bool
YangQueueDisc::DoEnqueue(Ptr<QueueDiscItem> item)
{
    return GetInternalQueue(IsRouting(item) ? ROUTING : PACED)->Enqueue(item);
}

Ptr<QueueDiscItem>
YangQueueDisc::DoDequeue()
{
    if (auto item = GetInternalQueue(ROUTING)->Dequeue())
    {
        return item;
    }
    if (m_transmitting || Simulator::Now() < m_next)
    {
        return nullptr; // Left() or its event runs the queue again
    }
    auto item = GetInternalQueue(PACED)->Dequeue();
    if (item)
    {
        m_transmitting = true;
        m_uid = item->GetPacket()->GetUid();
        m_start = Simulator::Now();
    }
    return item;
}

void
YangQueueDisc::Left(Ptr<const WifiMpdu> mpdu)
{
    if (!m_transmitting || !mpdu->GetHeader().IsData() || mpdu->GetPacket()->GetUid() != m_uid)
    {
        return;
    }
    LawClock clock;
    const auto now = Simulator::Now();
    m_transmitting = false;
    mp_yang_took(&m_delays, (now - m_start).GetNanoSeconds());
    m_next = m_start + NanoSeconds(mp_yang_delay_ns(&m_delays, m_random->GetInteger(0, 0xffff)));
    m_run.Cancel();
    m_run = Simulator::Schedule(Max(m_next - now, Time(0)), &QueueDisc::Run, this);
}

} // namespace ns3
