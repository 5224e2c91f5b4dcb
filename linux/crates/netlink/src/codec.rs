// SPDX-License-Identifier: GPL-2.0-only
//! Netlink's wire format: messages, attributes, requests. Pure functions over bytes; what is cut
//! short or contradicts itself ends an iteration, it never panics.

const HEADER: usize = 16; // nlmsghdr
const ATTRIBUTE: usize = 4; // nlattr
const TYPE_MASK: u16 = 0x3fff; // without NLA_F_NESTED and NLA_F_NET_BYTEORDER

const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLM_F_DUMP_INTR: u16 = 0x10;
const NLM_F_DUMP: u16 = 0x300;
const NLM_F_EXCL: u16 = 0x200;
const NLM_F_CREATE: u16 = 0x400;

pub fn align(length: usize) -> usize {
    length.saturating_add(3) & !3
}

pub fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    let field = bytes.get(offset..offset.checked_add(2)?)?;
    Some(u16::from_ne_bytes(field.try_into().ok()?))
}

pub fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    let field = bytes.get(offset..offset.checked_add(4)?)?;
    Some(u32::from_ne_bytes(field.try_into().ok()?))
}

pub fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    let field = bytes.get(offset..offset.checked_add(8)?)?;
    Some(u64::from_ne_bytes(field.try_into().ok()?))
}

/// A text attribute, up to its terminating zero.
pub fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    pub kind: u16,
    pub flags: u16,
    pub sequence: u32,
    pub body: &'a [u8],
}

/// The messages of one datagram.
pub struct Messages<'a>(pub &'a [u8]);

impl<'a> Iterator for Messages<'a> {
    type Item = Message<'a>;

    fn next(&mut self) -> Option<Message<'a>> {
        let length = u32_at(self.0, 0)? as usize;
        let message = Message {
            kind: u16_at(self.0, 4)?,
            flags: u16_at(self.0, 6)?,
            sequence: u32_at(self.0, 8)?,
            body: self.0.get(HEADER..length)?,
        };
        self.0 = self.0.get(align(length)..).unwrap_or_default();
        Some(message)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute<'a> {
    pub kind: u16,
    pub value: &'a [u8],
}

impl<'a> Attribute<'a> {
    pub fn u8(&self) -> Option<u8> {
        self.value.first().copied()
    }
    pub fn u16(&self) -> Option<u16> {
        u16_at(self.value, 0)
    }
    pub fn u32(&self) -> Option<u32> {
        u32_at(self.value, 0)
    }
    pub fn text(&self) -> String {
        text(self.value)
    }
    pub fn nested(&self) -> Attributes<'a> {
        Attributes(self.value)
    }
}

/// The attributes in a message's body or inside another attribute.
#[derive(Clone, Copy)]
pub struct Attributes<'a>(pub &'a [u8]);

impl<'a> Attributes<'a> {
    /// Those that follow a fixed header of `length` bytes; `None` when the header is cut short.
    pub fn after(body: &'a [u8], length: usize) -> Option<Attributes<'a>> {
        if body.len() < length {
            return None;
        }
        Some(Attributes(body.get(align(length)..).unwrap_or_default()))
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = Attribute<'a>;

    fn next(&mut self) -> Option<Attribute<'a>> {
        let length = usize::from(u16_at(self.0, 0)?);
        let attribute = Attribute {
            kind: u16_at(self.0, 2)? & TYPE_MASK,
            value: self.0.get(ATTRIBUTE..length)?,
        };
        self.0 = self.0.get(align(length)..).unwrap_or_default();
        Some(attribute)
    }
}

/// Appends one message to a buffer, which may hold others.
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
}

