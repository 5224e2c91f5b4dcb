/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_AIR_HOSTS_H
#define MESHPACE_AIR_HOSTS_H

#include "meshpace/meshpace.h"

#include <array>
#include <cstdint>
#include <map>

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * The hosts of the mesh and their shares of the air (airtime.h): a host around core/ that collects what each
 * step is told.
 */
class MeshpaceAir
{
  public:
    /** Whose is what addresses send that nothing ever answers (mp_opaque_nobody_step): no host has this one. */
    static constexpr uint32_t NOBODY = 0;

    /** @param fairness equal parts of the air, or equal rates by them */
    void SetFairness(mp_fairness fairness);

    /**
     * What a host may have beside the others.
     * @param address the host
     * @param weight as so many hosts it counts
     * @param leastBytesPerS payload that it gets at least; 0: nothing is stated
     */
    void SetRights(uint32_t address, double weight, uint64_t leastBytesPerS);

    /**
     * What is known of a direction of a host, before each step.
     * @param address the host
     * @param down from the wired network to it, else the other way
     * @param share its bytes and flows
     */
    void Counts(uint32_t address, bool down, const mp_air_way& share);

    /**
     * What a connection tells of its path, before each step.
     * @param address its host
     * @param down its endpoint from the wired network
     * @param up its endpoint to the wired network
     * @param held whether something of it waits at the gateway
     * @param nowNs now, ns
     */
    void Hears(uint32_t address,
               const mp_endpoint& down,
               const mp_endpoint& up,
               bool held,
               uint64_t nowNs);

    /**
     * Likewise what answers tell of the path of a host that gets or sends many datagrams.
     * @param address the host
     * @param opaque what is known of them
     * @param held whether datagrams for it wait at the gateway, or did a moment ago
     * @param nowNs now, ns
     */
    void HearsOpaque(uint32_t address, const mp_opaque& opaque, bool held, uint64_t nowNs);

    /**
     * What is known of the path to a host, of which there may be no connection, before each step.
     * @param address the host
     * @param hops how many; 0: its packets go another way, and nothing is known
     */
    void KnowHops(uint32_t address, uint32_t hops);

    /**
     * A step, MP_AIR_STEP_NS after the previous one.
     * @param nowNs now, ns
     * @return how many directions are capped
     */
    uint32_t Step(uint64_t nowNs);

    /**
     * @param address a host
     * @param down from the wired network to it, else the other way
     * @return its cap in bytes/s, 0: none
     */
    uint64_t CapBps(uint32_t address, bool down) const;

    /** @return whether anybody keeps the air busy */
    bool HasBusy() const;

    /** @return silence that was earned so far (silence.h), ns */
    uint64_t SilenceNs() const;

    /**
     * @param address a host
     * @return whether it keeps the air busy
     */
    bool IsBusy(uint32_t address) const;

    /** @return whether hosts are held to shares, and flows not to rates of their own */
    bool Shared() const;

    /** @param shared the same, where no Step() says it */
    void SetShared(bool shared);

  private:
    /** One host, and what is collected of it for the next step. */
    struct Host
    {
        mp_air_host air{};
        std::array<mp_queueing, 2> queueing{}; //!< by mp_air_direction
        bool held{false};       //!< something of one waits here
    };

    std::map<uint32_t, Host> m_hosts; //!< by address
    mp_air m_air{};
};

} // namespace ns3

#endif // MESHPACE_AIR_HOSTS_H
