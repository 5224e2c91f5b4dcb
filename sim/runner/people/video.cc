/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "video.h"

#include "ns3/simulator.h"

#include <algorithm>

namespace ns3
{

namespace
{

constexpr uint64_t REQUEST_BYTES = 328; // of HTTP, as ns-3's ThreeGppHttpVariables has it
constexpr double BITS_PER_BYTE = 8;
constexpr double BEGIN_SEGMENTS = 1; // in the buffer, before it plays
constexpr double AGAIN_SEGMENTS = 2; // and after a stall

} // namespace

uint32_t
BufferBasedRate::Next(double bufferS)
{
    const auto top = LADDER_KBPS.size() - 1;
    const auto part = (bufferS - RESERVOIR_S) / (UPPER_S - RESERVOIR_S);
    const auto mapped = LADDER_KBPS[0] + part * (LADDER_KBPS[top] - LADDER_KBPS[0]);
    if (bufferS <= RESERVOIR_S)
    {
        m_rate = 0;
    }
    else if (bufferS >= UPPER_S)
    {
        m_rate = top;
    }
    else if (mapped >= LADDER_KBPS[std::min(m_rate + 1, top)])
    {
        while (m_rate < top && LADDER_KBPS[m_rate + 1] < mapped)
        {
            m_rate++;
        }
    }
    else if (mapped <= LADDER_KBPS[m_rate > 0 ? m_rate - 1 : 0])
    {
        while (m_rate > 0 && LADDER_KBPS[m_rate - 1] > mapped)
        {
            m_rate--;
        }
    }
    return LADDER_KBPS[m_rate];
}

Video::Video(PersonSite& site, PersonListener& tcp, PersonListener& opaque)
    : m_site(site),
      m_tcp(tcp),
      m_opaque(opaque),
      m_coin(CreateObject<UniformRandomVariable>())
{
    m_coin->SetStream(PersonStreamNumber(site.config.name, PersonStream::VIDEO));
}

VideoRecord&
Video::Record()
{
    return m_site.record.videos.back();
}

void
Video::Open()
{
    const bool opaque = m_coin->GetValue() < m_site.config.opaque;
    m_site.record.videos.push_back({Simulator::Now(), opaque, {}, {}, {}, {}});
    m_settled = Simulator::Now();
    m_connection = std::make_unique<PersonConnection>(m_site, opaque ? m_opaque : m_tcp);
}

void
Video::Start()
{
    m_paused = false;
    if (!m_connection)
    {
        Open();
        Ask();
        return;
    }
    m_settled = Simulator::Now();
    if (m_stalled)
    {
        Record().stalls.push_back({Simulator::Now(), {}});
    }
    else if (Record().startup)
    {
        Play();
    }
    if (m_connection->Outstanding() == 0)
    {
        Ask();
    }
}

double
Video::BufferS() const
{
    const auto played = m_playing ? (Simulator::Now() - m_settled).GetSeconds() : 0;
    return std::max(m_bufferS - played, 0.0);
}

void
Video::Settle()
{
    m_bufferS = BufferS();
    m_settled = Simulator::Now();
}

void
Video::Ask()
{
    // In the simulator's ticks: of less than one there would be no end of asking.
    const auto over = Seconds(BufferS() + SEGMENT_S - BufferBasedRate::BUFFER_S);
    m_ask.Cancel();
    if (m_paused)
    {
        return;
    }
    if (over.IsStrictlyPositive())
    {
        m_ask = Simulator::Schedule(over, &Video::Ask, this);
        return;
    }
    const auto kbps = m_rate.Next(BufferS());
    Record().segments.push_back({Simulator::Now(), kbps});
    m_site.wants.Begin();
    const auto bytes = static_cast<uint64_t>(kbps * 1e3 / BITS_PER_BYTE * SEGMENT_S);
    m_connection->Ask({REQUEST_BYTES, bytes, {}, [this] { Loaded(); }});
}

void
Video::Loaded()
{
    m_site.wants.End();
    Settle();
    m_bufferS += SEGMENT_S;
    const auto needed = Record().startup ? AGAIN_SEGMENTS : BEGIN_SEGMENTS;
    if (!m_paused && (m_playing || m_bufferS >= needed * SEGMENT_S))
    {
        Play();
    }
    Ask();
}

void
Video::Play()
{
    auto& record = Record();
    Settle();
    m_playing = true;
    if (!record.startup)
    {
        record.startup = Simulator::Now() - record.at;
    }
    EndStall();
    m_stalled = false;
    m_dry.Cancel();
    m_dry = Simulator::Schedule(Seconds(m_bufferS), &Video::RunDry, this);
}

void
Video::EndStall()
{
    if (m_stalled && !m_paused)
    {
        auto& stall = Record().stalls.back();
        stall.length = Simulator::Now() - stall.at;
    }
}

void
Video::RunDry()
{
    m_stalled = true;
    m_bufferS = 0;
    m_settled = Simulator::Now();
    m_playing = false;
    Record().stalls.push_back({Simulator::Now(), {}});
}

void
Video::Pause()
{
    Settle();
    EndStall(); // nobody waits for it in a pause
    m_paused = true;
    m_playing = false;
    m_dry.Cancel();
    m_ask.Cancel();
}

void
Video::Leave(Leaving leaving)
{
    m_dry.Cancel();
    m_ask.Cancel();
    if (m_connection)
    {
        m_connection->Leave(leaving);
        EndStall();
        Record().end = Simulator::Now();
    }
}

} // namespace ns3
