/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// What MeshpaceGateway is told: attributes, and facts about hosts.

#include "meshpace-gateway.h"

#include "ns3/abort.h"
#include "ns3/boolean.h"
#include "ns3/enum.h"
#include "ns3/uinteger.h"

namespace ns3
{

namespace
{

// A host's weight: as the daemon has it (gateway.toml), and core/.
constexpr double LEAST_WEIGHT = 0.01;
constexpr double MOST_WEIGHT = static_cast<double>(MP_AIR_WEIGHT_MAX_Q16) / MP_ONE_Q16;

} // namespace

NS_OBJECT_ENSURE_REGISTERED(MeshpaceGateway);

TypeId
MeshpaceGateway::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::MeshpaceGateway")
            .SetParent<Object>()
            .SetGroupName("Meshpace")
            .AddConstructor<MeshpaceGateway>()
            .AddAttribute("MeshNetwork",
                          "Network address of the mesh's hosts.",
                          Ipv4AddressValue("10.1.0.0"),
                          MakeIpv4AddressAccessor(&MeshpaceGateway::m_meshNetwork),
                          MakeIpv4AddressChecker())
            .AddAttribute("MeshMask",
                          "Network mask of the mesh's hosts.",
                          Ipv4MaskValue("255.255.0.0"),
                          MakeIpv4MaskAccessor(&MeshpaceGateway::m_meshMask),
                          MakeIpv4MaskChecker())
            .AddAttribute("Law",
                          "The law that sets the rate.",
                          EnumValue(GAP),
                          MakeEnumAccessor<Law>(&MeshpaceGateway::m_lawName),
                          MakeEnumChecker(GAP, "gap", AP, "ap", MAP, "map", SHAPER, "shaper", EVEN, "even"))
            .AddAttribute("ShaperRate",
                          "Under the law shaper, the payload rate of each flow in bit/s.",
                          UintegerValue(0),
                          MakeUintegerAccessor(
                              &MeshpaceGateway::Set<uint64_t, &MeshpaceSettings::shaperBps>),
                          MakeUintegerChecker<uint64_t>())
            .AddAttribute("Bucket",
                          "Under the law shaper, how many packets of a flow may leave together.",
                          UintegerValue(1),
                          MakeUintegerAccessor(&MeshpaceGateway::m_bucket),
                          MakeUintegerChecker<uint32_t>(1))
            .AddAttribute("LeastHcs",
                          "Under the law map, H_cs is at least this (MAP eq. 7: 1, its text: 2).",
                          UintegerValue(1),
                          MakeUintegerAccessor(&MeshpaceGateway::m_leastHcs),
                          MakeUintegerChecker<uint32_t>(1))
            .AddAttribute("PastEnd",
                          "Under the law map, whether the out-of-interference delay is of h + 1 "
                          "hops where H_cs reaches h (MAP eq. 12 by the letter).",
                          BooleanValue(false),
                          MakeBooleanAccessor(&MeshpaceGateway::m_pastEnd),
                          MakeBooleanChecker())
            .AddAttribute("LinkInOid",
                          "Under the law map, whether each hop of the out-of-interference delay "
                          "has the link layer's delay (MAP eq. 12 by its definition).",
                          BooleanValue(false),
                          MakeBooleanAccessor(&MeshpaceGateway::m_linkInOid),
                          MakeBooleanChecker())
            .AddAttribute("LinkLearnt",
                          "Under the law map, whether the link layer's delays are what the least "
                          "round trip leaves, in place of the middle of bounds (MAP eq. 9, 10).",
                          BooleanValue(false),
                          MakeBooleanAccessor(&MeshpaceGateway::m_linkLearnt),
                          MakeBooleanChecker())
            .AddAttribute("Omit",
                          "Under the law even, parts that are left out (mp_omit).",
                          UintegerValue(0),
                          MakeUintegerAccessor(&MeshpaceGateway::m_omit),
                          MakeUintegerChecker<uint32_t>())
            .AddAttribute("BitRate",
                          "Bit rate of the wireless links in kbit/s (b in the papers).",
                          UintegerValue(11000),
                          MakeUintegerAccessor(
                              &MeshpaceGateway::Set<uint32_t, &MeshpaceSettings::bitRateKbps>),
                          MakeUintegerChecker<uint32_t>())
            .AddAttribute("GoodputControl",
                          "Whether fast wired-to-wireless flows are throttled to the mean.",
                          BooleanValue(true),
                          MakeBooleanAccessor(
                              &MeshpaceGateway::Set<bool, &MeshpaceSettings::goodputControl>),
                          MakeBooleanChecker())
            .AddAttribute("Fairness",
                          "Under the law even, what hosts have: equal parts of the air, or equal rates.",
                          EnumValue(MP_FAIRNESS_AIR),
                          MakeEnumAccessor<mp_fairness>(&MeshpaceGateway::SetFairness),
                          MakeEnumChecker(MP_FAIRNESS_AIR, "air", MP_FAIRNESS_RATE, "rate"))
            .AddAttribute("LocalRetransmission",
                          "Whether the gateway answers duplicate ACKs from the mesh itself.",
                          BooleanValue(true),
                          MakeBooleanAccessor(
                              &MeshpaceGateway::Set<bool, &MeshpaceSettings::localRetransmission>),
                          MakeBooleanChecker())
            .AddAttribute("Release",
                          "How packets wait: until they are the next and due, as Linux's daemon "
                          "lets them go; the same, with an interval in force kept to the next "
                          "departure, as HTB keeps it; until a departure that is fixed when they come, as sch_fq "
                          "releases them; or elsewhere, before they come.",
                          EnumValue(MeshpaceRelease::IN_CLASS),
                          MakeEnumAccessor<MeshpaceRelease>(
                              &MeshpaceGateway::Set<MeshpaceRelease, &MeshpaceSettings::release>),
                          MakeEnumChecker(MeshpaceRelease::AT_TURN,
                                          "turn",
                                          MeshpaceRelease::IN_CLASS,
                                          "class",
                                          MeshpaceRelease::ON_ARRIVAL,
                                          "arrival",
                                          MeshpaceRelease::ELSEWHERE,
                                          "elsewhere"))
            .AddAttribute("Paces",
                          "Whether packets whose departure is fixed on arrival wait; else they "
                          "are measured only.",
                          BooleanValue(true),
                          MakeBooleanAccessor(
                              &MeshpaceGateway::Set<bool, &MeshpaceSettings::paces>),
                          MakeBooleanChecker())
            .AddAttribute("Device",
                          "Whether flows are made up for what an aggregate keeps the device busy, "
                          "under the law even: where the device is seen, unlike on Linux.",
                          EnumValue(MP_DEVICE_SEEN),
                          MakeEnumAccessor<mp_device>(
                              &MeshpaceGateway::Set<mp_device, &MeshpaceSettings::device>),
                          MakeEnumChecker(MP_DEVICE_SEEN, "seen", MP_DEVICE_UNSEEN, "unseen"))
            .AddAttribute("DelayBound",
                          "RTT samples above this are discarded; zero takes all of them.",
                          TimeValue(NanoSeconds(MP_DELAY_BOUND_NS)),
                          MakeTimeAccessor(&MeshpaceGateway::m_delayBound),
                          MakeTimeChecker())
            .AddAttribute("DelayBoundMeans",
                          "An RTT sample counts as so many means of the last 50 at most; 0: as it "
                          "is.",
                          UintegerValue(0),
                          MakeUintegerAccessor(&MeshpaceGateway::m_delayBoundMeans),
                          MakeUintegerChecker<uint32_t>(0, 1000))
            .AddAttribute("IdleTimeout",
                          "A connection silent for so long is forgotten.",
                          TimeValue(Minutes(3)),
                          MakeTimeAccessor(&MeshpaceGateway::m_idleTimeout),
                          MakeTimeChecker())
            .AddAttribute("EndedTimeout",
                          "A connection that has ended is forgotten when it was silent for so long.",
                          TimeValue(Time(0)),
                          MakeTimeAccessor(&MeshpaceGateway::m_endedTimeout),
                          MakeTimeChecker())
            .AddAttribute("BufferPackets",
                          "While so many packets wait in pacing queues, new connections are "
                          "forwarded unpaced.",
                          UintegerValue(8192),
                          MakeUintegerAccessor(&MeshpaceGateway::m_bufferPackets),
                          MakeUintegerChecker<uint32_t>(1));
    return tid;
}

