/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_TCP_MESHPACE_H
#define MESHPACE_TCP_MESHPACE_H

#include "../gateway/meshpace-statistics.h"

#include "ns3/tcp-congestion-ops.h"
#include "ns3/tcp-socket-base.h"

#include <vector>

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * The law at a wireless sender: NewReno's window, paced by TCP at the rate that the path
 * through the mesh can carry (TCP-GAP figure 6; TCP-AP in a pure wireless network).
 *
 * The gateway writes RTT_wired into the ACKs (TCP option, see meshpace/endpoint/option.h); then
 * RTT_wireless = RTT - RTT_wired. As long as no ACK has carried the option the whole RTT
 * is used; afterwards an ACK without it gives no sample, since one whole RTT among wireless
 * ones would count as contention, until none has carried it for a few seconds
 * (meshpace/endpoint/signalled.h). The law `ap` always uses the whole RTT.
 *
 * The rate is set as TcpSocketState::m_maxPacingRate, the bound of TCP's own pacing (what
 * SO_MAX_PACING_RATE is on Linux), under a pacing rate far above it: so the law decides when
 * a segment leaves, the window how many may, and NewReno's handling of losses stays.
 *
 * Attach() connects an instance with its socket's segments.
 */
class TcpMeshpace : public TcpNewReno
{
  public:
    /** @return the type id */
    static TypeId GetTypeId();

    TcpMeshpace();

    /**
     * Copy constructor: the parameters, not what the other has measured.
     * @param other the object to copy
     */
    TcpMeshpace(const TcpMeshpace& other);

    std::string GetName() const override;
    void Init(Ptr<TcpSocketState> tcb) override;
    Ptr<TcpCongestionOps> Fork() override;

    /**
     * Makes an instance the congestion control of a socket and shows it the socket's segments.
     * @param socket the socket, not yet connected
     */
    void Attach(Ptr<TcpSocketBase> socket);

    /** @return statistics since ResetStatistics */
    const MeshpaceStatistics& Statistics() const;

    /** Forgets the statistics, not the state: the warm-up is over. */
    void ResetStatistics();

    /** @return the interval between packets in force, ns; 0: unpaced */
    uint64_t IntervalNs() const;

    /** @return what samples have told, to look at */
    const mp_estimate& Estimate() const;

    /** @return what the gateway has said, to look at */
    const mp_signalled& Signalled() const;

    /** @return mean RTT_wireless over the law's window, ns */
    uint64_t MeanRttNs() const;

    /** The laws that a sender can have. */
    enum Law
    {
        GAP, //!< TCP-GAP, RTT_wireless
        AP,  //!< TCP-AP, whole RTT, with the authors' defaults
        MAP, //!< MAP, RTT_wireless
        EVEN //!< even, RTT_wireless
    };

    /**
     * States what the links on the way to the gateway are like; needed by the law `map`.
     * @param link the links
     */
    void SetLink(const mp_link& link);

    /**
     * The path has changed: the law takes the new one with the next sample.
     * @param hops wireless hops to the gateway, or to the receiver without one
     */
    void SetHops(uint32_t hops);

    /** @return those hops */
    uint32_t GetHops() const;

    /**
     * States the bit rates of the links on the way, of which else all have BitRate.
     * @param kbps the rates, kbit/s; without effect when there are none, or too many for the law
     */
    void SetLinkRates(const std::vector<uint32_t>& kbps);

    /** @return the path as the law has it */
    const mp_path& Path() const;

    /** @return the law */
    Law GetLaw() const;

    /** @return the links on the way to the gateway */
    const mp_link& Link() const;

  protected:
    void NotifyConstructionCompleted() override;

  private:
    /** The law as the attributes say. */
    void BuildLaw();
    void SetBitRate(uint32_t kbps);
    uint32_t GetBitRate() const;
    void Sent(Ptr<const Packet> payload,
              const TcpHeader& header,
              Ptr<const TcpSocketBase> socket);
    void Received(Ptr<const Packet> payload,
                  const TcpHeader& header,
                  Ptr<const TcpSocketBase> socket);
    void ApplyRate();

    /**
     * Takes what the gateway signals by an ACK, and forgets what it has not signalled for too long.
     * @param header the ACK
     * @param nowNs the time, ns
     */
    void Hear(const TcpHeader& header, uint64_t nowNs);

    Law m_lawName;       //!< which law
    uint32_t m_leastHcs; //!< map: H_cs is at least this
    bool m_pastEnd;      //!< map: OID may be of one hop more than the path has
    bool m_linkInOid;    //!< map: each hop of OID has the link layer's delay
    bool m_linkLearnt;   //!< map: the link layer's delays are what the least RTT leaves
    uint32_t m_omit;     //!< even: parts left out, of mp_omit
    Time m_delayBound;   //!< samples above are discarded; zero: none
    uint32_t m_delayBoundMeans{0}; //!< a sample counts as so many means at most; 0: as it is
    mp_law m_law{};      //!< the law's parameters
    Ptr<TcpSocketState> m_tcb;
    mp_sent m_sent{};
    mp_estimate m_estimate{};
    mp_signalled m_signalled{}; //!< what the gateway has said of the path and of others
    mp_path m_path{};
    DataRate m_unpaced;         //!< TCP's own bound, in force while the law has none
    MeshpaceStatistics m_statistics;
};

} // namespace ns3

#endif // MESHPACE_TCP_MESHPACE_H
