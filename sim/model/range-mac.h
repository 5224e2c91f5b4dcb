/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_RANGE_MAC_H
#define MESHPACE_RANGE_MAC_H

#include "ns3/constant-rate-wifi-manager.h"
#include "ns3/wifi-mac-helper.h"

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * Constant bit rate with ns-2's retry limits: a frame is dropped after MaxRtsFailures RTS
 * without CTS in a row, or MaxDataFailures data frames without ACK. ns-3 counts both together.
 */
class RangeWifiManager : public ConstantRateWifiManager
{
  public:
    /** @return the type id */
    static TypeId GetTypeId();

  private:
    void DoReportRtsFailed(WifiRemoteStation* station) override;
    void DoReportRtsOk(WifiRemoteStation* station,
                       double ctsSnr,
                       WifiMode ctsMode,
                       double rtsSnr) override;
    void DoReportDataFailed(WifiRemoteStation* station) override;
    void DoReportDataOk(WifiRemoteStation* station,
                        double ackSnr,
                        WifiMode ackMode,
                        double dataSnr,
                        MHz_u dataChannelWidth,
                        uint8_t dataNss) override;
    std::list<Ptr<WifiMpdu>> DoGetMpdusToDropOnTxFailure(WifiRemoteStation* station,
                                                         Ptr<WifiPsdu> psdu) override;

    uint32_t m_maxRtsFailures;
    uint32_t m_maxDataFailures;
    // A non-QoS MAC serves one frame at a time, so that one pair of counters will do.
    uint32_t m_rtsFailures{0};
    uint32_t m_dataFailures{0};
};

/**
 * @ingroup meshpace
 *
 * Makes ad hoc MACs, non-QoS, that answer an RTS although the NAV says that the medium is
 * reserved: ns-2's rule. 802.11 has the receiver keep silent, and stock ns-3 does.
 */
class CtsIgnoresNavMacHelper : public WifiMacHelper
{
  public:
    Ptr<WifiMac> Create(Ptr<WifiNetDevice> device, WifiStandard standard) const override;
};

} // namespace ns3

#endif // MESHPACE_RANGE_MAC_H
