// ns-3 side of a dumbbell: N bulk senders, one bottleneck. Prints one JSON object.
//
//   dumbbell --rate=BIT/S --buffer=PACKETS --flows=N --spread=MS --duration=S [--queue=CoDel|FqCoDel|Pie|Red]
//
// Every base RTT is 80 ms plus an even share of `spread`. Segments of 1000 bytes on the wire, SACK, timestamps, one ACK per
// segment. Without a queue the device's own drops at its tail, and no traffic control stands before it; a queue is a discipline of
// ns-3 with its defaults, before a device that holds two packets.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"
#include <chrono>
#include <iostream>

using namespace ns3;

static uint64_t g_dataPackets = 0;

// Sent by a sender's TCP; pure ACKs and handshakes carry no payload.
static void CountSegment(Ptr<const Packet> packet, const TcpHeader&, Ptr<const TcpSocketBase>) {
    if (packet->GetSize() > 0) {
        ++g_dataPackets;
    }
}

static void WatchSocket(Ptr<BulkSendApplication> application) {
    application->GetSocket()->TraceConnectWithoutContext("Tx", MakeCallback(&CountSegment));
}

int main(int argc, char* argv[]) {
    uint64_t rate = 100000000;
    uint32_t buffer = 250;
    uint32_t flows = 1;
    double spreadMs = 0;
    double duration = 20;
    std::string queue;
    CommandLine options;
    options.AddValue("rate", "bottleneck, bit/s", rate);
    options.AddValue("buffer", "packets", buffer);
    options.AddValue("flows", "number of senders", flows);
    options.AddValue("spread", "range of the base RTTs, ms", spreadMs);
    options.AddValue("duration", "simulated seconds", duration);
    options.AddValue("queue", "discipline of the bottleneck; none: drop-tail in the device", queue);
    options.Parse(argc, argv);

    // 1000 on the wire: 2 (PPP) + 20 (IP) + 20 (TCP) + 12 (timestamps) + 946.
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(946));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 28));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 28));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::TcpLinuxReno")));

    InternetStackHelper internet;
    PointToPointHelper link;
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    NodeContainer routers(2);
    internet.Install(routers);
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(rate)));
    link.SetChannelAttribute("Delay", TimeValue(MilliSeconds(39)));
    // The device sends one packet while its queue holds the others.
    auto packets = [](uint32_t count) { return QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, count)); };
    if (queue.empty()) {
        link.DisableFlowControl();
    }
    link.SetQueue("ns3::DropTailQueue", "MaxSize", packets(queue.empty() ? buffer - 1 : 1));
    NetDeviceContainer bottleneck = link.Install(routers);
    if (!queue.empty()) {
        TrafficControlHelper control;
        control.SetRootQueueDisc("ns3::" + queue + "QueueDisc", "MaxSize", packets(buffer - 2));
        control.Install(bottleneck.Get(0));
    }
    Ipv4InterfaceContainer middle = addresses.Assign(bottleneck);

    PointToPointHelper access;
    access.DisableFlowControl();
    access.SetDeviceAttribute("DataRate", StringValue("100Gbps"));
    access.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1000000p"));
    Ptr<UniformRandomVariable> start = CreateObject<UniformRandomVariable>();
    for (uint32_t i = 0; i < flows; ++i) {
        double share = flows > 1 ? double(i) / (flows - 1) : 0;
        Ptr<Node> sender = CreateObject<Node>();
        internet.Install(sender);
        access.SetChannelAttribute("Delay", TimeValue(Seconds(1e-3 + share * spreadMs / 2e3)));
        addresses.NewNetwork();
        addresses.Assign(access.Install(sender, routers.Get(0)));
        uint16_t port = 5000 + i;
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        sink.Install(routers.Get(1)).Start(Seconds(0));
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(middle.GetAddress(1), port));
        bulk.SetAttribute("SendSize", UintegerValue(1 << 16));
        ApplicationContainer application = bulk.Install(sender);
        Time begin = Seconds(flows > 1 ? start->GetValue(0, 1) : 0);
        application.Start(begin);
        Ptr<BulkSendApplication> sending = DynamicCast<BulkSendApplication>(application.Get(0));
        Simulator::Schedule(begin + NanoSeconds(1), &WatchSocket, sending);
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    Simulator::Stop(Seconds(duration));
    auto wall = std::chrono::steady_clock::now();
    Simulator::Run();
    std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - wall;
    std::cout << "{\"data_packets\": " << g_dataPackets << ", \"wall_s\": " << elapsed.count() << "}" << std::endl;
    return 0;
}
