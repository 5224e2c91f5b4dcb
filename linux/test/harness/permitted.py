# SPDX-License-Identifier: GPL-2.0-only
"""
The changes that a gateway may make to a packet: RTT_wired, or what a flow shares, appended to a
pure ACK to the mesh, the question for it blanked out on its way from there, what others tell in
the gateway's name blanked on its way to there, the timestamp blanked in an ACK that it sends
again. Taken back by other arithmetic than they were made with, so that a wrong one shows.
"""

import struct
from collections import Counter
from collections.abc import Iterator

from harness.capture import ACK, FIN, RST, SYN
from harness.expected import TCP, read

OPTION_BYTES = 8
_HEAD, _SHARED = bytes([254, 8, 0x6D, 0x70]), bytes([254, 8, 0x6D, 0x73])
_SIGNATURES = (19, 29)
QUESTION, NOPS = bytes([254, 4, 0x6D, 0x70]), bytes([1, 1, 1, 1])


def _offsets(frame: bytes) -> tuple[int, int, int]:
    """Where the IP header, the TCP header, and the TCP header's end are."""
    ip = 14
    while frame[ip - 2 : ip] in (b"\x81\x00", b"\x88\xa8"):
        ip += 4
    tcp = ip + ((frame[ip] & 15) * 4 if frame[ip] >> 4 == 4 else 40)
    return ip, tcp, tcp + (frame[tcp + 12] >> 4) * 4


def carries_option(frame: bytes) -> bool:
    """A pure ACK whose last option is RTT_wired, or what its flow shares."""
    reading = read(frame)
    if reading.kind != TCP or reading.payload or reading.flags & (SYN | FIN | RST | ACK) != ACK:
        return False
    _, _, end = _offsets(frame)
    return frame[end - OPTION_BYTES : end - 4] in (_HEAD, _SHARED)


def _sums(old: int, *words: int) -> list[int]:
    """Checksums that such a change of words (after minus before) may have led from to `old`."""
    total = (old + sum(words)) % 0xFFFF
    return [0, 0xFFFF] if total == 0 else [total]


