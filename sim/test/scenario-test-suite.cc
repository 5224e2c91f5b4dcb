/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "../runner/scenario.h"

#include "ns3/test.h"

#include <fstream>
#include <nlohmann/json.hpp>

using namespace ns3;

namespace
{

using Json = nlohmann::json;

/** @return a resolved scenario as pacelab writes it */
Json
Resolved()
{
    return Json::parse(R"({
        "title": "Chain", "duration_s": 110.0, "warmup_s": 10.0,
        "radio": {"model": "range", "standard": "802.11b", "data_mbps": 11.0, "control_mbps": 1.0,
                  "broadcast_mbps": 0.0,
                  "rts_cts": true, "tx_range_m": 250.0, "cs_range_m": 550.0, "queue_packets": 50,
                  "cts_ignores_nav": false,
                  "interference": "additive", "missed_frames_deafen": false,
                  "cts_when_idle": false, "cts_waits_for_data": false, "nav_reset": true,
                  "eifs_in_nav": false, "always_back_off": false,
                  "queueing": "fifo", "radios": 1,
                  "data_attempts": 0, "path_loss_exponent": 3.0, "tx_power_dbm": 16.0,
                  "sense_dbm": -82.0, "lock_dbm": -82.0, "fading": "none",
                  "shadowing_db": 0.0, "topology_seed": 1, "capture": false,
                  "rate_control": "fixed", "mcs": 4, "channel_mhz": 20, "aggregation": true,
                  "aql_us": 0.0},
        "routing": {"protocol": "static", "metric": "hops", "hello_s": 2.0, "tc_s": 5.0, "search_pause_s": 0.0},
        "wired": {"mbps": 10.0, "delay_ms": 40.0},
        "nodes": [{"name": "IG", "x_m": 0.0, "y_m": 0.0, "gateway": true},
                  {"name": "A", "x_m": 200.0, "y_m": -1.5, "gateway": false}],
        "clients": [], "links": [], "wired_hosts": ["B"],
        "gateway": {"law": "gap", "goodput_control": true, "fairness": "air", "local_retransmission": true,
                    "host_weight": {}, "host_least_kbps": {}, "least_kbps": 0.0,
                    "release": "nfqueue", "delay_bound_s": 0.5, "delay_bound_means": 4, "rate_kbps": 0.0, "host_kbps": {},
                    "bucket": 1, "queueing": "", "link_rates": "single", "omit": ""},
        "map": {"assumed_exponent": 3.0, "positions": false, "least_h_cs": 1, "past_end": false,
                "link_in_oid": false, "link_learnt": false},
        "flows": [{"name": "FTP 1", "from": "B", "to": "A", "traffic": "ftp", "law": "off",
                   "start_s": 0.0, "rate_kbps": 0.0, "variant": "newreno", "sack": true,
                   "delayed_ack": 1, "advertised_window": 64, "segment_bytes": 1460,
                   "initial_window": 2, "min_rto_s": 0.2, "via": "", "stop_s": 0.0,
                   "delayed_ack_s": 0.2, "byte_counting": false, "file_bytes": 30000.0,
                   "pareto_shape": 1.5, "pause_s": 1.0, "one_connection": false, "bucket": 1,
                   "idle_at_s": 0.0, "idle_s": 0.0, "opaque": false,
                   "timestamps": false, "rack": false, "live_departures": false,
                   "receiver": "honest"}],
        "people": [],
        "pings": [], "outages": []})");
}

/** Writes a text to a file and reads it as a scenario. */
Scenario
Read(const std::string& file, const std::string& text)
{
    std::ofstream(file) << text;
    return ReadScenario(file);
}

/** A resolved scenario is read as it stands. */
class ReadTestCase : public TestCase
{
  public:
    ReadTestCase()
        : TestCase("A resolved scenario")
    {
    }

