/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_FLOW_H
#define MESHPACE_FLOW_H

#include "delivery-meter.h"
#include "scenario.h"

#include "ns3/ipv4-address.h"
#include "ns3/node.h"
#include "ns3/nstime.h"

#include <cstdint>

namespace ns3
{

/** Where a flow begins and ends. */
struct FlowEnds
{
    Ptr<Node> sender;            //!< node that sends
    Ptr<Node> receiver;          //!< node that receives
    Ipv4Address receiverAddress; //!< its address
    uint16_t port;               //!< the receiver's port, unique in the scenario
};

/** A flow of a scenario, from its start to its stop or the end of the simulation. */
class Flow
{
  public:
    /**
     * @param config the flow as the scenario states it
     * @param ends where it runs
     * @param warmup what happens before does not count
     */
    Flow(const FlowConfig& config, const FlowEnds& ends, Time warmup);
    virtual ~Flow() = default;

    Flow(const Flow&) = delete;
    Flow& operator=(const Flow&) = delete;

    /** Schedules its beginning and its end. */
    virtual void Install() = 0;

    /** Forgets what was counted, apart from the bins: the warm-up is over. */
    virtual void ResetStatistics();

    /** @return the flow as the scenario states it */
    const FlowConfig& Config() const;

    /** @return what it delivers */
    const DeliveryMeter& Delivery() const;

    static constexpr double BIN_S = 1.0; //!< length of a bin, s

  protected:
    const FlowConfig m_config;
    const FlowEnds m_ends;
    DeliveryMeter m_delivery;
};

} // namespace ns3

#endif // MESHPACE_FLOW_H
