/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "station-queue-disc.h"

#include "ns3/fq-codel-queue-disc.h"
#include "ns3/log.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/wifi-mac-queue.h"
#include "ns3/wifi-mac.h"
#include "ns3/wifi-phy.h"
#include "ns3/wifi-remote-station-manager.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("StationQueueDisc");
NS_OBJECT_ENSURE_REGISTERED(StationQueueDisc);

namespace
{

/** What a turn gives: mac80211's IEEE80211_DEFAULT_AIRTIME_WEIGHT, 256 us. */
const Time QUANTUM = MicroSeconds(256);

/** mac80211's CoDel waits longer than that of wires (ieee80211_txq_setup_flows). */
constexpr const char* CODEL_TARGET = "20ms";

/** What a flow may send in its turn, bytes: that of mac80211's queues (fq_init in fq_impl.h). */
constexpr uint32_t FLOW_QUANTUM = 300;

/** Frames that mac80211 expects in an aggregate (ieee80211_calc_expected_tx_airtime). */
constexpr uint32_t EXPECTED_AGGREGATE = 16;

constexpr uint32_t MAC_BYTES = 8 + 26 + 4; // LLC, QoS header, frame check sequence
constexpr uint32_t BITS = 8;

} // namespace

TypeId
StationQueueDisc::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::StationQueueDisc")
            .SetParent<QueueDisc>()
            .SetGroupName("Meshpace")
            .AddConstructor<StationQueueDisc>()
            // mac80211's defaults: IEEE80211_DEFAULT_AQL_TXQ_LIMIT_H and _L,
            // IEEE80211_AQL_THRESHOLD.
            .AddAttribute("Limit",
                          "Airtime that the MAC holds for a neighbour.",
                          TimeValue(MicroSeconds(12000)),
                          MakeTimeAccessor(&StationQueueDisc::m_limit),
                          MakeTimeChecker())
            .AddAttribute("BusyLimit",
                          "The same, while the MAC holds BusyFrom or more.",
                          TimeValue(MicroSeconds(5000)),
                          MakeTimeAccessor(&StationQueueDisc::m_busyLimit),
                          MakeTimeChecker())
            .AddAttribute("BusyFrom",
                          "Airtime held for all neighbours from which on BusyLimit counts.",
                          TimeValue(MicroSeconds(24000)),
                          MakeTimeAccessor(&StationQueueDisc::m_busyFrom),
                          MakeTimeChecker());
    return tid;
}

StationQueueDisc::StationQueueDisc()
    : QueueDisc(QueueDiscSizePolicy::NO_LIMITS)
{
}

void
StationQueueDisc::SetRadio(Ptr<WifiNetDevice> device)
{
    m_device = device;
    for (const auto ac : {AC_BE, AC_BK, AC_VI, AC_VO})
    {
        auto queue = device->GetMac()->GetTxopQueue(ac);
        for (const auto* trace : {"Dequeue", "Drop"})
        {
            queue->TraceConnectWithoutContext(trace, MakeCallback(&StationQueueDisc::Left, this));
        }
    }
}

Time
StationQueueDisc::Pending(Mac48Address station) const
{
    const auto found = m_stations.find(station);
    return found == m_stations.end() ? Time(0) : found->second.pending;
}

void
StationQueueDisc::DoDispose()
{
    m_run.Cancel();
    m_left = nullptr;
    m_device = nullptr;
    m_stations.clear();
    QueueDisc::DoDispose();
}

bool
StationQueueDisc::CheckConfig()
{
    if (GetNQueueDiscClasses() > 0 || GetNPacketFilters() > 0 || GetNInternalQueues() > 0)
    {
        NS_LOG_ERROR("StationQueueDisc takes no classes, filters or queues");
        return false;
    }
    return m_device != nullptr;
}

void
StationQueueDisc::InitializeParams()
{
}

