/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_SCENARIO_H
#define MESHPACE_SCENARIO_H

#include "people/person-config.h"

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace ns3
{

/**
 * @file
 * A resolved scenario: what pacelab makes of a scenario file, every default filled in and
 * every topology laid out. Members are named as the keys of the file (docs/research/scenarios.md).
 */

/** The radio of every mesh node. */
struct RadioConfig
{
    std::string model;      //!< "range", "sinr"
    std::string standard;   //!< "802.11b", "802.11g"; of sinr also 11n, 11ac, 11ax
    double data_mbps;       //!< bit rate of data frames
    double control_mbps;    //!< bit rate of control frames
    double broadcast_mbps;  //!< bit rate of broadcast frames; 0: as control_mbps
    bool rts_cts;           //!< whether data frames are announced by RTS/CTS
    double tx_range_m;      //!< up to where a frame is decoded
    double cs_range_m;      //!< up to where it is sensed and interferes
    uint32_t queue_packets; //!< length of the interface queue
    bool cts_ignores_nav;   //!< an RTS is answered though the NAV is set
    std::string queueing;   //!< "fifo", "fq_codel", "codel", "yang"
    uint32_t radios;        //!< of each node, on channels that do not interfere: 1 or 2
    uint32_t data_attempts; //!< data frames without ACK until one is dropped; 0: ns-2's rule
    // Of "range": how ns-2 differs from ns-3.
    std::string interference;  //!< "additive"; "pairwise": each interferer by itself
    bool missed_frames_deafen; //!< frames missed, if not 10 dB weaker, keep from later ones
    bool cts_when_idle;        //!< an RTS is answered only when nothing is sensed
    bool cts_waits_for_data;   //!< who sent a CTS is silent until the data's end
    bool nav_reset;            //!< an RTS that nothing follows gives its NAV up
    bool eifs_in_nav;          //!< DIFS follow EIFS, and nothing cuts EIFS short
    bool always_back_off;      //!< a random backoff before every frame
    // Of "sinr".
    double path_loss_exponent; //!< of the log-distance loss
    double tx_power_dbm;       //!< transmit power
    double sense_dbm;          //!< carrier-sense threshold
    double lock_dbm;           //!< weakest frame that a receiver locks on; weaker ones are noise
    std::string fading;        //!< "none", "nakagami": anew for each frame
    double shadowing_db;       //!< standard deviation of a link's log-normal shadowing
    uint32_t topology_seed;    //!< which shadowing of many
    bool capture;              //!< a receiver leaves a preamble for a stronger one
    // Of "sinr", 802.11n and later.
    std::string rate_control; //!< "minstrel", "fixed"
    uint32_t mcs;             //!< bit rate of data frames where it is fixed
    uint32_t channel_mhz;     //!< width of the channel
    bool aggregation;         //!< A-MPDU
    double aql_us;            //!< airtime that the MAC holds for a neighbour at most; 0: no bound
};

/** The routing in the mesh. */
struct RoutingConfig
{
    std::string protocol;  //!< "static", "aodv", "olsr"
    std::string metric;    //!< of olsr: "hops", "etx"
    double hello_s;        //!< of olsr: between two HELLOs of a node
    double tc_s;           //!< of olsr: between two TCs of a node
    double search_pause_s; //!< of aodv: after a failed search for a route, before the next
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
    bool gateway; //!< whether it is an Internet gateway
};

/** A mesh node that walks: from where it stands to another place and back, over and over. */
struct ClientConfig
{
    std::string name; //!< of the node
    double to_x_m;    //!< the other place
    double to_y_m;    //!< the other place
    double speed_mps; //!< how fast
    double start_s;   //!< when it sets out
};

/** A link of the mesh with a bit rate of its own, both ways. */
struct LinkConfig
{
    std::string from; //!< name of a mesh node
    std::string to;   //!< name of another
    double mbps;      //!< bit rate of data frames
};

/** The law at each gateway. */
struct GatewayConfig
{
    std::string law;          //!< "off", "gap", "map", "shaper", "even", "cake", "hosts"
    bool goodput_control;     //!< whether goodput control is on
    std::string fairness;     //!< of even: air or rate
    std::map<std::string, double> host_weight; //!< of "even": as so many hosts each counts
    std::map<std::string, double> host_least_kbps; //!< of "even": what each gets at least
    double least_kbps;         //!< of "even": the same, of all others; 0: nothing
    bool local_retransmission; //!< whether the gateway answers duplicate ACKs
    std::string release;      //!< "nfqueue": at its turn; "htb": likewise, by class; "fq": departures fixed on arrival
    double delay_bound_s;     //!< RTT samples above are discarded; 0: none, also for senders
    uint32_t delay_bound_means; //!< a sample counts as so many means at most; 0: as it is
    double rate_kbps;         //!< "shaper": payload of each flow; "cake": all IP packets one way
    std::map<std::string, double> host_kbps; //!< of "hosts": IP packets of each, each way
    uint32_t bucket;          //!< of "shaper": packets of a flow that may leave together
    std::string queueing;     //!< at gateways, as the radio's; empty: as all nodes
    std::string link_rates;   //!< "single", "known", "piggybacked", also for senders
    std::string omit;         //!< of "even": a part left out, also by senders; empty: none
};

/** The law `map`'s own parameters, of the gateway and of senders. */
struct MapConfig
{
    double assumed_exponent; //!< path-loss exponent that it assumes
    bool positions;          //!< whether it knows where the nodes stand
    uint32_t least_h_cs;     //!< H_cs is at least this
    bool past_end;           //!< whether OID is of h + 1 hops where H_cs reaches h
    bool link_in_oid;        //!< whether each hop of OID has t_LLD
    bool link_learnt;        //!< whether t_LLD and t_LLA are what the least RTT leaves
};

/** How a receiver acknowledges. */
struct DelayedAck
{
    /**
     * @param every an ACK every so many segments
     */
    DelayedAck(uint32_t every = 1)
        : segments(every)
    {
    }

    uint32_t segments;    //!< an ACK every so many
    bool thinning{false}; //!< dynamic ACK thinning instead, "thinning" in the file
};

/** A flow. */
struct FlowConfig
{
    std::string name;
    std::string from;           //!< name of a node or wired host
    std::string to;             //!< name of a node or wired host
    std::string traffic;        //!< "ftp", "cbr", "files"
    std::string law;            //!< of a wireless sender: "off", "gap", "ap", "map", "shaper"
    double start_s;             //!< when it begins
    double rate_kbps;           //!< payload rate of cbr, and of "shaper"
    std::string variant;        //!< TCP variant
    bool sack;                  //!< selective acknowledgements
    DelayedAck delayed_ack;     //!< how its receiver acknowledges
    uint32_t advertised_window; //!< segments
    uint32_t segment_bytes;     //!< payload of a segment
    uint32_t initial_window;    //!< segments
    double min_rto_s;           //!< least RTO - SRTT, as in Linux
    std::string via;            //!< gateway of its wired end; empty: the nearest
    double stop_s;              //!< when its sender aborts it; 0: never
    double delayed_ack_s;       //!< a segment waits no longer for its ACK
    bool byte_counting;         //!< the window grows by bytes acknowledged (RFC 3465)
    double file_bytes;          //!< mean of the sizes of files
    double pareto_shape;        //!< of their law
    double pause_s;             //!< mean of the pauses between files
    bool one_connection;        //!< whether all files go over one
    uint32_t bucket;            //!< of "shaper": packets that may leave together
    double idle_at_s;           //!< of ftp: when the application falls silent
    double idle_s;              //!< for how long; 0: never
    bool opaque;                //!< of ftp: goes as datagrams that nobody between its ends can read
    bool timestamps;            //!< of TCP (RFC 7323)
    bool rack;                  //!< losses are found by time (RFC 8985)
    bool live_departures;       //!< under a law: departures follow the rate
    std::string receiver;       //!< of ftp: "honest", or how it lies (TcpSocketLying)
};

/** ICMP echo requests at a constant rate; no flow. */
struct PingConfig
{
    std::string from;  //!< name of a node or wired host
    std::string to;    //!< name of a node or wired host
    double interval_s; //!< between two
    double start_s;    //!< when the first is sent
};

/** A time in which the radios of a mesh node are off. */
struct OutageConfig
{
    std::string node; //!< name of a mesh node
    double at_s;      //!< when it begins
    double for_s;     //!< how long it lasts
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
    std::vector<NodeConfig> nodes;         //!< the mesh, at least one of them a gateway
    std::vector<ClientConfig> clients;     //!< those of the nodes that walk
    std::vector<LinkConfig> links;        //!< those with bit rates of their own
    std::vector<std::string> wired_hosts; //!< names
    GatewayConfig gateway;
    MapConfig map;
    std::vector<FlowConfig> flows;
    std::vector<PersonConfig> people;
    std::vector<PingConfig> pings;
    std::vector<OutageConfig> outages;
};

/** A scenario that cannot be simulated; what() is one line that says why. */
class ScenarioError : public std::runtime_error
{
  public:
    using std::runtime_error::runtime_error;
};

/**
 * @param scenario a scenario
 * @return its flows, and after them each person as one from his host to his node: who talks to whom, in
 *         packets of which size
 */
std::vector<FlowConfig> TrafficOf(const Scenario& scenario);

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