void
MeshpaceGateway::NotifyConstructionCompleted()
{
    Object::NotifyConstructionCompleted();
    BuildLaw();
}

void
MeshpaceGateway::BuildLaw()
{
    switch (m_lawName)
    {
    case GAP:
        m_settings.law = mp_law_gap();
        break;
    case AP:
        m_settings.law = mp_law_ap();
        break;
    case MAP:
        m_settings.law = mp_law_map();
        break;
    case SHAPER: // the interval is of a connection's own packets
        m_settings.law = mp_law_shaper(0, m_bucket);
        break;
    case EVEN:
        m_settings.law = mp_law_even();
        break;
    }
    m_settings.law.least_h_cs = m_leastHcs;
    m_settings.law.past_end = m_pastEnd;
    m_settings.law.link_in_oid = m_linkInOid;
    m_settings.law.link_learnt = m_linkLearnt;
    m_settings.law.omit = m_omit;
    if (m_lawName != EVEN) // which cuts samples, and discards none
    {
        m_settings.law.delay_bound_ns = m_delayBound.GetNanoSeconds();
        m_settings.law.delay_bound_means = m_delayBoundMeans;
    }
    m_settings.goodput = mp_goodput_law_gap();
}

void
MeshpaceGateway::SetFairness(mp_fairness fairness)
{
    m_hostShares.SetFairness(fairness);
}

