/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// Replays traces of a sender (core/test/traces/sender) in ns-3's, by a socket that shows it the trace's segments.
//
// usage: meshpace-replay-sender TRACE...    writes the traces with their outcomes, as core-replay-sender does

#include "packets.h"
#include "sender.h"

#include "ns3/enum.h"
#include "ns3/packet.h"
#include "ns3/simulator.h"
#include "ns3/tcp-header.h"
#include "ns3/tcp-meshpace.h"
#include "ns3/tcp-socket-base.h"
#include "ns3/uinteger.h"

using namespace ns3;

namespace
{

/** A socket without a network, whose segments are a trace's. */
class TraceSocket : public TcpSocketBase
{
  public:
    /** @param bytes payload of its segments */
    void SetSegmentBytes(uint32_t bytes)
    {
        m_tcb->m_segmentSize = bytes;
    }

    /** A segment leaves. @param packet payload @param header of TCP */
    void Sends(Ptr<const Packet> packet, const TcpHeader& header)
    {
        m_txTrace(packet, header, this);
    }

    /** A segment comes. @param packet payload @param header of TCP */
    void Hears(Ptr<const Packet> packet, const TcpHeader& header)
    {
        m_rxTrace(packet, header, this);
    }

    /** @return bytes/s at which its TCP paces; 0: unpaced */
    uint64_t RateBytesPerS() const
    {
        const auto rate = m_tcb->m_maxPacingRate;
        return rate == m_unpaced ? 0 : rate.GetBitRate() / 8;
    }

  private:
    const DataRate m_unpaced{m_tcb->m_maxPacingRate};
};

Ptr<TraceSocket> g_socket;
Ptr<TcpMeshpace> g_sender;

TcpMeshpace::Law
LawOf(const mp_law& law)
{
    if (law.hop_wait_ns)
    {
        return TcpMeshpace::EVEN;
    }
    return law.reuse == MP_REUSE_CARRIER_SENSE ? TcpMeshpace::MAP : TcpMeshpace::GAP;
}

void
RunTo(uint64_t nowNs)
{
    Simulator::Stop(NanoSeconds(nowNs) - Simulator::Now());
    Simulator::Run();
}

} // namespace

static void
sender_begin(const sender_settings* settings)
{
    Simulator::Destroy();
    g_sender = CreateObjectWithAttributes<TcpMeshpace>("Law",
                                                       EnumValue(LawOf(settings->law)),
                                                       "Hops",
                                                       UintegerValue(settings->hops),
                                                       "BitRate",
                                                       UintegerValue(settings->kbps));
    g_socket = CreateObject<TraceSocket>();
    g_socket->SetSegmentBytes(settings->mss);
    g_sender->Attach(g_socket);
}

static void
sender_sends(uint64_t nowNs, uint32_t seq, uint32_t bytes)
{
    RunTo(nowNs);
    TcpHeader header;
    header.SetSequenceNumber(SequenceNumber32(seq));
    header.SetFlags(TcpHeader::ACK);
    g_socket->Sends(Create<Packet>(bytes), header);
}

static void
sender_hears(const sender_ack* ack)
{
    RunTo(ack->now_ns);
    auto packet = ack->options;
    packet.flags = TRACE_ACK;
    packet.ack = ack->ack;
    const auto segment = MakeItem(packet, true)->GetPacket();
    TcpHeader header;
    segment->RemoveHeader(header);
    g_socket->Hears(segment, header);
}

static void
sender_look(sender_state* state)
{
    state->estimate = g_sender->Estimate();
    state->signalled = g_sender->Signalled();
    state->interval_ns = g_sender->IntervalNs();
    state->rate_bytes_per_s = g_socket->RateBytesPerS();
}

int
main(int argc, char** argv)
{
    for (int i = 1; i < argc; i++)
    {
        sender_trace(argv[i]);
    }
    return fflush(stdout) ? 1 : 0;
}
