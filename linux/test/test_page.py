# SPDX-License-Identifier: GPL-2.0-only
"""The page for operators, in a real browser; and who asks for it with bad intent."""

import contextlib
import json
import re
import shutil
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import StartGateway
from harness import air, arena, net
from harness.browser import Tab, chromium
from harness.gateway import PATIENCE_S, Gateway, host, until
from harness.transfer import Transfer, window
from test_counted import MANY, uploads

LISTEN = ("127.0.0.1", 9871)
WEB = {"listen": f"{LISTEN[0]}:{LISTEN[1]}"}
ORIGIN = f"http://{WEB['listen']}/"
TOKEN = "00112233445566778899aabbccddeeff"
HOSTILE = 1000
READY_S = 1.0  # most of it the kernel's verifier
# A name as somebody would give it who means ill: it is shown as it is, and does nothing.
GROUP = "<img src=x onerror=alert(1)> & co"
ADDRESS = re.compile(r"\b10\.\d+\.\d+\.\d+\b")


def ask(gateway: Gateway, request: bytes, within_s: float = 5.0) -> bytes:
    """All that is answered."""
    with gateway.namespace.socket(socket.AF_INET, socket.SOCK_STREAM) as asks:
        asks.settimeout(within_s)
        asks.connect(LISTEN)
        asks.sendall(request)
        answer = b""
        while more := asks.recv(1 << 16):
            answer += more
        return answer


def get(gateway: Gateway, path: str = "/", *headers: str) -> bytes:
    lines = [f"GET {path} HTTP/1.1", f"Host: {WEB['listen']}", *headers, "", ""]
    return ask(gateway, "\r\n".join(lines).encode())


@contextlib.contextmanager
def crowded(start: StartGateway, release: str) -> Iterator[Gateway]:
    """One connection has to stand against twelve of another host."""
    radio = air.Radio(delay_ms=5.0, kbps=6000, queue=50)
    hosts = [host(net.host4(0), 11.0), host(net.host4(1), 11.0)]
    group = [{"name": GROUP, "addresses": [net.host4(1)]}]
    with net.over_radio(radio, hosts=2) as network, contextlib.ExitStack() as stack:
        gateway = start(network, release, law="even", host=hosts, group=group, web=WEB)
        for index in [0] * 12 + [1]:
            run = Transfer(network.wired, network.hosts[index], net.host4(index))
            stack.enter_context(run)
        until(lambda: len(rows(gateway)) == 2, PATIENCE_S, gateway)
        yield gateway


def rows(gateway: Gateway) -> dict[str, Any]:
    return {row["address"]: row for row in gateway.fresh_status()["hosts"]}


@contextlib.contextmanager
def starved(start: StartGateway) -> Iterator[Gateway]:
    """As where nothing is paced."""
    with crowded(start, "observe") as gateway:
        until(lambda: rows(gateway)[net.host4(1)]["underserved"], PATIENCE_S, gateway)
        yield gateway


@pytest.mark.measured
def test_who_is_paced_is_not_underserved(start: StartGateway) -> None:
    """Else the verdict finds fault where the law keeps its promise, and nobody believes it."""
    with crowded(start, "htb") as gateway:
        time.sleep(8)
        seconds = [rows(gateway) for _ in range(10)]
        report = gateway.call("report").stdout
    found = [second[net.host4(n)] for second in seconds for n in (0, 1)]
    lacking = sum(row["underserved"] for row in found)
    bound = [row["bounded_by"] for row in found]
    print(f"{lacking} of {len(found)}; {bound}; parts {[round(row['part'], 2) for row in found]}")
    assert lacking <= 2
    assert bound.count("its share") >= len(bound) // 2
    assert "Whom the law held" in report
    assert "try" not in report


def looks_right(tab: Tab, width: int, dark: bool, file: Path) -> None:
    tab.size(width, 800, dark)
    tab.open(ORIGIN)
    tab.until("document.querySelector('tr.why') && !document.getElementById('pictures').hidden")
    wide = tab.value("document.documentElement.scrollWidth")
    tab.picture(file / f"{width}-{'dark' if dark else 'light'}.png")
    assert wide <= width, f"{wide} of {width}"
    box = json.loads(
        tab.value("JSON.stringify(document.querySelector('tr.why td').getBoundingClientRect())")
    )
    assert box["width"] > 200
    assert box["height"] > 10
    assert box["left"] >= 0
    assert box["right"] <= width
    assert "of its part" in tab.value("document.querySelector('tr.why').innerText")
    assert tab.value("document.querySelectorAll('img').length") == 0
    assert GROUP in tab.value("document.body.innerText")
    assert tab.value("document.querySelectorAll('#minutes polyline').length") == 2
    assert tab.value("getComputedStyle(document.querySelector('rect.got')).width") != "auto"
    back = tab.value("getComputedStyle(document.body).backgroundColor")
    assert back == ("rgb(21, 24, 28)" if dark else "rgb(255, 255, 255)")


