// SPDX-License-Identifier: GPL-2.0-only
//! TCP timestamps (RFC 7323) of copied frames.
//!
//! A receiver discards what carries an older timestamp than the latest that it took in order (PAWS, section 5).
//! Once a sender has sent one of several lost segments again itself, copies of the others with the times at
//! which they were first sent are of no use to anybody: a copy has to say the time of now.
use std::ops::Range;

use crate::kernel::packet;

const END: u8 = 0;
const NOP: u8 = 1;
const TIMESTAMP: u8 = 8;
const TIMESTAMP_BYTES: usize = 10;
/// MD5 (RFC 2385) and TCP-AO (RFC 5925) sign the other options.
const SIGNATURES: [u8; 2] = [19, 29];
/// A timestamp's clock runs at most this fast (RFC 7323, section 5.4).
const TICK_NS: u64 = 1_000_000;
/// By how much more than a later segment the first may have been held up on its way: a queue's worth.
const HELD_UP_NS: u64 = 200_000_000;

/// What a sender's timestamps were, so far.
#[derive(Clone, Copy, Default)]
pub struct Clock(Option<Times>);

#[derive(Clone, Copy)]
struct Times {
    first: u32,
    first_ns: u64,
    latest: u32,
}

impl Clock {
    /// A segment carries a timestamp. One that this clock cannot say yet, or that is older than the latest,
    /// changes nothing: whoever forges a later one could have all that follows discarded.
    pub fn note(&mut self, value: u32, now_ns: u64) {
        let times = self.0.get_or_insert(Times {
            first: value,
            first_ns: now_ns,
            latest: value,
        });
        let possible = (now_ns.saturating_sub(times.first_ns) + HELD_UP_NS) / TICK_NS;
        let since_first = value.wrapping_sub(times.first);
        let since_latest = value.wrapping_sub(times.latest) as i32;
        if since_latest > 0 && u64::from(since_first) <= possible {
            times.latest = value;
        }
    }

    /// The latest, for a segment that was sent between the first and it.
    fn renewed(&self, value: u32) -> Option<u32> {
        let times = self.0?;
        let (mine, all) = (
            value.wrapping_sub(times.first),
            times.latest.wrapping_sub(times.first),
        );
        (mine < all).then_some(times.latest)
    }

    /// Writes the latest timestamp into a copied frame whose checksum is whole.
    pub fn renew(&self, frame: &mut [u8], l3: usize, l4: usize) {
        let options = options(frame, l3, l4);
        if options.iter().any(|(kind, _)| SIGNATURES.contains(kind)) {
            return;
        }
        let Some(at) = value_at(&options) else {
            return;
        };
        if let Some(latest) = self.renewed(read(frame, at)) {
            frame[at..at + 4].copy_from_slice(&latest.to_be_bytes());
            packet::write_checksum(frame, l3, l4);
        }
    }
}

/// The timestamp of a frame.
pub fn value(frame: &[u8], l3: usize, l4: usize) -> Option<u32> {
    value_at(&options(frame, l3, l4)).map(|at| read(frame, at))
}

/// Takes the timestamp out of a copied frame whose checksum is whole.
pub fn remove(frame: &mut [u8], l3: usize, l4: usize) {
    for (kind, place) in options(frame, l3, l4) {
        if kind == TIMESTAMP {
            frame[place].fill(NOP);
        }
    }
    packet::write_checksum(frame, l3, l4);
}

fn read(frame: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(frame[at..at + 4].try_into().expect("four bytes"))
}

/// Where the sender's own time is in the first timestamp that is whole.
fn value_at(options: &[(u8, Range<usize>)]) -> Option<usize> {
    let stamp =
        |(kind, place): &&(u8, Range<usize>)| *kind == TIMESTAMP && place.len() == TIMESTAMP_BYTES;
    options.iter().find(stamp).map(|(_, place)| place.start + 2)
}

/// The options of a segment, each with its place; a last one that is cut off ends with the header.
fn options(frame: &[u8], l3: usize, l4: usize) -> Vec<(u8, Range<usize>)> {
    let mut options = Vec::new();
    let Some((end, _)) = packet::segment(frame, l3, l4) else {
        return options;
    };
    let end = end.min(l4 + usize::from(frame[l4 + 12] >> 4) * 4);
    let mut at = l4 + packet::TCP_HEADER;
    while at + 1 < end && frame[at] != END {
        let length = match (frame[at], frame[at + 1]) {
            (NOP, _) => 1,
            (_, length) => usize::from(length.max(2)),
        };
        options.push((frame[at], at..end.min(at + length)));
        at += length;
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A segment over IPv4 of no payload, its checksum whole.
    fn frame(options: &[u8]) -> Vec<u8> {
        let mut frame = [&[0; 40], options].concat();
        let tcp_bytes = (20 + options.len()) as u8;
        (frame[0], frame[3], frame[9], frame[32]) = (0x45, 20 + tcp_bytes, 6, tcp_bytes << 2);
        packet::write_checksum(&mut frame, 0, 20);
        frame
    }

    fn stamped(value: u32) -> Vec<u8> {
        frame(&[&[1, 1, 8, 10], &value.to_be_bytes()[..], &[0, 0, 0, 9]].concat())
    }

    fn renewed(clock: &Clock, mut frame: Vec<u8>) -> Vec<u8> {
        clock.renew(&mut frame, 0, 20);
        frame
    }

    #[test]
    fn a_copy_says_the_latest_time_across_the_wrap() {
        let mut clock = Clock::default();
        let first = u32::MAX - 50;
        assert_eq!(renewed(&clock, stamped(first)), stamped(first), "no other");
        for later in [0, 30, 100, 70] {
            clock.note(first.wrapping_add(later), u64::from(later) * MS);
        }
        for mine in [0, 30, 99] {
            let copy = renewed(&clock, stamped(first.wrapping_add(mine)));
            assert_eq!(copy, stamped(first.wrapping_add(100)));
        }
        for other in [first.wrapping_add(500), first.wrapping_sub(1)] {
            assert_eq!(renewed(&clock, stamped(other)), stamped(other), "not of it");
        }
    }

    /// Else one forged segment has the receiver discard all that its sender says from then on.
    #[test]
    fn a_time_that_cannot_be_is_no_time() {
        let mut clock = Clock::default();
        clock.note(1000, 0);
        clock.note(900, MS);
        clock.note(1000 + 5000, 4000 * MS);
        clock.note(1000 + (1 << 31), 5000 * MS);
        assert_eq!(clock.renewed(1000), None);
        clock.note(1000 + 4000, 4000 * MS);
        assert_eq!(clock.renewed(1000), Some(5000));
    }

    #[test]
    fn what_is_signed_cut_off_or_without_a_time_stays() {
        let mut clock = Clock::default();
        clock.note(7, 0);
        clock.note(90, 90 * MS);
        let signed = [&[19, 18][..], &[5; 16], &[8, 10, 0, 0, 0, 7, 0, 0, 0, 9]].concat();
        for options in [&[][..], &[1, 1, 8, 4], &[8, 10, 0, 0], &[0; 4], &signed] {
            assert_eq!(renewed(&clock, frame(options)), frame(options));
        }
        assert_eq!(value(&frame(&[8, 10, 0, 0]), 0, 20), None);
        assert_eq!(value(&stamped(7), 0, 20), Some(7));
    }

    #[test]
    fn without_its_time_a_frame_is_else_the_same() {
        let mut removed = stamped(7);
        remove(&mut removed, 0, 20);
        assert_eq!(removed, frame(&[1; 12]));
    }
}
