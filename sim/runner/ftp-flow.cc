/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "ftp-flow.h"

#include "ns3/simulator.h"

namespace ns3
{

void
FtpFlow::Start()
{
    Connect();
    const auto end = Seconds(m_config.idle_at_s + m_config.idle_s);
    if (m_config.idle_s > 0 && end > Simulator::Now())
    {
        // Nobody else asks: TCP, which has room all the while, has said so long ago.
        Simulator::Schedule(end - Simulator::Now(), [this] { Fill(m_sender); });
    }
}

bool
FtpFlow::Idle() const
{
    const auto now = Simulator::Now();
    return now >= Seconds(m_config.idle_at_s) &&
           now < Seconds(m_config.idle_at_s + m_config.idle_s);
}

void
FtpFlow::Fill(Ptr<Socket> socket)
{
    while (!Idle() && socket->GetTxAvailable() >= m_config.segment_bytes)
    {
        if (socket->Send(Create<Packet>(m_config.segment_bytes)) < 0)
        {
            return;
        }
    }
}

} // namespace ns3
