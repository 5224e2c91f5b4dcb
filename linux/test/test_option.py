# SPDX-License-Identifier: GPL-2.0-only
"""RTT_wired on the wire, read by a parser that shares nothing with the gateway: scapy."""

import logging
import socket
import struct
from dataclasses import dataclass

import pytest
from conftest import StartGateway
from harness import net, offload
from harness.capture import ACK, FIN, RST, SYN, Capture, Frame
from harness.lossy import Radio
from harness.transfer import Transfer

logging.getLogger("scapy").setLevel(logging.ERROR)
from scapy.layers.inet import IP, TCP  # noqa: E402
from scapy.layers.inet6 import IPv6  # noqa: E402
from scapy.layers.l2 import Ether  # noqa: E402

KIND, EXID = 254, b"\x6d\x70"


@dataclass(frozen=True)
class Read:
    """A segment as scapy reads it. `rtt_us` is None where there is no option."""

    flags: int
    payload: int
    option_bytes: int
    rtt_us: int | None
    checksums_ok: bool

    @property
    def pure_ack(self) -> bool:
        return self.payload == 0 and self.flags & (SYN | FIN | RST | ACK) == ACK


def read(frame: Frame) -> Read | None:
    packet = Ether(frame.data)
    if TCP not in packet:
        return None
    tcp = packet[TCP]
    found = [value for kind, value in tcp.options if kind == KIND]
    assert len(found) <= 1
    assert all(value[:2] == EXID and len(value) == 6 for value in found)
    return Read(
        flags=int(tcp.flags),
        payload=len(tcp.payload),
        option_bytes=tcp.dataofs * 4 - 20,
        rtt_us=struct.unpack("!I", found[0][2:])[0] if found else None,
        checksums_ok=_checksums_ok(packet),
    )


def _checksums_ok(packet: Ether) -> bool:
    """
    Computes both checksums anew, from the same bytes. Where Linux completes a TCP checksum it
    writes 0xffff for 0, the same number in ones' complement: about one packet of 65,536.
    """
    network = (packet[IPv6] if IPv6 in packet else packet[IP]).copy()
    if network[TCP].chksum == 0xFFFF:
        network[TCP].chksum = 0
    again = network.copy()
    fields = [again[TCP], again] if IP in packet else [again[TCP]]
    for layer in fields:
        del layer.chksum
    return bytes(again.__class__(bytes(again))) == bytes(network)


def upload(network: net.Network, address: str, size: int) -> list[Read]:
    """Uploads; returns what the mesh host was sent back."""
    with Capture(network.host, "eth0") as capture:
        run = Transfer(network.host, network.wired, address, size).start()
        assert run.wait().intact
        capture.quiet(0.3)
    incoming = [read(frame) for frame in capture.stop() if not frame.outgoing]
    return [one for one in incoming if one]


def check(reads: list[Read]) -> int:
    """What holds of every packet; returns how many carry the option."""
    assert all(one.checksums_ok for one in reads)
    carriers = [one for one in reads if one.rtt_us is not None]
    assert all(one.pure_ack for one in carriers)
    assert all(0 < one.rtt_us < 1_000_000 for one in carriers if one.rtt_us is not None)
    return len(carriers)


@pytest.mark.parametrize("address", [net.WIRED4, net.WIRED6])
def test_acks_of_an_upload_carry_it(
    start: StartGateway, address: str, release: str, law: str
) -> None:
    """The radio is a TAP, so the checksums that offloading left open are on the wire complete."""
    with net.over_radio(Radio(delay_ms=2)) as network:
        gateway = start(network, release=release, option="always", law=law)
        reads = upload(network, address, 1_000_000)
        written = gateway.fresh_status()["counters"]["options_written"]
    carriers = check(reads)
    assert carriers == written
    if release == "observe":
        assert carriers == 0
    else:
        assert carriers > 0.3 * sum(one.pure_ack for one in reads)


def test_complete_checksums_stay_right(network: net.Network, start: StartGateway, law: str) -> None:
    """Without checksum offload: the sums come from the wired host and are updated, not made."""
    offload.set_(network.wired, "eth0", False, "tso", "gso", "tx-checksum")
    offload.set_(network.gateway, "mesh0", False, "tx-checksum")
    start(network, option="always", law=law)
    for address in (net.WIRED4, net.WIRED6):
        assert check(upload(network, address, 300_000)) > 0


def test_it_can_be_switched_off(network: net.Network, start: StartGateway, law: str) -> None:
    offload.set_(network.wired, "eth0", False, "tso", "gso", "tx-checksum")
    start(network, option="never", law=law)
    assert check(upload(network, net.WIRED4, 300_000)) == 0


def test_none_where_the_header_has_no_room(start: StartGateway, law: str) -> None:
    """Timestamps and three SACK blocks fill the header: such ACKs pass as they are."""
    with net.over_radio(Radio(delay_ms=5, reorder=0.3, late_ms=30, seed=2)) as network:
        gateway = start(network, option="always", law=law)
        reads = upload(network, net.WIRED4, 700_000)
        counters = gateway.fresh_status()["counters"]
    check(reads)
    full = [one for one in reads if one.pure_ack and one.option_bytes > 32 and one.rtt_us is None]
    assert full, "no ACK was full: the test shows nothing"
    assert all(one.option_bytes <= 40 for one in reads)
    print(len(full), counters)


def test_never_on_data_syn_fin_or_rst(start: StartGateway, law: str) -> None:
    """A talkative connection: small requests from the mesh, answers with data, then a reset."""
    with net.over_radio(Radio(delay_ms=1)) as network:
        start(network, option="always", law=law)
        with Capture(network.host, "eth0") as capture:
            for reset in (False, True):
                _talk(network, reset)
            capture.quiet(0.3)
    reads = [one for one in map(read, (f for f in capture.stop() if not f.outgoing)) if one]
    check(reads)
    for flag in (SYN, FIN, RST):
        assert any(one.flags & flag for one in reads)
    assert any(one.payload for one in reads)


def _talk(network: net.Network, reset: bool) -> None:
    server = network.wired.socket(socket.AF_INET, socket.SOCK_STREAM)
    client = network.host.socket(socket.AF_INET, socket.SOCK_STREAM)
    with server, client:
        server.bind((net.WIRED4, 0))
        server.listen(1)
        client.settimeout(5)
        client.connect(server.getsockname())
        accepted = server.accept()[0]
        for _ in range(20):
            client.sendall(b"ask" * 700)
            accepted.recv(2100, socket.MSG_WAITALL)
            accepted.sendall(b"answer" * 50)
            client.recv(300, socket.MSG_WAITALL)
        if reset:
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        accepted.close()
