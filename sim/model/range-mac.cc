/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "range-mac.h"

#include "ns3/adhoc-wifi-mac.h"
#include "ns3/boolean.h"
#include "ns3/channel-access-manager.h"
#include "ns3/enum.h"
#include "ns3/fcfs-wifi-queue-scheduler.h"
#include "ns3/frame-exchange-manager.h"
#include "ns3/pointer.h"
#include "ns3/txop.h"
#include "ns3/uinteger.h"
#include "ns3/wifi-default-ack-manager.h"
#include "ns3/wifi-default-protection-manager.h"
#include "ns3/wifi-net-device.h"
#include "ns3/wifi-psdu.h"

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

namespace
{

/** Frame exchanges in which a receiver does not look at its NAV before it sends a CTS. */
class CtsIgnoresNavFrameExchangeManager : public FrameExchangeManager
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::CtsIgnoresNavFrameExchangeManager")
                                .SetParent<FrameExchangeManager>()
                                .SetGroupName("Meshpace")
                                .AddConstructor<CtsIgnoresNavFrameExchangeManager>();
        return tid;
    }

    /** Asked in one place only: whether an RTS is to be answered. */
    bool VirtualCsMediumIdle() const override
    {
        return true;
    }
};

NS_OBJECT_ENSURE_REGISTERED(CtsIgnoresNavFrameExchangeManager);

constexpr uint8_t ONLY_LINK = 0;

} // namespace

Ptr<WifiMac>
CtsIgnoresNavMacHelper::Create(Ptr<WifiNetDevice> device, WifiStandard /* standard */) const
{
    auto txop =
        CreateObjectWithAttributes<Txop>("AcIndex", EnumValue<AcIndex>(AC_BE_NQOS));
    Ptr<WifiMac> mac = CreateObjectWithAttributes<AdhocWifiMac>("QosSupported",
                                                                BooleanValue(false),
                                                                "Txop",
                                                                PointerValue(txop));
    mac->SetDevice(device);
    mac->SetAddress(Mac48Address::Allocate());
    device->SetMac(mac);
    mac->SetChannelAccessManagers({CreateObject<ChannelAccessManager>()});

    auto exchange = CreateObject<CtsIgnoresNavFrameExchangeManager>();
    auto protection = CreateObject<WifiDefaultProtectionManager>();
    protection->SetWifiMac(mac);
    protection->SetLinkId(ONLY_LINK);
    exchange->SetProtectionManager(protection);
    auto ack = CreateObject<WifiDefaultAckManager>();
    ack->SetWifiMac(mac);
    ack->SetLinkId(ONLY_LINK);
    exchange->SetAckManager(ack);
    exchange->SetAddress(mac->GetAddress());
    mac->SetFrameExchangeManagers({exchange});
    mac->SetMacQueueScheduler(CreateObject<FcfsWifiQueueScheduler>());
    return mac;
}

} // namespace ns3
