/* SPDX-License-Identifier: GPL-2.0-only */
/* The whole law. */
#ifndef MESHPACE_MESHPACE_H
#define MESHPACE_MESHPACE_H

#include "active.h"
#include "budget.h"
#include "dupack.h"
#include "goodput.h"
#include "law.h"
#include "links.h"
#include "option.h"
#include "pace.h"
#include "path.h"
#include "police.h"
#include "probe.h"
#include "radio.h"
#include "search.h"
#include "sent.h"
#include "seq.h"
#include "shaper.h"
#include "share.h"
#include "shared.h"
#include "signalled.h"
#include "turn.h"
#include "unanswered.h"
#include "wait.h"
#include "window.h"
#include "yang.h"

#endif
