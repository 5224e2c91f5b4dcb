/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "ns3/bulk-send-application.h"
#include "ns3/bulk-send-helper.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/ipv4-global-routing-helper.h"
#include "ns3/meshpace-helper.h"
#include "ns3/packet-sink-helper.h"
#include "ns3/packet-sink.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/tcp-socket-factory.h"
#include "ns3/test.h"
#include "ns3/uinteger.h"

using namespace ns3;

namespace
{

constexpr double DURATION_S = 20;

/**
 * Host, gateway, mesh node, by wires: what the helper sets up has to work over any device. The last link
 * carries so much that a paced flow, and only such a one, leaves some of it.
 */
struct Line
{
    Line()
    {
        nodes.Create(3);
        PointToPointHelper wire;
        wire.SetDeviceAttribute("DataRate", StringValue("100Mbps"));
        wire.SetChannelAttribute("Delay", StringValue("5ms"));
        wired = wire.Install(nodes.Get(0), nodes.Get(1));
        wire.SetDeviceAttribute("DataRate", StringValue("5Mbps"));
        wire.SetChannelAttribute("Delay", StringValue("2ms"));
        mesh = wire.Install(nodes.Get(1), nodes.Get(2));
        InternetStackHelper().Install(nodes);
        hostAddress = Ipv4AddressHelper("10.2.0.0", "255.255.0.0").Assign(wired).GetAddress(0);
        meshAddress = Ipv4AddressHelper("10.1.0.0", "255.255.0.0").Assign(mesh).GetAddress(1);
        Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    }

    ~Line()
    {
        Simulator::Destroy();
    }

    /**
     * Adds a bulk transfer.
     * @param from index of the sending node
     * @param to index of the receiving one
     * @param address its address
     */
    void Transfer(uint32_t from, uint32_t to, Ipv4Address address)
    {
        const InetSocketAddress end(address, 9);
        sink = DynamicCast<PacketSink>(
            PacketSinkHelper("ns3::TcpSocketFactory", end).Install(nodes.Get(to)).Get(0));
        BulkSendHelper source("ns3::TcpSocketFactory", end);
        sources = source.Install(nodes.Get(from));
    }

    /** Simulates. @return what the receiver got, kbit/s */
    double Run() const
    {
        Simulator::Stop(Seconds(DURATION_S));
        Simulator::Run();
        return sink->GetTotalRx() * 8 / 1e3 / DURATION_S;
    }

    NodeContainer nodes;
    NetDeviceContainer wired; //!< of the host, then of the gateway
    NetDeviceContainer mesh;  //!< of the gateway, then of the mesh node
    Ipv4Address hostAddress;
    Ipv4Address meshAddress;
    Ptr<PacketSink> sink;
    ApplicationContainer sources;
};

/** The gateway sees a download, paces it, and all of it arrives. */
class GatewayTestCase : public TestCase
{
  public:
    GatewayTestCase()
        : TestCase("A gateway that the helper installs paces a download")
    {
    }

  private:
    void DoRun() override
    {
        Line line;
        MeshpaceHelper meshpace;
        meshpace.SetAttribute("Law", StringValue("shaper"));
        meshpace.SetAttribute("ShaperRate", UintegerValue(1000000));
        auto gateway = meshpace.Install(line.mesh.Get(0), line.wired.Get(1));
        gateway->SetHops(line.meshAddress, 1);
        line.Transfer(0, 2, line.meshAddress);
        const auto kbps = line.Run();
        NS_TEST_EXPECT_MSG_EQ(gateway->Connections(), 1, "it knows the connection");
        NS_TEST_EXPECT_MSG_EQ_TOL(kbps, 1000, 20, "the shaper's rate");
    }
};

/** The default law takes what the path carries. */
class EvenTestCase : public TestCase
{
  public:
    EvenTestCase()
        : TestCase("Under even a download has what its path carries")
    {
    }

  private:
    void DoRun() override
    {
        Line line;
        MeshpaceHelper meshpace;
        meshpace.SetAttribute("Law", StringValue("even"));
        auto gateway = meshpace.Install(line.mesh.Get(0), line.wired.Get(1));
        gateway->SetHops(line.meshAddress, 1);
        line.Transfer(0, 2, line.meshAddress);
        NS_TEST_EXPECT_MSG_GT(line.Run(), 0.85 * 5000, "of 5000 kbit/s, headers among them");
        NS_TEST_EXPECT_MSG_GT(gateway->MaxHeldPackets(), 0, "it is held at the gateway");
    }
};

/** A sender is paced by what it measures. */
class SenderTestCase : public TestCase
{
  public:
    SenderTestCase()
        : TestCase("A socket that the helper paces has an interval")
    {
    }

  private:
    void DoRun() override
    {
        Line line;
        line.Transfer(2, 0, line.hostAddress);
        Ptr<TcpMeshpace> law;
        Simulator::Schedule(MilliSeconds(1), [&] {
            auto application = DynamicCast<BulkSendApplication>(line.sources.Get(0));
            law = MeshpaceHelper::Pace(application->GetSocket(), TcpMeshpace::GAP, 1);
        });
        const auto kbps = line.Run();
        NS_TEST_ASSERT_MSG_NE(law, nullptr, "a law");
        NS_TEST_EXPECT_MSG_GT(law->IntervalNs(), 0, "an interval");
        NS_TEST_EXPECT_MSG_GT(kbps, 0, "data arrive");
    }
};

/** The suite. */
class MeshpaceTestSuite : public TestSuite
{
  public:
    MeshpaceTestSuite()
        : TestSuite("meshpace", Type::UNIT)
    {
        AddTestCase(new GatewayTestCase, Duration::QUICK);
        AddTestCase(new EvenTestCase, Duration::QUICK);
        AddTestCase(new SenderTestCase, Duration::QUICK);
    }
};

MeshpaceTestSuite g_meshpaceTestSuite; //!< the suite

} // namespace
