/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_SINR_LINKS_H
#define MESHPACE_SINR_LINKS_H

#include "scenario.h"
#include "sinr-phy.h"

#include "ns3/propagation-loss-model.h"

#include <cstdint>

namespace ns3
{

/**
 * @file
 * What links of the sinr radio carry, by its loss and error models alone: on an idle channel, with
 * neither shadowing nor fading.
 */

/**
 * @param config a sinr radio
 * @return its log-distance loss, free space over the first metre
 */
Ptr<LogDistancePropagationLossModel> SinrDistanceLoss(const RadioConfig& config);

/**
 * @param width of a channel
 * @return thermal noise at 290 K with the receiver's own, as ns-3's InterferenceHelper has it, dBm
 */
double SinrNoiseDbm(MHz_u width);

/**
 * @param config a sinr radio
 * @return the bit rate of its data frames, kbit/s; under rate control that of its mcs
 */
uint32_t SinrDataKbps(const RadioConfig& config);

/**
 * @param config a sinr radio
 * @param distanceM how far apart sender and receiver are
 * @param packetBytes length of an IP packet
 * @return the probability that one attempt at it gets through, on an idle channel; under rate
 *         control at the bit rate that is best for it
 */
double SinrSuccess(const RadioConfig& config, double distanceM, uint32_t packetBytes);

/**
 * The airtime link metric of mac80211's mesh (airtime_link_metric_get in net/mac80211/mesh_hwmp.c):
 * a test frame of 8192 bits, 1 us of overhead, and as many attempts as it takes, at the bit rate at
 * which that is least.
 *
 * @param config a sinr radio
 * @param distanceM how far apart sender and receiver are
 * @return the airtime of a test frame, us; infinite where nothing gets through
 */
double SinrAirtimeUs(const RadioConfig& config, double distanceM);

/**
 * @param config a sinr radio
 * @param packetBytes length of an IP packet
 * @param success a probability
 * @return the greatest distance at which one attempt gets through with at least it, m
 */
double SinrReachM(const RadioConfig& config, uint32_t packetBytes, double success);

} // namespace ns3

#endif // MESHPACE_SINR_LINKS_H
