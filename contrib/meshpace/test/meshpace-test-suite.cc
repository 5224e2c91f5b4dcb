/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "ns3/boolean.h"
#include "ns3/bulk-send-application.h"
#include "ns3/bulk-send-helper.h"
#include "ns3/enum.h"
#include "ns3/host-echo.h"
#include "ns3/icmpv4-l4-protocol.h"
#include "ns3/icmpv4.h"
#include "ns3/inet-socket-address.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/ipv4-global-routing-helper.h"
#include "ns3/ipv4-l3-protocol.h"
#include "ns3/ipv4-queue-disc-item.h"
#include "ns3/ipv4-raw-socket-factory.h"
#include "ns3/meshpace-helper.h"
#include "ns3/packet-sink-helper.h"
#include "ns3/packet-sink.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/tcp-socket-factory.h"
#include "ns3/test.h"
#include "ns3/uinteger.h"

#include <csignal>
#include <functional>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

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

/** @return a packet to or from a host of the mesh @param from its sender @param to its receiver @param protocol above IP */
Ptr<Ipv4QueueDiscItem>
Item(const char* from, const char* to, uint8_t protocol)
{
    Ipv4Header ip;
    ip.SetSource(Ipv4Address(from));
    ip.SetDestination(Ipv4Address(to));
    ip.SetProtocol(protocol);
    ip.SetPayloadSize(1000);
    return Create<Ipv4QueueDiscItem>(Create<Packet>(1000), Mac48Address(), 0x0800, ip);
}

/** What is not TCP is its host's, whatever it is; what is for everybody, or of the mesh alone, is nobody's. */
class OthersTestCase : public TestCase
{
  public:
    OthersTestCase()
        : TestCase("Whatever is not TCP waits for its host's cap")
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint8_t ICMP = 1;
        constexpr uint8_t UDP = 17;
        constexpr uint8_t GRE = 47;
        auto gateway = CreateObjectWithAttributes<MeshpaceGateway>("Law",
                                                                   EnumValue(MeshpaceGateway::EVEN),
                                                                   "GoodputControl",
                                                                   BooleanValue(false));
        gateway->SetHops(Ipv4Address("10.1.0.5"), 1);
        gateway->SetCap(Ipv4Address("10.1.0.5"), true, 100000, 0);
        gateway->SetCap(Ipv4Address("10.1.255.255"), true, 100000, 0);
        const auto isHeld = [&gateway](const char* from, const char* to, uint8_t protocol) {
            return gateway->ToMesh(Item(from, to, protocol)).verdict ==
                   MeshpaceGateway::Verdict::HELD;
        };
        for (const auto protocol : {ICMP, UDP, GRE})
        {
            const auto what = "protocol " + std::to_string(protocol);
            NS_TEST_EXPECT_MSG_EQ(isHeld("10.2.0.1", "10.1.0.5", protocol), true, what);
            NS_TEST_EXPECT_MSG_EQ(isHeld("10.1.0.6", "10.1.0.5", protocol), false, "relayed");
            NS_TEST_EXPECT_MSG_EQ(isHeld("10.2.0.1", "10.1.255.255", protocol), false, "to all");
            NS_TEST_EXPECT_MSG_EQ(isHeld("10.2.0.1", "224.0.0.5", protocol), false, "to many");
        }
        gateway->Dispose();
        Simulator::Destroy();
    }
};

/** An answer that comes behind a later one's tells nothing: the kernel's gateway takes it for one that came twice. */
class LateAnswerTestCase : public TestCase
{
  public:
    LateAnswerTestCase()
        : TestCase("An answer behind a later one's does not count")
    {
    }

  private:
    void DoRun() override
    {
        Line line;
        auto host = line.nodes.Get(2);
        auto ipv4 = host->GetObject<Ipv4L3Protocol>();
        ipv4->Remove(host->GetObject<Icmpv4L4Protocol>()); // it answers as the test says
        m_socket = Socket::CreateSocket(host, Ipv4RawSocketFactory::GetTypeId());
        m_socket->SetAttribute("Protocol", UintegerValue(Icmpv4L4Protocol::PROT_NUMBER));
        m_socket->SetRecvCallback(MakeCallback(&LateAnswerTestCase::Asked, this));
        m_socket->Bind();
        HostEcho echo(line.nodes.Get(1), MakeCallback(&LateAnswerTestCase::Answered, this));
        for (const double atS : {0.0, 0.1, 0.2})
        {
            Simulator::Schedule(Seconds(atS), &HostEcho::Ask, &echo, line.meshAddress.Get());
        }
        line.Transfer(0, 2, line.meshAddress);
        line.Run();
        NS_TEST_ASSERT_MSG_EQ(m_rtts.size(), 2, "the second's and the third's, not the first's");
        NS_TEST_EXPECT_MSG_LT(m_rtts[0], MilliSeconds(200), "of the second ask");
        NS_TEST_EXPECT_MSG_GT(m_rtts[1], MilliSeconds(300), "of the third");
        m_socket = nullptr;
    }

