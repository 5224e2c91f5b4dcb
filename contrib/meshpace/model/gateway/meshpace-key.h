/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_KEY_H
#define MESHPACE_KEY_H

#include <compare>
#include <cstdint>

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * A TCP connection through the gateway, by its two ends.
 */
struct MeshpaceKey
{
    uint32_t meshAddress;  //!< of the end in the mesh
    uint32_t wiredAddress; //!< of the end in the wired network
    uint16_t meshPort;     //!< of the end in the mesh
    uint16_t wiredPort;    //!< of the end in the wired network

    auto operator<=>(const MeshpaceKey&) const = default;
};

} // namespace ns3

#endif // MESHPACE_KEY_H
