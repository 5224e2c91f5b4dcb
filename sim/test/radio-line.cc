/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "radio-line.h"

#include "../runner/radio.h"

#include "ns3/mobility-helper.h"
#include "ns3/node-container.h"
#include "ns3/position-allocator.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/wifi-psdu.h"

namespace ns3
{

const Mac48Address RadioLine::ABSENT("02:00:00:00:00:01");
const Time RadioLine::DIFS = MicroSeconds(50);

namespace
{

constexpr uint16_t PROTOCOL = 0x0800;

/** Shorter than any exchange. */
const Time REFILL_INTERVAL = MilliSeconds(1);

} // namespace

RadioLine::RadioLine(const std::vector<double>& positionsM, const RadioConfig& config)
    : m_received(positionsM.size()),
      m_dropped(positionsM.size())
{
    RngSeedManager::ResetNextStreamIndex();
    NodeContainer nodes(positionsM.size());
    auto positions = CreateObject<ListPositionAllocator>();
    for (const auto x : positionsM)
    {
        positions->Add(Vector(x, 0, 0));
    }
    MobilityHelper mobility;
    mobility.SetPositionAllocator(positions);
    mobility.Install(nodes);
    m_devices = InstallRadio(nodes, config);
    for (uint32_t i = 0; i < m_devices.GetN(); i++)
    {
        auto device = Device(i);
        device->SetReceiveCallback(MakeCallback(&RadioLine::Receive, this));
        device->GetPhy()->TraceConnectWithoutContext(
            "PhyTxPsduBegin",
            MakeCallback(&RadioLine::Begun, this).Bind(i));
        device->GetMac()->TraceConnectWithoutContext(
            "DroppedMpdu",
            MakeCallback(&RadioLine::Drop, this).Bind(i));
    }
}

RadioLine::~RadioLine()
{
    Simulator::Destroy();
}

Ptr<WifiNetDevice>
RadioLine::Device(uint32_t node) const
{
    return StaticCast<WifiNetDevice>(m_devices.Get(node));
}

void
RadioLine::Send(uint32_t from, Mac48Address to)
{
    Device(from)->Send(Create<Packet>(FRAME_BYTES), to, PROTOCOL);
}

void
RadioLine::SendAt(Time at, uint32_t from, Mac48Address to)
{
    Simulator::ScheduleWithContext(from, at, &RadioLine::Send, this, from, to);
}

void
RadioLine::BroadcastAt(Time at, uint32_t from)
{
    SendAt(at, from, Mac48Address::GetBroadcast());
}

void
RadioLine::Saturate(uint32_t from, uint32_t to, uint32_t frames)
{
    Simulator::ScheduleWithContext(from, Seconds(0), &RadioLine::Refill, this, from, to, frames);
}

void
RadioLine::Refill(uint32_t from, uint32_t to, uint32_t frames)
{
    for (uint32_t i = 0; i < frames; i++)
    {
        Send(from, Mac48Address::ConvertFrom(Device(to)->GetAddress()));
    }
    Simulator::Schedule(REFILL_INTERVAL, &RadioLine::Refill, this, from, to, frames);
}

void
RadioLine::RunUntil(Time end)
{
    Simulator::Stop(end);
    Simulator::Run();
}

bool
RadioLine::Receive(Ptr<NetDevice> device, Ptr<const Packet>, uint16_t, const Address&)
{
    m_received[device->GetNode()->GetId()]++;
    return true;
}

void
RadioLine::Begun(uint32_t node, WifiConstPsduMap psdus, WifiTxVector vector, double)
{
    const auto now = Simulator::Now();
    const auto duration =
        WifiPhy::CalculateTxDuration(psdus, vector, Device(node)->GetPhy()->GetPhyBand());
    const auto type = psdus.begin()->second->GetHeader(0).GetType();
    m_log.push_back({node, type, now, now + duration});
}

void
RadioLine::Drop(uint32_t node, WifiMacDropReason reason, Ptr<const WifiMpdu>)
{
    if (reason == WIFI_MAC_DROP_REACHED_RETRY_LIMIT)
    {
        m_dropped[node]++;
    }
}

uint32_t
RadioLine::Received(uint32_t node) const
{
    return m_received[node];
}

uint32_t
RadioLine::Dropped(uint32_t node) const
{
    return m_dropped[node];
}

std::vector<RadioLine::Transmission>
RadioLine::Sent(uint32_t node, WifiMacType type) const
{
    std::vector<Transmission> sent;
    for (const auto& transmission : m_log)
    {
        if (transmission.node == node && transmission.type == type)
        {
            sent.push_back(transmission);
        }
    }
    return sent;
}

} // namespace ns3