@pytest.mark.measured
def test_the_page_in_a_browser(start: StartGateway, tmp_path: Path) -> None:
    """Else an operator with a telephone, or in the dark, does not see who starves, and why."""
    assert shutil.which("chromium"), "scripts/setup.sh test installs it"
    with starved(start) as gateway, chromium(gateway.namespace) as tab:
        for width in (360, 1280):
            for dark in (False, True):
                looks_right(tab, width, dark, tmp_path)
        # It renews itself: what it says now it did not say at first.
        before = tab.value("document.getElementById('now').innerText")
        tab.until(f"document.getElementById('now').innerText != {json.dumps(before)}")
        assert tab.problems == []
        assert tab.asked
        assert [url for url in tab.asked if not url.startswith(ORIGIN)] == []
        tab.size(360, 800, script=False)
        tab.open(ORIGIN)
        answer = get(gateway).decode()
        assert answer.count("<tr class=") == 3, "two hosts and a sentence, without any script"
        # Who has gone away says so, and what is left on the screen is not taken for now.
        tab.size(360, 800)
        tab.open(ORIGIN)
        tab.until("document.getElementById('pictures').hidden == false")
        gateway.stop()
        tab.until("document.getElementById('lost').hidden == false")


def test_nothing_is_told_that_status_does_not_tell(start: StartGateway) -> None:
    with starved(start) as gateway:
        page, history = get(gateway).decode(), get(gateway, "/history.json").decode()
        told = json.dumps(gateway.status()["hosts"])
        assert set(ADDRESS.findall(page)) == {net.host4(0), net.host4(1)}
        assert set(ADDRESS.findall(history)) <= set(ADDRESS.findall(told))
        # Of flows, and so of whom hosts talk to, nothing.
        assert net.WIRED4 not in page + history
        report = gateway.call("report").stdout
        assert f"{net.host4(1)} ({GROUP}): for " in report
        assert f"{net.host4(0)}: for " in report.split("would have held")[1]
        assert "meshpace try 10m" in report
        of_flows = gateway.call("status", "--flows").stdout
        assert of_flows.count(f"{net.host4(0)}:") == 12
        assert "of its part" in gateway.call("status").stdout


REQUESTS = {
    "nothing": b"",
    "half a request": b"GET / HTTP/1.1\r\nHost: ",
    "huge": b"GET / HTTP/1.1\r\nA: " + b"A" * 60_000,
    "binary": bytes(range(256)) * 16 + b"\r\n\r\n",
    "another's name": b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    "a wrong token": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer f\r\n\r\n",
    "another file": b"GET /../../etc/passwd HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "a change": b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\nlaw = off",
    "a token without end": b"GET /?token=" + b"0" * 7000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "many names": b"GET / HTTP/1.1\r\n" + b"Host: 127.0.0.1\r\n" * 300 + b"\r\n",
}
REFUSED = (b"", b"400", b"401", b"404", b"405", b"421", b"431")


def hostile(gateway: Gateway, stack: contextlib.ExitStack) -> list[socket.socket]:
    made = []
    for number in range(HOSTILE):
        one = gateway.namespace.socket(socket.AF_INET, socket.SOCK_STREAM)
        stack.enter_context(one)
        one.settimeout(5)
        one.connect(LISTEN)
        one.setblocking(False)
        with contextlib.suppress(OSError):  # refused already, or more than it buffers
            one.send(list(REQUESTS.values())[number % len(REQUESTS)])
        made.append(one)
        if number % 64 == 63:
            # Who reads nothing gives way to others after 64; that they are too many is no answer.
            for old in made[:-64]:
                old.close()
    return made


