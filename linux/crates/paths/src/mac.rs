// SPDX-License-Identifier: GPL-2.0-only
//! MAC addresses.

use std::fmt;
use std::str::FromStr;

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// `None` when the field is not six bytes long.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Mac> {
        Some(Mac(bytes.try_into().ok()?))
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.0 == [0; 6]
    }
}

/// Six numbers of two hexadecimal digits each, with colons between them.
impl FromStr for Mac {
    type Err = ();

    fn from_str(text: &str) -> Result<Mac, ()> {
        let mut mac = Mac([0; 6]);
        let mut numbers = text.split(':');
        for byte in &mut mac.0 {
            let digits = numbers.next().filter(|n| n.len() == 2).ok_or(())?;
            if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return Err(()); // a sign, which the following would take
            }
            *byte = u8::from_str_radix(digits, 16).map_err(drop)?;
        }
        numbers.next().is_none().then_some(mac).ok_or(())
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_it_is_written() {
        let mac = Mac([2, 0, 0x5e, 0xff, 0, 1]);
        assert_eq!(mac.to_string().parse(), Ok(mac));
        assert_eq!("02:00:5E:FF:00:01".parse(), Ok(mac));
        for wrong in [
            "",
            "02:00:5e:ff:00",
            "02:00:5e:ff:00:01:02",
            "2:00:5e:ff:00:01",
            "+2:00:5e:ff:00:01",
            "02:00:5e:ff:00:0g",
            "02-00-5e-ff-00-01",
        ] {
            assert_eq!(wrong.parse::<Mac>(), Err(()), "{wrong}");
        }
    }
}