    void Asked(Ptr<Socket> socket)
    {
        const std::vector<Time> takes{MilliSeconds(250), MilliSeconds(20), MilliSeconds(300)};
        Ipv4Header ip;
        Icmpv4Header header;
        Icmpv4Echo echo;
        auto packet = socket->Recv();
        packet->RemoveHeader(ip);
        packet->RemoveHeader(header);
        packet->RemoveHeader(echo);
        header.SetType(Icmpv4Header::ICMPV4_ECHO_REPLY);
        packet->AddHeader(echo);
        packet->AddHeader(header);
        const InetSocketAddress to(ip.GetSource(), 0);
        Simulator::Schedule(takes.at(m_asks++), [socket, packet, to] { socket->SendTo(packet, 0, to); });
    }

    void Answered(uint32_t /* host */, Time rtt)
    {
        m_rtts.push_back(rtt);
    }

    Ptr<Socket> m_socket;
    std::size_t m_asks{0};
    std::vector<Time> m_rtts;
};

/**
 * @param does something that a user cannot have meant
 * @return what it says as it ends the program; empty: it does not
 */
std::string
SaysAtEnd(const std::function<void()>& does)
{
    int ends[2];
    NS_ABORT_MSG_IF(pipe(ends) != 0, "a pipe");
    const auto child = fork();
    if (child == 0)
    {
        const rlimit none{0, 0};
        setrlimit(RLIMIT_CORE, &none);
        dup2(ends[1], STDERR_FILENO);
        does();
        _exit(0);
    }
    close(ends[1]);
    std::string said;
    char piece[4096];
    for (ssize_t length; (length = read(ends[0], piece, sizeof(piece))) > 0;)
    {
        said.append(piece, length);
    }
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? said : "";
}

/** What the helper cannot do it says in one message, with the remedy. */
class MistakesTestCase : public TestCase
{
  public:
    MistakesTestCase()
        : TestCase("What the helper cannot do it says")
    {
    }

  private:
    /** @param what was done @param says a part of the message @param does it */
    void Expect(const std::string& what,
                const std::string& says,
                const std::function<void(Line&)>& does)
    {
        const auto said = SaysAtEnd([&does] {
            Line line;
            does(line);
        });
        NS_TEST_EXPECT_MSG_NE(said.find(says), std::string::npos, what << " says: " << said);
    }

    void DoRun() override
    {
        const MeshpaceHelper meshpace;
        Expect("twice", "Install each gateway once", [&](Line& line) {
            meshpace.Install(line.mesh.Get(0), line.wired.Get(1));
            meshpace.Install(line.mesh.Get(0), line.wired.Get(1));
        });
        Expect("late", "before Simulator::Run()", [&](Line& line) {
            Simulator::Schedule(Seconds(1),
                                [&] { meshpace.Install(line.mesh.Get(0), line.wired.Get(1)); });
            Simulator::Stop(Seconds(2));
            Simulator::Run();
        });
        Expect("without an uplink", "device towards the Internet", [&](Line& line) {
            meshpace.Install(line.mesh.Get(0), nullptr);
        });
        Expect("without a radio", "no radio", [&](Line& line) {
            meshpace.Install(NetDeviceContainer(), line.wired.Get(1));
        });
        Expect("with the radio as uplink", "is a radio of the mesh, too", [&](Line& line) {
            meshpace.Install(line.mesh.Get(0), line.mesh.Get(0));
        });
        Expect("with another node's uplink", "of another node", [&](Line& line) {
            meshpace.Install(line.mesh.Get(0), line.wired.Get(0));
        });
        Expect("a weight below nothing", "0.01 to 100", [&](Line& line) {
            auto gateway = meshpace.Install(line.mesh.Get(0), line.wired.Get(1));
            gateway->SetRights(line.meshAddress, -1, 0);
        });
        NS_TEST_EXPECT_MSG_EQ(SaysAtEnd([] {}), "", "nothing is said of what is right");
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
        AddTestCase(new OthersTestCase, Duration::QUICK);
        AddTestCase(new LateAnswerTestCase, Duration::QUICK);
        AddTestCase(new MistakesTestCase, Duration::QUICK);
    }
};

MeshpaceTestSuite g_meshpaceTestSuite; //!< the suite

} // namespace
