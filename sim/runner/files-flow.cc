/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "files-flow.h"

#include "ns3/double.h"
#include "ns3/inet-socket-address.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <cmath>

namespace ns3
{

namespace
{

/** Random streams of a flow, of which each has its own numbers. */
constexpr int64_t STREAMS = 2;

} // namespace

FileSizes::FileSizes(double meanBytes, double shape, int64_t stream)
    : m_sizes(CreateObjectWithAttributes<ParetoRandomVariable>(
          "Scale",
          DoubleValue(meanBytes * (shape - 1) / shape),
          "Shape",
          DoubleValue(shape)))
{
    m_sizes->SetStream(stream);
}

uint64_t
FileSizes::Next()
{
    return std::max<uint64_t>(std::llround(m_sizes->GetValue()), 1);
}

FilesFlow::FilesFlow(const FlowConfig& config,
                     const FlowEnds& ends,
                     Time warmup,
                     Ptr<TcpMeshpace> control)
    : TcpFlow(config, ends, warmup, control),
      m_sizes(config.file_bytes, config.pareto_shape, STREAMS * ends.port),
      m_warmup(warmup)
{
    if (config.pause_s > 0)
    {
        m_pauses = CreateObjectWithAttributes<ExponentialRandomVariable>(
            "Mean",
            DoubleValue(config.pause_s));
        m_pauses->SetStream(STREAMS * ends.port + 1);
    }
}

void
FilesFlow::SetEndCallback(std::function<void(uint16_t)> ended)
{
    m_onEnd = std::move(ended);
}

void
FilesFlow::SetLawCallback(std::function<void(Ptr<TcpMeshpace>)> made)
{
    m_onLaw = std::move(made);
}

const std::vector<Transfer>&
FilesFlow::Transfers() const
{
    return m_transfers;
}

bool
FilesFlow::Unfinished() const
{
    return m_underWay && m_file.start >= m_warmup;
}

void
FilesFlow::ResetStatistics()
{
    TcpFlow::ResetStatistics();
    m_ended = {};
}

MeshpaceStatistics
FilesFlow::ControlStatistics() const
{
    auto all = m_ended;
    all.Add(TcpFlow::ControlStatistics());
    return all;
}

void
FilesFlow::Start()
{
    StartFile();
}

void
FilesFlow::Stop()
{
    m_next.Cancel();
    if (m_underWay || m_config.one_connection)
    {
        m_sender->Abort();
    }
    m_underWay = false;
}

void
FilesFlow::StartFile()
{
    m_file = {m_sizes.Next(), Simulator::Now(), {}};
    m_underWay = true;
    m_delivery.Begins();
    m_toSend = m_toDeliver = m_file.bytes;
    if (m_config.one_connection && m_sender)
    {
        Fill(m_sender);
        return;
    }
    if (m_sender && m_control)
    {
        m_ended.Add(m_control->Statistics());
        m_control = DynamicCast<TcpMeshpace>(m_control->Fork());
        if (m_onLaw)
        {
            m_onLaw(m_control);
        }
    }
    Connect();
    m_sender->SetCloseCallbacks(MakeCallback(&FilesFlow::EndConnection, this),
                                MakeCallback(&FilesFlow::EndConnection, this));
}

void
FilesFlow::Fill(Ptr<Socket> socket)
{
    if (socket != m_sender || m_toSend == 0)
    {
        return; // an earlier connection that is closing, or all is said
    }
    while (m_toSend > 0)
    {
        const auto piece = std::min<uint64_t>(m_toSend, m_config.segment_bytes);
        if (socket->GetTxAvailable() < piece || socket->Send(Create<Packet>(piece)) < 0)
        {
            return; // TCP asks again when it has room
        }
        m_toSend -= piece;
    }
    if (!m_config.one_connection)
    {
        socket->Close();
    }
}

void
FilesFlow::Accepted(Ptr<Socket> socket)
{
    TcpFlow::Accepted(socket);
    // The receiver has nothing to say: it closes when the sender has.
    socket->SetCloseCallbacks(Callback<void, Ptr<Socket>>([](Ptr<Socket> one) { one->Close(); }),
                              MakeNullCallback<void, Ptr<Socket>>());
}

void
FilesFlow::Delivered(uint32_t bytes)
{
    TcpFlow::Delivered(bytes);
    m_toDeliver -= bytes;
    if (m_underWay && m_toDeliver == 0)
    {
        EndFile();
    }
}

void
FilesFlow::EndFile()
{
    m_underWay = false;
    m_delivery.Rests();
    m_file.end = Simulator::Now();
    if (m_file.start >= m_warmup)
    {
        m_transfers.push_back(m_file);
    }
    const auto pause = m_pauses ? Seconds(m_pauses->GetValue()) : Time();
    m_next = Simulator::Schedule(pause, [this] {
        Simulator::ScheduleWithContext(m_ends.sender->GetId(), Time(), &FilesFlow::StartFile, this);
    });
}

void
FilesFlow::EndConnection(Ptr<Socket> socket)
{
    Address address;
    if (m_onEnd && socket->GetSockName(address) == 0)
    {
        m_onEnd(InetSocketAddress::ConvertFrom(address).GetPort());
    }
}

} // namespace ns3
