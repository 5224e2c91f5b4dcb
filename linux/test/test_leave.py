# SPDX-License-Identifier: GPL-2.0-only
"""The law `even`, default configuration, unmodified senders: who leaves, however, holds nobody."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from conftest import StartGateway
from harness import air, net
from harness.record import Recorder
from harness.transfer import Transfer

# A rate is compared with one of ten seconds before.
pytestmark = [pytest.mark.measured, pytest.mark.alone]

# One rate for all, as of nodes that hear each other.
RADIO = air.Radio(delay_ms=5.0, kbps=5000, queue=50)
ALONE_S, TOGETHER_S = 5.0, 12.0
# "Within 10 s": what is measured are the three seconds before.
SPAN_S, WITHIN_S = 3.0, 10.0


class Reader:
    """A download whose reader can stop, as a process does that is stopped."""

    def __init__(self, network: net.Network, host: int) -> None:
        self.stopped = threading.Event()
        listener = network.wired.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.bind((net.WIRED4, 0))
        listener.listen(1)
        self._into = network.hosts[host].socket(socket.AF_INET, socket.SOCK_STREAM)
        self._into.connect(listener.getsockname())
        self._out = listener.accept()[0]
        listener.close()
        for work in (self._send, self._read):
            threading.Thread(target=work, daemon=True).start()

    def _send(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                self._out.sendall(bytes(1 << 16))

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            while not self.stopped.is_set() and self._into.recv(1 << 16):
                pass

    def close(self) -> None:
        """Without a word to the other end: the host has left, or its process stands still."""
        for end in (self._into, self._out):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


@contextlib.contextmanager
def reading(network: net.Network, host: int) -> Iterator[Reader]:
    reader = Reader(network, host)
    try:
        yield reader
    finally:
        reader.close()


def kbps(runs: list[Transfer]) -> float:
    """What they get together in a span from now on."""
    began, before = time.monotonic(), sum(run.received for run in runs)
    time.sleep(SPAN_S)
    return (sum(run.received for run in runs) - before) * 8e-3 / (time.monotonic() - began)


def interface_down(network: net.Network, reader: Reader) -> None:
    del reader
    network.hosts[-1].ip("link", "set", "eth0", "down")


def out_of_range(network: net.Network, reader: Reader) -> None:
    del reader
    assert network.air
    network.air.ip("link", "set", f"port{len(network.hosts) - 1}", "nomaster")


def process_stopped(network: net.Network, reader: Reader) -> None:
    del network
    reader.stopped.set()


@pytest.mark.parametrize(
    ("leave", "stay"),
    [
        pytest.param(interface_down, 1, id="interface down", marks=pytest.mark.smoke),
        # In `make test` core's test-presence.c has three who stay.
        pytest.param(interface_down, 2, id="interface down, two stay", marks=pytest.mark.long),
        pytest.param(out_of_range, 1, id="out of range"),
        pytest.param(process_stopped, 1, id="process stopped"),
    ],
)
def test_who_leaves_in_mid_download_frees_its_part(
    start: StartGateway,
    record: Recorder,
    leave: Callable[[net.Network, Reader], None],
    stay: int,
) -> None:
    """Else the others are throttled to a twentieth of a free channel, and falling."""
    with net.over_radio(RADIO, hosts=stay + 1) as network, contextlib.ExitStack() as stack:
        start(network, law="even")
        runs = [
            stack.enter_context(Transfer(network.wired, network.hosts[n], net.host4(n)))
            for n in range(stay)
        ]
        time.sleep(ALONE_S)
        free = kbps(runs)
        reader = stack.enter_context(reading(network, stay))
        time.sleep(TOGETHER_S - SPAN_S)
        beside = kbps(runs)
        leave(network, reader)
        time.sleep(WITHIN_S - SPAN_S)
        after = kbps(runs)
    print(f"free {free:.0f}, beside one more {beside:.0f}, after {after:.0f} kbit/s")
    record("after the departure, by what is free", "", after / free, "at least .90")
    assert after >= 0.9 * free
