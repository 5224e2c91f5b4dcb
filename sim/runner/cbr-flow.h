/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_CBR_FLOW_H
#define MESHPACE_CBR_FLOW_H

#include "flow.h"

#include "ns3/socket.h"

#include <cstdint>

namespace ns3
{

/** UDP datagrams at a constant rate. */
class CbrFlow : public Flow
{
  public:
    using Flow::Flow;

    void Install() override;
    void ResetStatistics() override;

    /** @return payload sent, bytes */
    uint64_t SentBytes() const;

    /**
     * A UDP datagram of this payload is as long as a TCP segment of segment_bytes, whose
     * header is longer by this.
     */
    static constexpr uint32_t HEADER_DIFFERENCE_BYTES = 12;

  private:
    void Start();
    void Send();
    void Drain(Ptr<Socket> socket);

    Ptr<Socket> m_receiver;
    Ptr<Socket> m_sender;
    uint64_t m_sentBytes{0};
};

} // namespace ns3

#endif // MESHPACE_CBR_FLOW_H
