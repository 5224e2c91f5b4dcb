/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "ftp-flow.h"

namespace ns3
{

void
FtpFlow::Start()
{
    Connect();
}

void
FtpFlow::Fill(Ptr<Socket> socket)
{
    while (socket->GetTxAvailable() >= m_config.segment_bytes)
    {
        if (socket->Send(Create<Packet>(m_config.segment_bytes)) < 0)
        {
            return;
        }
    }
}

} // namespace ns3
