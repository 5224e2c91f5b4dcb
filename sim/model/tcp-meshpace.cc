/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "tcp-meshpace.h"

#include "law-clock.h"

#include "ns3/buffer.h"
#include "ns3/enum.h"
#include "ns3/log.h"
#include "ns3/simulator.h"
#include "ns3/tcp-option.h"
#include "ns3/uinteger.h"

#include <array>
#include <limits>
#include <optional>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("TcpMeshpace");
NS_OBJECT_ENSURE_REGISTERED(TcpMeshpace);

namespace
{

constexpr uint32_t IPV4_HEADER_BYTES = 20;

/**
 * @param header a TCP header
 * @return RTT_wired in us as its option states it, nothing when it has none
 */
std::optional<uint32_t>
ReadRttWired(const TcpHeader& header)
{
    for (const auto& option : header.GetOptionList())
    {
        if (option->GetKind() != MP_OPTION_KIND || option->GetSerializedSize() != MP_OPTION_BYTES)
        {
            continue;
        }
        Buffer buffer;
        buffer.AddAtStart(MP_OPTION_BYTES);
        option->Serialize(buffer.Begin());
        std::array<uint8_t, MP_OPTION_BYTES> bytes;
        buffer.CopyData(bytes.data(), bytes.size());
        uint32_t rttWiredUs;
        if (mp_option_read(bytes.data(), &rttWiredUs))
        {
            return rttWiredUs;
        }
    }
    return std::nullopt;
}

} // namespace

TypeId
TcpMeshpace::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::TcpMeshpace")
            .SetParent<TcpNewReno>()
            .SetGroupName("Meshpace")
            .AddConstructor<TcpMeshpace>()
            .AddAttribute("Law",
                          "The law that sets the rate.",
                          EnumValue(GAP),
                          MakeEnumAccessor<Law>(&TcpMeshpace::m_lawName),
                          MakeEnumChecker(GAP, "gap", AP, "ap"))
            .AddAttribute("Hops",
                          "Wireless hops to the gateway (h in the papers).",
                          UintegerValue(1),
                          MakeUintegerAccessor(&TcpMeshpace::m_hops),
                          MakeUintegerChecker<uint32_t>(1))
            .AddAttribute("BitRate",
                          "Bit rate of the wireless links in kbit/s (b in the papers).",
                          UintegerValue(11000),
                          MakeUintegerAccessor(&TcpMeshpace::m_kbps),
                          MakeUintegerChecker<uint32_t>())
            .AddAttribute("DelayBound",
                          "RTT samples above this are discarded; zero takes all of them.",
                          TimeValue(NanoSeconds(MP_DELAY_BOUND_NS)),
                          MakeTimeAccessor(&TcpMeshpace::m_delayBound),
                          MakeTimeChecker());
    return tid;
}

TcpMeshpace::TcpMeshpace() = default;

TcpMeshpace::TcpMeshpace(const TcpMeshpace& other)
    : TcpNewReno(other),
      m_lawName(other.m_lawName),
      m_hops(other.m_hops),
      m_kbps(other.m_kbps),
      m_delayBound(other.m_delayBound),
      m_law(other.m_law),
      m_path(other.m_path)
{
}

void
TcpMeshpace::NotifyConstructionCompleted()
{
    TcpNewReno::NotifyConstructionCompleted();
    m_law = m_lawName == AP ? mp_law_ap() : mp_law_gap();
    m_law.delay_bound_ns = m_delayBound.GetNanoSeconds();
    m_path.hops = m_hops;
    m_path.kbps = m_kbps;
}

std::string
TcpMeshpace::GetName() const
{
    return "TcpMeshpace";
}

Ptr<TcpCongestionOps>
TcpMeshpace::Fork()
{
    return CopyObject<TcpMeshpace>(this);
}

void
TcpMeshpace::Init(Ptr<TcpSocketState> tcb)
{
    TcpNewReno::Init(tcb);
    // TCP's own estimate, ratio * cwnd / RTT, must never be the smaller bound.
    tcb->m_pacing = true;
    tcb->m_pacingSsRatio = std::numeric_limits<uint16_t>::max();
    tcb->m_pacingCaRatio = std::numeric_limits<uint16_t>::max();
    m_path.data_bytes = tcb->m_segmentSize + IPV4_HEADER_BYTES + IPV4_HEADER_BYTES;
    m_tcb = tcb;
    ApplyRate();
}

void
TcpMeshpace::Attach(Ptr<TcpSocketBase> socket)
{
    socket->SetCongestionControlAlgorithm(this);
    socket->TraceConnectWithoutContext("Tx", MakeCallback(&TcpMeshpace::Sent, this));
    socket->TraceConnectWithoutContext("Rx", MakeCallback(&TcpMeshpace::Received, this));
}

void
TcpMeshpace::Sent(Ptr<const Packet> payload,
                  const TcpHeader& header,
                  Ptr<const TcpSocketBase> /* socket */)
{
    LawClock clock;
    const auto bytes = payload->GetSize();
    if (bytes > 0)
    {
        mp_sent_record(&m_sent,
                       header.GetSequenceNumber().GetValue(),
                       bytes,
                       Simulator::Now().GetNanoSeconds());
        m_path.data_bytes = std::max(m_path.data_bytes,
                                     bytes + header.GetLength() * 4 + IPV4_HEADER_BYTES);
    }
}

uint32_t
TcpMeshpace::SampleTicks(uint32_t rttTicks, const TcpHeader& header)
{
    if (m_lawName == AP)
    {
        return rttTicks;
    }
    if (const auto rttWiredUs = ReadRttWired(header))
    {
        m_optionSeen = true;
        return mp_rtt_wireless_ticks(rttTicks, *rttWiredUs);
    }
    return m_optionSeen ? 0 : rttTicks;
}

void
TcpMeshpace::Received(Ptr<const Packet> /* payload */,
                      const TcpHeader& header,
                      Ptr<const TcpSocketBase> /* socket */)
{
    LawClock clock;
    if (!(header.GetFlags() & TcpHeader::ACK) || !m_tcb)
    {
        return;
    }
    m_path.ack_bytes = header.GetLength() * 4 + IPV4_HEADER_BYTES;
    const auto rttTicks = mp_sent_ack(&m_sent,
                                      header.GetAckNumber().GetValue(),
                                      Simulator::Now().GetNanoSeconds());
    const auto sampleTicks = rttTicks ? SampleTicks(rttTicks, header) : 0;
    if (sampleTicks)
    {
        const bool taken = mp_estimate_add(&m_estimate, &m_law, &m_path, sampleTicks);
        m_statistics.Count(m_estimate, IntervalNs(), taken);
        ApplyRate();
    }
}

void
TcpMeshpace::ApplyRate()
{
    const auto bytesPerS = mp_rate_bytes_per_s(IntervalNs(), m_tcb->m_segmentSize);
    if (bytesPerS)
    {
        m_tcb->m_maxPacingRate = DataRate(bytesPerS * 8);
    }
}

uint64_t
TcpMeshpace::IntervalNs() const
{
    return mp_interval_ns(&m_estimate, &m_law, 0);
}

uint64_t
TcpMeshpace::MeanRttNs() const
{
    return mp_window_mean_ns(&m_estimate.window);
}

const MeshpaceStatistics&
TcpMeshpace::Statistics() const
{
    return m_statistics;
}

void
TcpMeshpace::ResetStatistics()
{
    m_statistics = {};
}

} // namespace ns3
