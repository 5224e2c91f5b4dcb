/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "range-mac.h"

#include "mac-parts.h"

#include "ns3/adhoc-wifi-mac.h"
#include "ns3/boolean.h"
#include "ns3/channel-access-manager.h"
#include "ns3/enum.h"
#include "ns3/frame-exchange-manager.h"
#include "ns3/pointer.h"
#include "ns3/simulator.h"
#include "ns3/txop.h"
#include "ns3/uinteger.h"
#include "ns3/wifi-net-device.h"
#include "ns3/wifi-phy.h"
#include "ns3/wifi-psdu.h"
#include "ns3/wifi-tx-vector.h"

#include <algorithm>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(RangeWifiManager);

TypeId
RangeWifiManager::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::RangeWifiManager")
            .SetParent<ConstantRateWifiManager>()
            .SetGroupName("Meshpace")
            .AddConstructor<RangeWifiManager>()
            .AddAttribute("MaxRtsFailures",
                          "RTS without CTS in a row after which a frame is dropped (ns-2's "
                          "ShortRetryLimit).",
                          UintegerValue(7),
                          MakeUintegerAccessor(&RangeWifiManager::m_maxRtsFailures),
                          MakeUintegerChecker<uint32_t>(1))
            .AddAttribute("MaxDataFailures",
                          "Data frames without ACK after which a frame is dropped (ns-2's "
                          "LongRetryLimit).",
                          UintegerValue(4),
                          MakeUintegerAccessor(&RangeWifiManager::m_maxDataFailures),
                          MakeUintegerChecker<uint32_t>(1));
    return tid;
}

void
RangeWifiManager::SetDataMode(Mac48Address neighbour, WifiMode mode)
{
    m_dataModes[neighbour] = mode;
}

WifiMode
RangeWifiManager::DataModeTo(Mac48Address neighbour) const
{
    if (const auto found = m_dataModes.find(neighbour); found != m_dataModes.end())
    {
        return found->second;
    }
    if (!m_dataMode)
    {
        WifiModeValue mode;
        GetAttribute("DataMode", mode);
        m_dataMode = mode.Get();
    }
    return *m_dataMode;
}

uint32_t
RangeWifiManager::KbpsTo(Mac48Address neighbour) const
{
    return DataModeTo(neighbour).GetDataRate(GetPhy()->GetChannelWidth()) / 1000;
}

/** As ConstantRateWifiManager's, which is private, for one antenna and no aggregation. */
WifiTxVector
RangeWifiManager::DoGetDataTxVector(WifiRemoteStation* station, MHz_u allowedWidth)
{
    const auto mode = DataModeTo(GetAddress(station));
    const auto modulation = mode.GetModulationClass();
    return WifiTxVector(mode,
                        GetDefaultTxPowerLevel(),
                        GetPreambleForTransmission(modulation, GetShortPreambleEnabled()),
                        NanoSeconds(800),
                        GetNumberOfAntennas(),
                        1,
                        0,
                        GetPhy()->GetTxBandwidth(mode,
                                                 std::min(allowedWidth, GetChannelWidth(station))),
                        false);
}

void
RangeWifiManager::DoReportRtsFailed(WifiRemoteStation* /* station */)
{
    m_rtsFailures++;
}

void
RangeWifiManager::DoReportRtsOk(WifiRemoteStation* /* station */,
                                double /* ctsSnr */,
                                WifiMode /* ctsMode */,
                                double /* rtsSnr */)
{
    m_rtsFailures = 0;
}

void
RangeWifiManager::DoReportDataFailed(WifiRemoteStation* /* station */)
{
    m_dataFailures++;
}

void
RangeWifiManager::DoReportDataOk(WifiRemoteStation* /* station */,
                                 double /* ackSnr */,
                                 WifiMode /* ackMode */,
                                 double /* dataSnr */,
                                 MHz_u /* dataChannelWidth */,
                                 uint8_t /* dataNss */)
{
    m_dataFailures = 0;
}

std::list<Ptr<WifiMpdu>>
RangeWifiManager::DoGetMpdusToDropOnTxFailure(WifiRemoteStation* /* station */,
                                              Ptr<WifiPsdu> psdu)
{
    std::list<Ptr<WifiMpdu>> drop;
    if (m_rtsFailures >= m_maxRtsFailures || m_dataFailures >= m_maxDataFailures)
    {
        drop.assign(psdu->begin(), psdu->end());
        m_rtsFailures = 0;
        m_dataFailures = 0;
    }
    return drop;
}

NS_OBJECT_ENSURE_REGISTERED(RangeFrameExchangeManager);
NS_OBJECT_ENSURE_REGISTERED(BackoffTxop);

bool
RangeMacRules::Differ() const
{
    return ctsIgnoresNav || ctsWhenIdle || ctsWaitsForData || !navReset || eifsInNav ||
           alwaysBacksOff;
}

