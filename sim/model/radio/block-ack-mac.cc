/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "block-ack-mac.h"

#include "mac-parts.h"

#include "ns3/abort.h"
#include "ns3/enum.h"
#include "ns3/mgt-action-headers.h"
#include "ns3/pointer.h"
#include "ns3/qos-txop.h"

#include <sstream>

namespace ns3
{

std::optional<uint8_t>
AddBaResponseTid(Ptr<const WifiMpdu> mpdu)
{
    if (!mpdu->GetHeader().IsAction())
    {
        return std::nullopt;
    }
    auto packet = mpdu->GetPacket()->Copy();
    WifiActionHeader action;
    packet->RemoveHeader(action);
    if (action.GetCategory() != WifiActionHeader::BLOCK_ACK ||
        action.GetAction().blockAck != WifiActionHeader::BLOCK_ACK_ADDBA_RESPONSE)
    {
        return std::nullopt;
    }
    MgtAddBaResponseHeader response;
    packet->PeekHeader(response);
    return response.GetTid();
}

namespace
{

Ptr<FrameExchangeManager>
CreateExchangeManager(WifiStandard standard)
{
    switch (standard)
    {
    case WIFI_STANDARD_80211n:
        return CreateObject<BlockAckExchangeManager<HtFrameExchangeManager>>();
    case WIFI_STANDARD_80211ac:
        return CreateObject<BlockAckExchangeManager<VhtFrameExchangeManager>>();
    case WIFI_STANDARD_80211ax:
        return CreateObject<BlockAckExchangeManager<HeFrameExchangeManager>>();
    default:
        NS_ABORT_MSG("no block acknowledgements in " << standard);
    }
}

/** @return the attribute that holds a category's queue, "BE_Txop" */
std::string
TxopAttribute(AcIndex category)
{
    std::ostringstream name;
    name << category;
    return name.str().substr(std::string("AC_").size()) + "_Txop";
}

} // namespace

/** As WifiMacHelper's, which takes no other frame exchange manager than its own. */
Ptr<WifiMac>
BlockAckMacHelper::Create(Ptr<WifiNetDevice> device, WifiStandard standard) const
{
    auto parts = m_mac;
    for (auto [category, txop] : m_edca)
    {
        txop.Set("AcIndex", EnumValue<AcIndex>(category));
        parts.Set(TxopAttribute(category), PointerValue(txop.Create<QosTxop>()));
    }
    auto mac = parts.Create<WifiMac>();
    SetUpMac(mac, device, CreateExchangeManager(standard));
    return mac;
}

} // namespace ns3
