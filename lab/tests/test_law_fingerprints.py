# SPDX-License-Identifier: GPL-2.0-only
"""Which of core's headers each law's fingerprint is made of."""

import re
from pathlib import Path

import pytest

from pacelab.results import law


def test_only_what_computes_counts() -> None:
    """Else every comment would make all that was measured a matter of an older law."""
    text = "#include <a.h>\n/* why */\n#define MP_D 3 // ms\nstatic int f(void) { return MP_D; }\n"
    same = "#define MP_D 3\nstatic int f(void)\n{\n\treturn MP_D;\n}\n#include <law/a.h>\n"
    other = text.replace("3", "4")
    mark = law.fingerprint([("law.h", text), ("x.h", "int x;")])
    assert mark == law.fingerprint([("law/x.h", "int x;"), ("law/law.h", same)])
    assert mark != law.fingerprint([("law.h", other), ("x.h", "int x;")])
    assert law.fingerprint([("a.h", 'char *c = "//1";')]) != law.fingerprint(
        [("a.h", 'char *c = "//2";')]
    )


CORE = law.ROOT / law.HEADERS / "meshpace"
# Where what all laws run calls what only some compute with, and by what the caller knows that it
# may. Where there is no condition the hosts see to it, which ask for it under `even` alone.
DISPATCH = {
    ("mp_law_reuse_hops", "mp_oid_hops"): "law->reuse == MP_REUSE_CARRIER_SENSE",
    ("mp_law_delay_ns", "mp_oid_hops"): "mp_select_u64(law->reuse,",
    ("mp_law_delay_ns", "mp_oid_ns"): "mp_select_u64(law->reuse,",
    ("mp_law_delay_ns", "mp_link_layer_of"): "mp_select_u64(law->reuse,",
    ("mp_estimate_add", "mp_search_add"): "if (law->hop_wait_ns)",
    ("mp_law_due_ns", "mp_bucket_departure_ns"): "law->constant ?",
    ("mp_law_departed", "mp_bucket_departed"): "if (law->constant)",
    ("mp_signalled_hear_feedback", "mp_feedback_read"): "",
    ("mp_signalled_interval_ns", "mp_feedback_interval_ns"): "",
    ("mp_endpoint_up_feedback", "mp_feedback_turn"): "",
    ("mp_endpoint_up_notifies", "mp_police_notifies"): "",
    # No law but `even` looks at what these two measure.
    ("mp_endpoint_up_data", "mp_echo_answer"): "",
    ("mp_endpoint_up_sample", "mp_echo_ask"): "",
    # Who was never notified, as under all other laws, waits for no answer: 0 stays 0.
    ("mp_endpoint_ack", "mp_notification_answered"): "",
}


def _functions() -> dict[str, tuple[str, str]]:
    """Of each function of core its header and its body."""
    found = {}
    for file in CORE.rglob("*.h"):
        text = re.sub(r"/\*.*?\*/", "", file.read_text(), flags=re.DOTALL)
        for head in re.finditer(
            r"^MP_INLINE [^;{]*?(mp_\w+)\([^;{]*\)\n{(.*?)^}", text, re.M | re.S
        ):
            found[head[1]] = (file.name, head[2])
    return found


def test_laws_share_no_more_than_is_stated() -> None:
    """Else a change of what a law computes with would leave its figures unmarked."""
    functions = _functions()
    assert len(functions) > 150
    gone = {f"{name}.h" for name in law.GONE.split()}
    assert set(law.OWN) - gone <= {file for file, _ in functions.values()}
    crossing = {}
    for name, (file, body) in functions.items():
        for called in set(re.findall(r"\bmp_\w+(?=\()", body)) & set(functions):
            users, needed = (law.OWN.get(f, law.LAWS) for f in (file, functions[called][0]))
            if not set(users) <= set(needed):
                crossing[name, called] = body
    assert set(crossing) == set(DISPATCH)
    assert all(DISPATCH[call] in body for call, body in crossing.items())


@pytest.mark.parametrize(
    ("header", "before", "after", "changed"),
    [
        ("law/oid.h", "hops", "hopz", {"map"}),
        ("law/search.h", "10u", "11u", {"even"}),
        ("law/goodput.h", "16", "17", {"gap", "map"}),
        ("law/law.h", "hop_wait_ns = 3", "hop_wait_ns = 4", {"even"}),
        ("law/law.h", "least_h_cs = 1", "least_h_cs = 2", {"map"}),
        ("law/law.h", "MP_Q16(0.7)", "MP_Q16(0.8)", set(law.LAWS)),
        ("law/path.h", "1", "2", set(law.LAWS)),
    ],
)
def test_a_law_has_its_own_fingerprint(
    header: str, before: str, after: str, changed: set[str]
) -> None:
    """Else a change of `map` would mark what `even` gave as of an older law."""
    headers = {file.name: file.read_text() for file in CORE.rglob("*.h")}
    name = Path(header).name
    code = re.sub(r"/\*.*?\*/", "", headers[name], flags=re.DOTALL)
    assert before in code
    other = {**headers, name: code.replace(before, after)}
    prints = [
        {one: law.fingerprint(of.items(), one) for one in law.LAWS} for of in (headers, other)
    ]
    assert {one for one in law.LAWS if prints[0][one] != prints[1][one]} == changed
