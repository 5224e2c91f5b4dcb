// SPDX-License-Identifier: GPL-2.0-only
//! What tests of several modules share: random bytes, and messages built by hand.

use crate::codec::align;

/// xorshift: the same bytes on every machine.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % limit
    }

    pub fn bytes(&mut self, longest: usize) -> Vec<u8> {
        let length = self.below(longest + 1);
        (0..length).map(|_| self.below(256) as u8).collect()
    }

    /// A fixed header and attributes of plausible types, with lengths that are sometimes wrong.
    pub fn body(&mut self) -> Vec<u8> {
        let mut body = self.bytes(20);
        for _ in 0..self.below(8) {
            let value = self.bytes(24);
            let wrong = [0, 0, 0, 0, 1, 4, 200][self.below(7)];
            let length = (4 + value.len() + wrong) as u16;
            body.extend_from_slice(&length.to_ne_bytes());
            body.extend_from_slice(&(self.below(110) as u16).to_ne_bytes());
            body.extend_from_slice(&value);
            body.resize(align(body.len()), 0);
        }
        body
    }

    /// A netlink message around such a body, of sequence 7.
    pub fn message(&mut self) -> Vec<u8> {
        let body = self.body();
        let wrong = [0, 0, 0, 1, 300][self.below(5)];
        let mut message = ((16 + body.len() + wrong) as u32).to_ne_bytes().to_vec();
        message.extend_from_slice(&(self.below(30) as u16).to_ne_bytes());
        message.extend_from_slice(&[0, 0, 7, 0, 0, 0, 0, 0, 0, 0]);
        message.extend_from_slice(&body);
        message
    }
}

/// One attribute.
pub fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = ((4 + value.len()) as u16).to_ne_bytes().to_vec();
    bytes.extend_from_slice(&kind.to_ne_bytes());
    bytes.extend_from_slice(value);
    bytes.resize(align(bytes.len()), 0);
    bytes
}

/// A fixed header followed by attributes.
pub fn body(header: &[u8], attributes: &[(u16, &[u8])]) -> Vec<u8> {
    let mut bytes = header.to_vec();
    for (kind, value) in attributes {
        bytes.extend(attribute(*kind, value));
    }
    bytes
}

/// Runs `parse` over the message cut short at every length and over random bytes: none may panic.
pub fn torture<T>(message: &[u8], parse: impl Fn(&[u8]) -> T) {
    for end in 0..message.len() {
        parse(&message[..end]);
    }
    let mut random = Random::new(message.len() as u64);
    for _ in 0..5_000 {
        parse(&random.bytes(120));
        parse(&random.body());
        let mut damaged = message.to_vec();
        for _ in 0..=random.below(4) {
            let place = random.below(damaged.len());
            damaged[place] = random.below(256) as u8;
        }
        parse(&damaged);
    }
}
