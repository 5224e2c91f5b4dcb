// SPDX-License-Identifier: GPL-2.0-only
//! The Internet checksum (RFC 1071).

/// Sum of 16-bit words in ones' complement, folded, on top of `start`; 0xffff over what has its checksum in it.
pub fn sum(words: &[u8], start: u32) -> u32 {
    let mut total = start;
    for pair in words.chunks(2) {
        total += u32::from(u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)]));
    }
    while total >> 16 != 0 {
        total = (total & 0xffff) + (total >> 16);
    }
    total
}

/// What makes the sum of these bytes whole, in network order.
pub fn of(bytes: &[u8]) -> [u8; 2] {
    (!(sum(bytes, 0) as u16)).to_be_bytes()
}
