/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "range-receiver.h"

#include "ns3/simulator.h"
#include "ns3/wifi-ppdu.h"
#include "ns3/wifi-psdu.h"
#include "ns3/wifi-utils.h"

#include <algorithm>

namespace ns3
{

namespace
{

/** Before anything begins. */
const Time NEVER = Seconds(-1);

} // namespace

const Time RangeReceiver::EIFS = MicroSeconds(10 + 50 + 304);

RangeReceiver::RangeReceiver(double senseW, double decodeW, double capture)
    : m_senseW(senseW),
      m_decodeW(decodeW),
      m_capture(capture),
      m_sendsUntil(NEVER),
      m_occupiedUntil(NEVER),
      m_freeFor(NEVER),
      m_busyUntil(NEVER)
{
}

void
RangeReceiver::Watch(Ptr<WifiPhy> phy)
{
    m_band = phy->GetPhyBand();
    const bool hears =
        phy->TraceConnectWithoutContext("SignalArrival",
                                        MakeCallback(&RangeReceiver::Arrive, this));
    const bool sends = phy->TraceConnectWithoutContext("PhyTxPsduBegin",
                                                       MakeCallback(&RangeReceiver::Send, this));
    NS_ABORT_MSG_UNLESS(hears && sends, "a range receiver needs a YansWifiPhy");
}

void
RangeReceiver::Arrive(Ptr<const WifiPpdu> /* ppdu */, double powerDbm, Time duration)
{
    const auto now = Simulator::Now();
    Arrival arrival{now, now + duration, DbmToW(dBm_u{powerDbm}), 0};
    if (arrival.powerW < m_senseW)
    {
        return;
    }
    Meet(arrival);
    Occupy(arrival);
}

/** Notes a new frame, and of it and those on the air which others they meet. */
void
RangeReceiver::Meet(Arrival& arrival)
{
    // A frame is judged at its very end, when it must still be here.
    std::erase_if(m_arrivals, [&](const Arrival& other) { return other.end < arrival.start; });
    for (auto& other : m_arrivals)
    {
        if (other.end > arrival.start)
        {
            other.strongestW = std::max(other.strongestW, arrival.powerW);
            arrival.strongestW = std::max(arrival.strongestW, other.powerW);
        }
    }
    m_arrivals.push_back(arrival);
}

/** ns-2's recv: the receiver is free, or ignores the new frame, or it collides. */
void
RangeReceiver::Occupy(const Arrival& arrival)
{
    const auto now = arrival.start;
    const bool free = now >= m_occupiedUntil;
    const bool collides = !free && m_occupantW < m_capture * arrival.powerW;
    const bool sending = now < m_sendsUntil;
    if (free && !sending)
    {
        m_freeFor = now;
    }
    else if (collides)
    {
        m_freeFor = NEVER;
        m_busyUntil = std::max(m_busyUntil, m_occupiedUntil + EIFS);
    }
    if (free || (collides && arrival.end > m_occupiedUntil))
    {
        m_occupiedUntil = arrival.end;
        m_occupantW = arrival.powerW;
    }
    const bool clean = free && !sending && arrival.powerW >= m_decodeW;
    m_busyUntil = std::max(m_busyUntil, clean ? arrival.end : arrival.end + EIFS);
}

/** The node's own frame spoils the one that it is receiving. */
void
RangeReceiver::Send(WifiConstPsduMap psdus, WifiTxVector vector, double /* watts */)
{
    const auto now = Simulator::Now();
    m_sendsUntil = now + WifiPhy::CalculateTxDuration(psdus, vector, m_band);
    if (now < m_occupiedUntil)
    {
        m_freeFor = NEVER;
        m_busyUntil = std::max(m_busyUntil, m_occupiedUntil + EIFS);
    }
}

bool
RangeReceiver::Exceeds(Time start) const
{
    for (const auto& arrival : m_arrivals)
    {
        if (arrival.start == start)
        {
            return arrival.powerW >= m_capture * arrival.strongestW;
        }
    }
    return false;
}

bool
RangeReceiver::WasFreeFor(Time start) const
{
    return m_freeFor == start;
}

bool
RangeReceiver::IsIdle() const
{
    const auto now = Simulator::Now();
    return now >= m_sendsUntil && now >= m_busyUntil;
}

} // namespace ns3
