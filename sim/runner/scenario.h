/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_SCENARIO_H
#define MESHPACE_SCENARIO_H

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace ns3
{

/**
 * @file
 * A resolved scenario: what pacelab makes of a scenario file, every default filled in and
 * every topology laid out. Members are named as the keys of the file (docs/scenarios.md).
 */

/** The radio of every mesh node. */
struct RadioConfig
{
    std::string model;      //!< "range"
    std::string standard;   //!< "802.11b"
    double data_mbps;       //!< bit rate of data frames
    double control_mbps;    //!< bit rate of control and broadcast frames
    bool rts_cts;           //!< whether data frames are announced by RTS/CTS
    double tx_range_m;      //!< up to where a frame is decoded
    double cs_range_m;      //!< up to where it is sensed and interferes
    uint32_t queue_packets; //!< length of the interface queue
    bool cts_ignores_nav;   //!< ns-2's rule: an RTS is answered though the NAV is set
    std::string queueing;   //!< "fifo", "fq_codel", "codel"
};

/** The routing in the mesh. */
struct RoutingConfig
{
    std::string protocol; //!< "static", "aodv"
};

/** The links gateway - router - router - host. */
struct WiredConfig
{
    double mbps;     //!< bit rate of each
    double delay_ms; //!< one-way delay of each
};

/** A mesh node. */
struct NodeConfig
{
    std::string name;
    double x_m;   //!< position
    double y_m;   //!< position
    bool gateway; //!< whether it is the Internet gateway
};

/** The law at the gateway. */
struct GatewayConfig
{
    std::string law;          //!< "off", "gap"
    bool goodput_control;     //!< whether goodput control is on
    bool local_retransmission; //!< whether the gateway answers duplicate ACKs
    double delay_bound_s;     //!< RTT samples above are discarded; 0: none, also for senders
};

/** A flow. */
struct FlowConfig
{
    std::string name;
    std::string from;           //!< name of a node or wired host
    std::string to;             //!< name of a node or wired host
    std::string traffic;        //!< "ftp", "cbr"
    std::string law;            //!< of a wireless sender: "off", "gap", "ap"
    double start_s;             //!< when it begins
    double rate_kbps;           //!< payload rate of cbr
    std::string variant;        //!< TCP variant
    bool sack;                  //!< selective acknowledgements
    uint32_t delayed_ack;       //!< an ACK every so many segments
    uint32_t advertised_window; //!< segments
    uint32_t segment_bytes;     //!< payload of a segment
    uint32_t initial_window;    //!< segments
    double min_rto_s;           //!< least RTO - SRTT, as in Linux
};

/** A scenario. */
struct Scenario
{
    std::string title;
    double duration_s; //!< of the simulation
    double warmup_s;   //!< what happens before does not count
    RadioConfig radio;
    RoutingConfig routing;
    WiredConfig wired;
    std::vector<NodeConfig> nodes;         //!< the mesh, one of them the gateway
    std::vector<std::string> wired_hosts; //!< names
    GatewayConfig gateway;
    std::vector<FlowConfig> flows;
};

/** A scenario that cannot be simulated; what() is one line that says why. */
class ScenarioError : public std::runtime_error
{
  public:
    using std::runtime_error::runtime_error;
};

/**
 * Reads a resolved scenario.
 *
 * @param file a JSON file
 * @return the scenario
 * @throws ScenarioError when it cannot be read or lacks something
 */
Scenario ReadScenario(const std::string& file);

} // namespace ns3

#endif // MESHPACE_SCENARIO_H
