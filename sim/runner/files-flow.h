/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_FILES_FLOW_H
#define MESHPACE_FILES_FLOW_H

#include "tcp-flow.h"

#include "ns3/event-id.h"
#include "ns3/random-variable-stream.h"

#include <functional>
#include <vector>

namespace ns3
{

/** A file that has been delivered. */
struct Transfer
{
    uint64_t bytes; //!< its size
    Time start;     //!< when its transfer began, with the connection's SYN if it had its own
    Time end;       //!< when its last byte was delivered
};

/**
 * Sizes of files: Pareto's law without a bound,
 *
 *     P(size > x) = (scale / x)^shape for x >= scale, with scale = mean * (shape - 1) / shape.
 */
class FileSizes
{
  public:
    /**
     * @param meanBytes their mean
     * @param shape Pareto's shape, above 1
     * @param stream number of the random stream
     */
    FileSizes(double meanBytes, double shape, int64_t stream);

    /** @return the next file's size, bytes, at least 1 */
    uint64_t Next();

  private:
    Ptr<ParetoRandomVariable> m_sizes;
};

/**
 * HTTP-like traffic (GAP journal, 5.3): files one after the other, with Pareto sizes and, from
 * the delivery of one to the beginning of the next, exponential pauses. Each file has a TCP
 * connection of its own, opened for it and closed behind it by FIN, or all have one.
 *
 * Sizes and pauses depend on the run's number and the flow alone: every law and every TCP has
 * the same ones.
 */
class FilesFlow : public TcpFlow
{
  public:
    /**
     * @param config the flow as the scenario states it
     * @param ends where it runs
     * @param warmup what happens before does not count
     * @param control its first sender's congestion control, later ones have forks; or null
     */
    FilesFlow(const FlowConfig& config,
              const FlowEnds& ends,
              Time warmup,
              Ptr<TcpMeshpace> control);

    void ResetStatistics() override;
    MeshpaceStatistics ControlStatistics() const override;

    /**
     * Asks to be told when a connection has ended: both ends have sent FIN, or it was reset.
     * @param ended is called with the sender's port
     */
    void SetEndCallback(std::function<void(uint16_t)> ended);

    /**
     * Asks to be told when a connection has a congestion control of its own, a fork of the first one's.
     * @param made is called with it, before the connection begins
     */
    void SetLawCallback(std::function<void(Ptr<TcpMeshpace>)> made);

    /** @return the transfers that began and ended after the warm-up */
    const std::vector<Transfer>& Transfers() const;

    /** @return whether one that began after the warm-up is under way */
    bool Unfinished() const;

  protected:
    void Start() override;
    void Stop() override;
    void Fill(Ptr<Socket> socket) override;
    void Accepted(Ptr<Socket> socket) override;
    void Delivered(uint32_t bytes) override;

  private:
    void StartFile();
    void EndFile();
    void EndConnection(Ptr<Socket> socket);

    FileSizes m_sizes;
    Ptr<ExponentialRandomVariable> m_pauses; //!< null: none
    Time m_warmup;
    Transfer m_file{};        //!< the latest
    bool m_underWay{false};   //!< whether it is being sent
    uint64_t m_toSend{0};     //!< of it, bytes that TCP does not have yet
    uint64_t m_toDeliver{0};  //!< of it, bytes that the receiver does not have yet
    EventId m_next;           //!< the next file's beginning
    std::vector<Transfer> m_transfers;
    MeshpaceStatistics m_ended; //!< of the law at the sender, in connections that are no more
    std::function<void(uint16_t)> m_onEnd;
    std::function<void(Ptr<TcpMeshpace>)> m_onLaw;
};

} // namespace ns3

#endif // MESHPACE_FILES_FLOW_H
