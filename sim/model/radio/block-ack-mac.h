/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_BLOCK_ACK_MAC_H
#define MESHPACE_BLOCK_ACK_MAC_H

#include "ns3/he-frame-exchange-manager.h"
#include "ns3/wifi-mac-helper.h"
#include "ns3/wifi-mac.h"
#include "ns3/wifi-mpdu.h"

#include <cstdint>
#include <optional>

namespace ns3
{

/**
 * @param mpdu any frame
 * @return the TID of an ADDBA response; none of another frame
 */
std::optional<uint8_t> AddBaResponseTid(Ptr<const WifiMpdu> mpdu);

/**
 * @ingroup meshpace
 *
 * Frame exchanges of 802.11n and later in which an ADDBA response counts once, as in mac80211
 * ("ignore duplicate response", ieee80211_process_addba_resp in net/mac80211/agg-tx.c). It comes
 * again when its ACK was lost.
 *
 * ns-3 3.44 takes each for an answer (QosTxop::GotAddBaResponse): it begins the originator's window
 * anew at the first frame that waits to be sent again, and forgets which later ones are
 * acknowledged. These are in no queue any more, so nothing ever moves the window past them; and a
 * node whose next frame is beyond its window sends nothing to anybody (QosTxop::PeekNextMpdu).
 *
 * @tparam Exchange ns-3's manager of the standard
 */
template <class Exchange>
class BlockAckExchangeManager : public Exchange
{
  protected:
    /** A response that nobody waits for is acknowledged, and goes no further. */
    void ReceiveMpdu(Ptr<const WifiMpdu> mpdu,
                     RxSignalInfo rxSignalInfo,
                     const WifiTxVector& txVector,
                     bool inAmpdu) override
    {
        const auto from = mpdu->GetHeader().GetAddr2();
        const auto tid = AddBaResponseTid(mpdu);
        if (tid && this->m_mac->GetBaAgreementEstablishedAsOriginator(from, *tid))
        {
            QosFrameExchangeManager::ReceiveMpdu(mpdu, rxSignalInfo, txVector, inAmpdu);
            return;
        }
        Exchange::ReceiveMpdu(mpdu, rxSignalInfo, txVector, inAmpdu);
    }
};

/**
 * @ingroup meshpace
 *
 * Makes MACs of 802.11n, 802.11ac and 802.11ax with a BlockAckExchangeManager.
 */
class BlockAckMacHelper : public WifiMacHelper
{
  public:
    Ptr<WifiMac> Create(Ptr<WifiNetDevice> device, WifiStandard standard) const override;
};

} // namespace ns3

#endif // MESHPACE_BLOCK_ACK_MAC_H
