/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef MESHPACE_POINTER_ATTRIBUTE_H
#define MESHPACE_POINTER_ATTRIBUTE_H

#include "ns3/object.h"
#include "ns3/pointer.h"

#include <string>

namespace ns3
{

/**
 * @param object an object
 * @param name an attribute of it that is a pointer
 * @return what it points to, null when that is no T
 */
template <typename T>
Ptr<T>
PointerAttribute(Ptr<const Object> object, const std::string& name)
{
    PointerValue value;
    object->GetAttribute(name, value);
    return value.Get<T>();
}

} // namespace ns3

#endif // MESHPACE_POINTER_ATTRIBUTE_H