  private:
    void DoRun() override
    {
        const auto scenario = Read(CreateTempDirFilename("good.json"), Resolved().dump());
        NS_TEST_EXPECT_MSG_EQ(scenario.duration_s, 110, "duration");
        NS_TEST_EXPECT_MSG_EQ(scenario.radio.queue_packets, 50, "queue");
        NS_TEST_EXPECT_MSG_EQ(scenario.radio.rts_cts, true, "RTS/CTS");
        NS_TEST_EXPECT_MSG_EQ(scenario.nodes.at(1).y_m, -1.5, "position");
        NS_TEST_EXPECT_MSG_EQ(scenario.wired_hosts.at(0), "B", "wired host");
        NS_TEST_EXPECT_MSG_EQ(scenario.gateway.delay_bound_s, 0.5, "delay bound");
        NS_TEST_EXPECT_MSG_EQ(scenario.gateway.delay_bound_means, 4, "delay bound in means");
        NS_TEST_EXPECT_MSG_EQ(scenario.flows.at(0).variant, "newreno", "variant");
        NS_TEST_EXPECT_MSG_EQ(scenario.flows.at(0).segment_bytes, 1460, "segment");
        auto timed = Resolved();
        timed["flows"][0]["timestamps"] = true;
        const auto read = Read(CreateTempDirFilename("timed.json"), timed.dump());
        NS_TEST_EXPECT_MSG_EQ(read.flows.at(0).segment_bytes, 1448, "that timestamps fit beside");
    }
};

/** A scenario that cannot be simulated gives one line that names what is wrong. */
class RefuseTestCase : public TestCase
{
  public:
    /**
     * @param name the case
     * @param path what to change, a JSON pointer
     * @param value what to put there; null: remove it
     * @param named what the error has to name
     */
    RefuseTestCase(const std::string& name,
                   const std::string& path,
                   Json value,
                   const std::string& named)
        : RefuseTestCase(name,
                         Json{{{"op", value.is_null() ? "remove" : "add"},
                               {"path", path},
                               {"value", value}}},
                         named)
    {
    }

    /**
     * @param name the case
     * @param patch what to change, a JSON patch
     * @param named what the error has to name
     */
    RefuseTestCase(const std::string& name, Json patch, const std::string& named)
        : TestCase(name),
          m_patch(std::move(patch)),
          m_named(named)
    {
    }

  private:
    void DoRun() override
    {
        auto json = Resolved();
        std::string message;
        try
        {
            Read(CreateTempDirFilename("bad.json"), json.patch(m_patch).dump());
        }
        catch (const ScenarioError& error)
        {
            message = error.what();
        }
        NS_TEST_EXPECT_MSG_NE(message.find(m_named), message.npos, "named in: " << message);
        NS_TEST_EXPECT_MSG_EQ(message.find('\n'), message.npos, "one line: " << message);
    }

    Json m_patch;
    std::string m_named;
};

/** A file that is no scenario at all gives one line that names the file. */
class NoScenarioTestCase : public TestCase
{
  public:
    NoScenarioTestCase(const std::string& name, const std::string& text)
        : TestCase(name),
          m_text(text)
    {
    }

  private:
    void DoRun() override
    {
        const auto file = CreateTempDirFilename("none.json");
        std::string message;
        try
        {
            Read(file, m_text);
        }
        catch (const ScenarioError& error)
        {
            message = error.what();
        }
        NS_TEST_EXPECT_MSG_NE(message.find(file), message.npos, "file named in: " << message);
        NS_TEST_EXPECT_MSG_EQ(message.find('\n'), message.npos, "one line: " << message);
    }

    std::string m_text;
};

class ScenarioTestSuite : public TestSuite
{
  public:
    ScenarioTestSuite()
        : TestSuite("meshpace-scenario", Type::UNIT)
    {
        const auto add = [this](TestCase* test) { AddTestCase(test, Duration::QUICK); };
        add(new ReadTestCase);
        add(new NoScenarioTestCase("Nothing", ""));
        add(new NoScenarioTestCase("TOML", "[radio]\nmodel = \"range\"\n"));
        add(new NoScenarioTestCase("An array", "[]"));
        AddRefusals();
    }