TypeId
RangeFrameExchangeManager::GetTypeId()
{
    static TypeId tid = TypeId("ns3::RangeFrameExchangeManager")
                            .SetParent<FrameExchangeManager>()
                            .SetGroupName("Meshpace")
                            .AddConstructor<RangeFrameExchangeManager>();
    return tid;
}

void
RangeFrameExchangeManager::SetRules(const RangeMacRules& rules)
{
    m_rules = rules;
}

void
RangeFrameExchangeManager::SetReceiver(Ptr<RangeReceiver> receiver)
{
    m_receiver = receiver;
}

/** Asked in one place only: whether an RTS is to be answered. */
bool
RangeFrameExchangeManager::VirtualCsMediumIdle() const
{
    return m_rules.ctsIgnoresNav || FrameExchangeManager::VirtualCsMediumIdle();
}

void
RangeFrameExchangeManager::NavResetTimeout()
{
    if (m_rules.navReset)
    {
        FrameExchangeManager::NavResetTimeout();
    }
}

/** SIFS after the RTS. */
void
RangeFrameExchangeManager::SendCtsAfterRts(const WifiMacHeader& rtsHdr,
                                           WifiMode rtsTxMode,
                                           double rtsSnr)
{
    if (m_rules.ctsWhenIdle &&
        !(VirtualCsMediumIdle() && m_receiver->IsIdle() && !m_txTimer.IsRunning()))
    {
        return;
    }
    FrameExchangeManager::SendCtsAfterRts(rtsHdr, rtsTxMode, rtsSnr);
    if (m_rules.ctsWaitsForData)
    {
        WaitForData(rtsHdr, rtsTxMode);
    }
}

/**
 * The NAV keeps the node from sending, and from answering another RTS, until the data frame
 * has to be there. Its ACK does not ask the NAV.
 */
void
RangeFrameExchangeManager::WaitForData(const WifiMacHeader& rtsHdr, WifiMode rtsTxMode)
{
    const auto vector =
        GetWifiRemoteStationManager()->GetCtsTxVector(rtsHdr.GetAddr2(), rtsTxMode);
    const auto ack = WifiPhy::CalculateTxDuration(GetAckSize(), vector, m_phy->GetPhyBand());
    const auto wait = rtsHdr.GetDuration() - 2 * m_phy->GetSifs() - ack;
    ExtendNav(wait);
}

void
RangeFrameExchangeManager::PsduRxError(Ptr<const WifiPsdu> psdu)
{
    FrameExchangeManager::PsduRxError(psdu);
    if (m_rules.eifsInNav)
    {
        ExtendNav(RangeReceiver::EIFS);
    }
}

void
RangeFrameExchangeManager::ExtendNav(Time wait)
{
    const auto end = Simulator::Now() + wait;
    if (end > m_navEnd)
    {
        m_navEnd = end;
        m_channelAccessManager->NotifyNavStartNow(wait);
    }
}

TypeId
BackoffTxop::GetTypeId()
{
    static TypeId tid = TypeId("ns3::BackoffTxop")
                            .SetParent<Txop>()
                            .SetGroupName("Meshpace")
                            .AddConstructor<BackoffTxop>();
    return tid;
}

void
BackoffTxop::GenerateBackoff(uint8_t linkId)
{
    m_generated = Simulator::Now();
    Txop::GenerateBackoff(linkId);
}

/** Asked for access, with the slots counted that have passed, and before access is granted. */
void
BackoffTxop::NotifyAccessRequested(uint8_t linkId)
{
    Txop::NotifyAccessRequested(linkId);
    if (GetBackoffSlots(linkId) == 0 && m_generated != Simulator::Now())
    {
        GenerateBackoff(linkId);
    }
}

RangeMacHelper::RangeMacHelper(const RangeMacRules& rules)
    : m_rules(rules)
{
}

Ptr<WifiMac>
RangeMacHelper::Create(Ptr<WifiNetDevice> device, WifiStandard /* standard */) const
{
    const EnumValue<AcIndex> category(AC_BE_NQOS);
    Ptr<Txop> txop;
    if (m_rules.alwaysBacksOff)
    {
        txop = CreateObjectWithAttributes<BackoffTxop>("AcIndex", category);
    }
    else
    {
        txop = CreateObjectWithAttributes<Txop>("AcIndex", category);
    }
    Ptr<WifiMac> mac = CreateObjectWithAttributes<AdhocWifiMac>("QosSupported",
                                                                BooleanValue(false),
                                                                "Txop",
                                                                PointerValue(txop));
    auto exchange = CreateObject<RangeFrameExchangeManager>();
    exchange->SetRules(m_rules);
    SetUpMac(mac, device, exchange);
    return mac;
}

} // namespace ns3
