/* SPDX-License-Identifier: GPL-2.0-only */
/* The whole law. */
#ifndef MESHPACE_MESHPACE_H
#define MESHPACE_MESHPACE_H

#include "law/active.h"
#include "endpoint/budget.h"
#include "endpoint/demand.h"
#include "endpoint/dupack.h"
#include "law/goodput.h"
#include "law/hosts.h"
#include "law/law.h"
#include "endpoint/handshake.h"
#include "endpoint/hostpace.h"
#include "endpoint/links.h"
#include "endpoint/option.h"
#include "law/pace.h"
#include "law/path.h"
#include "law/presence.h"
#include "endpoint/police.h"
#include "endpoint/probe.h"
#include "endpoint/progress.h"
#include "law/radio.h"
#include "law/search.h"
#include "endpoint/sent.h"
#include "arith/seq.h"
#include "law/shaper.h"
#include "law/share.h"
#include "endpoint/shared.h"
#include "endpoint/signalled.h"
#include "law/trial.h"
#include "endpoint/turn.h"
#include "endpoint/unanswered.h"
#include "endpoint/wait.h"
#include "arith/window.h"
#include "law/yang.h"

#endif