StationQueueDisc::Station&
StationQueueDisc::StationOf(Mac48Address address)
{
    const auto [found, added] = m_stations.try_emplace(address);
    if (added)
    {
        auto queue =
            CreateObjectWithAttributes<FqCoDelQueueDisc>("Target", StringValue(CODEL_TARGET));
        queue->SetQuantum(FLOW_QUANTUM);
        queue->Initialize();
        auto of = CreateObject<QueueDiscClass>();
        of->SetQueueDisc(queue);
        AddQueueDiscClass(of);
        found->second = {queue, Time(0), Time(0)};
        m_turns.push_back(address);
    }
    return found->second;
}

bool
StationQueueDisc::DoEnqueue(Ptr<QueueDiscItem> item)
{
    return StationOf(Mac48Address::ConvertFrom(item->GetAddress())).queue->Enqueue(item);
}

bool
StationQueueDisc::Admits(Mac48Address address, const Station& station) const
{
    return address.IsGroup() || station.pending < m_busyLimit ||
           (m_pending < m_busyFrom && station.pending < m_limit);
}

std::deque<Mac48Address>::iterator
StationQueueDisc::NextStation()
{
    const auto ready = [this](Mac48Address address) {
        const auto& station = m_stations.at(address);
        return station.queue->GetNPackets() > 0 && Admits(address, station);
    };
    while (std::any_of(m_turns.begin(), m_turns.end(), ready))
    {
        for (auto turn = m_turns.begin(); turn != m_turns.end(); turn++)
        {
            auto& station = m_stations.at(*turn);
            if (ready(*turn) && !station.deficit.IsStrictlyNegative())
            {
                return turn;
            }
        }
        for (auto& [address, station] : m_stations)
        {
            station.deficit = Min(station.deficit + QUANTUM, QUANTUM);
        }
    }
    return m_turns.end();
}

Ptr<QueueDiscItem>
StationQueueDisc::DoDequeue()
{
    // CoDel may drop all that a neighbour has: then the next one is asked.
    for (auto turn = NextStation(); turn != m_turns.end(); turn = NextStation())
    {
        const auto address = *turn;
        auto& station = m_stations.at(address);
        auto item = station.queue->Dequeue();
        if (!item)
        {
            continue;
        }
        const auto airtime = Airtime(address, item->GetSize());
        station.deficit -= airtime;
        if (station.deficit.IsStrictlyNegative())
        {
            m_turns.erase(turn);
            m_turns.push_back(address);
        }
        if (!address.IsGroup())
        {
            station.pending += airtime;
            m_pending += airtime;
            m_held.emplace(item->GetPacket()->GetUid(), Held{address, airtime});
        }
        return item;
    }
    return nullptr; // Left() runs the queue again
}

Time
StationQueueDisc::Airtime(Mac48Address station, uint32_t bytes) const
{
    const auto manager = m_device->GetRemoteStationManager();
    const auto bits = (bytes + MAC_BYTES) * BITS;
    // A manager that is asked for a rate before the MAC has met the neighbour takes it for one
    // without aggregates, for good.
    if (station.IsGroup() || manager->IsBrandNew(station))
    {
        return Seconds(bits / 6e6);
    }
    WifiMacHeader header;
    header.SetType(WIFI_MAC_QOSDATA);
    header.SetAddr1(station);
    const auto vector = manager->GetDataTxVector(header, m_device->GetPhy()->GetChannelWidth());
    return Seconds(static_cast<double>(bits) / vector.GetMode().GetDataRate(vector)) +
           WifiPhy::CalculatePhyPreambleAndHeaderDuration(vector) / EXPECTED_AGGREGATE;
}

void
StationQueueDisc::Left(Ptr<const WifiMpdu> mpdu)
{
    const auto found = m_held.find(mpdu->GetPacket()->GetUid());
    if (!mpdu->GetHeader().IsData() || found == m_held.end() || mpdu == m_left)
    {
        return;
    }
    m_left = mpdu;
    m_stations.at(found->second.station).pending -= found->second.airtime;
    m_pending -= found->second.airtime;
    m_held.erase(found);
    if (!m_run.IsPending())
    {
        // The MAC is in the middle of something.
        m_run = Simulator::ScheduleNow(&QueueDisc::Run, this);
    }
}

} // namespace ns3
