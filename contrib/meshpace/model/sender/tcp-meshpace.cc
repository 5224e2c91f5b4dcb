/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "tcp-meshpace.h"

#include "../law-clock.h"
#include "../now-ns.h"

#include "ns3/boolean.h"
#include "ns3/buffer.h"
#include "ns3/enum.h"
#include "ns3/log.h"
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
 * Calls with the bytes of each option that is in the experimental kind and so long.
 * @param header a TCP header
 * @param look takes them, and returns whether it has found what it looks for
 */
template <std::size_t BYTES, typename Look>
void
LookAtOptions(const TcpHeader& header, Look look)
{
    for (const auto& option : header.GetOptionList())
    {
        if (option->GetKind() != MP_OPTION_KIND || option->GetSerializedSize() != BYTES)
        {
            continue;
        }
        Buffer buffer;
        buffer.AddAtStart(BYTES);
        option->Serialize(buffer.Begin());
        std::array<uint8_t, BYTES> bytes;
        buffer.CopyData(bytes.data(), bytes.size());
        if (look(bytes))
        {
            return;
        }
    }
}

/**
 * Looks for one of the options by which the gateway tells something.
 * @param header a TCP header
 * @param read reads the option's bytes, and returns whether it is the one
 * @return whether it was there
 */
template <typename Read>
bool
ReadFeedback(const TcpHeader& header, Read read)
{
    bool found = false;
    LookAtOptions<MP_OPTION_BYTES>(header, [&](const auto& bytes) {
        found = read(bytes.data());
        return found;
    });
    return found;
}

/**
 * @param header a TCP header
 * @return the bit rates of links that its option tells, kbit/s; none when it has none
 */
std::vector<uint32_t>
ReadLinkRates(const TcpHeader& header)
{
    std::vector<uint32_t> found;
    LookAtOptions<MP_LINK_RATES_BYTES>(header, [&found](const auto& bytes) {
        std::array<uint32_t, MP_LINK_RATES_MAX> kbps;
        if (mp_link_rates_is(bytes.data()))
        {
            found.assign(kbps.begin(), kbps.begin() + mp_link_rates_read(bytes.data(), kbps.data()));
        }
        return !found.empty();
    });
    return found;
}

mp_law
ParametersOf(TcpMeshpace::Law law)
{
    switch (law)
    {
    case TcpMeshpace::AP:
        return mp_law_ap();
    case TcpMeshpace::MAP:
        return mp_law_map();
    case TcpMeshpace::EVEN:
        return mp_law_even();
    case TcpMeshpace::GAP:
        break;
    }
    return mp_law_gap();
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
                          MakeEnumChecker(GAP, "gap", AP, "ap", MAP, "map", EVEN, "even"))
            .AddAttribute("LeastHcs",
                          "Under the law map, H_cs is at least this (MAP eq. 7: 1, its text: 2).",
                          UintegerValue(1),
                          MakeUintegerAccessor(&TcpMeshpace::m_leastHcs),
                          MakeUintegerChecker<uint32_t>(1))
            .AddAttribute("PastEnd",
                          "Under the law map, whether the out-of-interference delay is of h + 1 "
                          "hops where H_cs reaches h (MAP eq. 12 by the letter).",
                          BooleanValue(false),
                          MakeBooleanAccessor(&TcpMeshpace::m_pastEnd),
                          MakeBooleanChecker())
            .AddAttribute("LinkInOid",
                          "Under the law map, whether each hop of the out-of-interference delay "
                          "has the link layer's delay (MAP eq. 12 by its definition).",
                          BooleanValue(false),
                          MakeBooleanAccessor(&TcpMeshpace::m_linkInOid),
                          MakeBooleanChecker())
            .AddAttribute("LinkLearnt",
                          "Under the law map, whether the link layer's delays are what the least "
                          "round trip leaves, in place of the middle of bounds (MAP eq. 9, 10).",
                          BooleanValue(false),
                          MakeBooleanAccessor(&TcpMeshpace::m_linkLearnt),
                          MakeBooleanChecker())
            .AddAttribute("Omit",
                          "Under the law even, parts that are left out (mp_omit).",
                          UintegerValue(0),
                          MakeUintegerAccessor(&TcpMeshpace::m_omit),
                          MakeUintegerChecker<uint32_t>())
            .AddAttribute("Hops",
                          "Wireless hops to the gateway (h in the papers).",
                          UintegerValue(1),
                          MakeUintegerAccessor(&TcpMeshpace::SetHops, &TcpMeshpace::GetHops),
                          MakeUintegerChecker<uint32_t>(1))
            .AddAttribute("BitRate",
                          "Bit rate of the wireless links in kbit/s (b in the papers).",
                          UintegerValue(11000),
                          MakeUintegerAccessor(&TcpMeshpace::SetBitRate, &TcpMeshpace::GetBitRate),
                          MakeUintegerChecker<uint32_t>())
            .AddAttribute("DelayBound",
                          "RTT samples above this are discarded; zero takes all of them.",
                          TimeValue(NanoSeconds(MP_DELAY_BOUND_NS)),
                          MakeTimeAccessor(&TcpMeshpace::m_delayBound),
                          MakeTimeChecker())
            .AddAttribute("DelayBoundMeans",
                          "An RTT sample counts as so many means of the last 50 at most; 0: as it "
                          "is.",
                          UintegerValue(0),
                          MakeUintegerAccessor(&TcpMeshpace::m_delayBoundMeans),
                          MakeUintegerChecker<uint32_t>(0, 1000));
    return tid;
}

