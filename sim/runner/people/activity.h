/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_ACTIVITY_H
#define MESHPACE_ACTIVITY_H

namespace ns3
{

/** How a person leaves. */
enum class Leaving
{
    CLOSES, //!< applications end what they have begun
    VANISHES //!< nothing comes from him any more, nothing reaches him, and nobody is told
};

/** What a person does. Each of its calls comes in an event of its own, at his node. */
class Activity
{
  public:
    virtual ~Activity() = default;

    /** He has arrived, or his pause is over. */
    virtual void Start() = 0;

    /** He asks for nothing more for a while. What he has asked for comes. */
    virtual void Pause() = 0;

    /**
     * He leaves for good; what comes about afterwards counts no more.
     * @param leaving how
     */
    virtual void Leave(Leaving leaving) = 0;
};

} // namespace ns3

#endif // MESHPACE_ACTIVITY_H
