/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "sinr-links.h"

#include "ns3/constant-position-mobility-model.h"
#include "ns3/double.h"
#include "ns3/object-factory.h"
#include "ns3/table-based-error-rate-model.h"
#include "ns3/wifi-phy.h"
#include "ns3/wifi-tx-vector.h"
#include "ns3/wifi-utils.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace ns3
{

namespace
{

/** In payloads ns-3 counts the thermal noise of 20 MHz, also in 802.11b's of 22 MHz. */
constexpr MHz_u DSSS_PAYLOAD_WIDTH{20};

constexpr double LIGHT_M_PER_S = 299792458;

/** Nothing further away is ever looked at. */
constexpr double FURTHEST_M = 1e6;

constexpr uint32_t LLC_BYTES = 8;
constexpr uint32_t MAC_BYTES = 24 + 4; // header and frame check sequence
constexpr uint32_t QOS_BYTES = 2;      // more of a header with QoS
constexpr uint32_t BITS = 8;

// mac80211's TEST_FRAME_LEN and device_constant, net/mac80211/mesh_hwmp.c.
constexpr uint32_t TEST_FRAME_BITS = 8192;
constexpr double TEST_OVERHEAD_US = 1;

double
PowerAtDbm(const RadioConfig& config, double distanceM)
{
    auto sender = CreateObject<ConstantPositionMobilityModel>();
    auto receiver = CreateObject<ConstantPositionMobilityModel>();
    receiver->SetPosition(Vector(distanceM, 0, 0));
    return SinrDistanceLoss(config)->CalcRxPower(config.tx_power_dbm, sender, receiver);
}

/** One attempt at a frame, by its mode and length: at a distance, or not noticed at all. */
class Attempt
{
  public:
    Attempt(const RadioConfig& config, double distanceM)
        : m_about(SinrPhyOf(config)),
          m_errors(CreateObject<TableBasedErrorRateModel>())
    {
        const auto powerDbm = PowerAtDbm(config, distanceM);
        m_locked = powerDbm >= config.lock_dbm &&
                   powerDbm - SinrNoiseDbm(m_about.widthMhz) >= m_about.preambleSnrDb;
        const auto width = SinrAggregates(config) ? m_about.widthMhz : DSSS_PAYLOAD_WIDTH;
        m_snr = DbToRatio(powerDbm - SinrNoiseDbm(width));
    }

    /** @return the modes that it may have */
    const std::vector<WifiMode>& Modes() const
    {
        return m_about.candidates;
    }

    /** @return the bit rate of one, Mbit/s */
    double Mbps(WifiMode mode) const
    {
        return mode.GetDataRate(m_about.widthMhz) / 1e6;
    }

    /** @return the probability that an IP packet gets through, header and payload */
    double Success(WifiMode mode, uint32_t packetBytes) const
    {
        if (!m_locked)
        {
            return 0;
        }
        // ns-3 has errors in all that is sent of a frame, what pads its last symbol included.
        const auto vector = VectorOf(mode);
        const auto bytes =
            packetBytes + LLC_BYTES + MAC_BYTES + (m_about.qos ? QOS_BYTES : 0);
        const auto band = m_about.frequencyMhz < 5000 ? WIFI_PHY_BAND_2_4GHZ : WIFI_PHY_BAND_5GHZ;
        const auto payload = WifiPhy::GetPayloadDuration(bytes, vector, band);
        const uint64_t bits = payload.GetSeconds() * mode.GetDataRate(vector);
        return Chunk(m_about.header, m_about.headerBits, WIFI_PPDU_FIELD_NON_HT_HEADER) *
               Chunk(mode, bits, WIFI_PPDU_FIELD_DATA);
    }

  private:
    WifiTxVector VectorOf(WifiMode mode) const
    {
        WifiTxVector vector;
        vector.SetMode(mode);
        vector.SetPreambleType(m_about.preamble);
        vector.SetChannelWidth(m_about.widthMhz);
        vector.SetGuardInterval(SinrGuardInterval());
        vector.SetNss(1);
        return vector;
    }

    double Chunk(WifiMode mode, uint64_t bits, WifiPpduField field) const
    {
        return m_errors->GetChunkSuccessRate(mode, VectorOf(mode), m_snr, bits, 1, field);
    }

    SinrPhy m_about;
    Ptr<TableBasedErrorRateModel> m_errors;
    bool m_locked;
    double m_snr;
};

} // namespace

Ptr<LogDistancePropagationLossModel>
SinrDistanceLoss(const RadioConfig& config)
{
    // Free space over the first metre.
    const auto hz = SinrPhyOf(config).frequencyMhz * 1e6;
    const auto referenceDb = 20 * std::log10(4 * std::numbers::pi * hz / LIGHT_M_PER_S);
    return CreateObjectWithAttributes<LogDistancePropagationLossModel>(
        "Exponent",
        DoubleValue(config.path_loss_exponent),
        "ReferenceDistance",
        DoubleValue(1),
        "ReferenceLoss",
        DoubleValue(referenceDb));
}

double
SinrNoiseDbm(MHz_u width)
{
    constexpr double BOLTZMANN = 1.3803e-23;
    return WToDbm(BOLTZMANN * 290 * MHzToHz(width)) + SINR_NOISE_FIGURE_DB;
}

uint32_t
SinrDataKbps(const RadioConfig& config)
{
    const auto about = SinrPhyOf(config);
    return about.data.GetDataRate(about.widthMhz) / 1000;
}

double
SinrSuccess(const RadioConfig& config, double distanceM, uint32_t packetBytes)
{
    const Attempt attempt(config, distanceM);
    double best = 0;
    for (const auto& mode : attempt.Modes())
    {
        best = std::max(best, attempt.Success(mode, packetBytes));
    }
    return best;
}

double
SinrAirtimeUs(const RadioConfig& config, double distanceM)
{
    const Attempt attempt(config, distanceM);
    auto least = std::numeric_limits<double>::infinity();
    for (const auto& mode : attempt.Modes())
    {
        const auto success = attempt.Success(mode, TEST_FRAME_BITS / BITS);
        const auto onceUs = TEST_OVERHEAD_US + TEST_FRAME_BITS / attempt.Mbps(mode);
        least = success > 0 ? std::min(least, onceUs / success) : least;
    }
    return least;
}

double
SinrReachM(const RadioConfig& config, uint32_t packetBytes, double success)
{
    // The further the weaker: halve the interval until it is nothing.
    double reachedM = 0;
    double beyondM = FURTHEST_M;
    for (int i = 0; i < 60; i++)
    {
        const auto distanceM = (reachedM + beyondM) / 2;
        (SinrSuccess(config, distanceM, packetBytes) >= success ? reachedM : beyondM) = distanceM;
    }
    return reachedM;
}

} // namespace ns3
