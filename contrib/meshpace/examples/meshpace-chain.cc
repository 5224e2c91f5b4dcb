/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// Two downloads through a gateway, over one hop and over several, with a law at the gateway or without.
//   ./ns3 run "meshpace-chain --law=even --hops=4"
// Prints what each gets, kbit/s: RESULT near=... far=...

#include "example-mesh.h"

#include "ns3/applications-module.h"
#include "ns3/meshpace-helper.h"

#include <iostream>

using namespace ns3;

int
main(int argc, char* argv[])
{
    std::string law = "even";
    uint32_t hops = 4;
    double duration = 30;
    CommandLine cmd(__FILE__);
    cmd.AddValue("law", "of the gateway: off, gap, even", law);
    cmd.AddValue("hops", "from the gateway to the far host, 2 or more", hops);
    cmd.AddValue("duration", "of both downloads, s", duration);
    cmd.Parse(argc, argv);
    NS_ABORT_MSG_IF(hops < 2, "--hops: the far host is 2 hops away or more");

    ExampleMesh chain(hops);
    if (law != "off")
    {
        MeshpaceHelper meshpace;
        meshpace.SetAttribute("Law", StringValue(law));
        auto gateway = meshpace.Install(chain.radios.Get(0), chain.uplink.Get(0));
        gateway->SetHops(chain.addresses.GetAddress(1), 1);
        gateway->SetHops(chain.addresses.GetAddress(hops), hops);
    }

    constexpr double START_S = 1;
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 9));
    ApplicationContainer sinks;
    for (const auto node : {1U, hops})
    {
        sinks.Add(sink.Install(chain.mesh.Get(node)));
        BulkSendHelper source("ns3::TcpSocketFactory",
                              InetSocketAddress(chain.addresses.GetAddress(node), 9));
        source.SetAttribute("SendSize", UintegerValue(ExampleMesh::SEGMENT_BYTES));
        source.Install(chain.host).Start(Seconds(START_S));
    }
    Simulator::Stop(Seconds(START_S + duration));
    Simulator::Run();
    const auto kbps = [&](uint32_t i) {
        return DynamicCast<PacketSink>(sinks.Get(i))->GetTotalRx() * 8 / 1e3 / duration;
    };
    std::cout << "RESULT near=" << kbps(0) << " far=" << kbps(1) << std::endl;
    Simulator::Destroy();
    return 0;
}
