/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_HELPER_H
#define MESHPACE_HELPER_H

#include "../model/gateway/meshpace-gateway.h"
#include "../model/sender/tcp-meshpace.h"

#include "ns3/attribute.h"
#include "ns3/net-device-container.h"
#include "ns3/object-factory.h"
#include "ns3/socket.h"

#include <string>

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * Puts the law where it belongs: at the mesh's Internet gateway, and at senders in the mesh. No other node is changed.
 *
 * @code
 *   MeshpaceHelper meshpace;
 *   meshpace.SetAttribute("Law", EnumValue(MeshpaceGateway::EVEN));
 *   auto gateway = meshpace.Install(radio, uplink);
 *   gateway->SetHops(host, 4);
 * @endcode
 */
class MeshpaceHelper
{
  public:
    MeshpaceHelper();

    /**
     * @param name an attribute of MeshpaceGateway, for the gateways that are installed from now on
     * @param value its value
     */
    void SetAttribute(const std::string& name, const AttributeValue& value);

    /**
     * Makes a node an Internet gateway with a law. Queue discs that carry packets past the law take the place of those
     * that its devices have.
     * @param mesh the node's radios, all in the mesh
     * @param wired its device towards the Internet
     * @return the law; MeshpaceGateway::SetHops, or FollowOlsr, tells it how far hosts are
     */
    Ptr<MeshpaceGateway> Install(const NetDeviceContainer& mesh, Ptr<NetDevice> wired) const;

    /**
     * The same with a law that is there already.
     * @param gateway the law, of this node alone
     * @param mesh the node's radios, all in the mesh
     * @param wired its device towards the Internet
     */
    static void Install(Ptr<MeshpaceGateway> gateway,
                        const NetDeviceContainer& mesh,
                        Ptr<NetDevice> wired);

    /**
     * Keeps a gateway told how many hops hosts are away, by the OLSR that runs on its node.
     * @param gateway the gateway
     * @param node its node
     */
    static void FollowOlsr(Ptr<MeshpaceGateway> gateway, Ptr<Node> node);

    /**
     * Makes a TCP socket in the mesh a paced sender.
     * @param socket a TCP socket of which no segment has been acknowledged yet
     * @param law the law
     * @param hops wireless hops to the gateway, or to the receiver in a mesh without one
     * @return the law at work
     */
    static Ptr<TcpMeshpace> Pace(Ptr<Socket> socket, TcpMeshpace::Law law, uint32_t hops);

  private:
    ObjectFactory m_gateway;
};

} // namespace ns3

#endif // MESHPACE_HELPER_H
