/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "tcp-socket-lying.h"

#include "ns3/simulator.h"
#include "ns3/tcp-rx-buffer.h"

#include <map>
#include <numeric>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(TcpSocketLying);

namespace
{

/** In which a segment is acknowledged. */
constexpr uint32_t PARTS = 16;

/** In which so much came as is claimed ahead: about a round trip over a few hops. */
const Time LATELY = MilliSeconds(100);

/** Eighteen times what the law lets wait at a hop (16.5 ms): as a path would that is far too full. */
const Time LATER = MilliSeconds(300);

const std::map<std::string, TcpSocketLying::Lie> LIES{{"early", TcpSocketLying::Lie::EARLY},
                                                      {"lossless", TcpSocketLying::Lie::LOSSLESS},
                                                      {"splits", TcpSocketLying::Lie::SPLITS},
                                                      {"late", TcpSocketLying::Lie::LATE},
                                                      {"mute", TcpSocketLying::Lie::MUTE}};

} // namespace

TypeId
TcpSocketLying::GetTypeId()
{
    static TypeId tid = TypeId("ns3::TcpSocketLying")
                            .SetParent<TcpSocketPaced>()
                            .SetGroupName("Meshpace")
                            .AddConstructor<TcpSocketLying>();
    return tid;
}

bool
TcpSocketLying::Lies(const std::string& receiver)
{
    return LIES.count(receiver) > 0;
}

void
TcpSocketLying::LieAs(const std::string& receiver)
{
    m_lie = LIES.at(receiver);
}

Ptr<TcpSocketBase>
TcpSocketLying::Fork()
{
    return CopyObject<TcpSocketLying>(this);
}

void
TcpSocketLying::ReceivedData(Ptr<Packet> packet, const TcpHeader& header)
{
    switch (m_lie)
    {
    case Lie::EARLY:
        AnswerEarly(packet, header);
        break;
    case Lie::LOSSLESS:
        Claim(header.GetSequenceNumber());
        TcpSocketPaced::ReceivedData(packet, header);
        break;
    case Lie::SPLITS:
        AnswerInParts(packet, header);
        break;
    case Lie::LATE:
        Simulator::Schedule(LATER, &TcpSocketLying::AnswerLate, Ptr<TcpSocketLying>(this), packet, header);
        break;
    case Lie::MUTE:
        break;
    }
}

void
TcpSocketLying::AnswerLate(Ptr<Packet> packet, const TcpHeader& header)
{
    if (!IsFaded() && m_state == ESTABLISHED)
    {
        TcpSocketPaced::ReceivedData(packet, header);
    }
}

void
TcpSocketLying::AnswerEarly(Ptr<Packet> packet, const TcpHeader& header)
{
    const auto now = Simulator::Now();
    m_came.emplace_back(now, packet->GetSize());
    while (m_came.front().first < now - LATELY)
    {
        m_came.pop_front();
    }
    const auto ahead = std::accumulate(m_came.begin(), m_came.end(), 0U, [](auto sum, const auto& one) {
        return sum + one.second;
    });
    Claim(header.GetSequenceNumber() + packet->GetSize() + ahead);
    SendEmptyPacket(TcpHeader::ACK);
}

void
TcpSocketLying::AnswerInParts(Ptr<Packet> packet, const TcpHeader& header)
{
    const auto bytes = packet->GetSize();
    m_delAckMaxCount = 1;
    for (uint32_t i = 0; i < PARTS; i++)
    {
        const auto begin = bytes * i / PARTS;
        const auto end = bytes * (i + 1) / PARTS;
        if (end > begin)
        {
            TcpHeader part = header;
            part.SetSequenceNumber(header.GetSequenceNumber() + begin);
            TcpSocketPaced::ReceivedData(packet->CreateFragment(begin, end - begin), part);
        }
    }
}

void
TcpSocketLying::Claim(SequenceNumber32 seq)
{
    if (seq > m_tcb->m_rxBuffer->NextRxSequence())
    {
        m_tcb->m_rxBuffer->SetNextRxSequence(seq);
    }
}

} // namespace ns3
