/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "tcp-socket-thinning.h"

#include <algorithm>
#include <array>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(TcpSocketThinning);

TypeId
TcpSocketThinning::GetTypeId()
{
    static TypeId tid = TypeId("ns3::TcpSocketThinning")
                            .SetParent<TcpSocketPaced>()
                            .SetGroupName("Meshpace")
                            .AddConstructor<TcpSocketThinning>();
    return tid;
}

uint32_t
TcpSocketThinning::DelayFactor(uint32_t segment)
{
    static constexpr std::array<uint32_t, 3> THRESHOLDS{2, 5, 9}; // l1, l2, l3
    return 1 + std::count_if(THRESHOLDS.begin(), THRESHOLDS.end(), [segment](auto threshold) {
               return segment >= threshold;
           });
}

Ptr<TcpSocketBase>
TcpSocketThinning::Fork()
{
    return CopyObject<TcpSocketThinning>(this);
}

void
TcpSocketThinning::CompleteFork(Ptr<Packet> packet,
                                const TcpHeader& header,
                                const Address& from,
                                const Address& to)
{
    m_first = header.GetSequenceNumber() + SequenceNumber32(1);
    m_delAckMaxCount = DelayFactor(1);
    TcpSocketPaced::CompleteFork(packet, header, from, to);
}

void
TcpSocketThinning::ReceivedData(Ptr<Packet> packet, const TcpHeader& header)
{
    const auto before = header.GetSequenceNumber() - m_first; // bytes, less than 2^31
    m_delAckMaxCount = DelayFactor(before / static_cast<int32_t>(m_tcb->m_segmentSize) + 1);
    TcpSocketPaced::ReceivedData(packet, header);
}

} // namespace ns3
