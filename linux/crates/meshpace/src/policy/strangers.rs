// SPDX-License-Identifier: GPL-2.0-only
//! How much may pass that nobody in the mesh answers: core/'s part of what active hosts got.
use std::collections::HashMap;

use crate::kernel::intf::{self, mp_host_key, mp_unanswered_rate};
use crate::kernel::law;

const DOWN: usize = intf::mp_direction_MP_DOWN as usize;
const UP: usize = intf::mp_direction_MP_UP as usize;

#[derive(Default)]
pub struct Strangers {
    rate: mp_unanswered_rate,
    bytes_per_s: u64,
    /// what is not TCP, to and from each host, so far
    others: HashMap<[u8; 16], [u64; 2]>,
}

impl Strangers {
    /// For [`crate::kernel::intf::mp_settings`], bytes/s; 0: nobody is active whom it could harm.
    pub fn bytes_per_s(&self) -> u64 {
        self.bytes_per_s
    }

    /// A second has passed, in which so many bytes were acknowledged; `others`: bytes so far of what is not
    /// TCP, of which nothing tells that it was answered but that the same host sent some, too.
    pub fn step(&mut self, acknowledged: u64, others: &[(mp_host_key, u64)]) {
        let mut now = HashMap::<[u8; 16], [u64; 2]>::new();
        for (key, bytes) in others {
            now.entry(key.address).or_default()[key.direction as usize] = *bytes;
        }
        let answered = |(address, bytes): (&[u8; 16], &[u64; 2])| {
            let before = self.others.get(address)?;
            let down = bytes[DOWN].saturating_sub(before[DOWN]);
            let up = bytes[UP].saturating_sub(before[UP]);
            (down > 0 && up > 0).then_some(down + up)
        };
        let active = acknowledged + now.iter().filter_map(answered).sum::<u64>();
        self.others = now;
        self.bytes_per_s = law::unanswered_step(&mut self.rate, active);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(n: u8, direction: usize, bytes: u64) -> (mp_host_key, u64) {
        let key = mp_host_key {
            address: [n; 16],
            direction: direction as u32,
        };
        (key, bytes)
    }

    /// Else what nobody answers would raise what may pass of it; or calls would count for nothing.
    #[test]
    fn what_is_not_tcp_counts_where_both_ends_send() {
        let mut strangers = Strangers::default();
        strangers.step(0, &[count(1, DOWN, 1000), count(2, UP, 1000)]);
        strangers.step(0, &[count(1, DOWN, 9_000_000), count(2, UP, 9_000_000)]);
        assert_eq!(strangers.bytes_per_s(), 0);
        strangers.step(0, &[count(1, DOWN, 9_640_000), count(1, UP, 1)]);
        assert_eq!(strangers.bytes_per_s(), 10_000, "640,001 bytes");
    }

    /// Else hosts that have gone would be remembered for ever.
    #[test]
    fn who_is_not_told_of_is_forgotten() {
        let mut strangers = Strangers::default();
        strangers.step(0, &[count(1, DOWN, 1)]);
        strangers.step(0, &[]);
        assert!(strangers.others.is_empty());
    }
}
