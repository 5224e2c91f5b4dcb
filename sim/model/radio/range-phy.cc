/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "range-phy.h"

#include "ns3/double.h"
#include "ns3/dsss-error-rate-model.h"
#include "ns3/simulator.h"
#include "ns3/wifi-mode.h"
#include "ns3/wifi-utils.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(RangePreambleDetectionModel);
NS_OBJECT_ENSURE_REGISTERED(RangeErrorRateModel);

TypeId
RangePreambleDetectionModel::GetTypeId()
{
    static TypeId tid = TypeId("ns3::RangePreambleDetectionModel")
                            .SetParent<PreambleDetectionModel>()
                            .SetGroupName("Meshpace")
                            .AddConstructor<RangePreambleDetectionModel>();
    return tid;
}

void
RangePreambleDetectionModel::SetReception(Ptr<RangeReception> reception)
{
    m_reception = reception;
}

bool
RangePreambleDetectionModel::IsPreambleDetected(dBm_u rssi,
                                                double /* snr */,
                                                MHz_u /* channelWidth */) const
{
    m_reception->powerW = DbmToW(rssi);
    m_reception->start = Simulator::Now() - WifiPhy::GetPreambleDetectionDuration();
    m_reception->headerLost = false;
    return true;
}

TypeId
RangeErrorRateModel::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::RangeErrorRateModel")
            .SetParent<ErrorRateModel>()
            .SetGroupName("Meshpace")
            .AddConstructor<RangeErrorRateModel>()
            .AddAttribute("Threshold",
                          "Least power at which a frame can be decoded, W (ns-2's RXThresh).",
                          DoubleValue(3.652e-10),
                          MakeDoubleAccessor(&RangeErrorRateModel::m_thresholdW),
                          MakeDoubleChecker<double>(0))
            .AddAttribute("Capture",
                          "Least ratio of a frame's power to the interference, linear (ns-2's "
                          "CPThresh).",
                          DoubleValue(10),
                          MakeDoubleAccessor(&RangeErrorRateModel::m_capture),
                          MakeDoubleChecker<double>(0));
    return tid;
}

void
RangeErrorRateModel::SetReception(Ptr<RangeReception> reception)
{
    m_reception = reception;
}

double
RangeErrorRateModel::DoGetChunkSuccessRate(WifiMode /* mode */,
                                           const WifiTxVector& /* txVector */,
                                           double snr,
                                           uint64_t /* nbits */,
                                           uint8_t /* numRxAntennas */,
                                           WifiPpduField field,
                                           uint16_t /* staId */) const
{
    const auto& about = *m_reception;
    const bool exceeds =
        about.pairwise ? about.receiver->Exceeds(about.start) : snr >= m_capture;
    const bool clear = exceeds && (!about.needsFree || about.receiver->WasFreeFor(about.start));
    if (field != WIFI_PPDU_FIELD_DATA)
    {
        m_reception->headerLost = m_reception->headerLost || !clear;
        return 1;
    }
    return clear && !m_reception->headerLost && m_reception->powerW >= m_thresholdW ? 1 : 0;
}

/*
 * In ns-3.44 this function is not virtual and asks, for 802.11b's modes, no model but
 * DsssErrorRateModel. The definition here takes the place of the library's (the dynamic linker
 * looks into the program first): the same for every model, except that RangeErrorRateModel is
 * asked for 802.11b too.
 */
double
ErrorRateModel::GetChunkSuccessRate(WifiMode mode,
                                    const WifiTxVector& txVector,
                                    double snr,
                                    uint64_t nbits,
                                    uint8_t numRxAntennas,
                                    WifiPpduField field,
                                    uint16_t staId) const
{
    const auto modulation = mode.GetModulationClass();
    const bool dsss =
        modulation == WIFI_MOD_CLASS_DSSS || modulation == WIFI_MOD_CLASS_HR_DSSS;
    if (!dsss || dynamic_cast<const RangeErrorRateModel*>(this))
    {
        return DoGetChunkSuccessRate(mode, txVector, snr, nbits, numRxAntennas, field, staId);
    }
    switch (mode.GetDataRate(MHz_u{22}))
    {
    case 1000000:
        return DsssErrorRateModel::GetDsssDbpskSuccessRate(snr, nbits);
    case 2000000:
        return DsssErrorRateModel::GetDsssDqpskSuccessRate(snr, nbits);
    case 5500000:
        return DsssErrorRateModel::GetDsssDqpskCck5_5SuccessRate(snr, nbits);
    default:
        return DsssErrorRateModel::GetDsssDqpskCck11SuccessRate(snr, nbits);
    }
}

} // namespace ns3
