/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_EXAMPLE_MESH_H
#define MESHPACE_EXAMPLE_MESH_H

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/wifi-module.h"

namespace ns3
{

/** A chain of nodes with 802.11n, 200 m apart of the 250 that a radio reaches; the first is the gateway of a wired host. */
struct ExampleMesh
{
    /** @param hops from the gateway to the last node */
    explicit ExampleMesh(uint32_t hops)
    {
        // What an Ethernet frame has room for; ns-3's 536 would be half as many bytes in as much air.
        Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(SEGMENT_BYTES));
        mesh.Create(hops + 1);
        host.Create(1);
        MobilityHelper places;
        places.SetPositionAllocator("ns3::GridPositionAllocator",
                                    "DeltaX", DoubleValue(200),
                                    "GridWidth", UintegerValue(hops + 1));
        places.Install(mesh);
        YansWifiChannelHelper channel;
        channel.SetPropagationDelay("ns3::ConstantSpeedPropagationDelayModel");
        channel.AddPropagationLoss("ns3::RangePropagationLossModel", "MaxRange", DoubleValue(250));
        YansWifiPhyHelper phy;
        phy.SetChannel(channel.Create());
        WifiMacHelper mac;
        mac.SetType("ns3::AdhocWifiMac");
        WifiHelper wifi;
        wifi.SetStandard(WIFI_STANDARD_80211n);
        wifi.SetRemoteStationManager("ns3::MinstrelHtWifiManager");
        radios = wifi.Install(phy, mac, mesh);
        PointToPointHelper wire;
        wire.SetDeviceAttribute("DataRate", StringValue("100Mbps"));
        wire.SetChannelAttribute("Delay", StringValue("10ms"));
        uplink = wire.Install(mesh.Get(0), host.Get(0));

        InternetStackHelper stack;
        stack.Install(mesh);
        stack.Install(host);
        addresses = Ipv4AddressHelper("10.1.0.0", "255.255.0.0").Assign(radios);
        const auto wired = Ipv4AddressHelper("10.2.0.0", "255.255.0.0").Assign(uplink);
        hostAddress = wired.GetAddress(1);
        NeighborCacheHelper().PopulateNeighborCache(); // lost broadcasts of ARP are no concern here
        RoutesOf(host.Get(0))->SetDefaultRoute(wired.GetAddress(0), 1);
        for (uint32_t node = 0; node <= hops; node++)
        {
            for (uint32_t to = node + 1; to <= hops; to++)
            {
                RoutesOf(mesh.Get(node))
                    ->AddHostRouteTo(addresses.GetAddress(to), addresses.GetAddress(node + 1), 1);
            }
            for (uint32_t to = 0; to < node; to++)
            {
                RoutesOf(mesh.Get(node))
                    ->AddHostRouteTo(addresses.GetAddress(to), addresses.GetAddress(node - 1), 1);
            }
            if (node > 0)
            {
                RoutesOf(mesh.Get(node))->SetDefaultRoute(addresses.GetAddress(node - 1), 1);
            }
        }
    }

    /** @return the static routes of a node */
    static Ptr<Ipv4StaticRouting> RoutesOf(Ptr<Node> node)
    {
        return Ipv4StaticRoutingHelper().GetStaticRouting(node->GetObject<Ipv4>());
    }

    static constexpr uint32_t SEGMENT_BYTES = 1448; //!< of payload, with timestamps

    NodeContainer mesh;               //!< the gateway first
    NodeContainer host;               //!< the wired host
    NetDeviceContainer radios;        //!< of the mesh, in its order
    NetDeviceContainer uplink;        //!< of the gateway, then of the host
    Ipv4InterfaceContainer addresses; //!< of the mesh
    Ipv4Address hostAddress;          //!< of the wired host
};

} // namespace ns3

#endif // MESHPACE_EXAMPLE_MESH_H