def without_option(frame: bytes) -> Iterator[bytes]:
    """What the frame may have been before the option was appended."""
    ip, tcp, end = _offsets(frame)
    option = frame[end - OPTION_BYTES : end]
    was = bytearray(frame[: end - OPTION_BYTES] + frame[end:])
    offset_word = struct.unpack_from("!H", was, tcp + 12)[0]
    struct.pack_into("!H", was, tcp + 12, offset_word - (OPTION_BYTES // 4 << 12))
    at = ip + 2 if was[ip] >> 4 == 4 else ip + 4
    length = struct.unpack_from("!H", was, at)[0]
    struct.pack_into("!H", was, at, length - OPTION_BYTES)
    # The checksum is the complement of the sum: what was added to the words comes back.
    grown = (OPTION_BYTES // 4 << 12, OPTION_BYTES, *struct.unpack("!4H", option))
    for tcp_sum in _sums(struct.unpack_from("!H", frame, tcp + 16)[0], *grown):
        struct.pack_into("!H", was, tcp + 16, tcp_sum)
        if was[ip] >> 4 == 6:
            yield bytes(was)
            continue
        for ip_sum in _sums(struct.unpack_from("!H", frame, ip + 10)[0], OPTION_BYTES):
            struct.pack_into("!H", was, ip + 10, ip_sum)
            yield bytes(was)


def restored(arrived: Counter[bytes], control: Counter[bytes]) -> tuple[Counter[bytes], int]:
    """
    The frames with every option taken back that the control run does not have, and how
    many there were.
    """
    back: Counter[bytes] = Counter()
    options = 0
    for frame, count in arrived.items():
        surplus = max(0, count - control[frame])
        if not surplus or not carries_option(frame):
            back[frame] += count
            continue
        before = next((one for one in without_option(frame) if one in control), frame)
        back[frame] += count - surplus
        back[before] += surplus
        options += surplus if before != frame else 0
    return +back, options


def asks(frame: bytes) -> bool:
    """A TCP packet whose last option is the question."""
    if read(frame).kind != TCP:
        return False
    _, tcp, end = _offsets(frame)
    return end >= tcp + 24 and frame[end - 4 : end] == QUESTION


def without_question(frame: bytes) -> Iterator[bytes]:
    """What may become of a packet that asks: as long as it was, its checksum as right."""
    _, tcp, end = _offsets(frame)
    after = bytearray(frame[: end - 4] + NOPS + frame[end:])
    words = (*struct.unpack("!2H", QUESTION), -0x0101, -0x0101)
    for sum_ in _sums(struct.unpack_from("!H", frame, tcp + 16)[0], *words):
        struct.pack_into("!H", after, tcp + 16, sum_)
        yield bytes(after)


def questions_put_back(
    arrived: Counter[bytes], control: Counter[bytes]
) -> tuple[Counter[bytes], int]:
    """The frames with the questions that the control run has, and how many there were."""
    back, questions = Counter(arrived), 0
    for frame, count in control.items():
        if not asks(frame):
            continue
        for after in without_question(frame):
            blanked = min(count - back[frame], back[after] - control[after])
            if blanked > 0:
                back[after] -= blanked
                back[frame] += blanked
                questions += blanked
    return +back, questions


def feedback_at(frame: bytes) -> list[int]:
    """Where a TCP packet tells RTT_wired, or what a flow shares; none where it is signed."""
    if read(frame).kind != TCP:
        return []
    _, tcp, end = _offsets(frame)
    at, found = tcp + 20, []
    while at + 1 < end and frame[at] != 0:
        if frame[at] == 1:
            at += 1
            continue
        length = frame[at + 1]
        if length < 2 or at + length > end:
            break
        if frame[at] in _SIGNATURES:
            return []
        if length == OPTION_BYTES and frame[at : at + 4] in (_HEAD, _SHARED):
            found.append(at)
        at += length
    return found


def without_feedback(frame: bytes) -> list[bytes]:
    """What becomes of a packet to the mesh that tells something: as long as it was."""
    _, tcp, _ = _offsets(frame)
    before, after = frame[tcp:] + bytes(len(frame) % 2), bytearray(frame)
    for at in feedback_at(frame):
        after[at : at + OPTION_BYTES] = bytes([1] * OPTION_BYTES)
    now = bytes(after[tcp:]) + bytes(len(frame) % 2)
    changed = [a - b for a, b in zip(_words(before), _words(now), strict=True)]
    made = []
    for sum_ in _sums(struct.unpack_from("!H", frame, tcp + 16)[0], *changed):
        struct.pack_into("!H", after, tcp + 16, sum_)
        made.append(bytes(after))
    return made


def _words(data: bytes) -> tuple[int, ...]:
    even = data[: len(data) // 2 * 2]
    return struct.unpack(f"!{len(even) // 2}H", even)


def with_feedback_blanked(control: Counter[bytes], arrived: Counter[bytes]) -> Counter[bytes]:
    """The control run's packets as the gateway should let them pass to the mesh."""
    blanked: Counter[bytes] = Counter()
    for frame, count in control.items():
        if not feedback_at(frame):
            blanked[frame] += count
            continue
        ways = without_feedback(frame)
        blanked[next((way for way in ways if way in arrived), ways[0])] += count
    return blanked


def _skeleton(frame: bytes) -> bytes | None:
    """A pure ACK with neither checksum nor options; None for any other frame."""
    reading = read(frame)
    if reading.kind != TCP or reading.payload or reading.flags & (SYN | FIN | RST | ACK) != ACK:
        return None
    _, tcp, end = _offsets(frame)
    bare = bytearray(frame)
    bare[tcp + 16 : tcp + 18] = bytes(2)
    bare[tcp + 20 : end] = bytes(end - tcp - 20)
    return bytes(bare)


def acks_sent_again(frames: Counter[bytes], control: Counter[bytes]) -> set[bytes]:
    """Those that are an ACK of the control run but for options in whose place there are NOPs."""
    acks: dict[bytes, list[bytes]] = {}
    for frame in control:
        skeleton = _skeleton(frame)
        if skeleton:
            acks.setdefault(skeleton, []).append(frame)

    def again(frame: bytes, before: bytes) -> bool:
        _, tcp, end = _offsets(frame)
        pairs = zip(frame[tcp + 20 : end], before[tcp + 20 : end], strict=True)
        return all(now in (1, was) for now, was in pairs)

    return {
        frame
        for frame in frames
        if any(again(frame, before) for before in acks.get(_skeleton(frame) or b"", []))
    }