void
MeshpaceGateway::SetRights(Ipv4Address host, double weight, uint64_t leastBytesPerS)
{
    NS_ABORT_MSG_UNLESS(weight >= LEAST_WEIGHT && weight <= MOST_WEIGHT,
                        "MeshpaceGateway::SetRights: a weight of "
                            << weight << " for " << host << "; state " << LEAST_WEIGHT << " to " << MOST_WEIGHT
                            << ", 1 as one host");
    m_hostShares.SetRights(host.Get(), weight, leastBytesPerS);
}

void
MeshpaceGateway::SetHops(Ipv4Address host, uint32_t hops)
{
    m_hops[host.Get()] = hops;
    bool changed = false;
    for (auto& [key, connection] : m_connections)
    {
        changed = (key.meshAddress == host.Get() && connection->SetHops(hops)) || changed;
    }
    if (changed)
    {
        ResetGoodputControl(); // as when a flow starts or ends
    }
}

void
MeshpaceGateway::SetLink(Ipv4Address host, const mp_link& link)
{
    m_links[host.Get()] = link;
}

void
MeshpaceGateway::SetLinkRates(Ipv4Address host, const std::vector<uint32_t>& kbps)
{
    m_linkRates[host.Get()] = kbps;
    for (auto& [key, connection] : m_connections)
    {
        if (key.meshAddress == host.Get())
        {
            connection->SetLinkRates(kbps);
        }
    }
}

void
MeshpaceGateway::SetFloor(const MeshpaceKey& key, uint64_t floorNs)
{
    if (const auto found = m_connections.find(key); found != m_connections.end())
    {
        found->second->SetFloor(floorNs);
    }
}

void
MeshpaceGateway::SetForeignHost(Ipv4Address host)
{
    m_foreign.insert(host.Get());
}

} // namespace ns3
