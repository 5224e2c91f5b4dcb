/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_ETX_NEIGHBOUR_H
#define MESHPACE_ETX_NEIGHBOUR_H

#include "ns3/nstime.h"

#include <bitset>
#include <cstdint>

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * What is heard of a neighbour: how many of his latest ten HELLOs, those that have yet to come and
 * are due included. What was before the first counts as lost.
 */
class EtxNeighbour
{
  public:
    /** HELLOs that count, as many as in the documentation of olsrd's link quality (0.4.8). */
    static constexpr uint32_t WINDOW = 10;

    /** Intervals after which what was heard of somebody is forgotten: RFC 3626, section 18.3. */
    static constexpr int64_t HOLD_INTERVALS = 3;

    /** @param interval between two HELLOs of his */
    explicit EtxNeighbour(Time interval);

    /**
     * One comes; those between it and the latest before are lost.
     * @param number its number
     * @param hears what he hears of us, in parts of 255
     * @param now when
     */
    void Hear(uint16_t number, uint8_t hears, Time now);

    /**
     * @param now when
     * @return what is heard of him, in parts of 255; 0 when nothing was for three intervals
     *         (RFC 3626, NEIGHB_HOLD_TIME)
     */
    uint8_t Heard(Time now) const;

    /** @return what he hears of us, as he last said */
    uint8_t Hears() const;

  private:
    Time m_interval;
    std::bitset<WINDOW> m_heard; //!< the latest first
    uint16_t m_number{0};        //!< of the latest
    bool m_known{false};         //!< whether one has come
    uint8_t m_hears{0};
    Time m_at; //!< when the latest came
};

/**
 * ETX of a link (De Couto et al., "A high-throughput path metric for multi-hop wireless routing",
 * MobiCom 2003): how often a frame is sent on average until it and its ACK get through.
 *
 * @param heard what one end hears of the other, in parts of 255
 * @param hears what the other hears of the one
 * @return 255 * 255 / (heard * hears), infinite for a link that is none
 */
double EtxOfLink(uint8_t heard, uint8_t hears);

} // namespace ns3

#endif // MESHPACE_ETX_NEIGHBOUR_H
