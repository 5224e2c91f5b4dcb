/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_DELIVERY_METER_H
#define MESHPACE_DELIVERY_METER_H

#include "ns3/nstime.h"

#include <cstdint>
#include <vector>

namespace ns3
{

/** What a flow delivers, counted at the receiving application. */
class DeliveryMeter
{
  public:
    /**
     * @param warmup what is delivered before does not count as goodput
     * @param bin length of a bin
     */
    DeliveryMeter(Time warmup, Time bin);

    /**
     * Counts payload delivered now.
     * @param bytes how much
     */
    void Count(uint32_t bytes);

    /** There is nothing to deliver until Begins(): what does not come then is no stall. */
    void Rests();

    /** There is something to deliver again. */
    void Begins();

    /** @return bytes delivered after the warm-up */
    uint64_t GoodputBytes() const;

    /** A time, after the warm-up, without a delivered byte, in which one could have come. */
    struct Stall
    {
        Time begin;  //!< of the silence
        Time length; //!< until the next byte, or a rest, or the end
    };

    /**
     * @param begin when delivery could begin
     * @param end when it had to end
     * @return the stalls of at least STALL_S between the two, in their order
     */
    std::vector<Stall> Stalls(Time begin, Time end) const;

    static constexpr double STALL_S = 1.0; //!< less is no stall

    /**
     * @param end the end of the simulation
     * @return bytes delivered in each bin from time 0 on
     */
    std::vector<uint64_t> Bins(Time end) const;

  private:
    /** The silence until now, if it is long enough, is a stall. */
    void NoteStall();

    Time m_warmup;
    Time m_bin;
    uint64_t m_goodputBytes{0};
    std::vector<uint64_t> m_bins;
    Time m_last;                 //!< when the last byte was delivered, or the first of the next was to be
    bool m_rests{false};         //!< nothing is to be delivered
    std::vector<Stall> m_stalls; //!< between deliveries
};

} // namespace ns3

#endif // MESHPACE_DELIVERY_METER_H
