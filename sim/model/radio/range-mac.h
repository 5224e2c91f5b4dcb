/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_RANGE_MAC_H
#define MESHPACE_RANGE_MAC_H

#include "range-receiver.h"

#include "ns3/constant-rate-wifi-manager.h"
#include "ns3/frame-exchange-manager.h"
#include "ns3/txop.h"
#include "ns3/wifi-mac-helper.h"

#include <map>
#include <optional>

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * Constant bit rate with ns-2's retry limits: a frame is dropped after MaxRtsFailures RTS
 * without CTS in a row, or MaxDataFailures data frames without ACK. ns-3 counts both together.
 * Links may have bit rates of their own. For 802.11b and 802.11g.
 */
class RangeWifiManager : public ConstantRateWifiManager
{
  public:
    /** @return the type id */
    static TypeId GetTypeId();

    /**
     * Sets the bit rate of data frames to one neighbour; control frames keep theirs.
     * @param neighbour its address
     * @param mode the rate's mode, without MIMO
     */
    void SetDataMode(Mac48Address neighbour, WifiMode mode);

    /**
     * @param neighbour its address
     * @return the bit rate of data frames to it, kbit/s
     */
    uint32_t KbpsTo(Mac48Address neighbour) const;

  private:
    /** @return the mode of data frames to a neighbour */
    WifiMode DataModeTo(Mac48Address neighbour) const;
    WifiTxVector DoGetDataTxVector(WifiRemoteStation* station, MHz_u allowedWidth) override;
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
    std::map<Mac48Address, WifiMode> m_dataModes; //!< of neighbours with a rate of their own
    mutable std::optional<WifiMode> m_dataMode;   //!< of the others: the attribute DataMode
};

/**
 * How ns-2's MAC departs from 802.11, and ns-3 with it. The default is 802.11.
 */
struct RangeMacRules
{
    bool ctsIgnoresNav{false};   //!< an RTS is answered although the NAV is set
    bool ctsWhenIdle{false};     //!< an RTS is answered only when nothing is sensed then
    bool ctsWaitsForData{false}; //!< who sent a CTS does nothing else until the data's end
    bool navReset{true};         //!< a NAV set by an RTS ends when nothing follows the RTS
    bool eifsInNav{false};       //!< EIFS count as NAV: DIFS follow, nothing cuts them short
    bool alwaysBacksOff{false};  //!< every frame waits for a random time, on an idle medium too

    /** @return whether any rule departs from 802.11 */
    bool Differ() const;
};

/**
 * @ingroup meshpace
 *
 * Frame exchanges that follow ns-2 where its MAC departs from 802.11 (ns-2 2.35, mac-802_11.cc).
 */
class RangeFrameExchangeManager : public FrameExchangeManager
{
  public:
    /** @return the type id */
    static TypeId GetTypeId();

    /**
     * @param rules what to follow
     */
    void SetRules(const RangeMacRules& rules);

    /**
     * @param receiver what knows whether the medium is idle; needed by ctsWhenIdle
     */
    void SetReceiver(Ptr<RangeReceiver> receiver);

    bool VirtualCsMediumIdle() const override;

  private:
    void NavResetTimeout() override;
    void PsduRxError(Ptr<const WifiPsdu> psdu) override;
    void SendCtsAfterRts(const WifiMacHeader& rtsHdr, WifiMode rtsTxMode, double rtsSnr) override;
    void WaitForData(const WifiMacHeader& rtsHdr, WifiMode rtsTxMode);
    void ExtendNav(Time wait);

    RangeMacRules m_rules;
    Ptr<RangeReceiver> m_receiver;
};

/**
 * @ingroup meshpace
 *
 * Channel access with a random backoff before every frame: ns-2's (bugFix_timer_). 802.11 lets
 * a frame go without when the medium has been idle for DIFS. So does ns-3, and takes the SIFS
 * between a data frame and its ACK for idle: what a relay forwards then goes DIFS after the ACK.
 */
class BackoffTxop : public Txop
{
  public:
    /** @return the type id */
    static TypeId GetTypeId();

  private:
    void NotifyAccessRequested(uint8_t linkId) override;
    void GenerateBackoff(uint8_t linkId) override;

    Time m_generated; //!< when a backoff was drawn last
};

/**
 * @ingroup meshpace
 *
 * Makes ad hoc MACs, non-QoS, with a RangeFrameExchangeManager.
 */
class RangeMacHelper : public WifiMacHelper
{
  public:
    /**
     * @param rules what the MACs follow
     */
    explicit RangeMacHelper(const RangeMacRules& rules);

    Ptr<WifiMac> Create(Ptr<WifiNetDevice> device, WifiStandard standard) const override;

  private:
    RangeMacRules m_rules;
};

} // namespace ns3

#endif // MESHPACE_RANGE_MAC_H
