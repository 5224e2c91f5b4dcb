/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_FTP_FLOW_H
#define MESHPACE_FTP_FLOW_H

#include "tcp-flow.h"

namespace ns3
{

/**
 * A greedy transfer (FTP): one connection whose sender always has data, but for the time in which
 * its application is idle; what TCP has by then it sends.
 */
class FtpFlow : public TcpFlow
{
  public:
    using TcpFlow::TcpFlow;

  protected:
    void Start() override;
    void Fill(Ptr<Socket> socket) override;

  private:
    /** @return whether the application has nothing to send now */
    bool Idle() const;
};

} // namespace ns3

#endif // MESHPACE_FTP_FLOW_H
