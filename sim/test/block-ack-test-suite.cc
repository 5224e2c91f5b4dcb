/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// Block acknowledgements when the ACKs of what sets them up are lost.

#include "radio-line.h"
#include "test-scenarios.h"

#include "ns3/error-model.h"
#include "ns3/test.h"
#include "ns3/wifi-phy.h"
#include "ns3/wifi-psdu.h"

#include <cstdint>
#include <set>
#include <string>

using namespace ns3;

namespace
{

/**
 * Loses what a radio receives: ACKs of its management frames, and of the first data frames every
 * second one, when it comes for the first time. ns-3 shows a frame without its header here, so that
 * an ACK is an empty one.
 */
class SetUpLoss : public ErrorModel
{
  public:
    /**
     * @param phy the radio
     * @param acks how many ACKs are lost
     * @param data of how many data frames every second one is lost
     */
    SetUpLoss(Ptr<WifiPhy> phy, uint32_t acks, uint32_t data)
        : m_acks(acks),
          m_data(data)
    {
        phy->TraceConnectWithoutContext("PhyTxPsduBegin", MakeCallback(&SetUpLoss::Sent, this));
    }

  private:
    void Sent(WifiConstPsduMap psdus, WifiTxVector /* vector */, double /* watts */)
    {
        m_management = psdus.begin()->second->GetHeader(0).IsMgt();
    }

    bool DoCorrupt(Ptr<Packet> packet) override
    {
        if (packet->GetSize() == 0 && m_management && m_acks > 0)
        {
            m_acks--;
            m_management = false;
            return true;
        }
        const bool isNew = packet->GetSize() >= RadioLine::FRAME_BYTES && m_seen.size() < m_data &&
                           m_seen.insert(packet->GetUid()).second;
        return isNew && m_seen.size() % 2 == 1;
    }

    void DoReset() override
    {
    }

    uint32_t m_acks;
    uint32_t m_data;
    std::set<uint64_t> m_seen; //!< data frames
    bool m_management{false};  //!< the ACK of a management frame is awaited
};

/**
 * An ADDBA response comes several times while data are sent, some of which are lost: all goes on,
 * to its sender and to others. (ns-3 3.44 alone delivers 69 of 1217 frames when it comes twice.)
 */
class RepeatedTestCase : public TestCase
{
  public:
    /**
     * @param standard IEEE's
     * @param acks how many of the response's ACKs are lost
     */
    RepeatedTestCase(const std::string& standard, uint32_t acks)
        : TestCase(standard + ": an ADDBA response comes " + std::to_string(1 + acks) + " times"),
          m_standard(standard),
          m_acks(acks)
    {
    }

  private:
    static constexpr uint32_t OTHER = 0;
    static constexpr uint32_t SENDER = 1;
    static constexpr uint32_t RECEIVER = 2;

    /** What a run brings about. */
    struct Outcome
    {
        uint32_t received;     //!< frames at the receiver
        uint32_t other;        //!< frames at the other neighbour
        std::size_t responses; //!< the receiver's
    };

    Outcome Run(uint32_t acks, uint32_t data)
    {
        auto radio = TodaysRadio(m_standard);
        radio.rate_control = "fixed";
        RadioLine line({-10, 0, 10}, radio);
        const auto phy = line.Device(RECEIVER)->GetPhy();
        phy->SetPostReceptionErrorModel(CreateObject<SetUpLoss>(phy, acks, data));
        line.Saturate(SENDER, RECEIVER, 4);
        line.Saturate(SENDER, OTHER);
        line.RunUntil(Seconds(0.5));
        return {line.Received(RECEIVER),
                line.Received(OTHER),
                line.Sent(RECEIVER, WIFI_MAC_MGT_ACTION).size()};
    }

    void DoRun() override
    {
        constexpr uint32_t DATA = 40; // the first aggregates
        const auto whole = Run(0, 0);
        NS_TEST_EXPECT_MSG_GT(whole.received, 1000, "frames, nothing lost");
        const auto lossy = Run(m_acks, DATA);
        NS_TEST_EXPECT_MSG_EQ(lossy.responses, 1 + m_acks, "responses");
        NS_TEST_EXPECT_MSG_GT(lossy.received, 0.9 * whole.received, "frames to its sender");
        NS_TEST_EXPECT_MSG_GT(lossy.other, 0.9 * whole.other, "frames to another");
    }

    std::string m_standard;
    uint32_t m_acks;
};

class BlockAckTestSuite : public TestSuite
{
  public:
    BlockAckTestSuite()
        : TestSuite("meshpace-block-ack", Type::SYSTEM)
    {
        for (const auto* standard : {"802.11n", "802.11ac", "802.11ax"})
        {
            for (const auto acks : {1U, 3U})
            {
                AddTestCase(new RepeatedTestCase(standard, acks), Duration::QUICK);
            }
        }
    }
};

BlockAckTestSuite g_blockAckTestSuite; //!< the suite

} // namespace
