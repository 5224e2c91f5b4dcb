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
                  "rts_cts": true, "tx_range_m": 250.0, "cs_range_m": 550.0, "queue_packets": 50,
                  "cts_ignores_nav": false, "queueing": "fifo"},
        "routing": {"protocol": "static"},
        "wired": {"mbps": 10.0, "delay_ms": 40.0},
        "nodes": [{"name": "IG", "x_m": 0.0, "y_m": 0.0, "gateway": true},
                  {"name": "A", "x_m": 200.0, "y_m": -1.5, "gateway": false}],
        "wired_hosts": ["B"],
        "gateway": {"law": "gap", "goodput_control": true, "local_retransmission": true,
                    "delay_bound_s": 0.5},
        "flows": [{"name": "FTP 1", "from": "B", "to": "A", "traffic": "ftp", "law": "off",
                   "start_s": 0.0, "rate_kbps": 0.0, "variant": "newreno", "sack": true,
                   "delayed_ack": 1, "advertised_window": 64, "segment_bytes": 1460,
                   "initial_window": 2, "min_rto_s": 0.2}]})");
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
        NS_TEST_EXPECT_MSG_EQ(scenario.flows.at(0).variant, "newreno", "variant");
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
        : TestCase(name),
          m_path(path),
          m_value(std::move(value)),
          m_named(named)
    {
    }

  private:
    void DoRun() override
    {
        auto json = Resolved();
        const Json patch{{{"op", m_value.is_null() ? "remove" : "add"},
                          {"path", m_path},
                          {"value", m_value}}};
        std::string message;
        try
        {
            Read(CreateTempDirFilename("bad.json"), json.patch(patch).dump());
        }
        catch (const ScenarioError& error)
        {
            message = error.what();
        }
        NS_TEST_EXPECT_MSG_NE(message.find(m_named), message.npos, "named in: " << message);
        NS_TEST_EXPECT_MSG_EQ(message.find('\n'), message.npos, "one line: " << message);
    }

    std::string m_path;
    Json m_value;
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
        add("A key missing", "/radio/cs_range_m", nullptr, "cs_range_m");
        add("A wrong type", "/duration_s", "long", "number");
        add("No duration", "/duration_s", 0, "duration_s");
        add("All warm-up", "/warmup_s", 111, "warmup_s");
        add("Unknown radio", "/radio/model", "sinr", "radio.model");
        add("Unknown standard", "/radio/standard", "802.11n", "radio.standard");
        add("Unknown queueing", "/radio/queueing", "red", "radio.queueing");
        add("Negative queue", "/radio/queue_packets", -5, "radio.queue_packets");
        add("Deaf carrier sense", "/radio/cs_range_m", 249, "radio.cs_range_m");
        add("Unknown routing", "/routing/protocol", "olsr", "routing.protocol");
        add("Unknown law", "/gateway/law", "map", "gateway.law");
        add("Wires without a rate", "/wired/mbps", 0, "wired.mbps");
        add("No gateway", "/nodes/0/gateway", false, "0 gateways");
        add("Two gateways", "/nodes/1/gateway", true, "2 gateways");
        add("A name twice", "/nodes/1/name", "B", "\"B\"");
        add("A flow to nowhere", "/flows/0/to", "C", "\"C\"");
        add("Unknown traffic", "/flows/0/traffic", "http", "\"FTP 1\" traffic");
        add("CBR without a rate", "/flows/0/traffic", "cbr", "\"FTP 1\" rate_kbps");
        add("Unknown variant", "/flows/0/variant", "hybla", "\"FTP 1\" variant");
        add("Long segments", "/flows/0/segment_bytes", 1461, "\"FTP 1\" segment_bytes");
        add("No ACKs", "/flows/0/delayed_ack", 0, "\"FTP 1\" delayed_ack");
    }
};

ScenarioTestSuite g_scenarioTestSuite; //!< the suite

} // namespace
