/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "sensed-phy.h"

#include "ns3/constant-position-mobility-model.h"
#include "ns3/pointer-attribute.h"
#include "ns3/propagation-delay-model.h"
#include "ns3/propagation-loss-model.h"
#include "ns3/simulator.h"
#include "ns3/wifi-net-device.h"
#include "ns3/wifi-ppdu.h"
#include "ns3/wifi-utils.h"
#include "ns3/yans-wifi-channel.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(SensedPhy);

namespace
{

/** ns-3 states the sensitivity of a PHY for frames as wide as this. */
constexpr MHz_u SENSITIVITY_WIDTH{20};

/** A frame begins to arrive; what YansWifiChannel does with one that is strong enough. */
void
Arrive(Ptr<WifiPhy> phy, Ptr<const WifiPpdu> ppdu, dBm_u power)
{
    const auto traced = StaticCast<YansWifiPhy>(phy);
    traced->TraceSignalArrival(ppdu, power, ppdu->GetTxDuration());
    RxPowerWattPerChannelBand rxPowerW;
    rxPowerW.insert({phy->GetBand(ppdu->GetTxChannelWidth()), DbmToW(power)});
    phy->StartReceivePreamble(ppdu, rxPowerW, ppdu->GetTxDuration());
}

bool
StandsStill(Ptr<const MobilityModel> place)
{
    return DynamicCast<const ConstantPositionMobilityModel>(place) != nullptr;
}

} // namespace

TypeId
SensedPhy::GetTypeId()
{
    static TypeId tid = TypeId("ns3::SensedPhy")
                            .SetParent<YansWifiPhy>()
                            .SetGroupName("Meshpace")
                            .AddConstructor<SensedPhy>();
    return tid;
}

void
SensedPhy::DoDispose()
{
    m_peers.clear();
    YansWifiPhy::DoDispose();
}

bool
SensedPhy::Reaches(Peer& peer) const
{
    const auto channel = GetChannel();
    const auto loss = PointerAttribute<PropagationLossModel>(channel, "PropagationLossModel");
    const auto delay = PointerAttribute<PropagationDelayModel>(channel, "PropagationDelayModel");
    const auto here = GetMobility();
    const auto there = peer.phy->GetMobility();
    peer.delay = delay->GetDelay(here, there);
    peer.power = loss->CalcRxPower(m_txPower, here, there) + peer.phy->GetRxGain();
    return peer.power >= peer.phy->GetRxSensitivity() + RatioToDb(m_width / SENSITIVITY_WIDTH);
}

void
SensedPhy::Forget(Ptr<const MobilityModel> /* place */)
{
    m_width = 0;
}

void
SensedPhy::WatchPlaces()
{
    const auto channel = GetChannel();
    for (std::size_t i = 0; i < channel->GetNDevices(); i++)
    {
        const auto place = channel->GetDevice(i)->GetNode()->GetObject<MobilityModel>();
        if (StandsStill(place))
        {
            place->TraceConnectWithoutContext("CourseChange",
                                              MakeCallback(&SensedPhy::Forget, this));
        }
    }
    m_watching = true;
}

void
SensedPhy::FindPeers()
{
    if (!m_watching)
    {
        WatchPlaces();
    }
    m_peers.clear();
    const auto channel = GetChannel();
    for (std::size_t i = 0; i < channel->GetNDevices(); i++)
    {
        const auto device = DynamicCast<WifiNetDevice>(channel->GetDevice(i));
        const auto phy = device->GetPhy();
        const bool moves = !StandsStill(GetMobility()) || !StandsStill(phy->GetMobility());
        Peer peer{phy, device->GetNode()->GetId(), moves, Time(), 0};
        if (phy != this && (moves || Reaches(peer)))
        {
            m_peers.push_back(peer);
        }
    }
}

void
SensedPhy::StartTx(Ptr<const WifiPpdu> ppdu)
{
    const auto txPower = GetTxPowerForTransmission(ppdu) + GetTxGain();
    const auto width = ppdu->GetTxChannelWidth();
    if (txPower != m_txPower || width != m_width)
    {
        m_txPower = txPower;
        m_width = width;
        FindPeers();
    }
    for (auto& peer : m_peers)
    {
        if (!peer.moves || Reaches(peer))
        {
            Simulator::ScheduleWithContext(peer.node,
                                           peer.delay,
                                           &Arrive,
                                           peer.phy,
                                           ppdu,
                                           peer.power);
        }
    }
}

SensedPhyHelper::SensedPhyHelper()
{
    m_phys.front().SetTypeId("ns3::SensedPhy");
}

} // namespace ns3
