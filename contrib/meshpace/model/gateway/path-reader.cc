/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "path-reader.h"

#include "../pointer-attribute.h"

#include "ns3/mobility-model.h"
#include "ns3/node.h"
#include "ns3/preamble-detection-model.h"
#include "ns3/propagation-loss-model.h"
#include "ns3/qos-txop.h"
#include "ns3/wifi-acknowledgment.h"
#include "ns3/wifi-mac-header.h"
#include "ns3/wifi-mac.h"
#include "ns3/wifi-mpdu.h"
#include "ns3/wifi-phy.h"
#include "ns3/wifi-protection.h"
#include "ns3/wifi-remote-station-manager.h"
#include "ns3/wifi-tx-parameters.h"
#include "ns3/wifi-utils.h"
#include "ns3/yans-wifi-channel.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ns3
{

namespace
{

/** No radio senses weaker signals than this, or overlooks stronger ones than -this. */
constexpr double SENSE_BOUND_DBM = 200;

/** A data packet; what matters is whether it is announced by RTS. */
constexpr uint32_t DATA_BYTES = 1000;

int16_t
DecibelQ8(double db)
{
    return mp_db_q8_of_centi(std::lround(db * 100));
}

/**
 * Weaker signals than this never reach the PHY; ns-3 states it for 20 MHz.
 * @return the least power, dBm
 */
double
LeastSignalDbm(Ptr<WifiPhy> phy)
{
    return phy->GetRxSensitivity() + 10 * std::log10(phy->GetChannelWidth() / 20);
}

int32_t
Centimetres(double metres)
{
    return std::lround(metres * 100);
}

/** @return where the path's nodes stand as seen from the sender, next hop first */
mp_reach
ReachByPositions(const std::vector<Ptr<WifiNetDevice>>& path)
{
    mp_reach reach{};
    const auto origin = path.front()->GetNode()->GetObject<MobilityModel>()->GetPosition();
    for (std::size_t i = 1; i < path.size(); i++)
    {
        const auto offset =
            path[i]->GetNode()->GetObject<MobilityModel>()->GetPosition() - origin;
        mp_reach_add_position(&reach, Centimetres(offset.x), Centimetres(offset.y));
    }
    return reach;
}

/** @return whether the sender's MAC would announce a data frame to its next hop by RTS */
bool
UsesRts(Ptr<WifiNetDevice> own, Ptr<WifiNetDevice> nextHop)
{
    const auto stations = own->GetRemoteStationManager();
    const auto phy = own->GetPhy();
    WifiMacHeader header(WIFI_MAC_DATA);
    header.SetAddr1(nextHop->GetMac()->GetAddress());
    WifiTxParameters frame;
    frame.m_txVector = stations->GetDataTxVector(header, phy->GetChannelWidth());
    frame.AddMpdu(Create<WifiMpdu>(Create<Packet>(DATA_BYTES), header));
    frame.m_txDuration =
        WifiPhy::CalculateTxDuration(DATA_BYTES, frame.m_txVector, phy->GetPhyBand());
    return stations->NeedRts(header, frame);
}

} // namespace

double
CarrierSenseDbm(Ptr<WifiNetDevice> radio)
{
    const auto phy = radio->GetPhy();
    const auto preambles = PointerAttribute<PreambleDetectionModel>(phy, "PreambleDetectionModel");
    const auto detected = [&](double dbm) {
        return preambles->IsPreambleDetected(dBm_u{dbm},
                                             std::numeric_limits<double>::max(),
                                             phy->GetChannelWidth());
    };
    // Whatever the model: halve the interval until it is nothing.
    double missed = -SENSE_BOUND_DBM;
    double sensed = SENSE_BOUND_DBM;
    for (int i = 0; i < 60; i++)
    {
        const auto dbm = (missed + sensed) / 2;
        (detected(dbm) ? sensed : missed) = dbm;
    }
    // What the receiver does not lock on keeps the medium busy from CcaSensitivity on.
    const double noticed = std::min<double>(sensed, phy->GetCcaSensitivityThreshold());
    return std::min<double>(std::max(noticed, LeastSignalDbm(phy)), phy->GetCcaEdThreshold());
}

double
ReceivedDbm(Ptr<WifiNetDevice> from, Ptr<WifiNetDevice> to)
{
    const auto loss = PointerAttribute<PropagationLossModel>(from->GetChannel(),
                                                             "PropagationLossModel");
    const auto sender = from->GetPhy();
    return loss->CalcRxPower(sender->GetTxPowerStart() + sender->GetTxGain(),
                             from->GetNode()->GetObject<MobilityModel>(),
                             to->GetNode()->GetObject<MobilityModel>()) +
           to->GetPhy()->GetRxGain();
}

mp_radio
ReadRadio(Ptr<WifiNetDevice> own, Ptr<WifiNetDevice> nextHop, double exponent)
{
    const auto phy = own->GetPhy();
    auto radio = mp_radio_default();
    radio.tx_power_dbm_q8 = DecibelQ8(phy->GetTxPowerStart());
    radio.antenna_db_q8 = DecibelQ8(phy->GetTxGain());
    radio.signal_dbm_q8 = DecibelQ8(ReceivedDbm(nextHop, own));
    radio.sense_dbm_q8 = DecibelQ8(CarrierSenseDbm(own));
    radio.exponent_q8 = std::lround(exponent * 256);
    radio.frequency_mhz = std::lround(phy->GetFrequency());
    return radio;
}

mp_link
ReadLink(const std::vector<Ptr<WifiNetDevice>>& path, const PathAssumptions& assumptions)
{
    const auto own = path.front();
    const auto mac = own->GetMac();
    const auto txop = mac->GetQosSupported() ? Ptr<Txop>(mac->GetQosTxop(AC_BE)) : mac->GetTxop();
    const auto width = own->GetPhy()->GetChannelWidth();
    mp_link link{};
    link.base_kbps = own->GetRemoteStationManager()->GetBasicMode(0).GetDataRate(width) / 1000;
    link.cw = txop->GetMinCw(0);
    link.slot_us = own->GetPhy()->GetSlot().GetMicroSeconds();
    link.rts_cts = UsesRts(own, path[1]);
    const auto radio = ReadRadio(own, path[1], assumptions.exponent);
    const auto reach = assumptions.positions ? ReachByPositions(path) : mp_reach{};
    link.h_cs = mp_h_cs(&radio, &reach);
    return link;
}

} // namespace ns3
