/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "ingress-queue.h"

#include "ns3/ipv4-l3-protocol.h"
#include "ns3/ipv4-queue-disc-item.h"
#include "ns3/traffic-control-layer.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(IngressQueue);

TypeId
IngressQueue::GetTypeId()
{
    static TypeId tid = TypeId("ns3::IngressQueue")
                            .SetParent<Object>()
                            .SetGroupName("Meshpace")
                            .AddConstructor<IngressQueue>();
    return tid;
}

void
IngressQueue::Install(Ptr<Node> node, Ptr<NetDevice> device, Ptr<QueueDisc> disc)
{
    m_node = node;
    m_device = device;
    m_disc = disc;
    disc->SetSendCallback([this](Ptr<QueueDiscItem> item) {
        Deliver(item->GetPacket(), item->GetProtocol(), item->GetAddress());
    });
    disc->Initialize();
    device->SetReceiveCallback(MakeCallback(&IngressQueue::Receive, this));
    node->AggregateObject(Ptr<IngressQueue>(this));
}

void
IngressQueue::DoDispose()
{
    m_disc->Dispose();
    m_disc = nullptr;
    m_device = nullptr;
    m_node = nullptr;
    Object::DoDispose();
}

bool
IngressQueue::Receive(Ptr<NetDevice>,
                      Ptr<const Packet> packet,
                      uint16_t protocol,
                      const Address& from)
{
    if (protocol != Ipv4L3Protocol::PROT_NUMBER)
    {
        Deliver(packet, protocol, from);
        return true;
    }
    auto payload = packet->Copy();
    Ipv4Header header;
    payload->RemoveHeader(header);
    m_disc->Enqueue(Create<Ipv4QueueDiscItem>(payload, from, protocol, header));
    m_disc->Run();
    return true;
}

void
IngressQueue::Deliver(Ptr<const Packet> packet, uint16_t protocol, const Address& from)
{
    m_node->GetObject<TrafficControlLayer>()
        ->Receive(m_device, packet, protocol, from, m_device->GetAddress(), NetDevice::PACKET_HOST);
}

} // namespace ns3