def test_a_thousand_hostile_requests_change_nothing(
    network: net.Network, start: StartGateway, tmp_path: Path
) -> None:
    """Else who reaches the page stops the pacing, or sees what is not for him."""
    file = tmp_path / "token"
    file.write_text(TOKEN)
    file.chmod(0o600)
    web = {**WEB, "token_file": str(file)}
    gateway = start(network, law="even", host=[host(net.host4(0), 2.0)], web=web)
    bearer = f"Authorization: Bearer {TOKEN}"
    with Transfer(network.wired, network.host, net.host4(0), options=window(64 * 1024)) as run:
        until(lambda: gateway.flow(run.receiver_port), PATIENCE_S, gateway)
        assert get(gateway, "/", bearer).startswith(b"HTTP/1.1 200")
        before = gateway.fresh_status()
        kib, threads = gateway.memory_kib(), len(list(Path(f"/proc/{gateway.pid}/task").iterdir()))
        with contextlib.ExitStack() as stack:
            hostile(gateway, stack)
            for request in REQUESTS.values():
                answer = b""
                with contextlib.suppress(OSError):
                    answer = ask(gateway, request, 1.0) if b"\r\n\r\n" in request else b""
                assert answer[9:12] in REFUSED, answer[:80]
                assert net.host4(0).encode() not in answer
            began = time.monotonic()
            assert get(gateway, "/", bearer).startswith(b"HTTP/1.1 200")
            assert time.monotonic() - began < 2
            assert gateway.memory_kib() < kib + 4096
            assert len(list(Path(f"/proc/{gateway.pid}/task").iterdir())) == threads
        after = gateway.fresh_status()
        for key in ("law", "release", "state", "shares", "fairness", "attached"):
            assert after[key] == before[key]
        assert after["counters"]["paced"] > before["counters"]["paced"]
        received = run.received
        until(lambda: run.received > received + 100_000, PATIENCE_S, gateway)
        cookie = get(gateway, f"/?token={TOKEN}")
        assert cookie.startswith(b"HTTP/1.1 303")
        assert f"Set-Cookie: meshpace={TOKEN}; HttpOnly; SameSite=Strict".encode() in cookie
        assert get(gateway, "/", f"Cookie: meshpace={TOKEN}").startswith(b"HTTP/1.1 200")
    assert not [line for line in gateway.log if TOKEN in line]


def of_first(place: arena.Arena, hosts: int) -> Iterator[tuple[int, bytes]]:
    """Uploads of so many hosts, each acknowledged."""
    return (frame for number, frame in enumerate(uploads(place)) if number % MANY < hosts)


@pytest.mark.alone
@pytest.mark.measured
@pytest.mark.parametrize("release", ["auto", "observe"])
def test_it_is_soon_ready(start: StartGateway, release: str) -> None:
    """Most of it is the kernel's look at the programs; how long that takes is the machine's."""
    with arena.routed() as place:
        network = net.Network(place.wired, place.gateway, [place.mesh])
        ready_s = start(network, law="even", release=release, web=WEB).cpu_s()
    print(f"ready by {ready_s:.2f} s of a processor")
    assert ready_s < READY_S


@pytest.mark.alone
@pytest.mark.parametrize("release", ["auto", "observe"])
def test_fifty_hosts_take_two_megabytes(start: StartGateway, release: str) -> None:
    """Else a router of 64 MB has no room for it. What is kept of a host is taken when it comes."""
    with arena.routed() as place:
        network = net.Network(place.wired, place.gateway, [place.mesh])
        gateway = start(network, law="even", release=release, web=WEB)
        before_kib = gateway.memory_kib()
        arena.send_all(place, of_first(place, 50))

        def told() -> int:
            return len(json.loads(body(get(gateway, "/history.json")))[1]["hosts"])

        until(lambda: told() == 50, PATIENCE_S, gateway)
        most_kib = 0
        for _ in range(20):
            assert get(gateway).count(b"<tr class=") >= 50
            assert get(gateway, "/history.json").startswith(b"HTTP/1.1 200")
            most_kib = max(most_kib, gateway.memory_kib())
            time.sleep(0.2)
    print(f"{before_kib} KiB, {most_kib} with 50 hosts")
    assert most_kib - before_kib < 2048
    assert most_kib < 12 * 1024


def test_who_was_silent_longest_makes_room(start: StartGateway) -> None:
    """Who is there stays, however many come: else a flood of addresses empties the history."""
    with arena.routed() as place:
        network = net.Network(place.wired, place.gateway, [place.mesh])
        gateway = start(network, law="even", web=WEB)
        arena.send_all(place, of_first(place, 80))
        until(lambda: gateway.status()["counters"]["history_no_room"] > 0, PATIENCE_S, gateway)
        kept = json.loads(body(get(gateway, "/history.json")))[1]["hosts"]
        assert 50 <= len(kept) < 60
        assert gateway.status()["counters"]["history_made_room"] == 0


def body(answer: bytes) -> bytes:
    return answer.split(b"\r\n\r\n", 1)[1]
