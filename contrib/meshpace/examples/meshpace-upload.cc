/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// An upload from the end of a chain, paced at its sender or not.
//   ./ns3 run "meshpace-upload --law=gap --hops=4"
// Prints what arrives, kbit/s: RESULT upload=...

#include "example-mesh.h"

#include "ns3/applications-module.h"
#include "ns3/meshpace-helper.h"

#include <iostream>
#include <map>

using namespace ns3;

int
main(int argc, char* argv[])
{
    std::string law = "gap";
    uint32_t hops = 4;
    double duration = 30;
    CommandLine cmd(__FILE__);
    cmd.AddValue("law", "of the sender: off, gap, even", law);
    cmd.AddValue("hops", "from the sender to the gateway", hops);
    cmd.AddValue("duration", "of the upload, s", duration);
    cmd.Parse(argc, argv);
    ExampleMesh chain(hops);
    MeshpaceHelper meshpace; // which signals the sender how much of a round trip is in the wires
    meshpace.SetAttribute("Law", StringValue(law == "off" ? "gap" : law));
    if (law != "off")
    {
        auto gateway = meshpace.Install(chain.radios.Get(0), chain.uplink.Get(0));
        gateway->SetHops(chain.addresses.GetAddress(hops), hops);
    }
    constexpr double START_S = 1;
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 9));
    auto sinks = sink.Install(chain.host);
    BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(chain.hostAddress, 9));
    auto sources = source.Install(chain.mesh.Get(hops));
    sources.Start(Seconds(START_S));
    if (law != "off")
    {
        const std::map<std::string, TcpMeshpace::Law> laws{{"gap", TcpMeshpace::GAP},
                                                           {"even", TcpMeshpace::EVEN}};
        // The application makes its socket when it starts.
        Simulator::Schedule(Seconds(START_S) + MilliSeconds(1), [&, named = laws.at(law)] {
            auto socket = DynamicCast<BulkSendApplication>(sources.Get(0))->GetSocket();
            MeshpaceHelper::Pace(socket, named, hops);
        });
    }
    Simulator::Stop(Seconds(START_S + duration));
    Simulator::Run();
    const auto bytes = DynamicCast<PacketSink>(sinks.Get(0))->GetTotalRx();
    std::cout << "RESULT upload=" << bytes * 8 / 1e3 / duration << std::endl;
    Simulator::Destroy();
    return 0;
}
