/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "radio-port.h"

#include "ns3/wifi-mac-queue.h"
#include "ns3/wifi-mac.h"

#include <algorithm>

namespace ns3
{

namespace
{

/**
 * The MAC's share of the queue. The frame on air stays queued until it is acknowledged; one
 * more would do if Linux answered at once, the others cover a late reader.
 */
constexpr uint32_t WINDOW_PACKETS = 4;

bool
Aggregates(Ptr<WifiNetDevice> radio)
{
    return radio->GetMac()->GetQosSupported();
}

/** What the TAP gets; one without any queue would lose every burst. */
TapConfig
WithRest(TapConfig config, uint32_t queuePackets)
{
    config.queuePackets = queuePackets > WINDOW_PACKETS ? queuePackets - WINDOW_PACKETS : 1;
    return config;
}

} // namespace

RadioPort::RadioPort(Ptr<WifiNetDevice> radio, TapConfig config, uint32_t queuePackets)
    : LinuxPort(radio,
                Aggregates(radio) ? QueuedElsewhere(std::move(config))
                                  : WithRest(std::move(config), queuePackets),
                Aggregates(radio) ? queuePackets : std::min(WINDOW_PACKETS, queuePackets)),
      m_radio(radio)
{
    radio->SetReceiveCallback(MakeCallback(&RadioPort::Receive, this));
    radio->GetMac()
        ->GetTxopQueue(Aggregates(radio) ? AC_BE : AC_BE_NQOS)
        ->TraceConnectWithoutContext("PacketsInQueue",
                                     MakeCallback(&RadioPort::QueueChanged, this));
}

bool
RadioPort::Send(const Content& content)
{
    if (content.type != IPV4 && content.type != ARP)
    {
        return false;
    }
    m_radio->Send(content.packet, content.to, content.type);
    return true;
}

void
RadioPort::QueueChanged(uint32_t, uint32_t now)
{
    SetQueued(now);
}

} // namespace ns3
