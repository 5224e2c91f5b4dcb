/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "call.h"

#include "datagrams.h"

#include "ns3/simulator.h"

namespace ns3
{

Call::Call(PersonSite& site)
    : m_site(site)
{
}

void
Call::Open()
{
    const auto& ends = m_site.ends;
    const auto port = m_site.CallPort();
    auto& person = m_ends[CallRecord::UP].socket;
    auto& host = m_ends[CallRecord::DOWN].socket;
    person = OpenDatagrams(ends.node,
                           port,
                           Callback<void, Ptr<Socket>>([this](Ptr<Socket> socket) {
                               Receive(socket, CallRecord::DOWN);
                           }));
    host = OpenDatagrams(ends.host,
                         port,
                         Callback<void, Ptr<Socket>>(
                             [this](Ptr<Socket> socket) { Receive(socket, CallRecord::UP); }));
    person->Connect(InetSocketAddress(ends.hostAddress, port));
    host->Connect(InetSocketAddress(ends.nodeAddress, port));
}

void
Call::Start()
{
    if (!m_ends[CallRecord::UP].socket)
    {
        Open();
    }
    m_site.record.calls.push_back({Simulator::Now(), {}, {}});
    m_site.wants.Begin();
    m_calling = true;
    for (const auto direction : {CallRecord::UP, CallRecord::DOWN})
    {
        m_ends[direction].sent = 0;
        Send(direction);
    }
}

void
Call::Send(CallRecord::Direction direction)
{
    auto& end = m_ends[direction];
    const auto call = static_cast<uint32_t>(m_site.record.calls.size() - 1);
    if (!m_gone)
    {
        m_site.record.calls.back().delaysS[direction].push_back(CallRecord::LOST);
    }
    // In place of RTP's timestamp and source: the datagram's number, the call's.
    end.socket->Send(MakeDatagram({end.sent, call}, SOUND_BYTES + RTP_BYTES));
    end.sent++;
    end.next = Simulator::Schedule(Seconds(INTERVAL_S), &Call::Send, this, direction);
}

void
Call::Receive(Ptr<Socket> socket, CallRecord::Direction direction)
{
    while (auto packet = socket->Recv())
    {
        if (m_gone)
        {
            continue;
        }
        const auto numbers = ReadDatagram(packet);
        auto& call = m_site.record.calls[numbers.second];
        const auto sent = call.at + Seconds(INTERVAL_S) * numbers.first;
        call.delaysS[direction][numbers.first] = (Simulator::Now() - sent).GetSeconds();
        m_site.delivery.Count(packet->GetSize() - RTP_BYTES);
    }
}

void
Call::HangUp()
{
    for (auto& end : m_ends)
    {
        end.next.Cancel();
    }
    if (m_calling)
    {
        m_site.wants.End();
    }
    m_calling = false;
}

void
Call::Pause()
{
    HangUp();
}

void
Call::Leave(Leaving leaving)
{
    m_gone = true;
    for (auto& call : m_site.record.calls)
    {
        call.end = Simulator::Now();
    }
    const bool unaware = m_calling && leaving == Leaving::VANISHES;
    HangUp();
    if (unaware)
    {
        Send(CallRecord::DOWN);
        Simulator::Schedule(Seconds(CONSENT_S), [this] { HangUp(); });
    }
}

} // namespace ns3
