/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "flow.h"

namespace ns3
{

Flow::Flow(const FlowConfig& config, const FlowEnds& ends, Time warmup)
    : m_config(config),
      m_ends(ends),
      m_delivery(warmup, Seconds(BIN_S))
{
}

void
Flow::ResetStatistics()
{
}

const FlowConfig&
Flow::Config() const
{
    return m_config;
}

const DeliveryMeter&
Flow::Delivery() const
{
    return m_delivery;
}

} // namespace ns3
