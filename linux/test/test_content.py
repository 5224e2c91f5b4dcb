# SPDX-License-Identifier: GPL-2.0-only
"""The law `even`: who is bound by its own application or window costs nobody anything."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from conftest import StartGateway
from harness import air, net
from harness.gateway import Gateway
from harness.record import Recorder
from harness.transfer import Transfer

pytestmark = pytest.mark.measured

RADIO = air.Radio(delay_ms=5.0, kbps=5000, queue=50)
SETTLING_S, MEASURED_S = 5.0, 14.0
# 267 kbit/s, in writes that the least window of ten segments (RFC 6928) takes at once. A pause
# shows when it is longer than a round trip, of 130 ms when the download fills the radio's queue.
# Or a window of two segments.
WRITE_BYTES, WRITE_EACH_S = 10_000, 0.3
WINDOW_BYTES = 4096


def _paced_server(out: socket.socket, into: socket.socket, over: threading.Event) -> None:
    del into
    with contextlib.suppress(OSError):
        while not over.wait(WRITE_EACH_S):
            out.sendall(bytes(WRITE_BYTES))


def _small_window(out: socket.socket, into: socket.socket, over: threading.Event) -> None:
    del into
    with contextlib.suppress(OSError):
        while not over.is_set():
            out.sendall(bytes(1 << 16))


Work = Callable[[socket.socket, socket.socket, threading.Event], None]


@contextlib.contextmanager
def beside(network: net.Network, work: Work) -> Iterator[None]:
    """A download of the second host that wants no more than it gets."""
    listener = network.wired.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.bind((net.WIRED4, 0))
    listener.listen(1)
    into = network.hosts[1].socket(socket.AF_INET, socket.SOCK_STREAM)
    if work is _small_window:
        into.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, WINDOW_BYTES)
    into.connect(listener.getsockname())
    out = listener.accept()[0]
    listener.close()
    over = threading.Event()

    def read() -> None:
        with contextlib.suppress(OSError):
            while into.recv(1 << 16):
                pass

    threads = [
        threading.Thread(target=work, args=(out, into, over), daemon=True),
        threading.Thread(target=read, daemon=True),
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for end in (out, into):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


@pytest.mark.parametrize("work", [_paced_server, _small_window], ids=["application", "window"])
def test_who_wants_no_more_holds_nobody(start: StartGateway, record: Recorder, work: Work) -> None:
    """
    Else the others are held for what would not get more if they got nothing. Certain is half, as
    of any two; how much more it is the record tells.
    """
    with net.over_radio(RADIO, hosts=2) as network:
        gateway = start(network, law="even")
        with Transfer(network.wired, network.hosts[0], net.host4(0)) as run:
            time.sleep(SETTLING_S)
            alone = kbps(run)
            with beside(network, work):
                time.sleep(SETTLING_S)
                before = delivered(gateway)
                shared = kbps(run)
                other = (delivered(gateway) - before) * 8e-3 / MEASURED_S
    print(f"{alone:.0f} kbit/s alone, {shared:.0f} beside {other:.0f}")
    record("both together, of what one has alone", "", (shared + other) / alone, "0.9")
    assert other < alone / 2, "else this is no case of it"
    assert shared >= 0.5 * alone


def kbps(run: Transfer) -> float:
    before = run.received
    time.sleep(MEASURED_S)
    return (run.received - before) * 8e-3 / MEASURED_S


def delivered(gateway: Gateway) -> int:
    """Bytes that the other host's flow has acknowledged."""
    flows = gateway.fresh_status()["flows"]
    own = [
        f for f in flows if f["mesh"].startswith(f"{net.host4(1)}:") and f["direction"] == "down"
    ]
    return sum(flow["acked_bytes"] for flow in own)
