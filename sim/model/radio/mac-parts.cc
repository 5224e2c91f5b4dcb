/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "mac-parts.h"

#include "ns3/channel-access-manager.h"
#include "ns3/fcfs-wifi-queue-scheduler.h"
#include "ns3/wifi-default-ack-manager.h"
#include "ns3/wifi-default-protection-manager.h"

namespace ns3
{

namespace
{

constexpr uint8_t ONLY_LINK = 0;

} // namespace

void
SetUpMac(Ptr<WifiMac> mac, Ptr<WifiNetDevice> device, Ptr<FrameExchangeManager> exchange)
{
    mac->SetDevice(device);
    mac->SetAddress(Mac48Address::Allocate());
    device->SetMac(mac);
    mac->SetChannelAccessManagers({CreateObject<ChannelAccessManager>()});

    auto protection = CreateObject<WifiDefaultProtectionManager>();
    protection->SetWifiMac(mac);
    protection->SetLinkId(ONLY_LINK);
    exchange->SetProtectionManager(protection);
    auto ack = CreateObject<WifiDefaultAckManager>();
    ack->SetWifiMac(mac);
    ack->SetLinkId(ONLY_LINK);
    exchange->SetAckManager(ack);
    exchange->SetAddress(mac->GetAddress());
    mac->SetFrameExchangeManagers({exchange});
    mac->SetMacQueueScheduler(CreateObject<FcfsWifiQueueScheduler>());
}

} // namespace ns3
