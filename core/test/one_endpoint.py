# SPDX-License-Identifier: GPL-2.0-only
"""
Fails when a host of the law computes by itself: when BPF, the daemon or ns-3's gateway and senders
compare, divide or multiply times, rates or shares of the law, which only core/ does.

usage: one_endpoint.py ROOT

It goes by names, as the field writes them with their units (rtt_wired_us, IntervalNs); a quantity
behind another name is not found. What is allowed stands below with its reason; an entry that finds
nothing fails, too.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

UNIT = "_ns|_us|_kbps|_bps|_bytes_per_s|_ticks|Ns|Us|Bps|Kbps"
NAME = rf"\w*(?:{UNIT}|[iI]nterval|[rR]ate|[cC]ap|[sS]hare)"
# Not the brackets of templates and generics, arrows, references and pointers.
OPERATOR = (
    r"(?:<=|>=|(?<![-<=:])<(?![<=:])|(?<![-=>])>(?![>=])|/(?![/*])|(?<![*/(,&])\s\*\s(?![/*]))"
)
FOUND = (
    re.compile(rf"\b{NAME}\b(?:\(\w*\))?\)?\s*(?:as \w+\s*)?{OPERATOR}\s*[\w(&]"),
    re.compile(rf"[\w)]\s*{OPERATOR}\s*(?:\w+(?:\.|->|::|\(\)\.))*{NAME}\b"),
    re.compile(
        rf"(?:mp_min_u64|mp_max_u64|std::min|std::max|std::clamp)(?:<\w+>)?\([^;]*{NAME}"
        rf"|{NAME}\b(?:\(\))?\s*\.(?:min|max)\(|\.(?:min|max)\([^)]*{NAME}"
    ),
)
# Whether there is one at all, and what is no expression.
HARMLESS = re.compile(r"> 0\b|std::vector<|^\s*#include")
NO_CODE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"", re.S)

REMEDY = "core/ computes this, or ALLOWED says why not"
RECORDED = "what a recorded trace says, and in which order"
QUEUE = "a queue asks whether the time has come that core/ has told, and who is first"
UPKEEP = "how often the daemon looks at, forgets or shows something; no departure comes of it"
SHOWN = "a figure in the unit in which it is shown"
PORT = "SO_MAX_PACING_RATE is 32 bits of the socket's, beside what the application asks for"

ALLOWED = {
    "linux/bpf/flows.h": [
        ("evictable = mp_max_u64(now_ns, flow->at.last_ns)", "which flow makes room for another")
    ],
    "linux/bpf/gateway.bpf.c": [
        (
            "skb->tstamp > p->segment.now_ns",
            "when a local socket that paces itself has its data ready",
        ),
        ("skb->tstamp < p->segment.now_ns + MP_HORIZON_NS", "the same"),
    ],
    "linux/bpf/intf.h": [
        (
            "now_ns - beat_ns + MP_BEAT_STALE_NS < old_ns + MP_BEAT_STALE_NS",
            "the heartbeat, of BPF and daemon alone",
        ),
        ("mp_min_u64(progress_ns + patience_ns, now_ns)", "the same"),
    ],
    "linux/bpf/record.h": [("skb->tstamp > p->segment.now_ns", RECORDED)],
    "linux/bpf/sender.bpf.c": [
        ("mp_min_u64(bytes_per_s, sender->own_rate)", PORT),
        ("mp_min_u64(sender->own_rate, MP_RATE_NONE)", PORT),
        (
            "now_ns - sender->signalled.wired_ns < MP_ASK_FIRST_NS",
            "when Linux's sender asks; ns-3's is told unasked",
        ),
        ("now_ns - sender->asked_ns < MP_ASK_FIRST_NS", "the same"),
    ],
    "linux/crates/meshpace/src/daemon/tries.rs": [
        ("now_ns() >= pacing.until_ns", "how long an operator wants a try to be")
    ],
    "linux/crates/meshpace/src/daemon/report.rs": [("flow.interval_ns as f64 / 1e3", SHOWN)],
    "linux/crates/meshpace/src/hosts/flows.rs": [
        ("silent > idle_ns", UPKEEP),
        ("(*latest).max((flow.last_ns, flow.ttl))", "which of a host's packets came last"),
        ("(now_ns.saturating_sub(self.before_ns) as f64 / 1e6)", SHOWN),
    ],
    "linux/crates/meshpace/src/hosts/uses.rs": [
        ("now_ns.saturating_sub(at_ns) <= idle_ns", UPKEEP)
    ],
    "linux/crates/meshpace/src/kernel/record.rs": [("*time_ns < before_ns", RECORDED)],
    "linux/crates/meshpace/src/policy/asks.rs": [("host.latest_ns) < REMEMBERED_NS", UPKEEP)],
    "linux/crates/meshpace/src/policy/opaque.rs": [("host.came_ns < REMEMBERED_NS", UPKEEP)],
    "linux/crates/meshpace/src/policy/served.rs": [
        ("way.waits_ns as f64 / 1e6", SHOWN),
        ("(now_ns.saturating_sub(before_ns) as f64 / 1e6)", SHOWN),
    ],
    "linux/crates/meshpace/src/policy/goodput.rs": [
        (">= self.law.step_ns", "the law's step has come"),
        ("< STARVED * self.mean_bytes_per_s", "which flows `status` calls starved"),
        ("rate * 8 / 1000", SHOWN),
    ],
    "linux/crates/meshpace/src/release/hostpace.rs": [
        ("departure > now_ns", QUEUE),
        ("now_ns < at && at <= departure", QUEUE),
    ],
    "linux/crates/meshpace/src/release/liveness.rs": [
        ("limit_us * 1000 / 4", "systemd's watchdog"),
        ("now - self.logged_ns >= self.every_ns", "the same"),
    ],
    "linux/crates/meshpace/src/release/nfqueue_thread.rs": [
        ("now - looked_around_ns > TIDY_NS", UPKEEP),
    ],
    "linux/crates/meshpace/src/release/paced.rs": [
        ("now.saturating_sub(self.read_ns) <= FRESH_NS", "how often the kernel's table is read")
    ],
    "linux/crates/meshpace/src/release/pacer.rs": [("now - f.seen_ns < FORGET_NS", UPKEEP)],
    "linux/crates/meshpace/src/sender/rows.rs": [
        ("sender.set_rate as f64 * 8.0 / 1e3", SHOWN),
        ("sender.interval_ns as f64 / 1e3", SHOWN),
    ],
    "linux/crates/meshpace/src/show/metrics.rs": [("f.interval_us / 1e6", SHOWN)],
    "contrib/meshpace/model/gateway/meshpace-gateway-shares.cc": [
        ("entry.second->HeadReadyNs() <= nowNs", QUEUE),
        ("std::max(counts ? m_hostShares.DueNs(host, readyNs)", QUEUE),
    ],
    "contrib/meshpace/model/gateway/meshpace-gateway.cc": [
        ("first->first > nowNs", QUEUE),
        ("DueNs(key, *connection, nowNs) <= nowNs", QUEUE),
        ("std::min(NextConnection(radio, nowNs)", QUEUE),
        ("std::min(nextNs, DueNs(key, *connection, nowNs))", QUEUE),
    ],
    "contrib/meshpace/model/gateway/meshpace-hosts.cc": [
        ("second.sinceNs) <= nowNs", QUEUE),
        ("std::min(nextNs, std::max(dueNs, nowNs))", QUEUE),
    ],
    "contrib/meshpace/model/gateway/meshpace-statistics.cc": [
        ("mp_rate_mpps(intervalNs) / 1e3", SHOWN)
    ],
    "contrib/meshpace/model/gateway/path-reader.cc": [
        ("GetDataRate(width) / 1000", "ns-3's unit into ours")
    ],
    "contrib/meshpace/model/sender/tcp-shaper.cc": [
        ("departureNs > NowNs()", QUEUE),
        ("1e9 / IntervalNs(flow)", SHOWN),
    ],
}

CAUGHT = (
    "if (wait_ns > 4 * target_ns)",
    "interval_ns = bytes * MP_NS_PER_S / cap_bytes_per_s;",
    "let wait = self.waiting.len() as u64 * interval;",
    "nextNs = std::max(host.nextNs, nowNs) + intervalNs;",
    "let earliest = since_ns.max(self.pacer.last_ns);",
    "if flow.rate <= mean_rate {",
)


def computes(line: str) -> bool:
    return not HARMLESS.search(line) and any(found.search(line) for found in FOUND)


def sources(root: Path) -> Iterator[Path]:
    yield from sorted((root / "linux/bpf").glob("*.[ch]"))
    for file in sorted((root / "linux/crates/meshpace/src").rglob("*.rs")):
        if not file.stem.endswith("tests") and file.stem != "worst":  # which are tests
            yield file
    for folder in ("gateway", "sender"):
        yield from sorted((root / "contrib/meshpace/model" / folder).glob("*.cc"))


def code(file: Path) -> list[str]:
    """Its lines without comments, texts and the tests at its end."""
    text = NO_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), file.read_text())
    return text.split("#[cfg(test)]")[0].splitlines()


def main() -> int:
    root = Path(sys.argv[1])
    failed = [f'this test does not see: "{line}"' for line in CAUGHT if not computes(line)]
    unused = {(name, part) for name, parts in ALLOWED.items() for part, _ in parts}
    for file in sources(root):
        name = str(file.relative_to(root))
        for number, line in enumerate(code(file), 1):
            if not computes(line):
                continue
            allowed = [part for part, _ in ALLOWED.get(name, []) if part in line]
            unused -= {(name, part) for part in allowed}
            if not allowed:
                failed.append(f"{name}:{number}: {line.strip()}\n    {REMEDY}")
    failed += [f'{name}: allowed, but not there: "{part}"' for name, part in sorted(unused)]
    print(
        "\n".join(failed)
        or f"{sum(map(len, ALLOWED.values()))} lines are allowed to compare or divide"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