impl<'a> Writer<'a> {
    /// `flags` besides `NLM_F_REQUEST`; `header`: the family's fixed one.
    pub fn begin(out: &'a mut Vec<u8>, kind: u16, flags: u16, header: &[u8]) -> Writer<'a> {
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&kind.to_ne_bytes());
        out.extend_from_slice(&(NLM_F_REQUEST | flags).to_ne_bytes());
        out.extend_from_slice(&[0; 8]);
        out.extend_from_slice(header);
        Writer { out, start }.aligned()
    }

    pub fn attribute(self, kind: u16, value: &[u8]) -> Writer<'a> {
        let length = (ATTRIBUTE + value.len()) as u16; // values here are names and addresses
        self.out.extend_from_slice(&length.to_ne_bytes());
        self.out.extend_from_slice(&kind.to_ne_bytes());
        self.out.extend_from_slice(value);
        self.aligned()
    }

    fn aligned(self) -> Writer<'a> {
        let length = align(self.out.len() - self.start);
        self.out.resize(self.start + length, 0);
        self
    }

    pub fn end(self, sequence: u32) {
        let message = &mut self.out[self.start..];
        let length = message.len() as u32;
        message[0..4].copy_from_slice(&length.to_ne_bytes());
        message[8..12].copy_from_slice(&sequence.to_ne_bytes());
    }
}

/// A request under construction.
#[derive(Clone, Debug)]
pub struct Request {
    bytes: Vec<u8>,
    dump: bool,
}

impl Request {
    /// Asks for one object; `header` is the family's fixed header.
    pub fn get(kind: u16, header: &[u8]) -> Request {
        Request::new(kind, header, 0)
    }

    /// Asks for a whole table.
    pub fn dump(kind: u16, header: &[u8]) -> Request {
        Request::new(kind, header, NLM_F_DUMP)
    }

    /// Orders something; the answer is whether that was done.
    pub fn set(kind: u16, header: &[u8]) -> Request {
        Request::new(kind, header, NLM_F_ACK)
    }

    /// Makes something that is not there yet.
    pub fn create(kind: u16, header: &[u8]) -> Request {
        Request::new(kind, header, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL)
    }

    fn new(kind: u16, header: &[u8], flags: u16) -> Request {
        let mut bytes = Vec::new();
        Writer::begin(&mut bytes, kind, flags, header);
        Request {
            bytes,
            dump: flags == NLM_F_DUMP,
        }
    }

    fn writer(&mut self) -> Writer<'_> {
        Writer {
            out: &mut self.bytes,
            start: 0,
        }
    }

    pub fn attribute(mut self, kind: u16, value: &[u8]) -> Request {
        self.writer().attribute(kind, value);
        self
    }

    /// An attribute that holds others, which `fill` appends.
    pub fn nested(mut self, kind: u16, fill: impl FnOnce(Request) -> Request) -> Request {
        let start = self.bytes.len();
        self.writer().attribute(kind, &[]);
        let mut filled = fill(self);
        let length = (filled.bytes.len() - start) as u16; // options of a qdisc, an action, a link
        filled.bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        filled
    }

    pub fn is_dump(&self) -> bool {
        self.dump
    }

    /// The datagram to send.
    pub fn finish(mut self, sequence: u32) -> Vec<u8> {
        self.writer().end(sequence);
        self.bytes
    }
}

/// What a datagram said about the exchange it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    More,
    Done,
    Failed(i32), // errno
}

/// Hands the body of each message of exchange `sequence` to `each`. What belongs to another
/// exchange (one given up after a time-out) is skipped.
pub fn digest(datagram: &[u8], sequence: u32, dump: bool, each: &mut dyn FnMut(&[u8])) -> Progress {
    for message in Messages(datagram).filter(|m| m.sequence == sequence) {
        match message.kind {
            // A dump that breaks off says why in its last message.
            NLMSG_ERROR | NLMSG_DONE => {
                return match u32_at(message.body, 0).unwrap_or(0) as i32 {
                    code if code < 0 => Progress::Failed(code.saturating_neg()),
                    _ => Progress::Done,
                };
            }
            kind if kind > NLMSG_DONE => {
                each(message.body);
                if !dump {
                    return Progress::Done;
                }
            }
            _ => {}
        }
    }
    Progress::More
}

