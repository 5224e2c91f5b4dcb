/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "tcp-wire.h"

#include "ns3/ipv4-header.h"
#include "ns3/tcp-header.h"

#include <algorithm>

namespace ns3
{

namespace
{

constexpr uint8_t PROTOCOL_TCP = 6;
constexpr uint32_t MIN_HEADER_BYTES = 20;
constexpr uint8_t OPTION_WINDOW_SCALE = 3;
constexpr uint8_t OPTION_MD5 = 19;
constexpr uint8_t OPTION_AO = 29;
constexpr uint8_t OPTION_MPTCP = 30;
constexpr uint8_t WINDOW_SCALE_MAX = 14;  //!< RFC 7323
constexpr uint32_t SACK_BLOCK_BYTES = 10; //!< with one block (RFC 2018)

uint16_t
Read16(const uint8_t* at)
{
    return at[0] << 8 | at[1];
}

uint32_t
Read32(const uint8_t* at)
{
    return uint32_t{Read16(at)} << 16 | Read16(at + 2);
}

/** A TCP header given as bytes, for options that TcpHeader refuses to append. */
class TcpHeaderBytes : public Header
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::meshpace::TcpHeaderBytes")
                                .SetParent<Header>()
                                .AddConstructor<TcpHeaderBytes>();
        return tid;
    }

    TypeId GetInstanceTypeId() const override
    {
        return GetTypeId();
    }

    void Print(std::ostream& os) const override
    {
        os << "TCP header, " << m_size << " bytes";
    }

    uint32_t GetSerializedSize() const override
    {
        return m_size;
    }

    void Serialize(Buffer::Iterator start) const override
    {
        start.Write(m_bytes.data(), m_size);
    }

    uint32_t Deserialize(Buffer::Iterator start) override
    {
        auto length = start;
        length.Next(12);
        m_size = (length.ReadU8() >> 4) * 4;
        start.Read(m_bytes.data(), m_size);
        return m_size;
    }

    std::array<uint8_t, TcpSegment::MAX_HEADER_BYTES> m_bytes{}; //!< the header
    uint32_t m_size{0};                                          //!< its length
};

NS_OBJECT_ENSURE_REGISTERED(TcpHeaderBytes);

} // namespace

std::optional<TcpSegment>
TcpSegment::Read(Ptr<const QueueDiscItem> item)
{
    auto ipv4 = DynamicCast<const Ipv4QueueDiscItem>(item);
    if (!ipv4 || ipv4->GetHeader().GetProtocol() != PROTOCOL_TCP ||
        ipv4->GetHeader().GetFragmentOffset() != 0)
    {
        return std::nullopt;
    }
    TcpSegment segment;
    const auto size = item->GetPacket()->GetSize();
    const auto copied = item->GetPacket()->CopyData(segment.bytes.data(), MAX_HEADER_BYTES);
    if (copied < MIN_HEADER_BYTES)
    {
        return std::nullopt;
    }
    segment.headerBytes = (segment.bytes[12] >> 4) * 4;
    if (segment.headerBytes < MIN_HEADER_BYTES || segment.headerBytes > size)
    {
        return std::nullopt;
    }
    segment.payloadBytes = size - segment.headerBytes;
    segment.packetBytes = size + ipv4->GetHeader().GetSerializedSize();
    return segment;
}

uint16_t
TcpSegment::SourcePort() const
{
    return Read16(&bytes[0]);
}

uint16_t
TcpSegment::DestinationPort() const
{
    return Read16(&bytes[2]);
}

uint32_t
TcpSegment::Seq() const
{
    return Read32(&bytes[4]);
}

uint32_t
TcpSegment::Ack() const
{
    return Read32(&bytes[8]);
}

uint16_t
TcpSegment::Window() const
{
    return Read16(&bytes[14]);
}

uint8_t
TcpSegment::Flags() const
{
    return bytes[13];
}

bool
TcpSegment::IsPureAck() const
{
    return payloadBytes == 0 && (Flags() & (TcpHeader::SYN | TcpHeader::FIN | TcpHeader::RST |
                                            TcpHeader::ACK)) == TcpHeader::ACK;
}

std::pair<uint32_t, uint32_t>
TcpSegment::Timestamps() const
{
    std::pair<uint32_t, uint32_t> found{};
    if (headerBytes >= MIN_HEADER_BYTES + MP_ECHO_LOOK_BYTES)
    {
        mp_echo_read(&bytes[MIN_HEADER_BYTES], &found.first, &found.second);
    }
    return found;
}

mp_segment
TcpSegment::At(uint64_t nowNs) const
{
    const auto [stamp, echo] = Timestamps();
    return {.now_ns = nowNs,
            .seq = Seq(),
            .ack = Ack(),
            .window = Window(),
            .payload_bytes = payloadBytes,
            .ip_bytes = packetBytes,
            .segments = 1,
            .segment_bytes = payloadBytes,
            .stamp = stamp,
            .echo = echo,
            .flags = Flags(),
            .ttl = 0};
}

template <typename Look>
void
TcpSegment::LookAtOptions(Look look) const
{
    for (uint32_t at = MIN_HEADER_BYTES; at + 2 <= headerBytes && bytes[at] != MP_TCPOPT_END;)
    {
        if (bytes[at] == MP_TCPOPT_NOP)
        {
            at++;
            continue;
        }
        const uint32_t length = bytes[at + 1];
        if (length < 2 || at + length > headerBytes)
        {
            return;
        }
        look(&bytes[at], length);
        at += length;
    }
}

