/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_VIDEO_H
#define MESHPACE_VIDEO_H

#include "activity.h"
#include "person-connection.h"
#include "person-site.h"

#include "ns3/event-id.h"
#include "ns3/nstime.h"
#include "ns3/random-variable-stream.h"

#include <array>
#include <cstdint>
#include <memory>

namespace ns3
{

/**
 * Chooses bit rates of video by what the player's buffer holds: BBA-0 (Huang, Johari, McKeown,
 * Trunnell, Watson, A Buffer-Based Approach to Rate Adaptation, SIGCOMM 2014, algorithm 1).
 */
class BufferBasedRate
{
  public:
    /**
     * @param bufferS what the buffer holds, s of video
     * @return the next segment's bit rate, kbit/s, of the ladder
     */
    uint32_t Next(double bufferS);

    /**
     * H.264 up to 1080p, kbit/s (Apple, HLS Authoring Specification for Apple Devices, table of bit
     * rates for 16:9).
     */
    static constexpr std::array<uint32_t, 9>
        LADDER_KBPS{145, 365, 730, 1100, 2000, 3000, 4500, 6000, 7800};

    /** The most that a player's buffer holds, s (ExoPlayer, DefaultLoadControl: 50 s). */
    static constexpr double BUFFER_S = 50;
    /** Up to there the lowest rate: the paper's 90 s of a buffer of 240 s. */
    static constexpr double RESERVOIR_S = BUFFER_S * 90 / 240;
    /** From there the highest: the paper's 216 s of 240 s. */
    static constexpr double UPPER_S = BUFFER_S * 216 / 240;

  private:
    std::size_t m_rate{0}; //!< its place in the ladder
};

/**
 * A video that never ends, over one connection, in segments of constant bit rate one after the
 * other, as long as the buffer has room for one. It begins to play with one segment in the buffer
 * and goes on after a stall with two: what ExoPlayer's 2.5 s and 5 s come to (DefaultLoadControl).
 * In a pause it stands, and the buffer stays as it is.
 */
class Video : public Activity
{
  public:
    /**
     * @param site whose it is
     * @param tcp his host's end for TCP
     * @param opaque his host's end for datagrams
     */
    Video(PersonSite& site, PersonListener& tcp, PersonListener& opaque);

    void Start() override;
    void Pause() override;
    void Leave(Leaving leaving) override;

    static constexpr double SEGMENT_S = 4; //!< of video in a segment

  private:
    VideoRecord& Record();
    void Open();
    void Ask();
    /** A segment has arrived. */
    void Loaded();
    void Play();
    /** The buffer is empty. */
    void RunDry();
    /** Whoever waited through a stall does so no more. */
    void EndStall();
    /** @return what the buffer holds now, s of video */
    double BufferS() const;
    /** Brings the buffer up to now. */
    void Settle();

    PersonSite& m_site;
    PersonListener& m_tcp;
    PersonListener& m_opaque;
    Ptr<UniformRandomVariable> m_coin;
    std::unique_ptr<PersonConnection> m_connection;
    BufferBasedRate m_rate;
    double m_bufferS{0}; //!< at m_settled
    Time m_settled;
    bool m_playing{false};
    bool m_stalled{false};
    bool m_paused{false};
    EventId m_dry;
    EventId m_ask;
};

} // namespace ns3

#endif // MESHPACE_VIDEO_H
