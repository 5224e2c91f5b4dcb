/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_INGRESS_QUEUE_H
#define MESHPACE_INGRESS_QUEUE_H

#include "ns3/net-device.h"
#include "ns3/node.h"
#include "ns3/object.h"
#include "ns3/queue-disc.h"

namespace ns3
{

/**
 * @ingroup meshpace
 *
 * A queue disc that packets pass after they have arrived at a device and before the node sees them, as
 * Linux has it by an `ifb` device. What is no IPv4 packet does not wait.
 */
class IngressQueue : public Object
{
  public:
    /** @return the type id */
    static TypeId GetTypeId();

    /**
     * Puts it behind a device, of which the node has one such.
     * @param node a node with an Internet stack, which owns this from now on
     * @param device one of its devices
     * @param disc the queue disc, which belongs to no device
     */
    void Install(Ptr<Node> node, Ptr<NetDevice> device, Ptr<QueueDisc> disc);

  protected:
    void DoDispose() override;

  private:
    bool Receive(Ptr<NetDevice> device,
                 Ptr<const Packet> packet,
                 uint16_t protocol,
                 const Address& from);
    /** Hands a packet to the node. */
    void Deliver(Ptr<const Packet> packet, uint16_t protocol, const Address& from);

    Ptr<Node> m_node;
    Ptr<NetDevice> m_device;
    Ptr<QueueDisc> m_disc;
};

} // namespace ns3

#endif // MESHPACE_INGRESS_QUEUE_H