TcpMeshpace::TcpMeshpace() = default;

TcpMeshpace::TcpMeshpace(const TcpMeshpace& other)
    : TcpNewReno(other),
      m_lawName(other.m_lawName),
      m_leastHcs(other.m_leastHcs),
      m_pastEnd(other.m_pastEnd),
      m_linkInOid(other.m_linkInOid),
      m_linkLearnt(other.m_linkLearnt),
      m_omit(other.m_omit),
      m_delayBound(other.m_delayBound),
      m_delayBoundMeans(other.m_delayBoundMeans),
      m_law(other.m_law),
      m_path(other.m_path)
{
}

void
TcpMeshpace::NotifyConstructionCompleted()
{
    TcpNewReno::NotifyConstructionCompleted();
    BuildLaw();
}

void
TcpMeshpace::BuildLaw()
{
    m_law = ParametersOf(m_lawName);
    m_law.least_h_cs = m_leastHcs;
    m_law.past_end = m_pastEnd;
    m_law.link_in_oid = m_linkInOid;
    m_law.link_learnt = m_linkLearnt;
    m_law.omit = m_omit;
    if (m_lawName != EVEN) // which cuts samples, and discards none
    {
        m_law.delay_bound_ns = m_delayBound.GetNanoSeconds();
        m_law.delay_bound_means = m_delayBoundMeans;
    }
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
    BuildLaw(); // attributes may have been set since construction
    // TCP's own estimate, ratio * cwnd / RTT, must never be the smaller bound.
    tcb->m_pacing = true;
    tcb->m_pacingSsRatio = std::numeric_limits<uint16_t>::max();
    tcb->m_pacingCaRatio = std::numeric_limits<uint16_t>::max();
    m_unpaced = tcb->m_maxPacingRate;
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
TcpMeshpace::SetLink(const mp_link& link)
{
    m_path.link = link;
}

void
TcpMeshpace::SetHops(uint32_t hops)
{
    m_path.hops = hops;
}

uint32_t
TcpMeshpace::GetHops() const
{
    return m_path.hops;
}

void
TcpMeshpace::SetBitRate(uint32_t kbps)
{
    mp_path_set_rate(&m_path, m_path.hops, kbps);
}

uint32_t
TcpMeshpace::GetBitRate() const
{
    return m_path.kbps;
}

void
TcpMeshpace::SetLinkRates(const std::vector<uint32_t>& kbps)
{
    mp_law_set_links(&m_law, &m_path, kbps.data(), kbps.size());
}

const mp_path&
TcpMeshpace::Path() const
{
    return m_path;
}

TcpMeshpace::Law
TcpMeshpace::GetLaw() const
{
    return m_lawName;
}

const mp_link&
TcpMeshpace::Link() const
{
    return m_path.link;
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
                       NowNs());
        m_path.data_bytes = std::max(m_path.data_bytes,
                                     bytes + header.GetLength() * 4 + IPV4_HEADER_BYTES);
    }
}

void
TcpMeshpace::Hear(const TcpHeader& header, uint64_t nowNs)
{
    ReadFeedback(header, [&](const uint8_t* option) {
        return mp_signalled_hear_feedback(&m_signalled, option, nowNs) ||
               (m_lawName != AP &&
                mp_signalled_hear_wired(&m_signalled, &m_estimate, option, nowNs));
    });
    mp_signalled_expire(&m_signalled, &m_estimate, nowNs);
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
    SetLinkRates(ReadLinkRates(header));
    const uint64_t nowNs = NowNs();
    Hear(header, nowNs);
    const auto ack = header.GetAckNumber().GetValue();
    const auto rttTicks = mp_sent_ack(&m_sent, ack, nowNs);
    const auto sampleTicks = mp_signalled_sample_ticks(&m_signalled, rttTicks, ack);
    if (sampleTicks)
    {
        const bool taken =
            mp_estimate_add(&m_estimate, &m_law, &m_path, sampleTicks, nowNs, ack);
        m_statistics.Count(m_estimate, IntervalNs(), taken);
    }
    // Also without a sample: what was signalled may be new, or hold no longer.
    ApplyRate();
}

void
TcpMeshpace::ApplyRate()
{
    const auto bytesPerS = mp_rate_bytes_per_s(IntervalNs(), m_tcb->m_segmentSize);
    m_tcb->m_maxPacingRate = bytesPerS ? DataRate(bytesPerS * 8) : m_unpaced;
}

uint64_t
TcpMeshpace::IntervalNs() const
{
    return mp_interval_ns(&m_estimate,
                          &m_law,
                          mp_signalled_interval_ns(&m_signalled, m_tcb ? m_tcb->m_segmentSize : 0));
}

const mp_estimate&
TcpMeshpace::Estimate() const
{
    return m_estimate;
}

const mp_signalled&
TcpMeshpace::Signalled() const
{
    return m_signalled;
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