std::optional<uint8_t>
TcpSegment::WindowScale() const
{
    std::optional<uint8_t> found;
    LookAtOptions([&found](const uint8_t* option, uint32_t length) {
        if (option[0] == OPTION_WINDOW_SCALE && length == 3)
        {
            found = std::min(option[2], WINDOW_SCALE_MAX);
        }
    });
    return found;
}

bool
TcpSegment::HasMessage() const
{
    bool found = false;
    LookAtOptions([this, &found](const uint8_t* option, uint32_t length) {
        const bool duplicate = option[0] == MP_SACK_KIND && length >= SACK_BLOCK_BYTES &&
                               mp_seq_up_to(Read32(option + 6), Ack());
        found = found || duplicate || option[0] == OPTION_MPTCP;
    });
    return found;
}

mp_sack
TcpSegment::Sack() const
{
    mp_sack found{.ack = Ack(), .bytes = 0, .option = {}};
    LookAtOptions([&found](const uint8_t* option, uint32_t length) {
        if (option[0] == MP_SACK_KIND && length <= MP_SACK_BYTES_MAX)
        {
            found.bytes = length;
            std::copy_n(option, length, found.option);
        }
    });
    found.bytes = IsSigned() ? 0 : found.bytes;
    return found;
}

TcpSegment
TcpSegment::Without(uint8_t kind) const
{
    auto blanked = *this;
    LookAtOptions([this, kind, &blanked](const uint8_t* option, uint32_t length) {
        if (option[0] == kind)
        {
            std::fill_n(&blanked.bytes[option - bytes.data()], length, MP_TCPOPT_NOP);
        }
    });
    return blanked;
}

TcpSegment
TcpSegment::WithoutSack() const
{
    return Without(MP_SACK_KIND);
}

TcpSegment
TcpSegment::WithoutTimestamps() const
{
    return IsSigned() ? *this : Without(MP_TIMESTAMPS_KIND);
}

bool
TcpSegment::IsSigned() const
{
    bool found = false;
    LookAtOptions([&found](const uint8_t* option, uint32_t /* length */) {
        found = found || option[0] == OPTION_MD5 || option[0] == OPTION_AO;
    });
    return found;
}

namespace
{

/** A segment as read gets another header; what is behind the old one stays. */
Ptr<QueueDiscItem>
WithHeader(Ptr<QueueDiscItem> item, const TcpSegment& segment, const TcpHeaderBytes& header)
{
    auto packet = item->GetPacket()->Copy();
    packet->RemoveAtStart(segment.headerBytes);
    packet->AddHeader(header);
    auto ipHeader = StaticCast<Ipv4QueueDiscItem>(item)->GetHeader();
    ipHeader.SetPayloadSize(packet->GetSize());
    auto changed =
        Create<Ipv4QueueDiscItem>(packet, item->GetAddress(), item->GetProtocol(), ipHeader);
    changed->SetTxQueueIndex(item->GetTxQueueIndex());
    return changed;
}

} // namespace

Ptr<QueueDiscItem>
InsertOption(Ptr<QueueDiscItem> item,
             const TcpSegment& segment,
             const uint8_t* option,
             uint32_t optionBytes)
{
    const bool checksummed = Read16(&segment.bytes[16]) != 0;
    if (checksummed || segment.IsSigned() || segment.headerBytes + optionBytes > TcpSegment::MAX_HEADER_BYTES)
    {
        return item;
    }
    TcpHeaderBytes header;
    header.m_bytes = segment.bytes;
    header.m_size = segment.headerBytes + optionBytes;
    header.m_bytes[12] = header.m_size / 4 << 4 | (segment.bytes[12] & 0xf);
    // In front of the others: ns-3 pads an option list with END, after which nothing is read.
    std::copy(segment.bytes.begin() + MIN_HEADER_BYTES,
              segment.bytes.begin() + segment.headerBytes,
              header.m_bytes.begin() + MIN_HEADER_BYTES + optionBytes);
    std::copy(option, option + optionBytes, header.m_bytes.begin() + MIN_HEADER_BYTES);
    return WithHeader(item, segment, header);
}

Ptr<QueueDiscItem>
ReplaceHeader(Ptr<QueueDiscItem> item, const TcpSegment& changed)
{
    TcpHeaderBytes header;
    header.m_bytes = changed.bytes;
    header.m_size = changed.headerBytes;
    return WithHeader(item, changed, header);
}

Ptr<QueueDiscItem>
InsertFeedback(Ptr<QueueDiscItem> item, const MeshpaceFeedback& feedback)
{
    return feedback ? InsertOption(item, *TcpSegment::Read(item), feedback->data(), feedback->size()) : item;
}

bool
IsEcnCapable(Ptr<const QueueDiscItem> item)
{
    return StaticCast<const Ipv4QueueDiscItem>(item)->GetHeader().GetEcn() != Ipv4Header::ECN_NotECT;
}

bool
MarkIfCapable(Ptr<QueueDiscItem> item)
{
    return IsEcnCapable(item) && item->Mark();
}

Ptr<QueueDiscItem>
CopyOf(Ptr<const QueueDiscItem> item, const Address& nextHop)
{
    auto ipv4 = StaticCast<const Ipv4QueueDiscItem>(item);
    auto copy = Create<Ipv4QueueDiscItem>(item->GetPacket()->Copy(),
                                          nextHop,
                                          item->GetProtocol(),
                                          ipv4->GetHeader());
    copy->SetTxQueueIndex(item->GetTxQueueIndex());
    return copy;
}

Ptr<QueueDiscItem>
CopyOf(Ptr<const QueueDiscItem> item)
{
    return CopyOf(item, item->GetAddress());
}

} // namespace ns3