/// Whether the table of this exchange changed while it was dumped.
pub fn is_interrupted(datagram: &[u8], sequence: u32) -> bool {
    Messages(datagram).any(|m| m.sequence == sequence && m.flags & NLM_F_DUMP_INTR != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    #[test]
    fn a_request_reads_back() {
        let bytes = Request::dump(26, &[7; 12])
            .attribute(5, b"abc")
            .attribute(6, &9u32.to_ne_bytes())
            .finish(3);
        let message = Messages(&bytes).next().unwrap();
        assert_eq!((message.kind, message.sequence), (26, 3));
        let attributes: Vec<_> = Attributes::after(message.body, 12).unwrap().collect();
        assert_eq!(attributes[0].value, b"abc");
        assert_eq!(attributes[1].u32(), Some(9));
        assert_eq!(attributes.len(), 2);
        assert_eq!(Messages(&bytes).count(), 1);
    }

    #[test]
    fn what_is_nested_reads_back() {
        let bytes = Request::create(36, &[7; 20])
            .nested(2, |it| {
                it.attribute(1, b"abcde")
                    .nested(3, |it| it.attribute(9, &[1]))
            })
            .attribute(4, b"x")
            .finish(3);
        let message = Messages(&bytes).next().unwrap();
        let outer: Vec<_> = Attributes::after(message.body, 20).unwrap().collect();
        assert_eq!((outer.len(), outer[1].value), (2, &b"x"[..]));
        let inner: Vec<_> = outer[0].nested().collect();
        assert_eq!(inner[0].value, b"abcde");
        assert_eq!(inner[1].nested().next().unwrap().u8(), Some(1));
    }

    #[test]
    fn lengths_that_lie_end_the_iteration() {
        for length in [0u16, 1, 3, 9, 0xffff] {
            let mut bytes = length.to_ne_bytes().to_vec();
            bytes.extend_from_slice(&[1, 0, 2, 3, 4, 5]);
            assert_eq!(Attributes(&bytes).next(), None, "attribute of {length}");
        }
        for length in [0u32, 15, 17, 0x7fff_ffff, u32::MAX] {
            let mut bytes = vec![0; 16];
            bytes[..4].copy_from_slice(&length.to_ne_bytes());
            assert_eq!(Messages(&bytes).next(), None, "message of {length}");
        }
    }

    #[test]
    fn a_dump_ends_with_done_and_an_error_with_its_errno() {
        let mut seen = 0;
        let mut message = |kind: u16, sequence: u32, code: i32| {
            let bytes = Request::get(kind, &code.to_ne_bytes()).finish(sequence);
            digest(&bytes, 7, true, &mut |_| seen += 1)
        };
        assert_eq!(message(20, 7, 0), Progress::More);
        assert_eq!(message(20, 6, 0), Progress::More, "another exchange's");
        assert_eq!(message(NLMSG_DONE, 7, 0), Progress::Done);
        assert_eq!(message(NLMSG_DONE, 7, -libc::ENODEV), Progress::Failed(19));
        assert_eq!(message(NLMSG_ERROR, 7, -libc::EPERM), Progress::Failed(1));
        assert_eq!(
            message(NLMSG_ERROR, 7, i32::MIN),
            Progress::Failed(i32::MAX)
        );
        assert_eq!(seen, 1);
    }

    #[test]
    fn random_datagrams_never_panic() {
        let mut random = Random::new(1);
        for _ in 0..20_000 {
            let bytes = random.message();
            digest(&bytes, 7, true, &mut |body| {
                for attribute in Attributes::after(body, 4).into_iter().flatten() {
                    attribute.nested().for_each(|inner| {
                        inner.text();
                    });
                }
            });
        }
    }
}
