/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_RANGE_PHY_H
#define MESHPACE_RANGE_PHY_H

#include "range-receiver.h"

#include "ns3/error-rate-model.h"
#include "ns3/preamble-detection-model.h"
#include "ns3/simple-ref-count.h"

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * The frame that a range radio is locked on; shared by the two models of one PHY.
 */
struct RangeReception : public SimpleRefCount<RangeReception>
{
    double powerW{0};            //!< power at which it arrives
    Time start;                  //!< when it began to
    bool headerLost{false};      //!< whether interference has spoilt its header
    Ptr<RangeReceiver> receiver; //!< what else arrives; needed by the two rules below
    bool pairwise{false};        //!< ns-2: each interferer counts by itself, not their sum
    bool needsFree{false};       //!< ns-2: the frame has to have found the receiver free
};

/**
 * @ingroup meshpace
 *
 * Preamble detection as in ns-2: a radio locks on the first frame that it senses, however
 * weak, and stays locked to its end. That is half of the hidden-terminal problem: a frame that
 * cannot be decoded still keeps its receiver from hearing one that could.
 */
class RangePreambleDetectionModel : public PreambleDetectionModel
{
  public:
    /** @return the type id */
    static TypeId GetTypeId();

    /**
     * @param reception where to note the frame locked on
     */
    void SetReception(Ptr<RangeReception> reception);

    bool IsPreambleDetected(dBm_u rssi, double snr, MHz_u channelWidth) const override;

  private:
    Ptr<RangeReception> m_reception;
};

/**
 * @ingroup meshpace
 *
 * Reception as in ns-2: a frame is decoded when it arrives with at least the power of the
 * transmission range and its power exceeds the interference by the capture ratio throughout.
 *
 * ns-2 knows no separate header; here a spoilt header spoils the payload, so that the receiver
 * stays with the frame to its end and then defers for EIFS, as in ns-2.
 */
class RangeErrorRateModel : public ErrorRateModel
{
  public:
    /** @return the type id */
    static TypeId GetTypeId();

    /**
     * @param reception where the preamble detection notes the frame locked on
     */
    void SetReception(Ptr<RangeReception> reception);

  private:
    double DoGetChunkSuccessRate(WifiMode mode,
                                 const WifiTxVector& txVector,
                                 double snr,
                                 uint64_t nbits,
                                 uint8_t numRxAntennas,
                                 WifiPpduField field,
                                 uint16_t staId) const override;

    Ptr<RangeReception> m_reception;
    double m_thresholdW; //!< least power that can be decoded, W
    double m_capture;    //!< least ratio of power to interference, linear
};

} // namespace ns3

#endif // MESHPACE_RANGE_PHY_H