  private:
    void AddRefusals()
    {
        const auto add = [this](const auto&... arguments) {
            AddTestCase(new RefuseTestCase(arguments...), TestCase::Duration::QUICK);
        };
        add("Reno with SACK", "/flows/0/variant", "reno", "sack");
        AddTestCase(new RefuseTestCase("RACK without SACK",
                                       Json::parse(R"([
                            {"op": "add", "path": "/flows/0/sack", "value": false},
                            {"op": "add", "path": "/flows/0/rack", "value": true}])"),
                                       "rack"),
                    Duration::QUICK);
        add("A key missing", "/radio/cs_range_m", nullptr, "cs_range_m");
        add("A wrong type", "/duration_s", "long", "number");
        add("No duration", "/duration_s", 0, "duration_s");
        add("All warm-up", "/warmup_s", 111, "warmup_s");
        add("Unknown radio", "/radio/model", "unit disk", "radio.model");
        add("Unknown standard", "/radio/standard", "802.11n", "radio.standard");
        add("Unknown queueing", "/radio/queueing", "red", "radio.queueing");
        add("Negative queue", "/radio/queue_packets", -5, "radio.queue_packets");
        add("Deaf carrier sense", "/radio/cs_range_m", 249, "radio.cs_range_m");
        add("More than one stream", "/radio/mcs", 12, "radio.mcs");
        add("Unknown rate control", "/radio/rate_control", "arf", "radio.rate_control");
        add("Unknown fading", "/radio/fading", "rice", "radio.fading");
        add("Negative shadowing", "/radio/shadowing_db", -1, "radio.shadowing_db");
        add("Locked on the unsensed", "/radio/lock_dbm", -83, "radio.lock_dbm");
        add("Negative airtime", "/radio/aql_us", -1, "radio.aql_us");
        add("No path loss", "/radio/path_loss_exponent", 0, "radio.path_loss_exponent");
        add("Unheard-of power", "/radio/tx_power_dbm", 121, "radio.tx_power_dbm");
        add("Sensing positive powers", "/radio/sense_dbm", 1, "radio.sense_dbm");
        add("No assumed exponent", "/map/assumed_exponent", 0, "map.assumed_exponent");
        add("Everything is hidden", "/map/least_h_cs", 0, "map.least_h_cs");
        add("Unknown routing", "/routing/protocol", "babel", "routing.protocol");
        add("No HELLOs", "/routing/hello_s", 0, "routing.hello_s");
        add("A client on static routes",
            "/clients",
            Json::parse(R"([{"name": "A", "to_x_m": 0, "to_y_m": 0, "speed_mps": 1, "start_s": 0}])"),
            "follows no client");
        AddTestCase(new RefuseTestCase(
                        "Clients and the law map",
                        Json::parse(R"([
                            {"op": "add", "path": "/gateway/law", "value": "map"},
                            {"op": "add", "path": "/routing/protocol", "value": "olsr"},
                            {"op": "add", "path": "/clients", "value":
                             [{"name": "A", "to_x_m": 0, "to_y_m": 0, "speed_mps": 1,
                               "start_s": 0}]}])"),
                        "law map"),
                    Duration::QUICK);
        AddTestCase(new RefuseTestCase(
                        "Known links of OLSR's routes",
                        Json::parse(R"([
                            {"op": "add", "path": "/gateway/link_rates", "value": "known"},
                            {"op": "add", "path": "/routing/protocol", "value": "olsr"}])"),
                        "gateway.link_rates"),
                    Duration::QUICK);
        add("A gateway that walks",
            "/clients",
            Json::parse(R"([{"name": "IG", "to_x_m": 0, "to_y_m": 0, "speed_mps": 1, "start_s": 0}])"),
            "\"IG\"");
        add("Unknown law", "/gateway/law", "odd", "gateway.law");
        add("CAKE without a rate", "/gateway/law", "cake", "gateway.rate_kbps");
        add("Rates of no law", "/gateway/host_kbps", Json{{"A", 5}}, "gateway.host_kbps");
        add("Weights of no law", "/gateway/host_weight", Json{{"A", 2}}, "gateway.host_weight");
        add("A least rate of no law", "/gateway/least_kbps", 5, "gateway.least_kbps");
        add("Unknown part left out", "/gateway/omit", "all", "gateway.omit");
        add("Wires without a rate", "/wired/mbps", 0, "wired.mbps");
        add("No gateway", "/nodes/0/gateway", false, "no gateway");
        add("Three radios", "/radio/radios", 3, "radio.radios");
        add("A via that is no gateway", "/flows/0/via", "A", "\"FTP 1\" via \"A\"");
        add("A via without a wired end",
            Json::parse(R"([{"op": "add", "path": "/flows/0/from", "value": "IG"},
                            {"op": "add", "path": "/flows/0/via", "value": "IG"}])"),
            "no wired end");
        add("Two gateways under AODV",
            Json::parse(R"([{"op": "add", "path": "/nodes/1/gateway", "value": true},
                            {"op": "add", "path": "/routing/protocol", "value": "aodv"}])"),
            "one gateway");
        add("Two radios under AODV",
            Json::parse(R"([{"op": "add", "path": "/radio/radios", "value": 2},
                            {"op": "add", "path": "/routing/protocol", "value": "aodv"}])"),
            "one radio");
        add("A stop before the start",
            Json::parse(R"([{"op": "add", "path": "/flows/0/start_s", "value": 9.0},
                            {"op": "add", "path": "/flows/0/stop_s", "value": 9.0}])"),
            "\"FTP 1\" stop_s");
        add("A name twice", "/nodes/1/name", "B", "\"B\"");
        add("A flow to nowhere", "/flows/0/to", "C", "\"C\"");
        add("Unknown traffic", "/flows/0/traffic", "http", "\"FTP 1\" traffic");
        add("CBR without a rate", "/flows/0/traffic", "cbr", "\"FTP 1\" rate_kbps");
        add("Unknown variant", "/flows/0/variant", "hybla", "\"FTP 1\" variant");
        add("Long segments", "/flows/0/segment_bytes", 1461, "\"FTP 1\" segment_bytes");
        add("No ACKs", "/flows/0/delayed_ack", 0, "\"FTP 1\" delayed_ack");
        add("A word for ACKs", "/flows/0/delayed_ack", "thick", "number");
        add("No wait for ACKs", "/flows/0/delayed_ack_s", 0, "\"FTP 1\" delayed_ack_s");
        add("Files of no size", "/flows/0/file_bytes", 0, "\"FTP 1\" file_bytes");
        add("Sizes without a mean", "/flows/0/pareto_shape", 1, "\"FTP 1\" pareto_shape");
        add("An idle file",
            Json::parse(R"([{"op": "add", "path": "/flows/0/traffic", "value": "files"},
                            {"op": "add", "path": "/flows/0/idle_s", "value": 1.0}])"),
            "\"FTP 1\" idle_s");
        add("A ping to nowhere",
            "/pings",
            Json::parse(R"([{"from": "B", "to": "C", "interval_s": 0.2, "start_s": 0}])"),
            "ends at \"C\"");
        add("Pings without a pause",
            "/pings",
            Json::parse(R"([{"from": "B", "to": "A", "interval_s": 0, "start_s": 0}])"),
            "interval_s");
        add("An outage of a wired host",
            "/outages",
            Json::parse(R"([{"node": "B", "at_s": 1, "for_s": 1}])"),
            "outage of \"B\"");
        add("A pause before the end", "/flows/0/pause_s", -1, "\"FTP 1\" pause_s");
    }
};

ScenarioTestSuite g_scenarioTestSuite; //!< the suite

} // namespace
