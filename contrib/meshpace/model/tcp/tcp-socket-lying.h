/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_TCP_SOCKET_LYING_H
#define MESHPACE_TCP_SOCKET_LYING_H

#include "tcp-socket-paced.h"

#include <deque>
#include <string>
#include <utility>

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * A receiver that lies about what has come, to have more than its part or to spoil that of others:
 *
 * - **early**: what is still under way is acknowledged, as much as came in the latest tenth of a second beyond what has
 *   come; the sender takes the path for short and empty (optimistic ACKs: Savage and others 1999, section 2.3). Its
 *   application gets nothing.
 * - **lossless**: what was lost is acknowledged as if it had come, so that no loss is ever seen (section 2.2).
 * - **splits**: a segment is acknowledged in sixteen parts (section 2.1).
 * - **late**: each segment is answered 0.3 s after it came, so that much seems to wait on the path.
 * - **mute**: the handshake is answered, data never.
 */
class TcpSocketLying : public TcpSocketPaced
{
  public:
    /** What it lies about. */
    enum class Lie
    {
        EARLY,
        LOSSLESS,
        SPLITS,
        LATE,
        MUTE
    };

    /** @return the type id */
    static TypeId GetTypeId();

    TcpSocketLying() = default;

    /**
     * @param receiver as a scenario names it
     * @return whether that is one who lies
     */
    static bool Lies(const std::string& receiver);

    /** @param receiver as a scenario names one who lies */
    void LieAs(const std::string& receiver);

  protected:
    void ReceivedData(Ptr<Packet> packet, const TcpHeader& header) override;

  private:
    Ptr<TcpSocketBase> Fork() override;

    /** What came 0.3 s ago is answered. */
    void AnswerLate(Ptr<Packet> packet, const TcpHeader& header);
    /** Acknowledges data that ends before what came, or behind. */
    void AnswerEarly(Ptr<Packet> packet, const TcpHeader& header);
    /** Acknowledges a segment part by part. */
    void AnswerInParts(Ptr<Packet> packet, const TcpHeader& header);
    /** From now on all before seq has come, as it says. */
    void Claim(SequenceNumber32 seq);

    Lie m_lie{Lie::MUTE};
    std::deque<std::pair<Time, uint32_t>> m_came; //!< when so many bytes came, lately
};

} // namespace ns3

#endif // MESHPACE_TCP_SOCKET_LYING_H
